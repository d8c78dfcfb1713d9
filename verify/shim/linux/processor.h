/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PROCESSOR_H
#define _SHIM_LINUX_PROCESSOR_H

#include <linux/compiler.h>

/* Who runs the code on CPUs of his own making may want to know that one does nothing but wait. */
#ifdef SHIM_RELAX
void shim_relax(void);
#define cpu_relax()	shim_relax()
#else
#define cpu_relax()	barrier()
#endif

#endif
