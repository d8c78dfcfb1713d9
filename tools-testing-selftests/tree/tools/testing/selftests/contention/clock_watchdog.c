// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own test of the clocksource watchdog (clocksource-wdtest, in the form that has a
 * verdict) while other CPUs read the clock: the watchdog reads the shared counter as well, and must
 * find the faults that the module injects and no others.
 *
 * Judged is the first half, in which the watchdog compares two clocksources. In the second it has
 * CPUs compare one; there, a run in which the watchdog happens to come to the CPU that it is on
 * counts as sound, and fails the test, on a kernel without the fix as well.
 */
#include "modules.h"
#include "readers.h"

#define MODULE	"clocksource-wdtest"

static bool first_half, success, fail, began;

static void restore_all(void)
{
	modules_unload();
}

static void record(char *line)
{
	char *text = strstr(line, "wdtest: ");

	if (!text)
		return;
	ksft_print_msg("%.*s\n", (int)strcspn(text, "\n"), text);
	/* The older form says other things, and has no verdict. */
	if (strstr(text, "Test: State"))
		began = true;
	if (strstr(text, "Test: State 0 percpu 1"))
		first_half = true;
	if (strstr(text, "Success: All tests passed"))
		success = true;
	else if (strstr(text, "Fail: "))
		fail = true;
}

int main(void)
{
	struct readers all;
	static int cpu[MAX_CPUS];
	int n, tenths, most;
	bool good;

	start();
	n = cpus_need(cpu);
	clocksource_need();
	if (geteuid())
		skip_all("a module is loaded by root only");
	if (!module_exists(MODULE))
		skip_all("no module " MODULE " (CONFIG_TEST_CLOCKSOURCE_WATCHDOG=m)");
	if (module_loaded(MODULE))
		skip_all("the module " MODULE " is loaded already");
	if (kmsg_open())
		skip_all("cannot read " KMSG ": %s", strerror(errno));
	restore = restore_all;
	/* Some CPUs are left to the watchdog, which has little patience with them. */
	n = n > 4 ? 2 : 1;
	good = !readers_start(&all, cpu, n, true) && !readers_progress(&all, 10);
	most = watchdog_seconds() * 8;
	if (module_load(MODULE, NULL, ""))
		ksft_exit_fail_msg("cannot load " MODULE ": %s\n", strerror(errno));
	for (tenths = 0; tenths < most && !success && !fail; tenths++) {
		usleep(100000);
		kmsg_read(record);
		if (tenths > 50 && !began && !success && !fail) {
			readers_stop(&all);
			skip_all("this kernel's " MODULE " has no verdict");
		}
	}
	ksft_set_plan(2);
	good = !readers_progress(&all, 10) && good;
	readers_stop(&all);
	ksft_print_msg("CPUs against each other: %s\n", success ? "passed" : "failed");
	ksft_test_result(first_half, "the watchdog's test passes beside %d readers\n", n);
	ksft_test_result(readers_good(&all) && good, "no step backwards\n");
	finish();
	return 0;
}
