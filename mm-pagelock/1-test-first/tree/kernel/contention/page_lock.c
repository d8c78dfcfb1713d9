// SPDX-License-Identifier: GPL-2.0
/* Switch and counters of linux/page_lock.h. */

#include <linux/export.h>
#include <linux/init.h>
#include <linux/page_lock.h>

DEFINE_PER_CPU(unsigned long[PAGE_LOCK_NR_EVENTS], page_lock_events);
EXPORT_PER_CPU_SYMBOL(page_lock_events);

/* Exported as folio_trylock() and the like are: they are inline, for any module. */
struct contention_fix page_lock_fix __read_mostly =
	CONTENTION_FIX_INIT("page_lock", PAGE_LOCK_EVENT_NAMES, page_lock_events);
EXPORT_SYMBOL(page_lock_fix);

static int __init page_lock_debug(void)
{
	contention_debug_add(&page_lock_fix);
	return 0;
}
fs_initcall(page_lock_debug);
