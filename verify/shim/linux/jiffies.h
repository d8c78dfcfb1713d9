/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_JIFFIES_H
#define _SHIM_LINUX_JIFFIES_H

#include <linux/compiler.h>

/* Whoever runs the code has the clock. */
extern unsigned long shim_jiffies;
#define jiffies	READ_ONCE(shim_jiffies)

#endif
