/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PERCPU_RATELIMIT_H
#define _LINUX_PERCPU_RATELIMIT_H

/*
 * A rate limit for what all CPUs of a big machine may do at once: exactly "burst" times at most in
 * a window of "interval" jiffies. A CPU that has seen the window full stores nothing to shared
 * memory until its end.
 *
 * The idea of a per-CPU gate in front of one shared word with a sequence number, which is updated
 * by cmpxchg, is Jack Steiner's ("FPSWA exceptions take excessive system time", December 2006, in
 * arch/ia64/kernel/traps.c). There the test of the count and its increment are two steps, the count
 * has four bits and runs over into the sequence number, and the deadline is stored apart from both.
 * Here all of it is one word, and each step one cmpxchg of the whole word.
 *
 *	 63                           8   7        0
 *	+------------------------------+-----------+
 *	| deadline (56)                | count (8) |
 *	+------------------------------+-----------+
 *
 *	deadline	the jiffies at which the window ends
 *	count		calls let through in the window; 0 only where there has been none yet
 *
 * Transitions, (deadline, count), of a call at "now":
 *
 *	open	(-, 0)     -> (now + interval, 1)	the first call ever
 *	open	(d, c)     -> (now + interval, 1)	d <= now
 *	take	(d, c)     -> (d, c + 1)		now < d, c < burst
 *	none	(d, burst)				now < d; this CPU remembers (d, burst)
 *
 * Invariants:
 *
 *  (1) The word never has the same value twice. The deadline only grows: whoever opens a window
 *      does so at now >= d, thus the new deadline is >= d + interval. In a window the count only
 *      grows.
 *  (2) No window lets more than burst calls through. Each call let through made one transition by
 *      cmpxchg of the whole word. By (1) the cmpxchg succeeds only if the word still is what the
 *      decision was made on: the same window, and a count that nobody has moved. So a window's
 *      count goes 1, 2, ... burst, each step is one call, and there is no step from burst. burst
 *      <= 255, checked at build time, so that no step carries into the deadline.
 *  (3) Deadlines are at least one interval apart, by the argument of (1). Thus in n intervals, by
 *      the time that the callers read, there are n + 1 windows at most.
 *  (4) A window that somebody saw closed stays so until its deadline, by (1). So what a CPU
 *      remembers is true whoever wrote it there, also another CPU's task that was migrated between
 *      its look at the word and its store. An old memory is over by the clock, and does no harm.
 *  (5) A call that is refused has seen a closed window whose deadline it had not reached. A limit
 *      that was not used for an interval lets the next call through, whatever jiffies is.
 *
 * Progress: a cmpxchg fails only because another call made a transition. In a window there are
 * burst of these, so a call tries burst times at most for each window that it meets.
 *
 * Time is what the caller read from jiffies. Each CPU that is stopped for more than an interval
 * between that and its cmpxchg, while nobody else calls, opens a window that is over already: its
 * message comes late, but it is that of the window in which it asked. Comparison is by the sign of
 * a difference in 56 bits, so the wrap of jiffies does not matter; a full window that nobody asked
 * about for 2^55 jiffies (a million years at 1000 Hz) is closed for as long again.
 *
 * Limits: needs 64-bit atomics and jiffies that are read by one load, so CONFIG_64BIT. The counts
 * are exact in NMI too where this_cpu_inc() is atomic against it (as on x86); elsewhere an NMI in
 * the middle of one may lose one.
 */

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/irqflags.h>	/* asm-generic/percpu.h needs it */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/types.h>

#define PERCPU_RATELIMIT_COUNT_BITS	8
#define PERCPU_RATELIMIT_COUNT_MASK	GENMASK_ULL(PERCPU_RATELIMIT_COUNT_BITS - 1, 0)
#define PERCPU_RATELIMIT_BURST_MAX	255

/*
 * What another CPU, an NMI or a migration does between a look at shared memory and what follows
 * from it: tests define this, and call the functions here, not those of lib/percpu_ratelimit.c.
 */
#ifndef percpu_ratelimit_looked
#define percpu_ratelimit_looked(rl)	do { } while (0)
#endif

enum percpu_ratelimit_event {
	PERCPU_RATELIMIT_ALLOWED,
	PERCPU_RATELIMIT_SUPPRESSED,
	PERCPU_RATELIMIT_EVENTS
};

#define PERCPU_RATELIMIT_EVENT_NAMES	"allowed\0suppressed\0"

/**
 * struct percpu_ratelimit_cpu - what a CPU knows by itself
 * @closed: a word that was seen with its count at the burst, or 0
 * @events: the calls that ended on this CPU, by enum percpu_ratelimit_event
 */
struct percpu_ratelimit_cpu {
	u64		closed;
	unsigned long	events[PERCPU_RATELIMIT_EVENTS];
};

/**
 * struct percpu_ratelimit - a rate limit
 * @word: the state; who has seen the window full leaves it alone until its end
 * @told: how many suppressed calls percpu_ratelimit_missed() has told of
 * @cpu: the per-CPU part; from here on all is read only, so it has a line of its own
 * @interval: length of a window in jiffies; may be changed, and is used from the next window on
 * @burst: calls let through in a window
 */
struct percpu_ratelimit {
	atomic64_t				word ____cacheline_aligned_in_smp;
	atomic_long_t				told;
	struct percpu_ratelimit_cpu __percpu	*cpu ____cacheline_aligned_in_smp;
	u32					interval;
	u32					burst;
};

/**
 * DEFINE_PERCPU_RATELIMIT() - define a static rate limit, at file scope
 * @name: its name, unique in the kernel on some configurations; the per-CPU part is @name_cpu
 * @jiffies_each: length of a window in jiffies, a constant from 1 to INT_MAX
 * @most: calls let through in a window, a constant from 1 to 255
 */
#define DEFINE_PERCPU_RATELIMIT(name, jiffies_each, most)				\
	enum { name##_interval = (jiffies_each), name##_burst = (most) };		\
	static DEFINE_PER_CPU(struct percpu_ratelimit_cpu, name##_cpu);			\
	static struct percpu_ratelimit name = {						\
		.cpu = &name##_cpu,							\
		.interval = name##_interval + BUILD_BUG_ON_ZERO(name##_interval < 1 ||	\
				name##_interval > INT_MAX),				\
		.burst = name##_burst + BUILD_BUG_ON_ZERO(name##_burst < 1 ||		\
				name##_burst > PERCPU_RATELIMIT_BURST_MAX),		\
	}

/* The word of a window with the given end and nobody let through. */
static __always_inline u64 percpu_ratelimit_window(u64 deadline)
{
	return deadline << PERCPU_RATELIMIT_COUNT_BITS;
}

static __always_inline unsigned int percpu_ratelimit_count(u64 w)
{
	return w & PERCPU_RATELIMIT_COUNT_MASK;
}

/* Is the window that w belongs to over? With the count shifted out, the sign is that of 56 bits. */
static __always_inline bool percpu_ratelimit_over(u64 w, u64 now)
{
	return (s64)(percpu_ratelimit_window(now) - (w & ~PERCPU_RATELIMIT_COUNT_MASK)) >= 0;
}

/**
 * percpu_ratelimit_allow_at() - percpu_ratelimit_allow() with the time given
 * @rl: the rate limit
 * @now: the time in jiffies, read after the call that is to be limited began
 *
 * For percpu_ratelimit_allow() and for tests.
 *
 * Context, Return: see percpu_ratelimit_allow().
 */
static __always_inline unsigned int percpu_ratelimit_allow_at(struct percpu_ratelimit *rl, u64 now)
{
	u64 w = this_cpu_read(rl->cpu->closed), next;

	/* The steady state of a storm: nothing but this CPU's own line is written. */
	if (w && !percpu_ratelimit_over(w, now))
		goto suppressed;

	/*
	 * Relaxed: the word is all that there is to agree on, nothing else is ordered by it. That
	 * the loads and the cmpxchg of one word are in one order for all CPUs is enough.
	 */
	w = atomic64_read(&rl->word);
	do {
		percpu_ratelimit_looked(rl);
		if (!percpu_ratelimit_count(w) || percpu_ratelimit_over(w, now)) {
			/* 0 would let everything through. */
			next = percpu_ratelimit_window(now + max(READ_ONCE(rl->interval), 1U)) + 1;
		} else if (percpu_ratelimit_count(w) < rl->burst) {
			next = w + 1;
		} else {
			this_cpu_write(rl->cpu->closed, w);
			goto suppressed;
		}
	} while (!atomic64_try_cmpxchg_relaxed(&rl->word, (s64 *)&w, next));

	this_cpu_inc(rl->cpu->events[PERCPU_RATELIMIT_ALLOWED]);
	return percpu_ratelimit_count(next);

suppressed:
	this_cpu_inc(rl->cpu->events[PERCPU_RATELIMIT_SUPPRESSED]);
	return 0;
}

/**
 * percpu_ratelimit_tell() - the part of percpu_ratelimit_missed() that CPUs have in common
 * @rl: the rate limit
 * @sum: suppressed calls since boot, as summed up by the caller
 *
 * For percpu_ratelimit_missed() and for tests.
 *
 * Return: how many of them nobody was told of before.
 */
static __always_inline unsigned long percpu_ratelimit_tell(struct percpu_ratelimit *rl,
							   unsigned long sum)
{
	long told = atomic_long_read(&rl->told);

	/* The sums only grow. A smaller one than the last told is from before that. */
	do {
		percpu_ratelimit_looked(rl);
		if ((long)(sum - told) <= 0)
			return 0;
	} while (!atomic_long_try_cmpxchg_relaxed(&rl->told, &told, sum));
	return sum - told;
}

unsigned int percpu_ratelimit_allow(struct percpu_ratelimit *rl);
unsigned long percpu_ratelimit_missed(struct percpu_ratelimit *rl);
unsigned long percpu_ratelimit_events(struct percpu_ratelimit *rl,
				      enum percpu_ratelimit_event event);

#endif /* _LINUX_PERCPU_RATELIMIT_H */
