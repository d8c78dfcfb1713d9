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

/* The same scenarios over the header as it is and over its broken twins; the last has no name. */
extern const struct shared_counter_scenario shared_counter_true[];
extern const struct shared_counter_scenario shared_counter_twin_publish[];
extern const struct shared_counter_scenario shared_counter_twin_compare[];
extern const struct shared_counter_scenario shared_counter_twin_bound[];

#endif
