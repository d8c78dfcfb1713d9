// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/page_lock.h in what surrounds it: the wait queue of mm/filemap.c, as far as an
 * exclusive waiter goes (folio_wait_bit_common(), wake_page_function(), folio_unlock()). One owner
 * at a time, and nobody sleeps for a lock that is free.
 */
#include <linux/page_lock.h>
#include <stdio.h>

#include "explore.h"

/*
 * What the order of the waiter's steps is for: with these, it has another one. See the top of
 * page_lock.h for why each is needed.
 */
#define LATE_WAITERS	1	/* try before PG_waiters is set */
#define EARLY_UNQUEUE	2	/* drop the queue's lock before being in the queue */
#ifndef BROKEN
#define BROKEN		0
#endif

#define WOKEN	1		/* WQ_FLAG_WOKEN */
#define DONE	2		/* WQ_FLAG_DONE: the waker took the lock for the waiter */

static explore_shared unsigned long flags;
static explore_shared unsigned long sequence;
static explore_shared struct {
	bool		locked;
	unsigned char	length;
	unsigned char	cpu[EXPLORE_MAX_CPUS];
} queue;
static explore_shared unsigned char wait_flags[EXPLORE_MAX_CPUS];
static explore_shared unsigned char owners, locked, tried;

/* Does the waker give the lock to the first in the queue? (vm.page_lock_unfairness = 0) */
static bool handed_over;

static bool queue_is_free(void *arg)
{
	(void)arg;
	return !queue.locked;
}

static void queue_lock(void)
{
	explore_wait("queue's lock", queue_is_free, NULL);
	queue.locked = true;
}

/* The queue is behind its lock, so that what is done to it is one step with the unlock. */
static void queue_unlock(void)
{
	shim_access(&queue.locked, sizeof(queue.locked), SHIM_STORE);
	queue.locked = false;
}

static bool is_woken(void *arg)
{
	return wait_flags[(size_t)arg] & WOKEN;
}

static void wait_for_lock(void)
{
	unsigned int cpu = explore_cpu();
	bool won;

	for (;;) {
		wait_flags[cpu] = 0;
		queue_lock();
		if (BROKEN == LATE_WAITERS) {
			won = page_lock_try_waiter(PG_locked, &flags);
			set_bit(PG_waiters, &flags);
		} else {
			set_bit(PG_waiters, &flags);
			won = page_lock_try_waiter(PG_locked, &flags);
		}
		if (BROKEN == EARLY_UNQUEUE)
			queue_unlock();
		if (!won) {
			if (BROKEN == EARLY_UNQUEUE)
				shim_access(&queue.length, sizeof(queue.length), SHIM_RMW);
			queue.cpu[queue.length++] = cpu;
		}
		if (BROKEN != EARLY_UNQUEUE)
			queue_unlock();
		if (won)
			return;
		explore_saw("sleep");
		explore_wait("sleeps", is_woken, (void *)(size_t)cpu);
		if (wait_flags[cpu] & DONE) {
			explore_saw("handed over");
			return;
		}
		if (!test_and_set_bit(PG_locked, &flags))
			return;
	}
}

static void wake(void)
{
	unsigned int cpu, i;
	bool stop = false;

	queue_lock();
	if (queue.length) {
		cpu = queue.cpu[0];
		/* Locked again: whoever has it will wake. */
		stop = test_bit(PG_locked, &flags) ||
		       (handed_over && test_and_set_bit(PG_locked, &flags));
		if (!stop) {
			for (i = 1; i < queue.length; i++)
				queue.cpu[i - 1] = queue.cpu[i];
			queue.cpu[--queue.length] = 0;
			wait_flags[cpu] = handed_over ? WOKEN | DONE : WOKEN;
		}
	}
	if (!queue.length) {
		shim_access(&flags, sizeof(flags), SHIM_RMW);
		flags &= ~BIT_MASK(PG_waiters);
	}
	queue_unlock();
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
	if (clear_bit_unlock_is_negative_byte(PG_locked, &flags))
		wake();
}

static __always_inline void lock_one(void)
{
	explore_point("lock");
	if (!page_lock_try(&flags))
		wait_for_lock();
	own_and_unlock();
	locked++;
}

static __always_inline void try_one(void)
{
	explore_point("trylock");
	tried++;
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
		.init = unfair, .check = check, .end = end, .max_steps = 10, .preemptions = -1,
		.saw = { "won" },
	}, {
		.name = "unfair", .what = "3 CPUs, a waiter tries again",
		.cpu = { locks_2, locks_2, locks_1 },
		.init = unfair, .check = check, .end = end, .max_steps = 60, .preemptions = -1,
		.saw = { "sleep" },
	}, {
		.name = "fair", .what = "3 CPUs, the owner hands over",
		.cpu = { locks_2, locks_2, locks_1 },
		.init = fair, .check = check, .end = end, .max_steps = 60, .preemptions = -1,
		.saw = { "sleep", "handed over" },
	}, {
		.name = "try", .what = "3 CPUs, one of which only tries",
		.cpu = { locks_2, locks_2, tries_2 },
		.init = unfair, .check = check, .end = end, .max_steps = 60, .preemptions = -1,
		.saw = { "sleep", "failed try" },
	},
};
const unsigned int explore_nr_cases = sizeof(explore_cases) / sizeof(explore_cases[0]);

const char *explore_name(const volatile void *addr)
{
	return addr == &flags ? "flags" : addr == &queue.locked ? "queue's lock" : "sequence";
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
