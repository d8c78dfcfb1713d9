/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What surrounds the two tries of include/linux/page_lock.h: the lock, its wait queue and the unlock
 * of mm/filemap.c, as far as an exclusive waiter goes (folio_wait_bit_common(),
 * wake_page_function(), folio_unlock()). In the kernel that is code of the base, so here it is
 * written anew, for those who run it on CPUs of their own making. They have:
 *
 *	queue_lock(), queue_unlock()	the lock of the wait queue
 *	queue_look()			before the queue changes; its lock should be held
 *	queue_sleep(), queue_wake()	sleep until another CPU wakes this one
 */
#ifndef PAGE_QUEUE_H
#define PAGE_QUEUE_H

/* Whoever wants to see what page_lock.h does with the lock has put himself in between. */
#include <linux/page_lock.h>
#undef test_bit
#undef test_and_set_bit
#undef test_and_set_bit_lock

#define QUEUE_MAX	8

/* The order of a waiter's steps, and with what is wrong in it. The top of page_lock.h has why. */
enum queue_order {
	QUEUE_SOUND,
	QUEUE_LATE_WAITERS,	/* try before PG_waiters is set */
	QUEUE_EARLY_UNLOCK,	/* drop the queue's lock before being in the queue */
};
#ifndef QUEUE_ORDER
#define QUEUE_ORDER	QUEUE_SOUND
#endif

#define QUEUE_WOKEN	1	/* WQ_FLAG_WOKEN */
#define QUEUE_DONE	2	/* WQ_FLAG_DONE: the waker took the lock for the waiter */

struct page_queue {
	unsigned char	length;
	unsigned char	cpu[QUEUE_MAX];
	unsigned char	wait_flags[QUEUE_MAX];
};

static void queue_lock(void);
static void queue_unlock(void);
static void queue_look(void);
static void queue_sleep(struct page_queue *q, unsigned int cpu);
static void queue_wake(struct page_queue *q, unsigned int cpu);

static void page_wait_for_lock(struct page_queue *q, unsigned long *flags, unsigned int cpu)
{
	bool won;

	for (;;) {
		q->wait_flags[cpu] = 0;
		queue_lock();
		if (QUEUE_ORDER != QUEUE_LATE_WAITERS)
			set_bit(PG_waiters, flags);
		won = page_lock_try_waiter(PG_locked, flags);
		if (QUEUE_ORDER == QUEUE_LATE_WAITERS)
			set_bit(PG_waiters, flags);
		if (QUEUE_ORDER == QUEUE_EARLY_UNLOCK)
			queue_unlock();
		if (!won) {
			queue_look();
			q->cpu[q->length++] = cpu;
		}
		if (QUEUE_ORDER != QUEUE_EARLY_UNLOCK)
			queue_unlock();
		if (won)
			return;
		queue_sleep(q, cpu);
		if (q->wait_flags[cpu] & QUEUE_DONE || !test_and_set_bit(PG_locked, flags))
			return;
	}
}

/* @hand_over: vm.page_lock_unfairness = 0, the waker takes the lock for the first in the queue */
static void page_unlock(struct page_queue *q, unsigned long *flags, bool hand_over)
{
	unsigned int cpu, i;

	if (!clear_bit_unlock_is_negative_byte(PG_locked, flags))
		return;
	queue_lock();
	queue_look();
	/* If it is locked again, whoever has it will wake. */
	if (q->length && !test_bit(PG_locked, flags) &&
	    !(hand_over && test_and_set_bit(PG_locked, flags))) {
		cpu = q->cpu[0];
		for (i = 1; i < q->length; i++)
			q->cpu[i - 1] = q->cpu[i];
		q->cpu[--q->length] = 0;
		q->wait_flags[cpu] = hand_over ? QUEUE_WOKEN | QUEUE_DONE : QUEUE_WOKEN;
		queue_wake(q, cpu);
	}
	if (!q->length)
		clear_bit(PG_waiters, flags);
	queue_unlock();
}

#endif
