/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_TOPOLOGY_H
#define _SHIM_LINUX_TOPOLOGY_H

/* Who runs the code says which CPU is in which node. */
int shim_cpu_to_node(unsigned int cpu);
#define cpu_to_node(cpu)	shim_cpu_to_node(cpu)

#endif
