// SPDX-License-Identifier: GPL-2.0
/*
 * The clocksource goes to and fro between hpet and acpi_pm while every CPU reads the clock. Each
 * has a shared word of its own that lies untouched while the other is in use, so the first
 * readers after a switch must not be served from what was there before.
 */
#include "readers.h"

#define NR_SWITCHES	100
#define EVERYBODY	10	/* switches after which each reader must have read on */

static const char *clocksource_before;

static void clocksource_restore(void)
{
	file_write(CLOCKSOURCE "current_clocksource", clocksource_before);
}

int main(void)
{
	static const char * const name[] = { "acpi_pm", "hpet" };
	static int cpu[MAX_CPUS];
	int n, done = 0;
	struct readers all;
	bool progress, ok;

	start();
	n = cpus_need(cpu);
	if (geteuid())
		skip_all("changing the clocksource needs root");
	if (!clocksource_available("hpet") || !clocksource_available("acpi_pm"))
		skip_all("needs both hpet and acpi_pm as clocksources");
	/* Where neither is in use, a switch to them is for the admin to decide. */
	clocksource_before = clocksource_need();
	restore = clocksource_restore;
	ksft_set_plan(2);
	ksft_print_msg("%d readers, %d switches\n", n, NR_SWITCHES);

	progress = !readers_start(&all, cpu, n, true) && !readers_progress(&all, 10);
	ok = true;
	while (progress && ok && done < NR_SWITCHES) {
		ok = !clocksource_set(name[done % 2]);
		if (ok) {
			done++;
			progress = done % EVERYBODY ? !readers_any(&all, 10) :
						      !readers_progress(&all, 10);
		}
	}
	readers_stop(&all);
	readers_figures(&all, "switch");
	ksft_test_result(ok && progress && done == NR_SWITCHES,
			 "%d switches, read from all the time\n", done);
	ksft_test_result(readers_good(&all), "no step backwards on %d CPUs\n", n);
	finish();
	return 0;
}
