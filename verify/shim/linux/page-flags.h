/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PAGE_FLAGS_H
#define _SHIM_LINUX_PAGE_FLAGS_H

/* The unlock tests PG_waiters by the sign of the byte that has PG_locked: it must be bit 7. */
enum pageflags {
	PG_locked = 0,
	PG_waiters = 7,
};

#endif
