// SPDX-License-Identifier: GPL-2.0
/*
 * Faults are injected into reads of the HPET (CONFIG_CONTENTION_INJECT) while every CPU reads the
 * clock: a CPU that stops in a read with the lock, for long and for short, a counter that stands
 * still or goes back. The others read on, and where the counter itself does not go back, no clock
 * does. The kernel's own form is put to the first test as well: there everybody stops.
 */
#include "readers.h"

#define PRINTK		"/proc/sys/kernel/printk"
#define UNTIL_RELEASED	0
#define BASE_USECS	300000		/* by a delay loop, roughly */
#define BASE_USECS_MAX	6000000
#define BASE_STOP	(NSEC / 5)	/* what it is to be by the clock, at least */
#define TRIES		5

static struct {
	long stopped, frozen, back, stopping;
} injected;

static bool inject(const char *what, unsigned int a, unsigned int b)
{
	char text[48];

	snprintf(text, sizeof(text), "%s %u %u", what, a, b);
	return !file_write(INJECT, text);
}

static void injected_get(void)
{
	char text[128];

	if (file_read(INJECT, text, sizeof(text)) ||
	    sscanf(text, "stopped %ld frozen %ld back %ld stopping %ld", &injected.stopped,
		   &injected.frozen, &injected.back, &injected.stopping) != 4)
		ksft_exit_fail_msg("cannot read " INJECT "\n");
}

/* A CPU that is stopped until it is released must be. */
static void restore_all(void)
{
	inject("release", 0, 0);
	settings_restore();
}

/* Waits until that many have come since, for some seconds at most. */
static bool injected_wait(const long *count, long than)
{
	int ms;

	for (ms = 0; ms < 20000; ms++) {
		injected_get();
		if (*count >= than)
			return true;
		usleep(1000);
	}
	ksft_print_msg("%ld injected, %ld were asked for\n", *count, than);
	return false;
}

/*
 * A CPU is stopped, and all the others go on meanwhile. Whether they do is judged by what happened,
 * not by how long it took; but if it took longer than the stop, that shows nothing.
 */
static bool others_go_on(const int *cpu, int n, bool nmi)
{
	struct readers others, stopped;
	bool good = true, shown = false;
	int try;

	for (try = 0; try < TRIES && good && !shown; try++) {
		injected_get();
		if (readers_start(&stopped, cpu + n - 1, 1, false) ||
		    readers_start(&others, cpu + 1, n - 2, true) ||
		    !inject("stop", cpu[n - 1], UNTIL_RELEASED) ||
		    !injected_wait(&injected.stopped, injected.stopped + 1))
			ksft_exit_fail_msg("no CPU could be stopped\n");
		good = !readers_progress(&others, 7);
		if (nmi)
			good = !file_write("/proc/sysrq-trigger", "l") && good;
		good = !readers_progress(&others, 7) && good;
		injected_get();
		shown = injected.stopping;
		if (!shown)
			ksft_print_msg("the CPU is no longer stopped\n");
		inject("release", 0, 0);
		readers_stop(&others);
		readers_stop(&stopped);
		good = readers_good(&others) && readers_good(&stopped) && good;
		readers_free(&others);
		readers_free(&stopped);
	}
	return good && shown;
}

/*
 * The same for a while in the kernel's own form, where nobody can be asked meanwhile. The clock
 * says afterwards how long the stopped CPU stood, and how long each of the others did.
 */
static bool others_stop(const int *cpu, int n)
{
	unsigned int usecs = BASE_USECS;
	__u64 stop = 0, least = 0;
	struct readers all;
	int try, i;

	for (try = 0; try < TRIES && (stop < BASE_STOP || least < stop / 10 * 7); try++) {
		injected_get();
		switch_set("hpet", "enabled", false);
		if (readers_start(&all, cpu + 1, n - 1, false) ||
		    readers_together(&all, 10) || !inject("stop", cpu[n - 1], usecs) ||
		    !injected_wait(&injected.stopped, injected.stopped + 1))
			ksft_exit_fail_msg("no CPU could be stopped\n");
		while (injected.stopping)
			injected_get();
		readers_together(&all, 10);
		readers_stop(&all);
		switch_set("hpet", "enabled", true);
		stop = all.r[n - 2].longest;
		least = ~0ULL;
		for (i = 0; i < n - 2; i++)
			if (all.r[i].longest < least)
				least = all.r[i].longest;
		readers_free(&all);
		if (stop < BASE_STOP && usecs < BASE_USECS_MAX)
			usecs *= 4;
	}
	figure("injection_base_stop", "%llu", stop / 1000, "us");
	figure("injection_base_least_stood", "%llu", least / 1000, "us");
	return stop >= BASE_STOP && least >= stop / 10 * 7;
}

static bool short_stops(const int *cpu, int n)
{
	struct stats before, after;
	struct readers all = { 0 };
	unsigned int i, x = 1;
	bool good;
	long from;

	injected_get();
	from = injected.stopped;
	good = !stats_get("hpet", &before) && !readers_start(&all, cpu + 1, n - 1, true);
	for (i = 0; good && i < 3000; i++) {
		x = x * 1103515245 + 12345;
		/* Busy while one is stopped. */
		inject("stop", cpu[1 + (x >> 16) % (n - 1)], 1 + (x >> 8) % 400);
		usleep(200);
	}
	good = good && !readers_together(&all, 10);
	readers_stop(&all);
	inject("release", 0, 0);
	good = !stats_get("hpet", &after) && good;
	injected_get();
	figure("injection_short_stops", "%ld", injected.stopped - from, "stops");
	figure("injection_taken_over", "%llu",
	       after.stolen + after.fresh - before.stolen - before.fresh, "reads");
	readers_figures(&all, "injection");
	return readers_good(&all) && good && injected.stopped - from > 50 &&
	       after.stolen + after.fresh > before.stolen + before.fresh;
}

static bool stands_still(const int *cpu, int n)
{
	struct readers all;
	bool good;
	__u64 was;
	long want;

	injected_get();
	want = injected.frozen + 50000;
	good = !readers_start(&all, cpu + 1, n - 1, true) && inject("freeze", 50000, 0) &&
	       injected_wait(&injected.frozen, want);
	was = clock_read();
	good = !readers_together(&all, 10) && good;
	readers_stop(&all);
	if (clock_read() <= was) {
		ksft_print_msg("the clock stands although the counter goes on\n");
		good = false;
	}
	return readers_good(&all) && good;
}

/* Steps back there are the counter's own. Then it is as if nothing had been. */
static bool goes_back(const int *cpu, int n)
{
	struct readers all;
	bool good;
	long want;

	injected_get();
	want = injected.back + 2000;
	good = !readers_start(&all, cpu + 1, n - 1, false) && inject("back", 2000, 5000) &&
	       injected_wait(&injected.back, want) && !readers_progress(&all, 10);
	readers_stop(&all);
	readers_free(&all);
	usleep(50000);
	good = !readers_start(&all, cpu + 1, n - 1, true) && !readers_together(&all, 10) && good;
	readers_stop(&all);
	return readers_good(&all) && good;
}

int main(void)
{
	static int cpu[MAX_CPUS];
	int n;

	start();
	n = cpus_need(cpu);
	if (strcmp(clocksource_need(), "hpet"))
		skip_all("faults can be injected into the HPET only");
	if (n < 3)
		skip_all("needs 3 CPUs");
	if (access(INJECT, W_OK))
		skip_all("no " INJECT " (CONFIG_CONTENTION_INJECT, root)");
	if (!switches_save("hpet"))
		skip_all("no switches in " SWITCHES "hpet");
	restore = restore_all;
	/* The console is slow; backtraces stay in the kernel's log. */
	if (setting_save(PRINTK))
		file_write(PRINTK, "1");
	ksft_set_plan(6);
	switch_set("hpet", "enabled", true);
	switch_set("hpet", "plain", false);
	/* Whoever releases a CPU must not be on it. */
	pin(cpu[0]);

	ksft_test_result(others_go_on(cpu, n, false),
			 "CPU %d stops in a read, all others read on\n", cpu[n - 1]);
	ksft_test_result(others_go_on(cpu, n, true),
			 "CPU %d stops in a read, an NMI stops all, the others read on\n",
			 cpu[n - 1]);
	ksft_test_result(short_stops(cpu, n),
			 "CPUs stop in reads now and then, no step backwards\n");
	ksft_test_result(stands_still(cpu, n), "the counter stands still, all read on\n");
	ksft_test_result(goes_back(cpu, n), "the counter goes back, all read on\n");
	ksft_test_result(others_stop(cpu, n),
			 "CPU %d stops in a read of the kernel's own form, and so do all others\n",
			 cpu[n - 1]);
	finish();
	return 0;
}
