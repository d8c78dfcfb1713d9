/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PROCESSOR_H
#define _SHIM_LINUX_PROCESSOR_H

#include <linux/compiler.h>

#define cpu_relax()	barrier()

#endif
