// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests again and again for minutes=N of the kernel command line, in random order, with a
 * random CPU offline in each round and with faults injected into reads of the HPET all the time.
 * Adds up what they did. A test that fails, or skips, fails the whole. SOAK=N puts this into the
 * guest.
 */
#include "../readers.h"
#include <sys/wait.h>

#define TESTS		"/tests/"
#define TEST_WATCHDOG	"300"

/* Those that ask for nothing but that the clock goes right and the faults are counted. */
static const char * const test[] = {
	"clock_monotonic", "clock_handoff", "clocksource_switch", "cpu_hotplug", "nmi_backtrace",
	"umip", "page_lock", "page_fault",
};

#define NR_TESTS	ARRAY_SIZE(test)

/* What tests tell in figures, by unit. */
static struct {
	const char *unit;
	unsigned long long sum;
} total[] = {
	{ "reads" }, { "faults" }, { "NMIs" }, { "rounds" }, { "messages" }, { "sections" },
	{ "trylocks" },
};

#define NR_TOTALS	ARRAY_SIZE(total)

static bool stop_injecting;
static unsigned int seed, nr_cpus;

static unsigned int random_number(unsigned int below)
{
	return (rand_r(&seed) >> 8) % below;
}

/* A CPU is stopped some hundred times a second, some of them for long; now and then time stands. */
static void *inject_main(void *arg)
{
	unsigned int own = seed + 1, r;
	char text[48];

	(void)arg;
	while (!__atomic_load_n(&stop_injecting, __ATOMIC_RELAXED)) {
		r = rand_r(&own) >> 4;
		if (r % 500)
			snprintf(text, sizeof(text), "stop %u %u", r / 512 % nr_cpus,
				 r % 50 ? 1 + r % 300 : 20000);
		else
			snprintf(text, sizeof(text), "freeze 1000");
		/* Refused while a CPU is stopped, and for one that is offline. */
		file_write(INJECT, text);
		usleep(2000 + r % 4000);
	}
	return NULL;
}

static void add_figure(const char *line)
{
	unsigned long long value;
	char name[64], unit[32];
	unsigned int i;

	if (sscanf(line, "# figure: %63s %llu %31s", name, &value, unit) != 3)
		return;
	/* A part of what another figure has. */
	if (strstr(name, "_least") || strstr(name, "_most"))
		return;
	for (i = 0; i < NR_TOTALS; i++)
		if (!strcmp(unit, total[i].unit))
			total[i].sum += value;
}

/* What it says is shown if it fails. */
static bool run(const char *name)
{
	static char said[1 << 16];
	size_t used = 0;
	char line[512], path[64];
	int out[2], status;
	FILE *from;
	pid_t pid;

	snprintf(path, sizeof(path), TESTS "%s", name);
	if (pipe(out))
		return false;
	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		restore = NULL;
		dup2(out[1], 1);
		dup2(out[1], 2);
		close(out[0]);
		close(out[1]);
		execl(path, name, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	from = fdopen(out[0], "r");
	while (from && fgets(line, sizeof(line), from)) {
		add_figure(line);
		if (used + strlen(line) < sizeof(said))
			used += snprintf(said + used, sizeof(said) - used, "%s", line);
	}
	if (from)
		fclose(from);
	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (status)
		printf("# %s ended with wait status 0x%x and said:\n", name, status);
	for (char *save, *l = status ? strtok_r(said, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save))
		printf("# | %s\n", l);
	return !status;
}

static void restore_all(void)
{
	file_write(INJECT, "release");
	settings_restore();
}

int main(void)
{
	const char *minutes = getenv("minutes");
	unsigned int rounds[NR_TESTS] = { 0 }, all = 0, offline = 0, i, off;
	long stopped = 0, frozen = 0;
	struct stats before, after;
	pthread_t injector;
	char text[128];
	bool good = true;
	__u64 end;

	start();
	alarm(0);	/* init has its own limit for all of this */
	setenv(WATCHDOG_ENV, TEST_WATCHDOG, 1);
	ksft_set_plan(3);
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	restore = restore_all;
	seed = clock_read();
	ksft_print_msg("%s minutes, seed %u\n", minutes ? minutes : "?", seed);
	if (!minutes || stats_get("hpet", &before) ||
	    pthread_create(&injector, NULL, inject_main, NULL))
		ksft_exit_fail_msg("no minutes=, no " SWITCHES " or no thread\n");
	end = clock_read() + atoi(minutes) * 60 * NSEC;
	while (good && clock_read() < end) {
		off = nr_cpus > 3 ? random_number(nr_cpus) : 0;
		offline += off && !cpu_set_online(off, false);
		i = random_number(NR_TESTS);
		good = run(test[i]);
		rounds[i]++;
		all++;
		if (off)
			good = !cpu_set_online(off, true) && good;
		printf("# %u: %s%s\n", all, test[i], good ? "" : " FAILED");
	}
	__atomic_store_n(&stop_injecting, true, __ATOMIC_RELAXED);
	pthread_join(injector, NULL);
	if (!file_read(INJECT, text, sizeof(text)))
		sscanf(text, "stopped %ld frozen %ld", &stopped, &frozen);
	stats_get("hpet", &after);
	for (i = 0; i < NR_TESTS; i++)
		printf("# %s: %u times\n", test[i], rounds[i]);
	for (i = 0; i < NR_TOTALS; i++) {
		snprintf(text, sizeof(text), "soak_%s", total[i].unit);
		figure(text, "%llu", total[i].sum, total[i].unit);
	}
	figure("soak_stopped_in_reads", "%ld", stopped, "faults injected");
	figure("soak_frozen_reads", "%ld", frozen, "faults injected");
	figure("soak_cpu_offline", "%u", offline, "rounds");
	figure("soak_taken_over", "%llu",
	       after.stolen + after.fresh - before.stolen - before.fresh, "reads");
	ksft_test_result(good && all, "%u rounds, each passed\n", all);
	ksft_test_result(stopped > 10 && frozen && (offline || nr_cpus <= 3 || all < 4),
			 "faults were injected, CPUs were offline\n");
	ksft_test_result(total[0].sum && after.leader > before.leader &&
			 after.stolen + after.fresh > before.stolen + before.fresh,
			 "the clock was read, and reads were taken over\n");
	finish();
	return 0;
}
