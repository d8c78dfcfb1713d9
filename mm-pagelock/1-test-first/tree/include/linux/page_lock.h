/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGE_LOCK_H
#define _LINUX_PAGE_LOCK_H

/*
 * Look at the page lock before trying to take it.
 *
 * A locked instruction takes the cache line away from all other CPUs, whether it gets the bit or
 * not. Where many CPUs try the lock of one page, the line travels once for each that fails, and
 * the owner waits for it like any other before it can unlock, put its reference or find the
 * waiters. A load only makes a copy, which all who look share. The idea is Jack Steiner's and Jan
 * Beulich's ("x86: avoid atomic operation in test_and_set_bit_lock if possible", March 2011), who
 * had it in the bit operation; as the maintainers asked, it is at the page lock alone here.
 * asm-generic/bitops/lock.h has had the test in test_and_set_bit_lock() since, so that on arm64,
 * for one, nothing is gained by page_lock_try().
 *
 * The flags word and not PageLocked() or folio_test_locked(): the caller has looked up the head
 * page for the bit that it is about to set. To look again, or to assert that nothing changed, is
 * wrong where the page is not held. (That bit the map-around loop of mm/filemap.c, see David
 * Hildenbrand's fix "mm/filemap: don't call folio_test_locked() without a reference in
 * next_uptodate_folio()", November 2024.)
 *
 * The test hardly ever fetches a line that would not be fetched anyway: who tries the lock has
 * just read the page, for its head and most often for its count as well, and that is the same
 * line. A try that comes to a line which others have only read, and has not touched it before,
 * would pay for a second transfer. (A waiter has even just written to it. What its test saves is
 * one locked instruction.)
 *
 * Order. A test_and_set_bit_lock() that fails orders nothing: it is an acquire if it returns 0,
 * and asm-generic/bitops/lock.h returns early. So page_lock_try() takes nothing away. A
 * test_and_set_bit() that fails is a full barrier, which page_lock_try_waiter() is not where it
 * saw the lock held; but the waiter only puts itself in the queue, under the queue's lock, before
 * set_current_state() is a full barrier again.
 * The test may read "locked" where an unlock is on its way, as if the try had come a moment
 * earlier. What must not be is that a waiter goes to sleep by such a value and nobody wakes it. It
 * cannot:
 *
 *	waiter, holds the queue's lock	owner
 *	W: atomically set PG_waiters	U: atomically clear PG_locked; PG_waiters in the old word?
 *	T: read PG_locked, it is set	   then take the queue's lock, wake who is in the queue
 *	put itself in the queue
 *
 * PG_waiters and PG_locked are in one word, and even one byte, so W, T and U have one order for
 * all CPUs (coherence), without any barrier. T comes after W, as program order to one location is
 * kept. T saw the lock held that U releases, so U comes after what T saw, thus after W: it finds
 * PG_waiters set, for that is cleared under the queue's lock only, which the waiter holds until it
 * is in the queue, or with the last reference, and the waiter has one. Then U's owner has to wait
 * for the queue's lock, and finds the waiter. (Where an unlock cannot tell the old word, it reads
 * it again after U, with the same result.) In two words W and T were a store and a load that may
 * pass each other, and the waiter could sleep for ever.
 */

#include <linux/bitops.h>
#include <linux/page-flags.h>

#ifdef CONFIG_PAGE_LOCK_TEST_FIRST

#ifdef CONFIG_PAGE_LOCK_DEBUG
#include <linux/contention.h>

enum page_lock_event {
	PAGE_LOCK_TRIED,	/* each try is also one of the following */
	PAGE_LOCK_SEEN,		/* saw it locked: no locked instruction */
	PAGE_LOCK_LOST,		/* did not get it from the locked instruction */
	PAGE_LOCK_WON,
	PAGE_LOCK_NR_EVENTS
};

#define PAGE_LOCK_EVENT_NAMES	"tried\0seen\0lost\0won\0"

DECLARE_PER_CPU(unsigned long[PAGE_LOCK_NR_EVENTS], page_lock_events);
extern struct contention_fix page_lock_fix;

static __always_inline void page_lock_count(enum page_lock_event event)
{
	this_cpu_inc(page_lock_events[event]);
}

static __always_inline bool page_lock_test_first(void)
{
	return contention_enabled(&page_lock_fix) && !contention_plain(&page_lock_fix);
}

static __always_inline bool page_lock_outcome(bool won)
{
	page_lock_count(won ? PAGE_LOCK_WON : PAGE_LOCK_LOST);
	return won;
}
#else
#define page_lock_count(event)	do { } while (0)

static __always_inline bool page_lock_test_first(void)
{
	return true;
}

static __always_inline bool page_lock_outcome(bool won)
{
	return won;
}
#endif

static __always_inline bool page_lock_seen(unsigned int nr, const unsigned long *flags)
{
	page_lock_count(PAGE_LOCK_TRIED);
	if (!page_lock_test_first() || !test_bit(nr, flags))
		return false;
	page_lock_count(PAGE_LOCK_SEEN);
	return true;
}

/**
 * page_lock_try() - try the lock of a page
 * @flags: the flags word of a head page that cannot be freed meanwhile
 *
 * Context: any; does not sleep.
 * Return: whether the lock was taken. If so, this is an acquire, which pairs with the release in
 * unlock_page() or folio_unlock(); if not, nothing is ordered.
 */
static __always_inline bool page_lock_try(unsigned long *flags)
{
	if (page_lock_seen(PG_locked, flags))
		return false;
	return page_lock_outcome(!test_and_set_bit_lock(PG_locked, flags));
}

/**
 * page_lock_try_waiter() - try the lock of a page before going to sleep for it
 * @nr: PG_locked, the only bit that anybody waits for to set it himself
 * @flags: the flags word of a head page to which the caller holds a reference
 *
 * Context: under the lock of the page's wait queue, after PG_waiters was set atomically in the
 * same word. Who does not get the lock is in the queue before the queue's lock is dropped: see the
 * top of this file.
 * Return: whether the lock was taken. If so, this is a full barrier; if not, nothing is ordered.
 */
static __always_inline bool page_lock_try_waiter(unsigned int nr, unsigned long *flags)
{
	if (page_lock_seen(nr, flags))
		return false;
	return page_lock_outcome(!test_and_set_bit(nr, flags));
}

#else

/* Macros, or gcc may give other registers to the same code than it does without them. */
#define page_lock_try(flags)			(!test_and_set_bit_lock(PG_locked, flags))
#define page_lock_try_waiter(nr, flags)		(!test_and_set_bit(nr, flags))

#endif

#endif /* _LINUX_PAGE_LOCK_H */
