/* SPDX-License-Identifier: GPL-2.0 */
/* The C library includes this file as well, for what it takes from the kernel's real one. */
#include_next <linux/limits.h>
#ifndef _SHIM_LINUX_LIMITS_H
#define _SHIM_LINUX_LIMITS_H

#include <limits.h>

#define U32_MAX	(~0U)

#endif
