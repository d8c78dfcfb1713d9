// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/page_lock.h in its wait queue: one owner at a time, and nobody sleeps for a lock that
 * is free.
 */
#include <linux/bitops.h>
#include <stdio.h>

#include "explore.h"

/* The CPU has looked, and the lock was free. */
#define SAW_FREE	1

static __always_inline bool looks(long nr, const volatile unsigned long *addr)
{
	bool set = test_bit(nr, addr);

	explore_unmark(SAW_FREE);
	if (!set)
		explore_mark(SAW_FREE);
	return set;
}

/* What the header is there for: no locked instruction where a look has said, or would say, no. */
#define tries(test_and_set, nr, addr) ({					\
	explore_check(explore_marks() & SAW_FREE, "tries without a look");	\
	explore_unmark(SAW_FREE);						\
	test_and_set(nr, addr);							\
})
#define test_bit(nr, addr)		looks(nr, addr)
#define test_and_set_bit(nr, addr)	tries(test_and_set_bit, nr, addr)
#define test_and_set_bit_lock(nr, addr)	tries(test_and_set_bit_lock, nr, addr)

#include "page_queue.h"

static explore_shared unsigned long flags;
static explore_shared unsigned long sequence;
static explore_shared struct page_queue queue;
static explore_shared bool queue_locked;
static explore_shared unsigned char owners, locked;

/* Does the waker give the lock to the first in the queue? */
static bool handed_over;

static bool queue_is_free(void *arg)
{
	(void)arg;
	return !queue_locked;
}

static void queue_lock(void)
{
	explore_wait("queue's lock", queue_is_free, NULL);
	queue_locked = true;
}

/* The queue is behind its lock, so what is done to it may be one step with the unlock. */
static void queue_unlock(void)
{
	shim_access(&queue_locked, sizeof(queue_locked), SHIM_STORE);
	queue_locked = false;
}

static void queue_look(void)
{
	if (!queue_locked)
		shim_access(&queue.length, sizeof(queue.length), SHIM_RMW);
}

static bool is_woken(void *arg)
{
	return queue.wait_flags[(size_t)arg] & QUEUE_WOKEN;
}

static void queue_sleep(struct page_queue *q, unsigned int cpu)
{
	explore_saw("sleep");
	explore_wait("sleeps", is_woken, (void *)(size_t)cpu);
	if (q->wait_flags[cpu] & QUEUE_DONE)
		explore_saw("handed over");
}

/* The other CPU looks at its flags by itself. */
static void queue_wake(struct page_queue *q, unsigned int cpu)
{
	(void)q;
	(void)cpu;
}

/* What the lock is for: nobody else is here, and a change is not lost. */
static void own_and_unlock(void)
{
	unsigned long was;

	explore_check(!owners, "a second owner");
	owners++;
	was = READ_ONCE(sequence);
	WRITE_ONCE(sequence, was + 1);
	owners--;
	page_unlock(&queue, &flags, handed_over);
}

static __always_inline void lock_one(void)
{
	explore_point("lock");
	if (!page_lock_try(&flags))
		page_wait_for_lock(&queue, &flags, explore_cpu());
	own_and_unlock();
	locked++;
}

static __always_inline void try_one(void)
{
	explore_point("trylock");
	if (!page_lock_try(&flags)) {
		explore_say("does not get it");
		explore_saw("failed try");
		return;
	}
	own_and_unlock();
	locked++;
}

static void locks_1(void)
{
	lock_one();
}

static void locks_2(void)
{
	lock_one();
	lock_one();
}

static void tries_2(void)
{
	try_one();
	try_one();
}

/* Alone, a try gets the lock. */
static void tries_alone(void)
{
	explore_point("trylock");
	explore_check(page_lock_try(&flags), "does not get a free lock");
	own_and_unlock();
	locked++;
	explore_saw("won");
}

static void check(void)
{
	explore_check(!owners || flags & BIT_MASK(PG_locked), "owned, but not locked");
}

static void end(void)
{
	explore_check(sequence == locked, "%u owners changed it, %lu changes are there", locked,
		      sequence);
	explore_check(!(flags & BIT_MASK(PG_locked)), "still locked");
}

static void unfair(void)
{
	handed_over = false;
}

static void fair(void)
{
	handed_over = true;
}

const struct explore_case explore_cases[] = {
	{
		.name = "alone", .what = "1 CPU",
		.cpu = { tries_alone },
		.init = unfair, .check = check, .end = end, .max_steps = 5, .preemptions = -1,
		.saw = { "won" },
	}, {
		.name = "unfair", .what = "3 CPUs, a waiter tries again",
		.cpu = { locks_2, locks_2, locks_1 },
		.init = unfair, .check = check, .end = end, .max_steps = 32, .preemptions = -1,
		.saw = { "sleep" },
	}, {
		.name = "fair", .what = "3 CPUs, the owner hands over",
		.cpu = { locks_2, locks_2, locks_1 },
		.init = fair, .check = check, .end = end, .max_steps = 16, .preemptions = -1,
		.saw = { "sleep", "handed over" },
	}, {
		.name = "try", .what = "3 CPUs, one of which only tries",
		.cpu = { locks_2, locks_2, tries_2 },
		.init = unfair, .check = check, .end = end, .max_steps = 32, .preemptions = -1,
		.saw = { "sleep", "failed try" },
	},
};
const unsigned int explore_nr_cases = sizeof(explore_cases) / sizeof(explore_cases[0]);

const char *explore_name(const volatile void *addr)
{
	return addr == &flags ? "flags" : addr == &queue_locked ? "queue's lock" : "sequence";
}

void explore_format(char *text, size_t size, const volatile void *addr, unsigned long long value)
{
	if (addr == &flags)
		snprintf(text, size, "%s%s%s", value & BIT_MASK(PG_locked) ? "locked" : "free",
			 value & BIT_MASK(PG_waiters) ? ",waiters" : "",
			 value & ~(BIT_MASK(PG_locked) | BIT_MASK(PG_waiters)) ? ",?" : "");
	else
		snprintf(text, size, "%llu", value);
}
