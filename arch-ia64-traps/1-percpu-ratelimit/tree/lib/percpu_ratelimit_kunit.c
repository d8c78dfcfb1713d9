// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of include/linux/percpu_ratelimit.h: scripted on a made-up clock, with a crowd that
 * looks before anybody takes, in a storm on all CPUs, and on the limit that ia64 had before.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

struct percpu_ratelimit;
static void looked(struct percpu_ratelimit *rl);
#define percpu_ratelimit_looked(rl)	looked(rl)
#include <linux/percpu_ratelimit.h>

/* make KCFLAGS=-DPERCPU_RATELIMIT_TEST_BURST=256 must not compile. */
#ifndef PERCPU_RATELIMIT_TEST_BURST
#define PERCPU_RATELIMIT_TEST_BURST	PERCPU_RATELIMIT_BURST_MAX
#endif

/* Since 5.14 and 6.9. A case that did nothing says so at least. */
#ifndef kunit_skip
#define kunit_skip(test, fmt, ...)	kunit_info(test, "skipped: " fmt "\n", ##__VA_ARGS__)
#endif
#ifndef KUNIT_CASE_SLOW
#define KUNIT_CASE_SLOW			KUNIT_CASE
#endif

#define INTERVAL	(5 * HZ)
#define BURST		5U
#define PATIENCE	(60 * HZ)	/* for threads on a machine that is busy elsewhere */

DEFINE_PERCPU_RATELIMIT(limit, INTERVAL, BURST);
DEFINE_PERCPU_RATELIMIT(limit_one, INTERVAL, 1);
DEFINE_PERCPU_RATELIMIT(limit_most, INTERVAL, PERCPU_RATELIMIT_TEST_BURST);

/* As after boot. */
static void start(struct percpu_ratelimit *rl)
{
	int cpu;

	atomic64_set(&rl->word, 0);
	atomic_long_set(&rl->told, 0);
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(rl->cpu, cpu), 0, sizeof(struct percpu_ratelimit_cpu));
}

static unsigned long allowed(struct percpu_ratelimit *rl)
{
	return percpu_ratelimit_events(rl, PERCPU_RATELIMIT_ALLOWED);
}

static unsigned long suppressed(struct percpu_ratelimit *rl)
{
	return percpu_ratelimit_events(rl, PERCPU_RATELIMIT_SUPPRESSED);
}

/* The next calls are the window's nth and so on to the burst, and one more is refused. */
static void expect_rest(struct kunit *test, struct percpu_ratelimit *rl, u64 now, unsigned int nth)
{
	for (; nth <= rl->burst; nth++)
		KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(rl, now), nth);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(rl, now), 0U);
}

/* ---- what happens between a look at the word and what follows ---- */

struct member;
static void member_looked(struct member *m);

static void (*meanwhile)(void);		/* once, after the next look */
static bool crowded;			/* all who look are members of a crowd */

/* A call that has @other happen between its look and what follows, which must come about. */
static void expect_while(struct kunit *test, u64 now, unsigned int nth, void (*other)(void))
{
	meanwhile = other;
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), nth);
	KUNIT_EXPECT_TRUE(test, !meanwhile);
	meanwhile = NULL;
}

static void looked(struct percpu_ratelimit *rl)
{
	void (*then)(void) = meanwhile;

	if (crowded) {
		member_looked(kthread_data(current));
	} else if (then) {
		meanwhile = NULL;
		then();
	}
}

/* ---- scripted ---- */

/* Around these, jiffies or a field of the word wraps, or a sign changes. */
static const u64 wraps[] = {
	0, INITIAL_JIFFIES, 1ULL << 31, 1ULL << 32, 1ULL << 55, 1ULL << 56, 1ULL << 63,
};

static void first_event(struct kunit *test)
{
	unsigned int i;
	int off;

	for (i = 0; i < ARRAY_SIZE(wraps); i++) {
		for (off = -2; off <= 2; off++) {
			start(&limit);
			expect_rest(test, &limit, wraps[i] + off, 1);
		}
	}
}

/* A window that is open, or closed, or over when the clock wraps. */
static void wrap(struct kunit *test)
{
	static const unsigned int left[] = {
		0, 1, 2, INTERVAL / 2, INTERVAL - 1, INTERVAL, INTERVAL + 1,
	};
	unsigned int i, j, nth;
	u64 begin, now;

	for (i = 0; i < ARRAY_SIZE(wraps); i++) {
		for (j = 0; j < ARRAY_SIZE(left); j++) {
			start(&limit);
			begin = wraps[i] - left[j];
			KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, begin), 1U);
			for (nth = 2; nth <= BURST; nth++) {
				now = begin + (INTERVAL - 1) / BURST * nth;
				KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), nth);
			}
			now = begin + INTERVAL - 1;
			KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), 0U);
			KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), 0U);
			expect_rest(test, &limit, begin + INTERVAL, 1);
			expect_rest(test, &limit, begin + 7ULL * INTERVAL, 1);
		}
	}
}

/* A limit with tokens left is a new one all the same when its window is over. */
static void window_not_used_up(struct kunit *test)
{
	start(&limit);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, 1000), 1U);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, 1000 + INTERVAL - 1), 2U);
	expect_rest(test, &limit, 1000 + INTERVAL, 1);
}

static void bursts(struct kunit *test)
{
	unsigned int i;

	start(&limit_one);
	start(&limit_most);
	for (i = 0; i < 3; i++) {
		expect_rest(test, &limit_one, i * INTERVAL, 1);
		expect_rest(test, &limit_most, i * INTERVAL, 1);
		/* The count's last step must not have carried into the deadline. */
		KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&limit_most.word),
				percpu_ratelimit_window((i + 1) * INTERVAL) +
				PERCPU_RATELIMIT_TEST_BURST);
	}
}

static void two_limits(struct kunit *test)
{
	start(&limit);
	start(&limit_one);
	expect_rest(test, &limit, 1000, 1);
	expect_rest(test, &limit_one, 2000, 1);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, 1000 + INTERVAL), 1U);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit_one, 1000 + INTERVAL), 0U);
	KUNIT_EXPECT_EQ(test, allowed(&limit), BURST + 1UL);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 1UL);
	KUNIT_EXPECT_EQ(test, allowed(&limit_one), 1UL);
	KUNIT_EXPECT_EQ(test, suppressed(&limit_one), 2UL);
}

static void accounting(struct kunit *test)
{
	start(&limit);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_missed(&limit), 0UL);
	expect_rest(test, &limit, 1000, 1);
	percpu_ratelimit_allow_at(&limit, 1000);
	percpu_ratelimit_allow_at(&limit, 1000);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, 1000 + INTERVAL), 1U);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_missed(&limit), 3UL);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_missed(&limit), 0UL);
	KUNIT_EXPECT_EQ(test, allowed(&limit), BURST + 1UL);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 3UL);
}

static unsigned long meanwhile_sum, meanwhile_told;

static void another_tells(void)
{
	meanwhile_told = percpu_ratelimit_tell(&limit, meanwhile_sum);
}

/* Two CPUs have opened a window each, and tell at the same time. */
static void told_once(struct kunit *test)
{
	static const struct {
		unsigned long other_sum, other, own;
	} cases[] = {
		{ 10, 0, 10 }, { 12, 2, 8 }, { 20, 10, 0 }, { 25, 15, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start(&limit);
		KUNIT_EXPECT_EQ(test, percpu_ratelimit_tell(&limit, 10), 10UL);
		meanwhile_sum = cases[i].other_sum;
		meanwhile = another_tells;
		KUNIT_EXPECT_EQ(test, percpu_ratelimit_tell(&limit, 20), cases[i].own);
		KUNIT_EXPECT_EQ(test, meanwhile_told, cases[i].other);
		KUNIT_EXPECT_TRUE(test, !meanwhile);
		meanwhile = NULL;
		KUNIT_EXPECT_EQ(test, atomic_long_read(&limit.told),
				(long)max(20UL, cases[i].other_sum));
	}
}

static u64 meanwhile_now;

static void nmi_uses_up_the_window(void)
{
	unsigned int i;

	for (i = 0; i < BURST + 1; i++)
		percpu_ratelimit_allow_at(&limit, meanwhile_now);
}

/* Also what another CPU may do there. */
static void nmi_in_the_middle(struct kunit *test)
{
	start(&limit);
	meanwhile_now = 1000;
	expect_while(test, 1000, 0, nmi_uses_up_the_window);
	KUNIT_EXPECT_EQ(test, allowed(&limit), (unsigned long)BURST);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 2UL);

	/* The window that was looked at is over, and so is the one after it. */
	meanwhile_now = 1000 + 2 * INTERVAL;
	expect_while(test, 1000 + INTERVAL, 0, nmi_uses_up_the_window);
	KUNIT_EXPECT_EQ(test, allowed(&limit), 2UL * BURST);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 4UL);
	expect_rest(test, &limit, 1000 + 3 * INTERVAL, 1);
}

static void others_open_with_the_same_count(void)
{
	percpu_ratelimit_allow_at(&limit, meanwhile_now);
}

/* The count is what it was, the window is not. */
static void another_window_with_the_same_count(struct kunit *test)
{
	start(&limit);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, 1000), 1U);
	meanwhile_now = 1000 + INTERVAL;
	expect_while(test, 1000 + INTERVAL - 1, 2, others_open_with_the_same_count);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&limit.word),
			percpu_ratelimit_window(1000 + 2 * INTERVAL) + 2);
	expect_rest(test, &limit, 1000 + INTERVAL, 3);
	KUNIT_EXPECT_EQ(test, allowed(&limit), BURST + 1UL);
}

/* ---- on a CPU of choice ---- */

static int first_cpu, other_cpu;

struct call {
	u64 now;
	unsigned int nth;
};

static void call_here(void *arg)
{
	struct call *call = arg;

	call->nth = percpu_ratelimit_allow_at(&limit, call->now);
}

/* From an interrupt of that CPU. */
static unsigned int allow_on(int cpu, u64 now)
{
	struct call call = { .now = now, .nth = -1 };

	smp_call_function_single(cpu, call_here, &call, 1);
	return call.nth;
}

static u64 closed_on(int cpu)
{
	return per_cpu_ptr(limit.cpu, cpu)->closed;
}

/* Returns false where there is only one CPU. */
static bool two_cpus(struct kunit *test)
{
	first_cpu = cpumask_first(cpu_online_mask);
	other_cpu = cpumask_next(first_cpu, cpu_online_mask);
	if (other_cpu < nr_cpu_ids)
		return true;
	kunit_skip(test, "needs two CPUs");
	return false;
}

static void cpu_sleeps_through_windows(struct kunit *test)
{
	unsigned int i;
	u64 now = 1000;

	if (!two_cpus(test))
		return;
	start(&limit);
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now), i);
	KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now), 0U);

	/* The next window is full when it wakes up; what it knows is about the one before. */
	now += INTERVAL;
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, allow_on(first_cpu, now), i);
	KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now + 1), 0U);
	KUNIT_EXPECT_EQ(test, closed_on(other_cpu), (u64)atomic64_read(&limit.word));

	/* It sleeps through one as a whole. */
	now += INTERVAL;
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, allow_on(first_cpu, now), i);
	now += INTERVAL;
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now), i);
	KUNIT_EXPECT_EQ(test, allow_on(first_cpu, now), 0U);
	KUNIT_EXPECT_EQ(test, allowed(&limit), 4UL * BURST);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 3UL);
}

static void migrate(void)
{
	set_cpus_allowed_ptr(current, cpumask_of(other_cpu));
}

static void others_go_on_then_migrate(void)
{
	unsigned int i;

	for (i = 0; i < BURST + 1; i++)
		allow_on(other_cpu, meanwhile_now);
	migrate();
}

/* What was seen on one CPU is stored on another. */
static void migration_in_the_middle(struct kunit *test)
{
	u64 now = 1000;
	unsigned int i;

	if (!two_cpus(test))
		return;
	start(&limit);
	set_cpus_allowed_ptr(current, cpumask_of(first_cpu));
	for (i = 0; i < BURST; i++)
		allow_on(first_cpu, now);
	expect_while(test, now, 0, migrate);
	KUNIT_EXPECT_EQ(test, closed_on(first_cpu), 0ULL);
	KUNIT_EXPECT_EQ(test, closed_on(other_cpu), (u64)atomic64_read(&limit.word));
	KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now + INTERVAL - 1), 0U);
	KUNIT_EXPECT_EQ(test, allow_on(first_cpu, now + INTERVAL - 1), 0U);

	/* The other CPU knows of a newer window, which is forgotten for this one. */
	now += INTERVAL;
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now), i);
	set_cpus_allowed_ptr(current, cpumask_of(first_cpu));
	meanwhile_now = now + INTERVAL;
	expect_while(test, now, 0, others_go_on_then_migrate);
	KUNIT_EXPECT_TRUE(test, percpu_ratelimit_over(closed_on(other_cpu), now + INTERVAL));
	KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now + INTERVAL), 0U);
	KUNIT_EXPECT_EQ(test, closed_on(other_cpu), (u64)atomic64_read(&limit.word));
	KUNIT_EXPECT_EQ(test, allow_on(other_cpu, now + 2 * INTERVAL), 1U);

	/* A place is taken by a task, not by a CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(first_cpu));
	expect_while(test, now + 2 * INTERVAL, 2, migrate);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, allowed(&limit), 3UL * BURST + 2);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), 6UL);
}

/* Round and round the CPUs that are online, from -1. */
static int next_cpu(int cpu)
{
	cpu = cpumask_next(cpu, cpu_online_mask);
	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

/* ---- a crowd: each of its members is a CPU that has looked before anybody took a place ---- */

struct crowd {
	unsigned int		(*ask)(struct member *m, u64 now);
	u64			now;
	unsigned int		size;
	atomic_t		looked, asked;
	struct completion	all_looked, all_asked;
};

struct member {
	struct crowd		*crowd;
	struct task_struct	*task;
	int			cpu;
	bool			has_looked;
	/* the original's per-CPU part */
	unsigned long		count;
	u64			time;
};

static void member_looked(struct member *m)
{
	struct crowd *c = m->crowd;

	if (m->has_looked)
		return;
	m->has_looked = true;
	if (atomic_inc_return(&c->looked) == c->size)
		complete_all(&c->all_looked);
	wait_for_completion(&c->all_looked);
}

static int member_main(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	unsigned int nth;

	/* Not by kthread_bind(), which may sleep for a tick each. */
	set_cpus_allowed_ptr(current, cpumask_of(m->cpu));
	nth = c->ask(m, c->now);
	if (atomic_inc_return(&c->asked) == c->size)
		complete_all(&c->all_asked);
	return nth;
}

/*
 * Fills in how many were let through as the nth; nths has room for burst + 1. Returns false, after
 * a complaint, if not everybody looked before anybody went on.
 */
static bool crowd_asks(struct kunit *test, unsigned int size, u64 now,
		       unsigned int (*ask)(struct member *m, u64 now), unsigned int *nths)
{
	struct member *members = kcalloc(size, sizeof(*members), GFP_KERNEL);
	struct crowd c = { .ask = ask, .now = now };
	int cpu = -1;
	unsigned int i;
	bool in_time;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, members);
	init_completion(&c.all_looked);
	init_completion(&c.all_asked);
	for (c.size = 0; c.size < size; c.size++) {
		struct member *m = &members[c.size];

		cpu = next_cpu(cpu);
		m->cpu = cpu;
		m->crowd = &c;
		m->task = kthread_create(member_main, m, "crowd/%u", c.size);
		if (IS_ERR(m->task))
			break;
		get_task_struct(m->task);
	}
	KUNIT_EXPECT_EQ(test, c.size, size);

	crowded = true;
	for (i = 0; i < c.size; i++)
		wake_up_process(members[i].task);
	in_time = wait_for_completion_timeout(&c.all_asked, PATIENCE);
	KUNIT_EXPECT_EQ(test, atomic_read(&c.looked), (int)c.size);
	complete_all(&c.all_looked);
	memset(nths, 0, (BURST + 1) * sizeof(*nths));
	for (i = 0; i < c.size; i++) {
		unsigned int nth = kthread_stop(members[i].task);

		put_task_struct(members[i].task);
		if (nth <= BURST)
			nths[nth]++;
		else
			KUNIT_FAIL(test, "a member got %d", (int)nth);
	}
	crowded = false;
	kfree(members);
	return in_time && c.size == size;
}

static unsigned int ask_limit(struct member *m, u64 now)
{
	return percpu_ratelimit_allow_at(&limit, now);
}

/* Each place from the nth on is given away once. */
static void expect_crowd(struct kunit *test, unsigned int size, u64 now, unsigned int nth)
{
	unsigned long before = allowed(&limit) + suppressed(&limit);
	unsigned int nths[BURST + 1], i;

	KUNIT_EXPECT_TRUE(test, crowd_asks(test, size, now, ask_limit, nths));
	for (i = 1; i <= BURST; i++)
		KUNIT_EXPECT_EQ(test, nths[i], i < nth ? 0U : 1U);
	KUNIT_EXPECT_EQ(test, nths[0], size - (BURST + 1 - nth));
	KUNIT_EXPECT_EQ(test, allowed(&limit) + suppressed(&limit), before + size);
}

#define CROWD	1024U

static void crowd(struct kunit *test)
{
	u64 now = INITIAL_JIFFIES;

	start(&limit);
	expect_crowd(test, CROWD, now, 1);
	KUNIT_EXPECT_EQ(test, allowed(&limit), (unsigned long)BURST);

	/* The window is over for all of them at once. */
	now += INTERVAL;
	expect_crowd(test, 64, now, 1);

	/* Two places are gone. */
	now += INTERVAL;
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), 1U);
	KUNIT_EXPECT_EQ(test, percpu_ratelimit_allow_at(&limit, now), 2U);
	expect_crowd(test, 64, now, 3);
	KUNIT_EXPECT_EQ(test, allowed(&limit), 3UL * BURST);
	KUNIT_EXPECT_EQ(test, suppressed(&limit), CROWD + 64 + 64 - (3UL * BURST - 2));
}

/*
 * The limit that ia64 had before, Jack Steiner's of 2006: four bits of count below a sequence
 * number, the deadline in another word. A member stands for a CPU, and has the per-CPU part.
 */
static struct {
	atomic_long_t count;
	u64 time;
} original;

static unsigned int ask_original(struct member *m, u64 now)
{
	long count;

	if (now > m->time)
		m->count = 0;
	if (m->count >= BURST)
		return 0;
	m->count++;
	m->time = now + INTERVAL;

	count = atomic_long_read(&original.count);
	if (now > READ_ONCE(original.time))
		atomic_long_cmpxchg(&original.count, count, 16 + (count & ~15L));
	if ((atomic_long_read(&original.count) & 15) >= BURST)
		return 0;
	member_looked(m);
	if ((atomic_long_fetch_inc(&original.count) & 15) >= BURST)
		return 0;
	WRITE_ONCE(original.time, now + INTERVAL);
	return 1;
}

/* Every 16th step carries out of the count, which is 0 again: five in 16 are let through. */
static void broken_original_overflows(struct kunit *test)
{
	unsigned int nths[BURST + 1];

	atomic_long_set(&original.count, 0);
	original.time = 0;
	KUNIT_EXPECT_TRUE(test, crowd_asks(test, CROWD, INITIAL_JIFFIES, ask_original, nths));
	kunit_info(test, "caught: %u CPUs, %u messages where %u are the limit\n", CROWD, nths[1],
		   BURST);
	KUNIT_EXPECT_EQ(test, nths[1], CROWD / 16 * BURST);
}

/* ---- a storm: one thread on each CPU, by the kernel's clock ---- */

struct stormer {
	unsigned long		calls;
	unsigned long		nths[BURST + 1];
	unsigned long		told;
	unsigned int		(*ask)(void);
	struct task_struct	*task;
} ____cacheline_aligned_in_smp;

struct storm {
	unsigned long		calls, nths[BURST + 1], told, idle;
	unsigned long		in_time;	/* calls in ns */
	unsigned long		ticks;	/* from before the first call to after the last */
	u64			ns;
};

static bool storm_go;

DEFINE_PERCPU_RATELIMIT(storm_limit, HZ / 20, BURST);

static unsigned int ask_storm_limit(void)
{
	return percpu_ratelimit_allow(&storm_limit);
}

static int stormer_main(void *arg)
{
	struct stormer *s = arg;
	unsigned int nth;

	while (!READ_ONCE(storm_go) && !kthread_should_stop())
		cond_resched();
	while (!kthread_should_stop()) {
		nth = s->ask();
		nth = min(nth, BURST);
		WRITE_ONCE(s->nths[nth], s->nths[nth] + 1);
		if (nth == 1 && s->ask == ask_storm_limit)
			s->told += percpu_ratelimit_missed(&storm_limit);
		WRITE_ONCE(s->calls, s->calls + 1);
		if (s->calls % 64 == 0)
			cond_resched();
	}
	return 0;
}

/* Goes on for as long as it takes that each thread has asked and there were so many windows. */
static void storm_run(struct kunit *test, struct storm *sum, unsigned int (*ask)(void),
		      unsigned int cpus, unsigned int msecs, unsigned long windows)
{
	struct stormer *stormers = kcalloc(cpus, sizeof(*stormers), GFP_KERNEL);
	unsigned long begin, end;
	unsigned int i, j, idle;
	unsigned long opened;
	int cpu = -1;
	u64 ns;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, stormers);
	memset(sum, 0, sizeof(*sum));
	storm_go = false;
	begin = jiffies;
	for (i = 0; i < cpus; i++) {
		cpu = next_cpu(cpu);
		stormers[i].ask = ask;
		stormers[i].task = kthread_create(stormer_main, &stormers[i], "storm/%u", i);
		if (IS_ERR(stormers[i].task)) {
			stormers[i].task = NULL;
			continue;
		}
		kthread_bind(stormers[i].task, cpu);
		wake_up_process(stormers[i].task);
	}
	ns = ktime_get_ns();
	end = jiffies + msecs_to_jiffies(msecs);
	WRITE_ONCE(storm_go, true);
	do {
		msleep(20);
		idle = 0;
		opened = 0;
		for (i = 0; i < cpus; i++) {
			idle += stormers[i].task && !READ_ONCE(stormers[i].calls);
			opened += READ_ONCE(stormers[i].nths[1]);
		}
		/* A host may be late to let the last CPU run, or stop all of them. */
	} while (time_before(jiffies, idle || opened < windows ? end + PATIENCE : end));
	for (i = 0; i < cpus; i++)
		sum->in_time += READ_ONCE(stormers[i].calls);
	sum->ns = ktime_get_ns() - ns;

	for (i = 0; i < cpus; i++) {
		if (stormers[i].task)
			kthread_stop(stormers[i].task);
		sum->calls += stormers[i].calls;
		sum->idle += !stormers[i].calls;
		sum->told += stormers[i].told;
		for (j = 0; j <= BURST; j++)
			sum->nths[j] += stormers[i].nths[j];
	}
	sum->ticks = jiffies - begin;
	kfree(stormers);
}

static void storm(struct kunit *test)
{
	unsigned long through = 0;
	struct storm sum;
	unsigned int nth;

	start(&storm_limit);
	storm_run(test, &sum, ask_storm_limit, num_online_cpus(), 1000, 3);
	for (nth = 1; nth <= BURST; nth++)
		through += sum.nths[nth];
	kunit_info(test, "%lu calls, %lu windows, %lu let through\n", sum.calls, sum.nths[1],
		   through);
	KUNIT_EXPECT_EQ(test, sum.idle, 0UL);
	KUNIT_EXPECT_GT(test, sum.nths[0], 0UL);
	/* A call is let through or suppressed, and the limit knows. */
	KUNIT_EXPECT_EQ(test, allowed(&storm_limit), through);
	KUNIT_EXPECT_EQ(test, suppressed(&storm_limit), sum.nths[0]);
	/* In a window each place is given away once at most, and none before the one before it. */
	for (nth = 2; nth <= BURST; nth++)
		KUNIT_EXPECT_LE(test, sum.nths[nth], sum.nths[nth - 1]);
	/* There were some windows, none shorter than an interval. */
	KUNIT_EXPECT_GT(test, sum.nths[1], 2UL);
	KUNIT_EXPECT_LE(test, sum.nths[1], sum.ticks / storm_limit.interval + 1);
	/* Each suppressed call is told of once. */
	KUNIT_EXPECT_EQ(test, sum.told + percpu_ratelimit_missed(&storm_limit), sum.nths[0]);
}

/* ---- side by side with the kernel's own ---- */

DEFINE_PERCPU_RATELIMIT(closed_limit, 3600 * HZ, BURST);
static DEFINE_RATELIMIT_STATE(closed_base, 3600 * HZ, BURST);
static DEFINE_RATELIMIT_STATE(storm_base, HZ / 20, BURST);

static unsigned int ask_closed_limit(void)
{
	return percpu_ratelimit_allow(&closed_limit);
}

static unsigned int ask_closed_base(void)
{
	return __ratelimit(&closed_base);
}

static unsigned int ask_storm_base(void)
{
	return __ratelimit(&storm_base);
}

/* Where the runner of the tests collects it; no verdict hangs on it. */
#define figure(test, name, value, unit, ...)	\
	kunit_log(KERN_INFO, test, KUNIT_SUBTEST_INDENT "# figure: " name " %llu " unit "\n", \
		  ##__VA_ARGS__, (unsigned long long)(value))

#define ROUNDS	3

static unsigned long most(const struct storm *sum)
{
	return (sum->ticks / storm_limit.interval + 1) * BURST;
}

static u64 rate(const struct storm *sum)
{
	return div64_u64(sum->in_time * 1000000ULL, sum->ns);	/* kcalls/s */
}

static void closed(struct kunit *test, unsigned int cpus)
{
	u64 ours = 0, base = 0;
	struct storm sum;
	unsigned int i;

	if (num_online_cpus() < cpus) {
		kunit_skip(test, "needs %u CPUs", cpus);
		return;
	}
	for (i = 0; i <= BURST; i++) {
		ask_closed_limit();
		ask_closed_base();
	}
	for (i = 0; i < ROUNDS; i++) {
		storm_run(test, &sum, ask_closed_limit, cpus, 50, 0);
		KUNIT_EXPECT_EQ(test, sum.idle, 0UL);
		KUNIT_EXPECT_EQ(test, sum.nths[0], sum.calls);
		ours = max(ours, rate(&sum));
		storm_run(test, &sum, ask_closed_base, cpus, 50, 0);
		KUNIT_EXPECT_EQ(test, sum.idle, 0UL);
		KUNIT_EXPECT_EQ(test, sum.nths[0], sum.calls);
		base = max(base, rate(&sum));
	}
	figure(test, "ratelimit_closed_%u_percpu", ours, "kcalls/s", cpus);
	figure(test, "ratelimit_closed_%u_base", base, "kcalls/s", cpus);
}

/* One case each, as a case's log has room for a few lines only. */
static void closed_1_cpu(struct kunit *test)
{
	closed(test, 1);
}

static void closed_2_cpus(struct kunit *test)
{
	closed(test, 2);
}

static void closed_4_cpus(struct kunit *test)
{
	closed(test, 4);
}

static void closed_8_cpus(struct kunit *test)
{
	closed(test, 8);
}

/* What each would let through at most depends on the time that its storm took. */
static void let_through(struct kunit *test)
{
	struct storm sum;

	/* It would print at the end of each window. */
	ratelimit_set_flags(&storm_base, RATELIMIT_MSG_ON_RELEASE);
	start(&storm_limit);
	storm_run(test, &sum, ask_storm_limit, num_online_cpus(), 500, 0);
	KUNIT_EXPECT_EQ(test, sum.idle, 0UL);
	figure(test, "ratelimit_let_through_percpu", sum.calls - sum.nths[0], "messages");
	figure(test, "ratelimit_most_percpu", most(&sum), "messages");
	storm_run(test, &sum, ask_storm_base, num_online_cpus(), 500, 0);
	figure(test, "ratelimit_let_through_base", sum.calls - sum.nths[0], "messages");
	figure(test, "ratelimit_most_base", most(&sum), "messages");
}

static struct kunit_case percpu_ratelimit_cases[] = {
	KUNIT_CASE(first_event),
	KUNIT_CASE(wrap),
	KUNIT_CASE(window_not_used_up),
	KUNIT_CASE(bursts),
	KUNIT_CASE(two_limits),
	KUNIT_CASE(accounting),
	KUNIT_CASE(told_once),
	KUNIT_CASE(nmi_in_the_middle),
	KUNIT_CASE(another_window_with_the_same_count),
	KUNIT_CASE(cpu_sleeps_through_windows),
	KUNIT_CASE(migration_in_the_middle),
	KUNIT_CASE_SLOW(crowd),
	KUNIT_CASE_SLOW(broken_original_overflows),
	KUNIT_CASE_SLOW(storm),
	KUNIT_CASE(closed_1_cpu),
	KUNIT_CASE(closed_2_cpus),
	KUNIT_CASE(closed_4_cpus),
	KUNIT_CASE_SLOW(closed_8_cpus),
	KUNIT_CASE_SLOW(let_through),
	{ }
};

static struct kunit_suite percpu_ratelimit_suite = {
	.name = "percpu_ratelimit",
	.test_cases = percpu_ratelimit_cases,
};

kunit_test_suites(&percpu_ratelimit_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the per-CPU rate limit");
