/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CONTENTION_H
#define _LINUX_CONTENTION_H

/*
 * What the contention fixes have in common: a switch each, and with CONFIG_CONTENTION_DEBUG a folder
 * in debugfs, /sys/kernel/debug/contention/<name>/, with
 *
 *   enabled	1: the fix is in charge; 0: the code of before the fix is
 *   plain	1: every use goes straight to the contended resource, whatever "enabled" says
 *   stats	what the fix did since boot, one "event count" a line
 */

#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

/**
 * struct contention_fix - a fix that can be switched off
 * @enabled: the switch; a boot parameter may clear it, with or without CONFIG_CONTENTION_DEBUG
 * @name: folder in debugfs
 * @plain: second switch, to measure against no remedy at all
 * @event_names: the names of the counted events, each ended by a NUL, the last by two
 * @events: the per-CPU counters, one for each name
 */
struct contention_fix {
	struct static_key_true	enabled;
#ifdef CONFIG_CONTENTION_DEBUG
	struct static_key_false	plain;
	const char		*name;
	const char		*event_names;
	unsigned long __percpu	*events;
#endif
};

/*
 * Macros, since asm goto has to see the address of the key as a constant. A switch that is thrown
 * while the fix is in use lets a caller finish in the code in which it began.
 */
#define contention_enabled(fix)	static_branch_likely(&(fix)->enabled)

/* The body of a __setup() function: "0" puts the code of before the fix in charge. */
static inline int contention_setup(struct contention_fix *fix, const char *str)
{
	bool on;

	if (kstrtobool(str, &on))
		return 0;
	if (!on)
		static_key_disable(&fix->enabled.key);
	return 1;
}

#ifdef CONFIG_CONTENTION_DEBUG

#define CONTENTION_FIX_INIT(_name, _event_names, _events) {	\
	.enabled	= STATIC_KEY_TRUE_INIT,			\
	.plain		= STATIC_KEY_FALSE_INIT,		\
	.name		= _name,				\
	.event_names	= _event_names,				\
	.events		= _events,				\
}

#define contention_plain(fix)	static_branch_unlikely(&(fix)->plain)

void contention_debug_add(struct contention_fix *fix);

#else

#define CONTENTION_FIX_INIT(_name, _event_names, _events) {	\
	.enabled	= STATIC_KEY_TRUE_INIT,			\
}

#define contention_plain(fix)	false

static inline void contention_debug_add(struct contention_fix *fix) { }

#endif

#endif /* _LINUX_CONTENTION_H */
