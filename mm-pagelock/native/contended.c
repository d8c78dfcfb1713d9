// SPDX-License-Identifier: GPL-2.0
/*
 * One page, an owner whose sections are counted, and somebody who tries to take its lock. Each of
 * them marks the page while it has the lock and looks for the mark of the other.
 */
#include <linux/bitops.h>
#include "page_lock_bench.h"

/*
 * The header does not say what came of a try, so its bit operations are counted. Not in
 * uncontended.c, where the additions would be in what is measured.
 */
static __thread unsigned long seen, lost;

static __always_inline bool count(unsigned long *counter, bool set)
{
	*counter += set;
	return set;
}

#define test_bit(nr, addr)		count(&seen, test_bit(nr, addr))
#define test_and_set_bit_lock(nr, addr)	count(&lost, test_and_set_bit_lock(nr, addr))

#include <linux/page_lock.h>

static __always_inline void spend(unsigned int rounds)
{
	while (rounds--)
		barrier();
}

/* Both return whether somebody else has the lock as well. */
static __always_inline bool enter(struct page *page, enum holder who)
{
	bool broken = page->holder != NOBODY;

	page->holder = who;
	return broken;
}

static __always_inline bool leave(struct page *page, enum holder who)
{
	bool broken = page->holder != who;

	page->holder = NOBODY;
	return broken;
}

void NAME(lock)(struct page *page, struct owned *o)
{
	/* The kernel would go to sleep after the first try. */
	while (!page_lock_try(&page->flags))
		relax();
	o->broken += enter(page, OWNER);
}

void NAME(unlock)(struct page *page, struct owned *o)
{
	o->broken += leave(page, OWNER);
	clear_bit_unlock_is_negative_byte(PG_locked, &page->flags);
}

static __always_inline void section(struct page *page, bool reads)
{
	int i;

	for (i = 0; i < ACCESSES; i++) {
		if (reads)
			(void)page->head;
		else if (i % 2)
			end(page, GET);
		else
			begin(page, GET);
		spend(WORK);
	}
}

void NAME(own)(struct page *page, const struct hold *hold, double seconds, struct owned *o)
{
	double start = now();
	int i;

	do {
		/* A look at the clock takes a good part of a section's time. */
		for (i = 0; i < 32; i++) {
			if (!hold->keep)
				NAME(lock)(page, o);
			section(page, hold->reads);
			if (!hold->keep)
				NAME(unlock)(page, o);
			spend(hold->pause);
		}
		o->sections += i;
		o->seconds = now() - start;
	} while (o->seconds < seconds);
}

void NAME(try)(struct page *page, enum before before, const int *stop, struct tries *t)
{
	double start = now();

	seen = 0;
	lost = 0;
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		if (!begin(page, before)) {
			t->broken++;
			break;
		}
		t->tried++;
		if (page_lock_try(&page->flags)) {
			t->won++;
			t->broken += enter(page, TRIER);
			t->broken += leave(page, TRIER);
			clear_bit_unlock_is_negative_byte(PG_locked, &page->flags);
		}
		end(page, before);
	}
	t->seconds = now() - start;
	t->seen = seen;
	t->lost = lost;
}
