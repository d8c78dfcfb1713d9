// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs go off and on while there is a reader for each. A CPU may go away with readers waiting for
 * it, and comes back with whatever per-CPU state it left.
 */
#include "readers.h"

#define SECONDS		10

static int off = -1;	/* the CPU that is offline now */

static bool turn_off(int cpu)
{
	off = cpu;
	return !cpu_set_online(cpu, false);
}

static bool turn_on(int cpu)
{
	if (cpu_set_online(cpu, true))
		return false;
	off = -1;
	return true;
}

static void restore_all(void)
{
	if (off >= 0)
		turn_on(off);
}

int main(void)
{
	const char *clocksource;
	static int cpu[MAX_CPUS], can[MAX_CPUS];
	int n, i, nr_can = 0, rounds = 0;
	__u64 begin, back_on;
	struct readers all;
	bool progress, ok;
	char path[64];

	start();
	n = cpus_need(cpu);
	if (geteuid())
		skip_all("taking CPUs off needs root");
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), CPU_ONLINE, cpu[i]);
		if (!access(path, W_OK))
			can[nr_can++] = i;
	}
	if (!nr_can)
		skip_all("no CPU can be taken off (CONFIG_HOTPLUG_CPU)");
	clocksource = clocksource_need();
	restore = restore_all;
	ksft_set_plan(2);
	ksft_print_msg("%d readers, %d CPUs go off and on, clocksource %s\n", n, nr_can,
		       clocksource);

	progress = !readers_start(&all, cpu, n, true) && !readers_progress(&all, 10);
	begin = clock_read();
	ok = true;
	while (progress && ok && clock_read() - begin < SECONDS * NSEC) {
		i = can[rounds % nr_can];
		ok = turn_off(cpu[i]);
		progress = ok && !readers_progress(&all, 10);
		ok = ok && turn_on(cpu[i]);
		if (!ok) {
			ksft_print_msg("CPU %d does not go off and on: %s\n", cpu[i],
				       strerror(errno));
			break;
		}
		/* Its reader must come back to it, or the next rounds take off an idle CPU. */
		back_on = __atomic_load_n(&all.r[i].on_cpu, __ATOMIC_RELAXED);
		while (progress &&
		       __atomic_load_n(&all.r[i].on_cpu, __ATOMIC_RELAXED) < back_on + 2)
			progress = !readers_progress(&all, 10);
		rounds++;
	}
	readers_stop(&all);
	readers_figures(&all, "hotplug");
	figure("hotplug_rounds", "%d", rounds, "rounds");
	ksft_test_result(ok && progress && rounds, "CPUs went off and on, each reader read on\n");
	ksft_test_result(readers_good(&all), "no step backwards on %d CPUs\n", n);
	finish();
	return 0;
}
