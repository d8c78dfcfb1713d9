// SPDX-License-Identifier: GPL-2.0
/*
 * Every CPU is stopped by an NMI again and again (SysRq l) while it reads the clock. The NMI hits
 * readers at any point, also the one that the others wait for, and holds it for the long time that
 * a backtrace takes to write.
 */
#include "readers.h"

#define SECONDS		6
#define ROUNDS_MAX	50	/* each is some hundred lines in the kernel's log */
#define PRINTK		"/proc/sys/kernel/printk"

static char printk_before[64];

static void restore_all(void)
{
	if (printk_before[0])
		file_write(PRINTK, printk_before);
}

static long nmi_count(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	size_t size = 0;
	char *line = NULL, *at, *end;
	long sum = 0, n;

	if (!f)
		return -1;
	while (getline(&line, &size, f) > 0) {
		at = line + strspn(line, " ");
		if (strncmp(at, "NMI:", 4))
			continue;
		for (at += 4; n = strtol(at, &end, 10), end != at; at = end)
			sum += n;
	}
	free(line);
	fclose(f);
	return sum;
}

int main(void)
{
	const char *clocksource;
	static int cpu[MAX_CPUS];
	int n, rounds = 0;
	__u64 begin;
	struct readers all;
	bool progress, ok;
	long before, nmis;

	start();
	n = cpus_need(cpu);
	if (geteuid())
		skip_all("SysRq needs root");
	if (access("/proc/sysrq-trigger", W_OK))
		skip_all("no /proc/sysrq-trigger (CONFIG_MAGIC_SYSRQ)");
	clocksource = clocksource_need();
	/* The console is slow; the backtraces stay in the kernel's log. */
	if (file_read(PRINTK, printk_before, sizeof(printk_before)))
		printk_before[0] = '\0';
	restore = restore_all;
	if (printk_before[0])
		file_write(PRINTK, "1");
	ksft_set_plan(2);
	ksft_print_msg("%d readers, clocksource %s\n", n, clocksource);

	before = nmi_count();
	progress = !readers_start(&all, cpu, n, true) && !readers_progress(&all, 10);
	begin = clock_read();
	ok = true;
	while (progress && ok && rounds < ROUNDS_MAX && clock_read() - begin < SECONDS * NSEC) {
		ok = !file_write("/proc/sysrq-trigger", "l");
		rounds += ok;
		progress = !readers_progress(&all, 10);
	}
	readers_stop(&all);
	nmis = nmi_count() - before;
	readers_figures(&all, "nmi");
	figure("nmi_rounds", "%d", rounds, "rounds");
	figure("nmi_count", "%ld", nmis, "NMIs");
	ksft_test_result(ok && progress && rounds && nmis >= rounds,
			 "NMIs came in each round, each reader read on\n");
	ksft_test_result(readers_good(&all), "no step backwards on %d CPUs\n", n);
	finish();
	return 0;
}
