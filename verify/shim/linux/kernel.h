/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_KERNEL_H
#define _SHIM_LINUX_KERNEL_H

#include <linux/limits.h>
#include <linux/types.h>

int kstrtobool(const char *s, bool *res);

#endif
