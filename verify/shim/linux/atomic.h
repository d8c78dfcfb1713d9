/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The atomics that the fixes use, with the order that Documentation/atomic_t.txt promises and no
 * more: a cmpxchg that fails orders nothing.
 */
#ifndef _SHIM_LINUX_ATOMIC_H
#define _SHIM_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define SHIM_ATOMIC_READ(prefix, type, value_type, suffix, order)				\
static __always_inline value_type prefix##_read##suffix(const type *v)				\
{												\
	shim_access(v, sizeof(*v), SHIM_LOAD);							\
	return __atomic_load_n(&v->counter, order);						\
}

#define SHIM_ATOMIC_CMPXCHG(prefix, type, value_type, suffix, order)				\
static __always_inline bool									\
prefix##_try_cmpxchg##suffix(type *v, value_type *old, value_type new)				\
{												\
	shim_access(v, sizeof(*v), SHIM_RMW);							\
	return __atomic_compare_exchange_n(&v->counter, old, new, false, order,		\
					   __ATOMIC_RELAXED);					\
}												\
												\
static __always_inline value_type								\
prefix##_cmpxchg##suffix(type *v, value_type old, value_type new)				\
{												\
	prefix##_try_cmpxchg##suffix(v, &old, new);						\
	return old;										\
}

SHIM_ATOMIC_READ(atomic, atomic_t, int, , __ATOMIC_RELAXED)
SHIM_ATOMIC_CMPXCHG(atomic, atomic_t, int, _relaxed, __ATOMIC_RELAXED)
SHIM_ATOMIC_READ(atomic64, atomic64_t, s64, , __ATOMIC_RELAXED)
SHIM_ATOMIC_READ(atomic64, atomic64_t, s64, _acquire, __ATOMIC_ACQUIRE)
SHIM_ATOMIC_CMPXCHG(atomic64, atomic64_t, s64, _relaxed, __ATOMIC_RELAXED)
SHIM_ATOMIC_CMPXCHG(atomic64, atomic64_t, s64, _acquire, __ATOMIC_ACQUIRE)
SHIM_ATOMIC_CMPXCHG(atomic64, atomic64_t, s64, _release, __ATOMIC_RELEASE)
SHIM_ATOMIC_READ(atomic_long, atomic_long_t, long, , __ATOMIC_RELAXED)
SHIM_ATOMIC_CMPXCHG(atomic_long, atomic_long_t, long, _relaxed, __ATOMIC_RELAXED)

#endif
