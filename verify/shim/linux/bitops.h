/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bit operations that the page lock uses, for user space. On x86-64 they are the kernel's
 * instructions (arch/x86/include/asm/bitops.h), since what these do to a cache line is what is to
 * be measured. Elsewhere, and where each access is to be seen, the compiler's atomics stand in, with
 * the order that Documentation/atomic_bitops.txt promises.
 *
 * Where the kernel has one instruction for a constant nr and another for a variable one, this has
 * the one for a constant; test_and_set_bit() takes either.
 */
#ifndef _SHIM_LINUX_BITOPS_H
#define _SHIM_LINUX_BITOPS_H

#include <linux/compiler.h>

#define BITS_PER_LONG		(8 * (int)sizeof(long))
#define BIT_MASK(nr)		(1UL << ((nr) % BITS_PER_LONG))
#define BIT_WORD(nr)		((nr) / BITS_PER_LONG)

#if defined(__x86_64__) && !defined(SHIM_ACCESS) && !defined(__SANITIZE_THREAD__)

/* Orders nothing, but is one load that the compiler does not repeat or leave out. */
static __always_inline bool test_bit(long nr, const volatile unsigned long *addr)
{
	return addr[BIT_WORD(nr)] & BIT_MASK(nr);
}

#define SHIM_BYTE(nr, addr)	(((volatile unsigned char *)(addr))[(nr) / 8])

/* Locked instructions are full barriers to the processor, and "memory" makes them so to gcc. */
static __always_inline void set_bit(long nr, volatile unsigned long *addr)
{
	asm volatile("lock orb %b1, %0"
		     : "+m" (SHIM_BYTE(nr, addr)) : "iq" (1 << (nr & 7)) : "memory");
}

static __always_inline void clear_bit_unlock(long nr, volatile unsigned long *addr)
{
	asm volatile("lock andb %b1, %0"
		     : "+m" (SHIM_BYTE(nr, addr)) : "iq" (~(1 << (nr & 7))) : "memory");
}

/* For a bit in the first byte. */
static __always_inline bool
clear_bit_unlock_is_negative_byte(long nr, volatile unsigned long *addr)
{
	bool negative;

	asm volatile("lock andb %b2, %0"
		     : "+m" (SHIM_BYTE(0, addr)), "=@ccs" (negative)
		     : "iq" (~(1 << nr)) : "memory");
	return negative;
}

static __always_inline bool test_and_set_bit(long nr, volatile unsigned long *addr)
{
	bool old;

	asm volatile("lock btsq %2, %0"
		     : "+m" (*addr), "=@ccc" (old) : "Ir" (nr) : "memory");
	return old;
}

static __always_inline bool test_and_set_bit_lock(long nr, volatile unsigned long *addr)
{
	return test_and_set_bit(nr, addr);
}

#else

static __always_inline bool test_bit(long nr, const volatile unsigned long *addr)
{
	return READ_ONCE(addr[BIT_WORD(nr)]) & BIT_MASK(nr);
}

static __always_inline void set_bit(long nr, volatile unsigned long *addr)
{
	shim_access(&addr[BIT_WORD(nr)], sizeof(*addr), SHIM_RMW);
	__atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_RELAXED);
}

static __always_inline void clear_bit(long nr, volatile unsigned long *addr)
{
	shim_access(&addr[BIT_WORD(nr)], sizeof(*addr), SHIM_RMW);
	__atomic_fetch_and(&addr[BIT_WORD(nr)], ~BIT_MASK(nr), __ATOMIC_RELAXED);
}

/* The release that pairs with the acquire of test_and_set_bit_lock(). */
static __always_inline void clear_bit_unlock(long nr, volatile unsigned long *addr)
{
	shim_access(&addr[BIT_WORD(nr)], sizeof(*addr), SHIM_RMW);
	__atomic_fetch_and(&addr[BIT_WORD(nr)], ~BIT_MASK(nr), __ATOMIC_RELEASE);
}

/* Same pairing. */
static __always_inline bool
clear_bit_unlock_is_negative_byte(long nr, volatile unsigned long *addr)
{
	shim_access(addr, sizeof(*addr), SHIM_RMW);
	return __atomic_fetch_and(addr, ~BIT_MASK(nr), __ATOMIC_RELEASE) & BIT_MASK(7);
}

/*
 * Fully ordered, also when the bit was set already. A sequentially consistent operation is less:
 * what comes after it may pass its store. Hence the fences, one to either side; but
 * -fsanitize=thread does not know fences.
 */
static __always_inline bool test_and_set_bit(long nr, volatile unsigned long *addr)
{
	unsigned long old;

	shim_access(&addr[BIT_WORD(nr)], sizeof(*addr), SHIM_RMW);
#ifdef __SANITIZE_THREAD__
	old = __atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	old = __atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return old & BIT_MASK(nr);
}

/*
 * An acquire if it set the bit, nothing otherwise. asm-generic/bitops/lock.h, which most of the
 * architectures but x86 have, tests first; without that here, the fix would seem to change more
 * there than it does.
 */
static __always_inline bool test_and_set_bit_lock(long nr, volatile unsigned long *addr)
{
#ifndef __x86_64__
	if (test_bit(nr, addr))
		return true;
#endif
	shim_access(&addr[BIT_WORD(nr)], sizeof(*addr), SHIM_RMW);
	return __atomic_fetch_or(&addr[BIT_WORD(nr)], BIT_MASK(nr), __ATOMIC_ACQUIRE) &
	       BIT_MASK(nr);
}

#endif

#endif
