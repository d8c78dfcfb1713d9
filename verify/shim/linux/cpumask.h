/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_CPUMASK_H
#define _SHIM_LINUX_CPUMASK_H

#include <linux/smp.h>

#define nr_cpu_ids		shim_nr_cpus
#define for_each_possible_cpu(cpu)						\
	for ((cpu) = 0; (unsigned int)(cpu) < nr_cpu_ids; (cpu)++)

#endif
