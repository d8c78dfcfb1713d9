// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of the page lock (folio lock), in the manner of kernel/locking/locktorture.c.
 *
 * Threads on all CPUs look up the same pages of a file's page cache, lock them in every way there
 * is, and check inside that they are alone, while user space writes, faults, punches out and
 * migrates the same pages. What is proven, by these threads' own eyes:
 *
 *  - There is one owner at a time per offset of the file, also while the page there is replaced:
 *    whoever replaces it holds the lock of the old page and, for migration, of the new one.
 *  - An owner sees what the one before him wrote (acquire and release): no update is lost.
 *  - A page does not leave the file while somebody holds its lock.
 *  - Nobody waits for ever. From time to time all threads rest. A waiter whose wake-up was lost
 *    does not arrive there, and none of these threads is left that would wake him by chance; nor is
 *    anybody else, without a file. torture_stutter() does not serve for that: it goes on after a
 *    while, whoever is missing.
 *
 * For each there is a lock that has it broken, chosen by torture_type=:
 *
 *	busted_set	sets the bit and then tests it: nobody ever gets the lock
 *	busted_rmw	tests the bit and then sets it: two owners
 *	busted_waiters	unlocks as if nobody waited: wake-ups are lost
 *
 * Those work on pages of this module alone, without a file: a broken lock would damage the file, or
 * be a BUG() in whoever else locks the page. Nothing that is found is a warning either, but a
 * message and the verdict at the end, so that the broken ones can run where a warning is a panic.
 */

#define pr_fmt(fmt) fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/torture.h>

MODULE_DESCRIPTION("Torture test of the page lock");
MODULE_LICENSE("GPL");

/* All that differs between kernels. page_folio() came with folios, in 5.16. */
#ifdef page_folio
static unsigned long *lock_word(struct page *page)
{
	return folio_flags(page_folio(page), 0);
}

static int lock_killable(struct page *page)
{
	return folio_lock_killable(page_folio(page));
}

/* The caller holds a reference, and the lock if the answer is to last. */
static bool page_is_at(struct page *page, struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = page_folio(page);

	return folio->mapping == mapping && folio_contains(folio, index);
}
#else
static unsigned long *lock_word(struct page *page)
{
	return &compound_head(page)->flags;
}

static int lock_killable(struct page *page)
{
	return lock_page_killable(page);
}

static bool page_is_at(struct page *page, struct address_space *mapping, pgoff_t index)
{
	struct page *head = compound_head(page);

	return head->mapping == mapping && thp_contains(head, index);
}
#endif

torture_param(int, nthreads, -1, "Number of threads, -1=as many as CPUs are online");
torture_param(int, npages, 1, "Number of pages, the first of the file");
torture_param(int, stall, 10, "Seconds in which each thread must get the lock again");
torture_param(int, run, 10, "Jiffies to run between rests");
torture_param(int, rest, 3, "Jiffies for which all rest, 0=never");
torture_param(bool, interrupt, true, "Interrupt killable waits");
torture_param(int, onoff_holdoff, 0, "Time after boot before CPU hotplugs (s)");
torture_param(int, onoff_interval, 0, "Time between CPU hotplugs (s), 0=disable");
torture_param(int, shuffle_interval, 3,
	      "Number of seconds between shuffles, 0=each thread has a CPU of its own");
torture_param(int, stat_interval, 60, "Number of seconds between stats printk()s, 0=disable");
torture_param(int, verbose, 0, "Enable verbose debugging printk()s");

static char *torture_type = "page_lock";
module_param(torture_type, charp, 0444);
MODULE_PARM_DESC(torture_type,
		 "Lock to torture (page_lock, busted_set, busted_rmw, busted_waiters)");

static char *path;
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "File whose pages to lock, none=pages of the module's own");

enum how { TRYLOCK, LOCK, LOCK_KILLABLE };

enum event {
	WON,		/* trylock */
	FAILED,		/* trylock */
	LOCKED,
	KILLABLE,	/* locked */
	INTERRUPTED,	/* while it waited killable */
	ABSENT,		/* no page there */
	GONE,		/* got the lock of a page that had left the file meanwhile */
	SECTIONS,	/* had the lock of a page of the file */
	VIOLATIONS,	/* of which it was not alone, or lost the page */
	NR_EVENTS
};

struct locker {
	struct task_struct *task;
	int cpu;
	unsigned long events[NR_EVENTS];
	unsigned long longest;	/* jiffies it took to get the lock */
	unsigned long since;	/* jiffies: has been without the lock, and in need of it */
	bool out;		/* it has left its loop */

	/* What it tries to lock now. The monitor may take a reference of its own under the lock. */
	spinlock_t lock;
	struct page *page;
	bool killable;

	/* The monitor's. */
	bool stalled, lost;
} ____cacheline_aligned_in_smp;

/* What the lock of the page at one offset protects. */
struct guarded {
	int owner;		/* number of a locker, from 1 */
	unsigned long updates;
	struct page *page;	/* where there is no file */
} ____cacheline_aligned_in_smp;

struct lock_ops {
	const char *name;
	bool broken;
	bool sleeps;		/* in the page's wait queue */
	int (*lock)(struct page *page, enum how how);
	void (*unlock)(struct page *page);
};

static const struct lock_ops *ops;
static struct file *file;
static struct guarded *guarded;
static struct locker *lockers;
static struct task_struct **locker_tasks;
static struct task_struct *monitor_task;
static int nr_lockers;

static bool resting;
static atomic_t parked = ATOMIC_INIT(0);
static unsigned long rests, stalls, lost_wakeups;

static void count(unsigned long *n)
{
	/* One thread writes; the monitor may read meanwhile. */
	WRITE_ONCE(*n, *n + 1);
}

static int real_lock(struct page *page, enum how how)
{
	switch (how) {
	case LOCK:
		lock_page(page);
		return 0;
	case LOCK_KILLABLE:
		return lock_killable(page);
	default:
		return trylock_page(page) ? 0 : -EBUSY;
	}
}

static void real_unlock(struct page *page)
{
	unlock_page(page);
}

static const struct lock_ops page_lock_ops = {
	.name	= "page_lock",
	.sleeps	= true,
	.lock	= real_lock,
	.unlock	= real_unlock,
};

/* BUGGY, do not use in real life: an unlock that finds no waiter, whoever waits. */
static void busted_waiters_unlock(struct page *page)
{
	/* At the end all have to get out, and the monitor would have to wake them one by one. */
	if (!torture_must_stop())
		clear_bit(PG_waiters, lock_word(page));
	unlock_page(page);
}

static const struct lock_ops busted_waiters_ops = {
	.name	= "busted_waiters",
	.broken	= true,
	.sleeps	= true,
	.lock	= real_lock,
	.unlock	= busted_waiters_unlock,
};

static int busted_lock(struct page *page, enum how how, bool (*try)(struct page *page))
{
	while (!try(page)) {
		if (how == TRYLOCK)
			return -EBUSY;
		if (torture_must_stop())
			return -EINTR;
		schedule_timeout_uninterruptible(1);
	}
	return 0;
}

/* Not unlock_page(), for which it is a BUG(), or locks the page, if another was quicker. */
static void busted_unlock(struct page *page)
{
	clear_bit_unlock(PG_locked, lock_word(page));
}

/* BUGGY, do not use in real life: the look comes after the set, which it sees. */
static bool busted_set_try(struct page *page)
{
	set_bit(PG_locked, lock_word(page));
	return !test_bit(PG_locked, lock_word(page));
}

static int busted_set_lock(struct page *page, enum how how)
{
	return busted_lock(page, how, busted_set_try);
}

static const struct lock_ops busted_set_ops = {
	.name	= "busted_set",
	.broken	= true,
	.lock	= busted_set_lock,
	.unlock	= busted_unlock,
};

/* BUGGY, do not use in real life: the look comes first, and the set does not look again. */
static bool busted_rmw_try(struct page *page)
{
	static atomic_t calls = ATOMIC_INIT(0);

	if (test_bit(PG_locked, lock_word(page)))
		return false;
	/* So that it shows on any machine, however few CPUs run at the same time. */
	if (atomic_inc_return(&calls) % 16 == 0)
		schedule_timeout_uninterruptible(1);
	set_bit(PG_locked, lock_word(page));
	return true;
}

static int busted_rmw_lock(struct page *page, enum how how)
{
	return busted_lock(page, how, busted_rmw_try);
}

static const struct lock_ops busted_rmw_ops = {
	.name	= "busted_rmw",
	.broken	= true,
	.lock	= busted_rmw_lock,
	.unlock	= busted_unlock,
};

static const struct lock_ops * const all_ops[] = {
	&page_lock_ops, &busted_set_ops, &busted_rmw_ops, &busted_waiters_ops,
};

static struct page *page_get(int index)
{
	struct page *page = guarded[index].page;

	if (file)
		return find_get_page(file->f_mapping, index);
	get_page(page);
	return page;
}

static bool page_stays(struct page *page, int index)
{
	return !file || page_is_at(page, file->f_mapping, index);
}

static void hold(struct torture_random_state *rand)
{
	unsigned long r = torture_random(rand);
	int spins;

	if (r % 32 == 0)
		schedule_timeout_uninterruptible(1);
	else if (r % 32 == 1)
		torture_preempt_schedule();
	for (spins = r / 32 % 128; spins; spins--)
		cpu_relax();
}

/*
 * Marked accesses, though the page lock makes them exclusive: a broken lock has to be found by the
 * checks here and not by KCSAN, which may be a panic. None of them orders anything; that is left to
 * the lock, and an owner that does not see what the last one wrote loses an update.
 */
static void section(struct locker *me, struct page *page, int index,
		    struct torture_random_state *rand)
{
	struct guarded *g = &guarded[index];
	int self = me - lockers + 1;
	unsigned long updates;
	bool alone;

	alone = !READ_ONCE(g->owner);
	WRITE_ONCE(g->owner, self);
	updates = READ_ONCE(g->updates) + 1;
	WRITE_ONCE(g->updates, updates);
	hold(rand);
	if (READ_ONCE(g->owner) != self || READ_ONCE(g->updates) != updates)
		alone = false;
	if (!page_stays(page, index))
		alone = false;
	WRITE_ONCE(g->owner, 0);
	count(&me->events[SECTIONS]);
	if (!alone)
		count(&me->events[VIOLATIONS]);
}

static void locker_tries(struct locker *me, struct page *page, bool killable)
{
	spin_lock(&me->lock);
	me->page = page;
	me->killable = killable;
	spin_unlock(&me->lock);
}

/* Returns whether it had the lock, or there was no page to lock. */
static bool locker_round(struct locker *me, struct torture_random_state *rand)
{
	static const enum how ways[] = { TRYLOCK, TRYLOCK, LOCK, LOCK_KILLABLE };
	static const enum event got[] = {
		[TRYLOCK] = WON, [LOCK] = LOCKED, [LOCK_KILLABLE] = KILLABLE,
	};
	enum how how = ways[(torture_random(rand) >> 4) % ARRAY_SIZE(ways)];
	int index = (torture_random(rand) >> 4) % npages, err;
	struct page *page = page_get(index);
	unsigned long begin;

	if (!page) {
		count(&me->events[ABSENT]);
		schedule_timeout_uninterruptible(1);
		return true;
	}

	begin = jiffies;
	locker_tries(me, page, how == LOCK_KILLABLE);
	err = ops->lock(page, how);
	locker_tries(me, NULL, false);
	/* None can come any more. One that came too late would cut the next wait short. */
	flush_signals(current);
	if (err) {
		count(&me->events[how == TRYLOCK ? FAILED : INTERRUPTED]);
		put_page(page);
		return false;
	}
	if (jiffies - begin > me->longest)
		WRITE_ONCE(me->longest, jiffies - begin);

	count(&me->events[got[how]]);
	if (page_stays(page, index))
		section(me, page, index, rand);
	else
		count(&me->events[GONE]);
	ops->unlock(page);
	put_page(page);
	return true;
}

static void locker_rest(struct locker *me)
{
	atomic_inc(&parked);
	while (READ_ONCE(resting) && !torture_must_stop()) {
		schedule_timeout_uninterruptible(1);
		WRITE_ONCE(me->since, jiffies);
	}
	atomic_dec(&parked);
}

static int page_lock_torture_locker(void *arg)
{
	struct locker *me = arg;
	DEFINE_TORTURE_RANDOM(rand);

	VERBOSE_TOROUT_STRING("locker task started");
	me->task = current;
	/* Fails if the CPU has gone; then it runs wherever it may. */
	if (!shuffle_interval)
		set_cpus_allowed_ptr(current, cpumask_of(me->cpu));
	set_user_nice(current, MAX_NICE);
	/* From the kernel only. It does not end a kernel thread, but its killable wait. */
	allow_kernel_signal(SIGKILL);

	do {
		if (locker_round(me, &rand))
			WRITE_ONCE(me->since, jiffies);
		if (READ_ONCE(resting))
			locker_rest(me);
		cond_resched();
	} while (!torture_must_stop());
	WRITE_ONCE(me->out, true);
	torture_kthread_stopping("page_lock_torture_locker");
	return 0;
}

/*
 * If the page is not locked, the thread that has been asleep for it so long was forgotten (or is
 * just woken, much too late, which is a stall and a failure as well). Without help neither would it
 * go on nor could this module be unloaded, so unlock once more, as with a waiter. The queue is
 * first come, first served, so this is to be done for each in it.
 */
static void locker_rescue(struct locker *l)
{
	struct page *page;

	spin_lock(&l->lock);
	page = l->page;
	if (page)
		get_page(page);
	spin_unlock(&l->lock);
	if (!page)
		return;
	if (trylock_page(page)) {
		if (!l->lost) {
			l->lost = true;
			lost_wakeups++;
			pr_alert("%s" TORTURE_FLAG "!!! thread %d: lost wake-up, page not locked\n",
				 torture_type, (int)(l - lockers));
		}
		set_bit(PG_waiters, lock_word(page));
		unlock_page(page);
	}
	put_page(page);
}

static void locker_check(struct locker *l)
{
	unsigned long now = jiffies, since = READ_ONCE(l->since);

	if (READ_ONCE(l->out) || time_before(now, since + stall * HZ)) {
		l->stalled = false;
		l->lost = false;
		return;
	}
	if (!l->stalled) {
		l->stalled = true;
		stalls++;
		pr_alert("%s" TORTURE_FLAG "!!! thread %d: without the lock for %u ms\n",
			 torture_type, (int)(l - lockers), jiffies_to_msecs(now - since));
	}
	if (ops->sleeps)
		locker_rescue(l);
}

/* Inside, the thread cannot have gone. */
static void locker_interrupt(struct locker *l)
{
	spin_lock(&l->lock);
	if (l->page && l->killable)
		send_sig(SIGKILL, l->task, 1);
	spin_unlock(&l->lock);
}

static void rest_step(void)
{
	static enum { RUNNING, GATHERING, RESTING } phase;
	static unsigned long until;

	switch (phase) {
	case RUNNING:
		if (!until)
			until = jiffies + run;
		if (time_before(jiffies, until))
			break;
		WRITE_ONCE(resting, true);
		phase = GATHERING;
		break;
	case GATHERING:
		/* However long that takes: see locker_check(). */
		if (atomic_read(&parked) < nr_lockers)
			break;
		until = jiffies + rest;
		phase = RESTING;
		break;
	case RESTING:
		if (time_before(jiffies, until))
			break;
		rests++;
		WRITE_ONCE(resting, false);
		until = jiffies + run;
		phase = RUNNING;
		break;
	}
}

static unsigned long events_sum(enum event event)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < nr_lockers; i++)
		sum += READ_ONCE(lockers[i].events[event]);
	return sum;
}

/* One line of words that a script can pick. */
static void stats_print(void)
{
	static const char * const name[NR_EVENTS] = {
		[WON] = "won", [FAILED] = "failed", [LOCKED] = "lock", [KILLABLE] = "killable",
		[INTERRUPTED] = "interrupted", [ABSENT] = "absent", [GONE] = "gone",
		[SECTIONS] = "sections", [VIOLATIONS] = "violations",
	};
	unsigned long longest = 0, fewest = ULONG_MAX;
	char line[320];
	int i, n = 0;

	for (i = 0; i < nr_lockers; i++) {
		longest = max(longest, READ_ONCE(lockers[i].longest));
		fewest = min(fewest, READ_ONCE(lockers[i].events[SECTIONS]));
	}
	for (i = 0; i < NR_EVENTS; i++)
		n += scnprintf(line + n, sizeof(line) - n, " %s=%lu", name[i], events_sum(i));
	scnprintf(line + n, sizeof(line) - n, " fewest=%lu rests=%lu longest_ms=%u", fewest, rests,
		  jiffies_to_msecs(longest));
	pr_alert("%s" TORTURE_FLAG " stats:%s stalls=%lu lost_wakeups=%lu\n", torture_type, line,
		 stalls, lost_wakeups);
}

/* Goes on until it is stopped itself, after all others: they may need it to get out. */
static int page_lock_torture_monitor(void *arg)
{
	unsigned long next_stats = jiffies + stat_interval * HZ;
	DEFINE_TORTURE_RANDOM(rand);
	int i;

	VERBOSE_TOROUT_STRING("monitor task started");
	while (!kthread_should_stop()) {
		schedule_timeout_interruptible(1);
		for (i = 0; i < nr_lockers; i++)
			locker_check(&lockers[i]);
		/* Not when they are to rest: that would help a waiter who was forgotten. */
		if (interrupt && !READ_ONCE(resting))
			locker_interrupt(&lockers[(torture_random(&rand) >> 4) % nr_lockers]);
		if (rest > 0)
			rest_step();
		if (stat_interval > 0 && time_after_eq(jiffies, next_stats)) {
			stats_print();
			next_stats = jiffies + stat_interval * HZ;
		}
	}
	return 0;
}

static bool reason(bool failed, const char *text)
{
	if (failed)
		pr_alert("%s" TORTURE_FLAG "!!! %s\n", torture_type, text);
	return failed;
}

/* All threads have ended. */
static bool good(void)
{
	unsigned long updates = 0;
	bool bad = false, idle = false;
	int i;

	for (i = 0; i < npages; i++)
		updates += guarded[i].updates;
	for (i = 0; i < nr_lockers; i++)
		idle |= !lockers[i].events[SECTIONS];

	bad |= reason(events_sum(VIOLATIONS), "an owner was not alone");
	bad |= reason(updates != events_sum(SECTIONS), "an owner's update was lost");
	bad |= reason(lost_wakeups, "a wake-up was lost");
	bad |= reason(stalls, "a thread did not get the lock in time");
	/* Nothing found where nothing happened is no success. */
	bad |= reason(idle, "a thread never had the lock");
	bad |= reason(nr_lockers > 1 && !events_sum(FAILED), "no trylock failed");
	bad |= reason(rest > 0 && !rests, "there was no rest");
	bad |= reason(torture_onoff_failures(), "a CPU did not go off or on");
	return !bad;
}

static void params_print(const char *tag)
{
	pr_alert("%s" TORTURE_FLAG "--- %s: path=%s nthreads=%d npages=%d stall=%d run=%d\n",
		 torture_type, tag, file ? path : "-", nr_lockers, npages, stall, run);
	pr_alert("%s" TORTURE_FLAG " rest=%d interrupt=%d onoff=%d/%d shuffle_interval=%d\n",
		 torture_type, rest, interrupt, onoff_holdoff, onoff_interval, shuffle_interval);
}

static void guarded_free(void)
{
	int i;

	for (i = 0; guarded && i < npages; i++) {
		struct page *page = guarded[i].page;

		if (!page)
			continue;
		/* As busted_set leaves it, it would be a bad page to the allocator. */
		clear_bit(PG_locked, lock_word(page));
		clear_bit(PG_waiters, lock_word(page));
		put_page(page);
	}
	kfree(guarded);
	guarded = NULL;
	if (file)
		filp_close(file, NULL);
	file = NULL;
}

static void page_lock_torture_cleanup(void)
{
	int i;

	if (torture_cleanup_begin())
		return;
	if (locker_tasks) {
		for (i = 0; i < nr_lockers; i++)
			torture_stop_kthread(page_lock_torture_locker, locker_tasks[i]);
		torture_stop_kthread(page_lock_torture_monitor, monitor_task);
		stats_print();
		params_print(good() ? "End of test: SUCCESS" : "End of test: FAILURE");
	}
	kfree(locker_tasks);
	kfree(lockers);
	guarded_free();
	torture_cleanup_end();
}

static int ops_find(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++) {
		ops = all_ops[i];
		if (!strcmp(torture_type, ops->name))
			return 0;
	}
	pr_alert("page-lock-torture: invalid torture type: \"%s\"\n", torture_type);
	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		pr_alert("page-lock-torture: there is: %s\n", all_ops[i]->name);
	return -EINVAL;
}

static int guarded_init(void)
{
	int i;

	guarded = kcalloc(npages, sizeof(*guarded), GFP_KERNEL);
	if (!guarded)
		return -ENOMEM;
	if (path && *path) {
		struct file *f = filp_open(path, O_RDONLY | O_LARGEFILE, 0);

		if (IS_ERR(f))
			return PTR_ERR(f);
		file = f;
		return S_ISREG(file_inode(f)->i_mode) ? 0 : -EINVAL;
	}
	for (i = 0; i < npages; i++) {
		guarded[i].page = alloc_page(GFP_KERNEL);
		if (!guarded[i].page)
			return -ENOMEM;
	}
	return 0;
}

static int lockers_init(void)
{
	int i, cpu = -1;

	lockers = kcalloc(nr_lockers, sizeof(*lockers), GFP_KERNEL);
	locker_tasks = kcalloc(nr_lockers, sizeof(*locker_tasks), GFP_KERNEL);
	if (!lockers || !locker_tasks) {
		kfree(locker_tasks);
		locker_tasks = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < nr_lockers; i++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		lockers[i].cpu = cpu;
		lockers[i].since = jiffies;
		spin_lock_init(&lockers[i].lock);
	}
	return 0;
}

static int threads_start(void)
{
	int i, err;

	/* First, because lockers that were started can be stopped with its help only. */
	err = torture_create_kthread(page_lock_torture_monitor, NULL, monitor_task);
	if (!err && onoff_interval > 0)
		err = torture_onoff_init(onoff_holdoff * HZ, onoff_interval * HZ, NULL);
	if (!err && shuffle_interval > 0)
		err = torture_shuffle_init(shuffle_interval * HZ);
	for (i = 0; !err && i < nr_lockers; i++)
		err = torture_create_kthread(page_lock_torture_locker, &lockers[i],
					     locker_tasks[i]);
	return err;
}

static int __init page_lock_torture_init(void)
{
	int err;

	if (!torture_init_begin(torture_type, verbose))
		return -EBUSY;

	nr_lockers = nthreads < 0 ? num_online_cpus() : nthreads;
	err = ops_find();
	if (!err && (nr_lockers < 1 || npages < 1 || stall < 1 || run < 1 || rest < 0)) {
		pr_alert("page-lock-torture: nthreads, npages, stall and run are 1 at least, rest is 0\n");
		err = -EINVAL;
	}
	if (!err && ops->broken && path && *path) {
		pr_alert("page-lock-torture: %s would damage a file\n", torture_type);
		err = -EINVAL;
	}
	if (!err)
		err = guarded_init();
	if (!err)
		err = lockers_init();
	if (!err) {
		params_print("Start of test");
		err = threads_start();
	}
	torture_init_end();
	if (err)
		page_lock_torture_cleanup();
	return err;
}

module_init(page_lock_torture_init);
module_exit(page_lock_torture_cleanup);
