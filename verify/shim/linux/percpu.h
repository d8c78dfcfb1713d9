/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As in the kernel, what is defined is in a section of its own, and each CPU has a copy of the whole
 * section. this_cpu_*() are one access, to the copy of some CPU: which one does not matter to
 * whoever may be migrated at any time.
 */
#ifndef _SHIM_LINUX_PERCPU_H
#define _SHIM_LINUX_PERCPU_H

#include <linux/compiler.h>
#include <linux/smp.h>

/* The copy of a variable that belongs to a CPU: whoever has the copies says where they are. */
void *shim_per_cpu(const volatile void *ptr, unsigned int cpu);

#define DEFINE_PER_CPU(type, name)						\
	__attribute__((__section__("shim_percpu"))) __typeof__(type) name

#define DEFINE_PER_CPU_ALIGNED(type, name)					\
	DEFINE_PER_CPU(type, name) __attribute__((__aligned__(64)))

#define per_cpu_ptr(ptr, cpu)	((__typeof__(ptr))shim_per_cpu(ptr, cpu))
#define shim_this_cpu(x)	(*per_cpu_ptr(&(x), shim_cpu()))

#define this_cpu_read(x) ({							\
	__typeof__(&(x)) _p = &shim_this_cpu(x);				\
	shim_access(_p, sizeof(*_p), SHIM_LOAD);				\
	__atomic_load_n(_p, __ATOMIC_RELAXED);					\
})

#define this_cpu_write(x, value) do {						\
	__typeof__(&(x)) _p = &shim_this_cpu(x);				\
	shim_access(_p, sizeof(*_p), SHIM_STORE);				\
	__atomic_store_n(_p, value, __ATOMIC_RELAXED);				\
} while (0)

#define this_cpu_inc(x) do {							\
	__typeof__(&(x)) _p = &shim_this_cpu(x);				\
	shim_access(_p, sizeof(*_p), SHIM_RMW);					\
	__atomic_fetch_add(_p, 1, __ATOMIC_RELAXED);				\
} while (0)

#endif
