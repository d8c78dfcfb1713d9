/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_SMP_H
#define _SHIM_LINUX_SMP_H

/* Who runs the code says on which CPU it runs, and of how many. */
unsigned int shim_cpu(void);
extern unsigned int shim_nr_cpus;

#define raw_smp_processor_id()	shim_cpu()

#endif
