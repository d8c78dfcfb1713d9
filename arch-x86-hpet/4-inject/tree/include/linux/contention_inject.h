/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CONTENTION_INJECT_H
#define _LINUX_CONTENTION_INJECT_H

/*
 * Faults of a counter and of those who read it, for tests. In /sys/kernel/debug/contention/<fix>/,
 * the file inject takes one of
 *
 *   stop CPU USECS	CPU's next read of the clock stops after it has sampled, with whatever lock
 *			it holds and with interrupts off, for that long; 0: until it is released
 *   freeze READS	as many reads find the same value
 *   back READS TICKS	as many reads find the counter that much too low
 *   release		all of that ends
 *
 * and shows how often each of them has happened, and whether a CPU is stopped just now.
 */

#include <linux/atomic.h>
#include <linux/types.h>

struct atomic_notifier_head;
struct dentry;

/**
 * struct contention_inject - what is to happen to the reads of a counter
 * @armed: anything at all
 * @stop_cpu: whose next read stops, or -1
 * @stop_usecs: for how long; 0: until it is released
 * @stopping: a CPU is stopped
 * @newest: the newest value that anybody found since @armed, and bit 32 if there is one
 * @freeze: reads that are still to find @frozen_at
 * @frozen_at: the value, and bit 32 if there is one
 * @back: reads that are still to find @back_ticks less
 * @back_ticks: ticks of the counter
 * @stopped: stops so far
 * @frozen: reads so far that found the same value
 * @went_back: reads so far that found too low a value
 */
struct contention_inject {
#ifdef CONFIG_CONTENTION_INJECT
	bool		armed;
	int		stop_cpu;
	u32		stop_usecs;
	bool		stopping;
	atomic64_t	newest;
	atomic_t	freeze;
	atomic64_t	frozen_at;
	atomic_t	back;
	u32		back_ticks;
	atomic_t	stopped, frozen, went_back;
#endif
};

#ifdef CONFIG_CONTENTION_INJECT
u32 __contention_inject(struct contention_inject *inject, u32 value);
void contention_inject_add(struct contention_inject *inject, struct dentry *dir,
			   struct atomic_notifier_head *panics);

/**
 * contention_inject() - let what a test asked for happen to a value
 * @inject: what was asked for
 * @value: what the hardware said
 *
 * Context: any, with whatever lock the reader of the hardware has. In NMI it does not stop.
 * Return: @value, or what it is to be.
 */
static __always_inline u32 contention_inject(struct contention_inject *inject, u32 value)
{
	return unlikely(READ_ONCE(inject->armed)) ? __contention_inject(inject, value) : value;
}
#else
static __always_inline u32 contention_inject(struct contention_inject *inject, u32 value)
{
	return value;
}

static inline void contention_inject_add(struct contention_inject *inject, struct dentry *dir,
					 struct atomic_notifier_head *panics) { }
#endif

#endif /* _LINUX_CONTENTION_INJECT_H */
