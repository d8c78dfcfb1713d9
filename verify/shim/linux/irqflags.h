/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_IRQFLAGS_H
#define _SHIM_LINUX_IRQFLAGS_H

#include <stdbool.h>

/*
 * No CPU of ours has interrupts: a handler is a CPU more, which runs while another one does not.
 * Whoever runs the code may still want to know when they would be off.
 */
#ifdef SHIM_ACCESS
void shim_irqs_off(bool off);
#else
#define shim_irqs_off(off)	do { } while (0)
#endif

#define raw_local_irq_save(flags)	do { (flags) = 0; shim_irqs_off(true); } while (0)
#define raw_local_irq_restore(flags)	do { (void)(flags); shim_irqs_off(false); } while (0)

#endif
