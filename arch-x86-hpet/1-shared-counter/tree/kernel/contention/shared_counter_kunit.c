// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of include/linux/shared_counter.h: scripted scenarios, broken twins, all CPUs at once. */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/shared_counter.h>
#include <linux/slab.h>

#include "shared_counter_scenarios.h"

static void run_scenario(struct kunit *test, const char *name)
{
	const struct shared_counter_scenario *s;

	for (s = shared_counter_true; s->name; s++) {
		if (!strcmp(s->name, name)) {
			const char *why = s->run();

			KUNIT_EXPECT_TRUE_MSG(test, !why, "%s", why);
			return;
		}
	}
	KUNIT_FAIL(test, "no scenario %s", name);
}

#define SCENARIO(name)				\
static void name(struct kunit *test)		\
{						\
	run_scenario(test, #name);		\
}

SCENARIO(single_reader)
SCENARIO(dead_holder)
SCENARIO(holders_that_keep_dying)
SCENARIO(frozen_counter)
SCENARIO(late_publish)
SCENARIO(late_publish_fresh)
SCENARIO(late_publish_to_a_waiter)
SCENARIO(nmi_on_the_holder)
SCENARIO(panic_on_the_holder)
SCENARIO(value_wrap)
SCENARIO(value_wrap_24_bits)
SCENARIO(seq_wrap)
SCENARIO(epoch_wrap)

/* A twin has to be caught by one of the scenarios that the header as it is comes through. */
static void expect_caught(struct kunit *test, const struct shared_counter_scenario *s)
{
	if (num_online_cpus() < 2) {
		kunit_info(test, "not run: a reader that hangs would hang the only CPU\n");
		return;
	}
	for (; s->name; s++) {
		const char *why = s->run();

		if (why) {
			kunit_info(test, "caught by %s: %s\n", s->name, why);
			return;
		}
	}
	KUNIT_FAIL(test, "no scenario noticed");
}

static void broken_without_publish(struct kunit *test)
{
	expect_caught(test, shared_counter_twin_publish);
}

static void broken_without_comparison(struct kunit *test)
{
	expect_caught(test, shared_counter_twin_compare);
}

static void broken_without_bound(struct kunit *test)
{
	expect_caught(test, shared_counter_twin_bound);
}

/*
 * All CPUs read for a while. A counter that moves only when it is sampled makes every step back visible.
 * Now and then a reader is slow between sample and publish, reads as an NMI does, or takes the lock and
 * forgets it.
 */
DEFINE_SHARED_COUNTER(stress, 32);
static atomic_t stress_counter;
static bool stress_frozen;
static u32 stress_newest;
static bool stress_go;

struct stress_reader {
	struct task_struct	*task;
	u32			seed;
	unsigned long		reads;
	unsigned long		back;
};

static __always_inline u32 stress_sample(void)
{
	u32 value = stress_frozen ? atomic_read(&stress_counter) :
				    atomic_inc_return(&stress_counter);

	if (!(value & 0x3f))
		udelay(20);
	return value;
}

static u32 stress_random(struct stress_reader *reader)
{
	reader->seed = reader->seed * 1664525 + 1013904223;
	return reader->seed >> 24;
}

static void stress_read(struct stress_reader *reader)
{
	/* Acquire: pairs with the cmpxchg below, the read that raised stress_newest was over. */
	u32 newest = smp_load_acquire(&stress_newest);
	u32 value;

	if (stress_random(reader) < 16)
		value = shared_counter_read_fresh(&stress, stress_sample);
	else
		value = shared_counter_read(&stress, stress_sample);
	reader->reads++;
	if ((s32)(value - newest) < 0)
		reader->back++;
	while ((s32)(value - newest) > 0) {
		u32 old = cmpxchg(&stress_newest, newest, value);

		if (old == newest)
			break;
		newest = old;
	}
}

static int stress_thread(void *data)
{
	struct stress_reader *reader = data;

	while (!READ_ONCE(stress_go))
		cond_resched();
	while (!kthread_should_stop()) {
		if (!stress_random(reader)) {
			u64 w = atomic64_read(&stress.word);

			atomic64_cmpxchg(&stress.word, w, w | SHARED_COUNTER_LOCK);
		}
		stress_read(reader);
		cond_resched();
	}
	return 0;
}

static void stress_run(struct kunit *test, u32 first, bool frozen)
{
	struct stress_reader *readers = kzalloc(sizeof(*readers) * nr_cpu_ids, GFP_KERNEL);
	unsigned long reads = 0;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, readers);
	atomic64_set(&stress.word, SHARED_COUNTER_SEQ_MASK - 100 * SHARED_COUNTER_SEQ + first);
	stress.bound = 200;
	atomic_set(&stress_counter, first);
	stress_newest = first;
	stress_frozen = frozen;
	stress_go = false;

	for_each_online_cpu(cpu) {
		struct task_struct *task = kthread_create(stress_thread, &readers[cpu],
							  "shared_counter/%d", cpu);

		if (IS_ERR(task))
			continue;
		readers[cpu].seed = cpu + 1;
		readers[cpu].task = task;
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	WRITE_ONCE(stress_go, true);
	msleep(300);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!readers[cpu].task)
			continue;
		kthread_stop(readers[cpu].task);
		KUNIT_EXPECT_EQ_MSG(test, readers[cpu].back, 0UL, "CPU %d: clock went back", cpu);
		KUNIT_EXPECT_TRUE_MSG(test, readers[cpu].reads > 0, "CPU %d: no read", cpu);
		reads += readers[cpu].reads;
	}
	kunit_info(test, "%lu reads, counter sampled %u times\n", reads,
		   atomic_read(&stress_counter) - first);
#ifdef CONFIG_CONTENTION_DEBUG
	{
		unsigned long counts = 0;
		int event;

		for_each_possible_cpu(cpu) {
			for (event = 0; event < SHARED_COUNTER_EVENTS; event++) {
				counts += per_cpu(stress_events, cpu)[event];
				per_cpu(stress_events, cpu)[event] = 0;
			}
		}
		KUNIT_EXPECT_EQ(test, counts, reads);
	}
#endif
	kfree(readers);
}

static void all_cpus(struct kunit *test)
{
	stress_run(test, 0, false);
}

static void all_cpus_value_wrap(struct kunit *test)
{
	stress_run(test, -1000, false);
}

static void all_cpus_frozen_counter(struct kunit *test)
{
	stress_run(test, 1000, true);
}

static struct kunit_case shared_counter_cases[] = {
	KUNIT_CASE(single_reader),
	KUNIT_CASE(dead_holder),
	KUNIT_CASE(holders_that_keep_dying),
	KUNIT_CASE(frozen_counter),
	KUNIT_CASE(late_publish),
	KUNIT_CASE(late_publish_fresh),
	KUNIT_CASE(late_publish_to_a_waiter),
	KUNIT_CASE(nmi_on_the_holder),
	KUNIT_CASE(panic_on_the_holder),
	KUNIT_CASE(value_wrap),
	KUNIT_CASE(value_wrap_24_bits),
	KUNIT_CASE(seq_wrap),
	KUNIT_CASE(epoch_wrap),
	KUNIT_CASE(all_cpus),
	KUNIT_CASE(all_cpus_value_wrap),
	KUNIT_CASE(all_cpus_frozen_counter),
	KUNIT_CASE(broken_without_publish),
	KUNIT_CASE(broken_without_comparison),
	KUNIT_CASE(broken_without_bound),
	{ }
};

static struct kunit_suite shared_counter_suite = {
	.name = "shared_counter",
	.test_cases = shared_counter_cases,
};
kunit_test_suites(&shared_counter_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the shared counter read");
