// SPDX-License-Identifier: GPL-2.0
/*
 * One pinned thread per CPU reads CLOCK_MONOTONIC. No thread may get a value older than one that
 * any thread had got before its own read began. A test with one thread, or with threads that
 * compare only their own values, cannot see a stale value that another CPU left behind.
 */
#include "readers.h"

#define SECONDS	4

int main(void)
{
	const char *why, *clocksource;
	struct readers all;
	int cpu[MAX_CPUS], n;
	bool started;

	start();
	n = cpus_get(cpu);
	if (n < 2)
		skip_all("needs 2 CPUs at least");
	clocksource = clocksource_need(&why);
	if (!clocksource)
		skip_all("%s", why);
	ksft_set_plan(1);
	ksft_print_msg("%d readers, clocksource %s\n", n, clocksource);

	started = !readers_start(&all, cpu, n, true);
	sleep(SECONDS);
	started = started && !readers_progress(&all, 10);
	readers_stop(&all);
	readers_figures(&all, "monotonic");
	ksft_test_result(started && readers_good(&all), "no step backwards on %d CPUs\n", n);
	finish();
	return 0;
}
