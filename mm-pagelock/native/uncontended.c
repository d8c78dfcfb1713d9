// SPDX-License-Identifier: GPL-2.0
/* Locks that nobody else wants, and lines that somebody else may have. */
#include <linux/page_lock.h>
#include "page_lock_bench.h"

/* Or the processor would fetch the lines of the next pages while it waits for this one's. */
static __always_inline void one_at_a_time(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The instructions of each copy lie differently. If they were the same, they would become one. */
static __always_inline void apart(int copy)
{
#ifdef __x86_64__
	asm volatile(".nops %c0" : : "i" (3 * copy + 1));
#else
	asm volatile("# %c0" : : "i" (copy));
#endif
}

/* Numbers and not pointers: some CPUs prefetch what an array of pointers points to. */
static __always_inline int pairs(struct page *pool, const unsigned short *order, int n,
				 enum before before, int copy)
{
	int i, got = 0;

	for (i = 0; i < n; i++) {
		struct page *page = &pool[order[i]];

		apart(copy);
		one_at_a_time();
		if (!begin(page, before))
			continue;
		if (page_lock_try(&page->flags)) {
			got++;
			clear_bit_unlock_is_negative_byte(PG_locked, &page->flags);
		}
		end(page, before);
	}
	return got;
}

#define COPY(copy)								\
	case copy:								\
		switch (before) {						\
		case HEAD:							\
			return pairs(pool, order, n, HEAD, copy);		\
		case GET:							\
			return pairs(pool, order, n, GET, copy);		\
		case TRYGET:							\
			return pairs(pool, order, n, TRYGET, copy);		\
		default:							\
			return pairs(pool, order, n, BARE, copy);		\
		}

int NAME(pairs)(struct page *pool, const unsigned short *order, int n, enum before before,
		int copy)
{
	switch (copy) {
	COPY(0)
	COPY(1)
	COPY(2)
	COPY(3)
	COPY(4)
	COPY(5)
	COPY(6)
	COPY(7)
	COPY(8)
	COPY(9)
	COPY(10)
	COPY(11)
	COPY(12)
	COPY(13)
	COPY(14)
	COPY(15)
	}
	return 0;
}

_Static_assert(COPIES == 16, "the numbers above");
