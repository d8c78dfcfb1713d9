// SPDX-License-Identifier: GPL-2.0
/* Faults for tests, see include/linux/contention_inject.h. */

#define pr_fmt(fmt) "contention: " fmt

#include <linux/contention_inject.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#define VALID			BIT_ULL(32)
#define READS_IN_A_PANIC	1000

static struct contention_inject *the_inject;

static notrace void inject_stop(struct contention_inject *inject)
{
	u32 usecs = READ_ONCE(inject->stop_usecs), slice;
	bool for_ever = !usecs;

	atomic_inc(&inject->stopped);
	/* By the delay loop: this CPU must not ask for the time. */
	while (READ_ONCE(inject->stopping) && (for_ever || usecs)) {
		slice = for_ever ? 100 : min(usecs, 100U);
		udelay(slice);
		usecs -= slice;
	}
	WRITE_ONCE(inject->stopping, false);
}

/* Takes one of so many. */
static notrace bool inject_one_of(atomic_t *left)
{
	return atomic_read(left) > 0 && atomic_dec_if_positive(left) >= 0;
}

/* Returns the newest value that anybody found, this one among them. */
static notrace u32 inject_newest(struct contention_inject *inject, u32 value)
{
	s64 was = atomic64_read(&inject->newest);

	do {
		if (was && (s32)(value - (u32)was) <= 0)
			return was;
	} while (!atomic64_try_cmpxchg(&inject->newest, &was, VALID | value));
	return value;
}

notrace u32 __contention_inject(struct contention_inject *inject, u32 value)
{
	int cpu = raw_smp_processor_id();
	s64 at = 0;
	u32 newest;

	/*
	 * What stands still does so at no older value than what others have already. Who found a
	 * newer one and saw no freeze added it to newest before he looked: the barrier pairs with
	 * that of the atomic_dec_if_positive() of the one who looks at newest again.
	 */
	inject_newest(inject, value);
	smp_mb();	/* see above */
	if (inject_one_of(&inject->freeze)) {
		newest = inject_newest(inject, value);
		value = atomic64_try_cmpxchg(&inject->frozen_at, &at, VALID | newest) ? newest : at;
		atomic_inc(&inject->frozen);
	}
	if (inject_one_of(&inject->back)) {
		value -= READ_ONCE(inject->back_ticks);
		atomic_inc(&inject->went_back);
	}
	if (!in_nmi() && READ_ONCE(inject->stop_cpu) == cpu) {
		/* Before it is decided, so that a release does not come between. */
		WRITE_ONCE(inject->stopping, true);
		if (cmpxchg(&inject->stop_cpu, cpu, -1) == cpu)
			inject_stop(inject);
		else
			WRITE_ONCE(inject->stopping, false);
	}
	return value;
}

/* From here on all reads come by. */
static void inject_arm(struct contention_inject *inject)
{
	if (READ_ONCE(inject->armed))
		return;
	atomic64_set(&inject->newest, 0);
	WRITE_ONCE(inject->armed, true);
	/* Those that did not have interrupts off, and are over then. */
	synchronize_rcu();
}

static DEFINE_MUTEX(inject_mutex);

static ssize_t inject_command(struct contention_inject *inject, const char *text)
{
	unsigned int a, b;

	if (sscanf(text, "stop %u %u", &a, &b) == 2) {
		if (a >= nr_cpu_ids || !cpu_online(a))
			return -EINVAL;
		if (READ_ONCE(inject->stopping))
			return -EBUSY;
		inject_arm(inject);
		WRITE_ONCE(inject->stop_usecs, b);
		/* Pairs with the cmpxchg() of the CPU that stops. */
		smp_store_release(&inject->stop_cpu, a);
	} else if (sscanf(text, "freeze %u", &a) == 1 && a <= INT_MAX) {
		inject_arm(inject);
		atomic64_set(&inject->frozen_at, 0);
		/* Pairs with the atomic_dec_if_positive() of who is to find frozen_at. */
		atomic_set_release(&inject->freeze, a);
	} else if (sscanf(text, "back %u %u", &a, &b) == 2 && a <= INT_MAX) {
		inject_arm(inject);
		WRITE_ONCE(inject->back_ticks, b);
		/* Pairs with the atomic_dec_if_positive() of who is to use back_ticks. */
		atomic_set_release(&inject->back, a);
	} else if (!strncmp(text, "release", 7)) {
		WRITE_ONCE(inject->armed, false);
		/* In this order: a CPU that is just about to stop sees one of them. */
		xchg(&inject->stop_cpu, -1);
		WRITE_ONCE(inject->stopping, false);
		atomic_set(&inject->freeze, 0);
		atomic_set(&inject->back, 0);
	} else {
		return -EINVAL;
	}
	return 0;
}

static ssize_t inject_write(struct file *file, const char __user *user, size_t size, loff_t *pos)
{
	char text[48];
	ssize_t ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	text[size] = '\0';
	mutex_lock(&inject_mutex);
	ret = inject_command(file_inode(file)->i_private, text);
	mutex_unlock(&inject_mutex);
	return ret ? ret : size;
}

static int inject_show(struct seq_file *m, void *v)
{
	struct contention_inject *inject = m->private;

	seq_printf(m, "stopped %d\nfrozen %d\nback %d\nstopping %d\n",
		   atomic_read(&inject->stopped), atomic_read(&inject->frozen),
		   atomic_read(&inject->went_back), READ_ONCE(inject->stopping));
	return 0;
}

static int inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, inject_show, inode->i_private);
}

static const struct file_operations inject_fops = {
	.owner		= THIS_MODULE,
	.open		= inject_open,
	.read		= seq_read,
	.write		= inject_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/*
 * What a driver does that stamps a crash record. The fast accessor is the one that may be called
 * in a panic: ktime_get() waits for a CPU that was stopped while it updated the time.
 */
static int inject_panic(struct notifier_block *nb, unsigned long event, void *data)
{
	u64 first, now, last;
	int i, back = 0;

	if (!READ_ONCE(the_inject->stopping))
		return NOTIFY_DONE;
	first = ktime_get_mono_fast_ns();
	last = first;
	for (i = 1; i < READS_IN_A_PANIC; i++) {
		now = ktime_get_mono_fast_ns();
		back += now < last;
		last = now;
	}
	pr_emerg("%d reads of the clock in a panic, %d of them back, %llu ns; a CPU stopped in one\n",
		 i, back, last - first);
	return NOTIFY_DONE;
}

static struct notifier_block inject_panic_block = {
	.notifier_call = inject_panic,
};

/**
 * contention_inject_add() - let tests use a counter's faults
 * @inject: what is to happen, in memory that stays
 * @dir: the folder in debugfs that contention_debug_add() gave
 * @panics: panic_notifier_list, whose header is another one from 5.14 on
 *
 * Context: from an initcall, for one counter in the kernel.
 */
void __init contention_inject_add(struct contention_inject *inject, struct dentry *dir,
				  struct atomic_notifier_head *panics)
{
	inject->stop_cpu = -1;
	the_inject = inject;
	debugfs_create_file("inject", 0600, dir, inject, &inject_fops);
	atomic_notifier_chain_register(panics, &inject_panic_block);
}
