/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_CONTENTION_H
#define _LINUX_CONTENTION_H

/*
 * What the contention fixes have in common: a switch each, and with CONFIG_CONTENTION_DEBUG a
 * folder in debugfs, /sys/kernel/debug/contention/<name>/, with
 *
 *   enabled	1: the fix is in charge; 0: the code of before the fix is
 *   plain	1: every use goes straight to the contended resource, whatever "enabled" says
 *   stats	what the fix did since boot, one "event count" a line
 */

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

struct dentry;

/**
 * struct contention_fix - a fix that can be switched off
 * @enabled: the switch; a boot parameter may clear it, with or without CONFIG_CONTENTION_DEBUG
 * @plain: second switch, to measure against no remedy at all
 * @name: folder in debugfs
 * @event_names: the names of the counted events, each ended by a NUL, the last by two
 * @events: the per-CPU counters, one for each name
 *
 * The switches are no static keys: a load is nothing beside what they guard, and under QEMU's TCG,
 * where the tests run, patching code that other CPUs execute can leave a stray int3.
 */
struct contention_fix {
	bool			enabled;
#ifdef CONFIG_CONTENTION_DEBUG
	bool			plain;
	const char		*name;
	const char		*event_names;
	unsigned long __percpu	*events;
#endif
};

/*
 * Should the fix be used? A switch that is thrown while the fix is in use lets a caller finish in
 * the code in which it began. The two forms do not know of each other: for that moment, what a fix
 * promises across CPUs (a clock that does not step back, for one) does not hold.
 */
static __always_inline bool contention_enabled(const struct contention_fix *fix)
{
	return READ_ONCE(fix->enabled);
}

/* The body of a __setup() function: "0" puts the code of before the fix in charge. */
static inline int contention_setup(struct contention_fix *fix, const char *str)
{
	return !kstrtobool(str, &fix->enabled);
}

#ifdef CONFIG_CONTENTION_DEBUG

#define CONTENTION_FIX_INIT(_name, _event_names, _events) {	\
	.enabled	= true,					\
	.name		= _name,				\
	.event_names	= _event_names,				\
	.events		= _events,				\
}

static __always_inline bool contention_plain(const struct contention_fix *fix)
{
	return READ_ONCE(fix->plain);
}

struct dentry *contention_debug_add(struct contention_fix *fix);

#else

#define CONTENTION_FIX_INIT(_name, _event_names, _events) {	\
	.enabled	= true,					\
}

static __always_inline bool contention_plain(const struct contention_fix *fix)
{
	return false;
}

static inline struct dentry *contention_debug_add(struct contention_fix *fix)
{
	return NULL;
}

#endif

#endif /* _LINUX_CONTENTION_H */
