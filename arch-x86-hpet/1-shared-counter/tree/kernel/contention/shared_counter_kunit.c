// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of include/linux/shared_counter.h: scripted, on all CPUs, and on broken twins. */

#include <kunit/test.h>
#include <linux/module.h>

#include "shared_counter_scenarios.h"

static void run_scenario(struct kunit *test, const char *name)
{
	const struct shared_counter_scenario *s;

	for (s = shared_counter_true.scenarios; s->name; s++) {
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
SCENARIO(dead_at_the_gate)
SCENARIO(failed_at_the_gate)
SCENARIO(shut_gate)
SCENARIO(holders_that_keep_dying)
SCENARIO(frozen_counter)
SCENARIO(shared_value)
SCENARIO(shared_frozen_value)
SCENARIO(late_publish)
SCENARIO(late_thief)
SCENARIO(late_publish_fresh)
SCENARIO(late_publish_to_a_waiter)
SCENARIO(nmi_on_the_holder)
SCENARIO(panic_on_the_holder)
SCENARIO(long_idle)
SCENARIO(counter_set_back)
SCENARIO(value_wrap)
SCENARIO(value_wrap_24_bits)
SCENARIO(seq_wrap)
SCENARIO(epoch_wrap)

static struct shared_counter_stress stress(struct kunit *test,
					   const struct shared_counter_variant *variant,
					   struct shared_counter_stress s)
{
	KUNIT_EXPECT_EQ(test, variant->stress(&s), 0);
	kunit_info(test, "%lu reads, counter sampled %u times, %lu steps back\n", s.reads,
		   s.samples, s.back);
	return s;
}

static void expect_sound(struct kunit *test, struct shared_counter_stress s)
{
	s.msecs = 300;
	s = stress(test, &shared_counter_true, s);
	KUNIT_EXPECT_EQ(test, s.back, 0UL);
	KUNIT_EXPECT_EQ(test, s.idle, 0U);
	KUNIT_EXPECT_GT(test, s.reads, 0UL);
	if (IS_ENABLED(CONFIG_CONTENTION_DEBUG))
		KUNIT_EXPECT_EQ(test, s.counted, s.reads);
}

static void all_cpus(struct kunit *test)
{
	expect_sound(test, (struct shared_counter_stress) { .first = 0 });
}

static void all_cpus_value_wrap(struct kunit *test)
{
	expect_sound(test, (struct shared_counter_stress) { .first = -1000 });
}

static void all_cpus_frozen_counter(struct kunit *test)
{
	expect_sound(test, (struct shared_counter_stress) { .first = 1000, .frozen = true });
}

static void all_cpus_two_nodes(struct kunit *test)
{
	expect_sound(test, (struct shared_counter_stress) { .gates = true });
}

/* A twin has to be caught by a scenario that the header as it is comes through. */
static void expect_caught(struct kunit *test, const struct shared_counter_variant *twin)
{
	const struct shared_counter_scenario *s;

	if (num_online_cpus() < 2) {
#ifdef kunit_skip	/* since 5.14 */
		kunit_skip(test, "a reader that hangs would hang the only CPU");
#endif
		return;
	}
	for (s = twin->scenarios; s->name; s++) {
		const char *why = s->run();

		if (why) {
			kunit_info(test, "caught by %s: %s\n", s->name, why);
			return;
		}
	}
	KUNIT_FAIL(test, "no scenario noticed");
}

/* No stress: it would need a chain of rare events. */
static void broken_without_publish(struct kunit *test)
{
	expect_caught(test, &shared_counter_twin_publish);
}

/* Caught by the stress too, or that would be worth nothing. This ends with the first step back. */
static void broken_without_comparison(struct kunit *test)
{
	expect_caught(test, &shared_counter_twin_compare);
	if (num_online_cpus() > 1) {
		struct shared_counter_stress s = { .msecs = 60000 };

		s = stress(test, &shared_counter_twin_compare, s);
		KUNIT_EXPECT_GT(test, s.back, 0UL);
	}
}

/* No stress: all CPUs would hang, and the tests with them on a kernel without preemption. */
static void broken_without_bound(struct kunit *test)
{
	expect_caught(test, &shared_counter_twin_bound);
}

static struct kunit_case shared_counter_cases[] = {
	KUNIT_CASE(single_reader),
	KUNIT_CASE(dead_holder),
	KUNIT_CASE(dead_at_the_gate),
	KUNIT_CASE(failed_at_the_gate),
	KUNIT_CASE(shut_gate),
	KUNIT_CASE(holders_that_keep_dying),
	KUNIT_CASE(frozen_counter),
	KUNIT_CASE(shared_value),
	KUNIT_CASE(shared_frozen_value),
	KUNIT_CASE(late_publish),
	KUNIT_CASE(late_thief),
	KUNIT_CASE(late_publish_fresh),
	KUNIT_CASE(late_publish_to_a_waiter),
	KUNIT_CASE(nmi_on_the_holder),
	KUNIT_CASE(panic_on_the_holder),
	KUNIT_CASE(long_idle),
	KUNIT_CASE(counter_set_back),
	KUNIT_CASE(value_wrap),
	KUNIT_CASE(value_wrap_24_bits),
	KUNIT_CASE(seq_wrap),
	KUNIT_CASE(epoch_wrap),
	KUNIT_CASE(all_cpus),
	KUNIT_CASE(all_cpus_value_wrap),
	KUNIT_CASE(all_cpus_frozen_counter),
	KUNIT_CASE(all_cpus_two_nodes),
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
