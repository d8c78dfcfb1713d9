/* SPDX-License-Identifier: GPL-2.0 */
/* The C library includes this file as well, for what it takes from the kernel's real one. */
#include_next <linux/types.h>
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t		u8;
typedef uint32_t	u32;
typedef int32_t		s32;
/* As in the kernel, on all architectures. */
typedef unsigned long long	u64;
typedef long long		s64;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	long counter;
} atomic_long_t;

#endif
