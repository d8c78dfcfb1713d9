/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_NODEMASK_H
#define _SHIM_LINUX_NODEMASK_H

/* Who runs the code says how many nodes there are. */
extern unsigned int shim_nr_nodes;

#define NUMA_NO_NODE			(-1)
#define nr_online_nodes			shim_nr_nodes
#define for_each_online_node(node)						\
	for ((node) = 0; (unsigned int)(node) < nr_online_nodes; (node)++)

#endif
