/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PREEMPT_H
#define _SHIM_LINUX_PREEMPT_H

#include <stdbool.h>

/* Who runs the code says in which context. */
bool shim_in_nmi(void);
#define in_nmi()	shim_in_nmi()

#endif
