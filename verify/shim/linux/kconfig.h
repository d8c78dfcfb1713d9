/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's build includes this file before all others, by -include; so do ours. */
#ifndef _SHIM_LINUX_KCONFIG_H
#define _SHIM_LINUX_KCONFIG_H

/* An option that is off is not defined, so its own name comes out here and not a 1. */
#define SHIM_IS_ONE(text)	(#text[0] == '1')
#define IS_ENABLED(option)	SHIM_IS_ONE(option)

#endif
