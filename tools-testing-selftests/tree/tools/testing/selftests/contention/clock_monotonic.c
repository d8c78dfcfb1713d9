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
	const char *clocksource;
	struct readers all;
	static int cpu[MAX_CPUS];
	int n;
	bool started;

	start();
	n = cpus_need(cpu);
	clocksource = clocksource_need();
	ksft_set_plan(1);
	ksft_print_msg("%d readers, clocksource %s\n", n, clocksource);

	started = !readers_start(&all, cpu, n, true);
	sleep(SECONDS);
	started = started && !readers_together(&all, 10);
	readers_stop(&all);
	readers_figures(&all, "monotonic");
	ksft_test_result(started && readers_good(&all), "no step backwards on %d CPUs\n", n);
	finish();
	return 0;
}
