/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

/* The C library may have its own, which says the same. */
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#define __percpu
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define barrier()	__asm__ __volatile__("" : : : "memory")

enum shim_access {
	SHIM_LOAD,
	SHIM_STORE,
	SHIM_RMW,
};

/*
 * Called before each access to memory that CPUs share. Who runs the code on CPUs of his own making
 * defines SHIM_ACCESS for all files, and switches from one to the next in there.
 */
#ifdef SHIM_ACCESS
void shim_access(const volatile void *addr, size_t size, enum shim_access access);
#else
#define shim_access(addr, size, access)	do { } while (0)
#endif

/* Atomics of the compiler, not volatile: -fsanitize=thread would take that for a data race. */
#define READ_ONCE(x) ({							\
	shim_access(&(x), sizeof(x), SHIM_LOAD);			\
	__atomic_load_n(&(x), __ATOMIC_RELAXED);			\
})

#define WRITE_ONCE(x, value) do {					\
	shim_access(&(x), sizeof(x), SHIM_STORE);			\
	__atomic_store_n(&(x), value, __ATOMIC_RELAXED);		\
} while (0)

#endif
