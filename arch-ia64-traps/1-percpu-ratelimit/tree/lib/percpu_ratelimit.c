// SPDX-License-Identifier: GPL-2.0
/* A rate limit that is exact on any number of CPUs, see include/linux/percpu_ratelimit.h. */

#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/percpu_ratelimit.h>

/**
 * percpu_ratelimit_allow() - ask whether to do what is limited
 * @rl: the rate limit
 *
 * Context: any, NMI among them; preemption may be on, and a migration in the middle does no harm.
 * Return: 0: no, and the call is counted as suppressed. Otherwise which of the window's calls it
 *	is, 1 to the burst: 1 has opened the window, and is the one to tell of those suppressed
 *	since the last, see percpu_ratelimit_missed().
 * Ordering: none.
 */
unsigned int percpu_ratelimit_allow(struct percpu_ratelimit *rl)
{
	return percpu_ratelimit_allow_at(rl, jiffies);
}
EXPORT_SYMBOL_GPL(percpu_ratelimit_allow);

/**
 * percpu_ratelimit_events() - how many calls there were
 * @rl: the rate limit
 * @event: let through or suppressed
 *
 * Context: any. Reads every possible CPU's line, so not for a path that is taken often.
 * Return: the calls since boot, at some moment during this one. Exact when nobody calls meanwhile.
 */
unsigned long percpu_ratelimit_events(struct percpu_ratelimit *rl,
				      enum percpu_ratelimit_event event)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(rl->cpu, cpu)->events[event]);
	return sum;
}
EXPORT_SYMBOL_GPL(percpu_ratelimit_events);

/**
 * percpu_ratelimit_missed() - how many calls were suppressed that nobody was told of yet
 * @rl: the rate limit
 *
 * To be called by whoever opened a window. Each suppressed call is told of once, however many ask
 * at the same time. Context: as percpu_ratelimit_events().
 * Return: suppressed calls since the last one that was told of; 0 also where another CPU that
 *	counted later has told already.
 */
unsigned long percpu_ratelimit_missed(struct percpu_ratelimit *rl)
{
	return percpu_ratelimit_tell(rl, percpu_ratelimit_events(rl, PERCPU_RATELIMIT_SUPPRESSED));
}
EXPORT_SYMBOL_GPL(percpu_ratelimit_missed);
