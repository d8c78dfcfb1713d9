/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What page_lock_bench.c and the two files with its loops have in common. Those two see the header
 * of the fix and are compiled twice: FORM is "on" with CONFIG_PAGE_LOCK_TEST_FIRST, "off" without.
 */
#ifndef PAGE_LOCK_BENCH_H
#define PAGE_LOCK_BENCH_H

#include <stdbool.h>
#include <time.h>

/* What a try looks at is in one line, and where it is in the kernel's struct page. */
struct page {
	unsigned long		flags;
	volatile unsigned long	head;
	volatile unsigned long	holder;		/* who has the lock writes it */
	volatile unsigned long	touched;	/* for the other core to write or read */
	unsigned long		other[2];
	int			mapcount;
	int			refcount;
	unsigned long		last;
} __attribute__((__aligned__(64)));

_Static_assert(sizeof(struct page) == 64, "a page is one cache line");

enum holder { NOBODY, OWNER, TRIER };

/* What a caller does with the page before it tries the lock. */
enum before {
	BARE,
	HEAD,		/* compound_head(): reads a word that is hardly ever written */
	GET,		/* get_page(): a locked instruction at once */
	TRYGET,		/* folio_try_get(): reads the count and then changes it */
	BEFORES
};

struct tries {
	unsigned long	tried;
	unsigned long	seen, lost, won;	/* each try is one of them */
	unsigned long	broken;			/* got what somebody else had */
	double		seconds;
};

struct owned {
	unsigned long	sections;
	double		seconds;
	unsigned long	broken;
};

/* How long the owner has the lock, and what it does then. */
struct hold {
	const char	*name;
	bool		keep;	/* once for all sections, or else for each, and then pauses */
	bool		reads;	/* only reads the page, or else changes its reference count */
	unsigned int	pause;
};

#define ACCESSES	4	/* in a section */
#define WORK		50	/* after each, in rounds of a loop of about a cycle */
#define SECTION		(ACCESSES * (WORK + 20))	/* what all that takes, about */

#define NAME__(what, form)	what##_##form
#define NAME_(what, form)	NAME__(what, form)
#define NAME(what)		NAME_(what, FORM)

/*
 * own: sections for that many seconds.
 * try: tries until *stop.
 * pairs: locks and unlocks each page once; returns how many it got. There are COPIES of its code,
 * since where an instruction lies makes a difference to the predictors of some CPUs.
 */
#define COPIES	16
#define DECLARE_FORM(form)									\
void lock_##form(struct page *page, struct owned *o);						\
void unlock_##form(struct page *page, struct owned *o);						\
void own_##form(struct page *page, const struct hold *hold, double seconds, struct owned *o);	\
void try_##form(struct page *page, enum before before, const int *stop, struct tries *t);	\
int pairs_##form(struct page *pool, const unsigned short *order, int n, enum before before,	\
		 int copy)

DECLARE_FORM(on);
DECLARE_FORM(off);

static inline double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static inline void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

/* False if the page is not one to be locked, which no page here is. */
static inline bool begin(struct page *page, enum before before)
{
	int count;

	switch (before) {
	case HEAD:
		return !(page->head & 1);
	case GET:
		__atomic_add_fetch(&page->refcount, 1, __ATOMIC_RELAXED);
		return true;
	case TRYGET:
		count = __atomic_load_n(&page->refcount, __ATOMIC_RELAXED);
		do {
			if (!count)
				return false;
		} while (!__atomic_compare_exchange_n(&page->refcount, &count, count + 1, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
		return true;
	default:
		return true;
	}
}

static inline void end(struct page *page, enum before before)
{
	if (before == GET || before == TRYGET)
		__atomic_sub_fetch(&page->refcount, 1, __ATOMIC_SEQ_CST);
}

#endif
