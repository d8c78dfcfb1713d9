/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_BUILD_BUG_H
#define _SHIM_LINUX_BUILD_BUG_H

#define BUILD_BUG_ON_ZERO(e)	((int)sizeof(struct { int: -!!(e); }))

#endif
