// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the guest: runs every test once and writes KTAP on the verdict port, which carries
 * nothing else. It never says that all is well: whoever reads the port judges. Whatever goes wrong
 * here ends the guest without the end line, and that is a failure.
 *
 * From the kernel command line, as environment: cpus=N, kunit=suite,suite, seconds=N for one test,
 * disk=1 if there is one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define SECOND_NODE	"/sys/devices/system/node/node1/cpulist"
#define VERDICT		"/dev/ttyS1"
#define TESTS		"/tests"
#define INDENT		"    "
#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define LOCKDEP		"/proc/lockdep_stats"
#define DISK		"/dev/vda"

static int verdict_fd = -1;
static int nr;		/* results so far at the top level */

/* With -no-reboot this is QEMU's end. */
static void __noreturn end(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void __noreturn __printf(1, 2) fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "init: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, ": %s\n", strerror(errno));
	va_end(ap);
	end();
}

static void put(const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(verdict_fd, text, len);
		if (n <= 0)
			fatal("write to " VERDICT);
		text += n;
		len -= n;
	}
}

static void __printf(1, 2) say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(line))
		fatal("line too long: %s", fmt);
	put(line, n);
}

/* The console log shows where the guest was when it ended. */
static void __printf(4, 5)
result(bool ok, const char *kind, const char *name, const char *fmt, ...)
{
	char note[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, sizeof(note), fmt, ap);
	va_end(ap);
	nr++;
	say("%s %d %s: %s%s%s\n", ok ? "ok" : "not ok", nr, kind, name, note[0] ? " # " : "", note);
	fprintf(stderr, "init: %s %d %s: %s%s%s\n", ok ? "ok" : "not ok", nr, kind, name,
		note[0] ? " # " : "", note);
}

static void mount_all(void)
{
	static const struct {
		const char *type, *at;
	} fs[] = {
		{ "proc", "/proc" }, { "sysfs", "/sys" }, { "devtmpfs", "/dev" },
		{ "tmpfs", "/tmp" }, { "debugfs", "/sys/kernel/debug" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fs); i++) {
		if (mkdir(fs[i].at, 0755) && errno != EEXIST)
			fatal("mkdir %s", fs[i].at);
		if (mount(fs[i].type, fs[i].at, fs[i].type, 0, NULL))
			fatal("mount %s", fs[i].at);
	}
	if (getenv("disk") && mount(DISK, "/var/tmp", "ext4", 0, NULL))
		fatal("mount " DISK);
}

static void verdict_open(void)
{
	struct termios tio;

	verdict_fd = open(VERDICT, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (verdict_fd < 0)
		fatal("open " VERDICT);
	if (tcgetattr(verdict_fd, &tio))
		fatal("tcgetattr " VERDICT);
	cfmakeraw(&tio);
	if (tcsetattr(verdict_fd, TCSANOW, &tio))
		fatal("tcsetattr " VERDICT);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		errno = EINVAL;
		fatal("%s= is not on the kernel command line", name);
	}
	return value;
}

/* All of a small file, as a string. */
static char *slurp(const char *path)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (!text)
		fatal("malloc");
	if (fd < 0) {
		free(text);
		return NULL;
	}
	while ((n = read(fd, text + size, room - 1 - size)) > 0) {
		size += n;
		if (size == room - 1) {
			room *= 2;
			text = realloc(text, room);
			if (!text)
				fatal("realloc");
		}
	}
	if (n < 0)
		fatal("read %s", path);
	close(fd);
	text[size] = '\0';
	return text;
}

static void check_clocksource(void)
{
	char *now = NULL;
	int tries;

	/* The kernel settles on it some time after init has started. */
	for (tries = 0; tries < 100; tries++) {
		free(now);
		now = slurp(CLOCKSOURCE);
		if (!now)
			fatal("read " CLOCKSOURCE);
		now[strcspn(now, "\n")] = '\0';
		if (!strcmp(now, "hpet"))
			break;
		usleep(100 * 1000);
	}
	result(!strcmp(now, "hpet"), "boot", "clocksource is hpet", "%s", now);
	free(now);
}

static void check_cpus(void)
{
	long want = atol(env("cpus")), have = sysconf(_SC_NPROCESSORS_ONLN);
	char *second = slurp(SECOND_NODE);

	/* In one node there would be no gates in front of a shared counter. */
	result(have == want && second && second[0] > '0', "boot",
	       "all CPUs are online, in two nodes", "%ld of %ld, second node: %.*s", have, want,
	       second ? (int)strcspn(second, "\n") : 0, second ? second : "");
	free(second);
}

/*
 * The suites ran while the kernel booted. The lines of the suite's own level are passed on as they
 * are; what stands at the top level differs between kernels, and of that only the result counts.
 */
static void suite_result(const char *suite)
{
	char path[256], *text, *line, *save;
	int ok = -1;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kunit/%s/results", suite);
	text = slurp(path);
	if (!text) {
		result(true, "kunit", suite, "SKIP no such suite in this kernel");
		return;
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, INDENT, strlen(INDENT)))
			say("%s\n", line);
		else if (!strncmp(line, "ok ", 3))
			ok = 1;
		else if (!strncmp(line, "not ok ", 7))
			ok = 0;
	}
	free(text);
	result(ok == 1, "kunit", suite, "%s", ok < 0 ? "no result" : "");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* A test that hangs can say more than we can; so its own limit ends a little before ours. */
static void watchdog_set(void)
{
	int seconds = atoi(env("seconds"));
	char text[16];

	snprintf(text, sizeof(text), "%d", seconds - seconds / 9);
	if (setenv("CONTENTION_WATCHDOG", text, 1))
		fatal("setenv");
}

static pid_t spawn(const char *name, int *out)
{
	char path[256];
	int fd[2];
	pid_t pid;

	snprintf(path, sizeof(path), TESTS "/%s", name);
	if (pipe(fd))
		fatal("pipe");
	pid = fork();
	if (pid < 0)
		fatal("fork");
	if (!pid) {
		if (dup2(fd[1], 1) < 0 || dup2(fd[1], 2) < 0)
			_exit(126);
		close(fd[0]);
		close(fd[1]);
		execl(path, name, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	*out = fd[0];
	return pid;
}

static void selftest_run(const char *name)
{
	int seconds = atoi(env("seconds")), out, status;
	double begin = now(), left;
	char line[512], reason[200] = "no reason given", *skip;
	bool timed_out = false;
	struct pollfd p;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	fprintf(stderr, "init: %s starts\n", name);
	pid = spawn(name, &out);
	p.fd = out;
	p.events = POLLIN;
	for (;;) {
		left = begin + seconds - now();
		if (left <= 0 || poll(&p, 1, left * 1000) <= 0) {
			timed_out = true;
			kill(pid, SIGKILL);
			break;
		}
		n = read(out, line + len, 1);
		if (n < 0)
			fatal("read from %s", name);
		if (!n)
			break;
		if (line[len++] != '\n' && len < sizeof(line) - 2)
			continue;
		if (line[len - 1] != '\n')
			line[len++] = '\n';
		line[len] = '\0';
		put(INDENT, strlen(INDENT));
		put(line, len);
		skip = strstr(line, "1..0 # SKIP ");
		if (skip)
			snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(skip + 12, "\n"),
				 skip + 12);
		len = 0;
	}
	close(out);
	if (waitpid(pid, &status, 0) != pid)
		fatal("waitpid %s", name);
	/* A line that the test did not end must not swallow the result's line. */
	if (len) {
		put(INDENT, strlen(INDENT));
		put(line, len);
		put("\n", 1);
	}
	if (timed_out)
		result(false, "selftest", name, "timeout after %d s", seconds);
	else if (WIFSIGNALED(status))
		result(false, "selftest", name, "crashed, signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 4)
		result(true, "selftest", name, "SKIP %s", reason);
	else if (WEXITSTATUS(status))
		result(false, "selftest", name, "exit %d", WEXITSTATUS(status));
	else
		result(true, "selftest", name, "%.0f s", now() - begin);
}

/*
 * What went wrong without a panic: a lockdep report, for one, is no warning to panic_on_warn on
 * all kernels, and a test may have silenced the console just then.
 */
static void check_health(void)
{
	/* bad page, machine check, died, warned, soft lockup; not TEST, which KUnit sets */
	const unsigned long bad = 1 << 5 | 1 << 4 | 1 << 7 | 1 << 9 | 1 << 14;
	char *text = slurp("/proc/sys/kernel/tainted"), *locks;
	unsigned long taint;

	if (!text)
		fatal("read tainted");
	taint = strtoul(text, NULL, 10);
	free(text);
	result(!(taint & bad), "kernel", "not tainted by a fault", "taint %lu", taint);

	text = slurp(LOCKDEP);
	if (!text)
		return;
	locks = strstr(text, " debug_locks:");
	result(locks && strtoul(locks + 13, NULL, 10) == 1, "kernel", "lockdep found nothing", "%s",
	       locks ? "on" : "no debug_locks in " LOCKDEP);
	free(text);
}

/* Calls each() for each name in a list, or only counts. */
static int names(const char *list, const char *sep, void (*each)(const char *))
{
	char *copy = strdup(list), *save, *name;
	int n = 0;

	if (!copy)
		fatal("strdup");
	for (name = strtok_r(copy, sep, &save); name; name = strtok_r(NULL, sep, &save)) {
		n++;
		if (each)
			each(name);
	}
	free(copy);
	return n;
}

int main(void)
{
	char *tests;

	if (getpid() != 1) {
		fprintf(stderr, "this is the init of a test guest; make -C here runs it\n");
		return 4;
	}
	mount_all();
	verdict_open();
	watchdog_set();
	tests = slurp(TESTS "/list");
	if (!tests)
		fatal("read " TESTS "/list");
	say("KTAP version 1\n1..%d\n", 3 + !access(LOCKDEP, F_OK) +
	    names(env("kunit"), ",", NULL) + names(tests, "\n", NULL));
	check_clocksource();
	check_cpus();
	names(env("kunit"), ",", suite_result);
	names(tests, "\n", selftest_run);
	check_health();
	say("# contention: end\n");
	if (tcdrain(verdict_fd))
		fatal("tcdrain " VERDICT);
	end();
}
