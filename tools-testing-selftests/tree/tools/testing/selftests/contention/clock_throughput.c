// SPDX-License-Identifier: GPL-2.0
/*
 * How many clock reads per second, with the shared read, with the kernel's own code and with each
 * read going to the device. These are figures and never a verdict: they depend on the machine, and
 * on an emulator only their ratios mean something. The three take turns in short slices within one
 * boot, so that what else the machine does hits all of them. The verdicts are about the statistics:
 * a comparison in which the switches switch nothing must not look like one.
 */
#include "readers.h"

#define ROUNDS		7
#define SLICE_ALL	(400 * 1000)	/* us */
#define SLICE_ALONE	(200 * 1000)

enum mode { SHARED, BASE, PLAIN, MODES };

static const char * const mode_name[MODES] = { "shared", "base", "plain" };

struct slices {
	double rate[ROUNDS];	/* kreads/s */
	__u64 longest;
};

static const char *clocksource;
static bool have_switches;
static __u64 shared_reads, shared_moved, off_moved;
static bool good = true;

static void mode_set(enum mode mode)
{
	if (!have_switches)
		return;
	if (switch_set(clocksource, "enabled", mode == SHARED) ||
	    switch_set(clocksource, "plain", mode == PLAIN)) {
		ksft_print_msg("switch cannot be written: %s\n", strerror(errno));
		good = false;
	}
	/* Who was in the middle of a read finishes it the old way. */
	usleep(5000);
}

static void slice(struct slices *s, int round, enum mode mode, const int *cpu, int n)
{
	struct stats before = { 0 }, after = { 0 };
	struct readers all;
	__u64 begin, end, moved;

	mode_set(mode);
	if (have_switches && stats_get(clocksource, &before))
		good = false;
	if (readers_start(&all, cpu, n, false))
		good = false;
	begin = clock_read();
	usleep(n > 1 ? SLICE_ALL : SLICE_ALONE);
	/* On a busy machine a slice may be too short for a reader to run in it at all. */
	if (readers_together(&all, 10))
		good = false;
	end = clock_read();
	/* The figure is of reads until now; the threads may take long to see the stop. */
	s->rate[round] = readers_total(&all) * 1e6 / (end - begin);
	readers_stop(&all);
	if (have_switches && stats_get(clocksource, &after))
		good = false;
	if (!readers_good(&all))
		good = false;
	if (readers_longest(&all) > s->longest)
		s->longest = readers_longest(&all);
	readers_free(&all);

	moved = after.leader + after.shared + after.stolen + after.fresh -
		before.leader - before.shared - before.stolen - before.fresh;
	if (mode != SHARED) {
		off_moved += moved;
	} else if (n > 1) {
		shared_moved += moved;
		shared_reads += after.shared - before.shared;
	}
}

static double report(const char *who, const char *mode, struct slices *s)
{
	double median;
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", who, mode);
	median = figure_rates(name, s->rate, ROUNDS, "kreads/s");
	snprintf(name, sizeof(name), "%s_%s_longest_read", who, mode);
	figure(name, "%llu", s->longest / 1000, "us");
	return median;
}

static void compare(const char *who, const int *cpu, int n)
{
	static struct slices s[MODES];
	double median[MODES];
	int modes = have_switches ? MODES : 1;
	char name[64];
	int i, m;

	memset(s, 0, sizeof(s));
	for (i = 0; i < ROUNDS; i++)
		for (m = 0; m < modes; m++)
			slice(&s[m], i, m, cpu, n);
	for (m = 0; m < modes; m++)
		median[m] = report(who, have_switches ? mode_name[m] : "asis", &s[m]);
	for (m = 1; m < modes; m++) {
		snprintf(name, sizeof(name), "%s_shared_over_%s", who, mode_name[m]);
		figure(name, "%.2f", median[SHARED] / median[m], "times");
	}
}

int main(void)
{
	static int cpu[MAX_CPUS];
	int n;
	const char *why;

	start();
	n = cpus_need(cpu);
	clocksource = clocksource_need();
	restore = settings_restore;
	have_switches = switches_save(clocksource);
	why = geteuid() ? "the switches need root" :
			  "no switches in debugfs (CONFIG_CONTENTION_DEBUG)";
	ksft_set_plan(3);
	ksft_print_msg("%d CPUs, clocksource %s, %d rounds\n", n, clocksource, ROUNDS);

	compare("all", cpu, n);
	compare("alone", cpu, 1);
	ksft_test_result(good, "every reader made progress in every slice\n");
	if (have_switches) {
		ksft_print_msg("on: %llu by the shared word, %llu of them shared; off: %llu\n",
			       shared_moved, shared_reads, off_moved);
		/* An old chipset whose counter has to be read three times has no shared read. */
		if (!shared_moved && !strcmp(clocksource, "acpi_pm"))
			ksft_test_result_skip("switched on: acpi_pm is read three times here\n");
		else
			ksft_test_result(shared_moved && shared_reads,
					 "switched on, reads are shared\n");
		ksft_test_result(!off_moved, "switched off, the shared word is not used\n");
	} else {
		ksft_test_result_skip("comparison of on and off: %s\n", why);
		ksft_test_result_skip("statistics: %s\n", why);
	}
	finish();
	return 0;
}
