// SPDX-License-Identifier: GPL-2.0
/* Switches and counters of the contention fixes in debugfs, see include/linux/contention.h. */

#include <linux/contention.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>

static int contention_switch_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(bool *)data);
	return 0;
}

static int contention_switch_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;
	WRITE_ONCE(*(bool *)data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(contention_switch_fops, contention_switch_get, contention_switch_set,
			 "%llu\n");

static int contention_stats_show(struct seq_file *m, void *v)
{
	const struct contention_fix *fix = m->private;
	const char *name = fix->event_names;
	unsigned int event;

	for (event = 0; *name; event++, name += strlen(name) + 1) {
		unsigned long sum = 0;
		int cpu;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(fix->events, cpu)[event]);
		seq_printf(m, "%s %lu\n", name, sum);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(contention_stats);

/**
 * contention_debug_add() - show a fix under /sys/kernel/debug/contention/
 * @fix: the fix, in memory that stays
 *
 * Context: from an initcall, once a fix. Initcalls run one after the other, so nothing is locked.
 * Return: the fix's folder, for files that not every fix has; NULL without CONFIG_CONTENTION_DEBUG.
 */
struct dentry * __init contention_debug_add(struct contention_fix *fix)
{
	static struct dentry *root __initdata;
	struct dentry *dir;

	if (!root)
		root = debugfs_create_dir("contention", NULL);
	dir = debugfs_create_dir(fix->name, root);
	debugfs_create_file_unsafe("enabled", 0600, dir, &fix->enabled, &contention_switch_fops);
	debugfs_create_file_unsafe("plain", 0600, dir, &fix->plain, &contention_switch_fops);
	debugfs_create_file("stats", 0400, dir, fix, &contention_stats_fops);
	return dir;
}
