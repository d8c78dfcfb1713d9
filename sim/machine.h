/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A large machine, as far as its caches go: what an access to shared memory costs when each line
 * has a home, a directory there, and copies in nodes and in CPUs. The code that runs on it is the
 * very code of the kernel, over the shims of verify/, with each CPU a coroutine that goes on when
 * its access is done. One process, one thread, and for the same seed always the same.
 *
 * What is modelled, per line:
 *
 *	hit		this CPU has a copy (for a write: the only one)
 *	node		another CPU of the node has one; the node serves one request at a time
 *	far		no CPU of the node has; the home serves one request at a time, and one that takes
 *			the line away from somebody keeps it busy until that is done
 *	invalidation	a write takes all copies away: time for each node at the home, and for each CPU
 *			within the nodes, which goes on in all nodes at once
 *
 * Caches never lose a line for want of room, there is no bandwidth but that of a line's home, and
 * two threads of a core are two CPUs with a cache each. A load is complete when it has its value:
 * nothing is executed before something else is done. A copy that a write takes away is good until
 * that write is done, which is the longest that it can be.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <linux/types.h>
#include <stddef.h>

#define MACHINE_MAX_CPUS	4096
#define MACHINE_MAX_HOPS	4

/**
 * struct machine - what a file in machines/ says; times in ns
 * @name: of the machine
 * @nodes: NUMA nodes
 * @cpus: CPUs of a node
 * @hit: a load from this CPU's own copy
 * @rmw: what a locked instruction takes once the line is there
 * @poll: a turn of a loop that does cpu_relax() and a load that hits
 * @node: the line comes from another CPU of the node
 * @node_busy: how long the node is busy with that
 * @hop: the line comes from another node, by distance: the first whose group both are in
 * @home_busy: how long a home is busy with a load of a line that nobody has changed
 * @invalidate_node: time at the home for each node that loses its copy
 * @invalidate_cpu: time for each CPU of a node that loses its copy
 * @counter_service: the counter gives one value at a time, each takes this
 * @counter_latency: and this on the way, from the node that it is at
 */
struct machine {
	char		name[32];
	unsigned int	nodes, cpus;
	double		hit, rmw, poll, node, node_busy;
	struct {
		unsigned int	nodes;
		double		ns;
	} hop[MACHINE_MAX_HOPS];
	unsigned int	hops;
	double		home_busy, invalidate_node, invalidate_cpu;
	double		counter_service, counter_latency;
};

extern struct machine machine;

/* What all CPUs did since machine_start(). */
extern struct machine_totals {
	u64	node, far, counter_reads;
} machine_totals;

/* Reads @machine. Says what is wrong with the file, and ends the program. */
void machine_load(const char *file);

/**
 * machine_start() - begin anew with so many CPUs, in as few nodes as they fit into
 * @cpus: at most MACHINE_MAX_CPUS and what the machine has
 * @seed: of all random numbers
 */
void machine_start(unsigned int cpus, u64 seed);

/**
 * machine_alloc() - shared memory, all of it zero, at the beginning of a line
 * @size: bytes
 * @node: its home
 */
void *machine_alloc(size_t size, unsigned int node);

/* All CPUs execute @main, which does not return, for so many ns. Beginnings are spread over @spread. */
void machine_run(double ns, double spread, void (*main)(void));

/* For those on a CPU. */

unsigned int machine_node(unsigned int cpu);
double machine_now(void);
/* Does something else for so long. */
void machine_think(double ns);
/* The same, so long on average; how often something happens then does not depend on what did before. */
void machine_think_random(double mean);
/* Does nothing until another CPU wakes this one, which then goes on so much later. */
void machine_sleep(void);
void machine_wake(unsigned int cpu, double ns);
/* From 0 to less than 1. */
double machine_random(void);
/* Reads the counter. Returns when, in ns, it had the value that came. */
double machine_counter(void);
/*
 * A loop that polls leaves after so many polls of the same variable, if the CPU has loaded @addr
 * before it; others do not count. It has to be said, since the polls are made up for when the line
 * changes or this is over. Forgotten by machine_start().
 */
void machine_polls(const volatile void *addr, unsigned int (*polls)(unsigned int cpu));

__attribute__((__format__(__printf__, 1, 2), __noreturn__)) void die(const char *format, ...);

#endif
