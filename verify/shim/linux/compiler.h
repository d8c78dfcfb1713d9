/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include <stdbool.h>

/* The C library may have its own, which says the same. */
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))

#define barrier()	__asm__ __volatile__("" : : : "memory")

#endif
