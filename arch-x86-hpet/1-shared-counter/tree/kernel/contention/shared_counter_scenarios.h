/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHARED_COUNTER_SCENARIOS_H
#define _SHARED_COUNTER_SCENARIOS_H

/**
 * struct shared_counter_scenario - a scripted interleaving of reads
 * @name: what happens
 * @run: lets it happen; returns NULL or the condition that did not hold
 */
struct shared_counter_scenario {
	const char *name;
	const char *(*run)(void);
};

/**
 * struct shared_counter_stress - all CPUs reading for a while
 * @first: value of the made-up counter at the start
 * @frozen: the counter stands still
 * @gates: as on two nodes, with every other CPU in the second
 * @msecs: how long; ends earlier when a step back was seen
 * @reads: of all CPUs together
 * @idle: CPUs that did not get one read done
 * @back: reads that returned less than one that was over before they began
 * @samples: of the made-up counter
 * @counted: sum of the counts of all events, with CONFIG_CONTENTION_DEBUG
 */
struct shared_counter_stress {
	u32		first;
	bool		frozen;
	bool		gates;
	unsigned int	msecs;
	unsigned long	reads;
	unsigned int	idle;
	unsigned long	back;
	unsigned int	samples;
	unsigned long	counted;
};

/**
 * struct shared_counter_variant - the header as it is, or a broken twin of it
 * @scenarios: the last has no name
 * @stress: fills in what was seen; returns 0 or -ENOMEM
 */
struct shared_counter_variant {
	const struct shared_counter_scenario *scenarios;
	int (*stress)(struct shared_counter_stress *s);
};

extern const struct shared_counter_variant shared_counter_true;
extern const struct shared_counter_variant shared_counter_twin_publish;
extern const struct shared_counter_variant shared_counter_twin_compare;
extern const struct shared_counter_variant shared_counter_twin_bound;

#endif
