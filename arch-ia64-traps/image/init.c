// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the image: runs the selftest and writes KTAP on the console, the only port that every
 * ia64 machine and emulator has. The kernel is silent meanwhile, so that its messages do not stand
 * in the middle of a line; they are in the log, where the selftest counts them. This never says
 * that all is well: whoever reads the console judges. Whatever goes wrong here ends the machine
 * without the end line, and that is a failure.
 */
#include "libc.h"
#include <linux/reboot.h>

#define TEST		"/fpswa"
#define SUITE		"percpu_ratelimit"
#define INDENT		"    "
#define CONSOLE_LEVEL	8	/* action of syslog(2) */
#define CPUS		"/sys/devices/system/cpu/"

static int nr;

static void __noreturn end(void)
{
	usleep(1000000);	/* for the port to send the rest */
	syscall(__NR_reboot, (long)LINUX_REBOOT_MAGIC1, (long)LINUX_REBOOT_MAGIC2,
		(long)LINUX_REBOOT_CMD_POWER_OFF, 0L);
	/* Where power cannot be switched off. */
	syscall(__NR_reboot, (long)LINUX_REBOOT_MAGIC1, (long)LINUX_REBOOT_MAGIC2,
		(long)LINUX_REBOOT_CMD_RESTART, 0L);
	for (;;)
		usleep(1000000);
}

static void __noreturn fatal(const char *what)
{
	printf("init: %s: %s\n", what, strerror(errno));
	end();
}

static void result(bool ok, const char *name, const char *note)
{
	nr++;
	printf("%s %d %s%s%s\n", ok ? "ok" : "not ok", nr, name, note[0] ? " # " : "", note);
}

static void mount_all(void)
{
	static const struct {
		const char *type, *at;
	} fs[] = {
		{ "proc", "/proc" }, { "sysfs", "/sys" }, { "devtmpfs", "/dev" },
		{ "debugfs", "/sys/kernel/debug" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(fs) / sizeof(fs[0]); i++) {
		if (mkdir(fs[i].at, 0755) && errno != EEXIST)
			fatal(fs[i].at);
		if (mount(fs[i].type, fs[i].at, fs[i].type, 0, NULL))
			fatal(fs[i].at);
	}
}

/* All of a file, as a string. Returns false if there is no such file. */
static bool slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while (got < size - 1 && (n = read(fd, buf + got, size - 1 - got))) {
		if (n < 0)
			fatal(path);
		got += n;
	}
	close(fd);
	buf[got] = '\0';
	return true;
}

static void first_line(const char *path, char *buf, size_t size)
{
	char *line_end;

	if (!slurp(path, buf, size))
		fatal(path);
	line_end = strchr(buf, '\n');
	if (line_end)
		*line_end = '\0';
}

static void check_cpus(void)
{
	char present[64], online[64], note[160];

	first_line(CPUS "present", present, sizeof(present));
	first_line(CPUS "online", online, sizeof(online));
	snprintf(note, sizeof(note), "online %s of %s", online, present);
	/* "0" is one CPU, and contention needs two. */
	result(!strcmp(present, online) && strcmp(online, "0"), "boot: all CPUs are online", note);
}

/*
 * The suite ran while the kernel booted. Its own lines are passed on; of the top level, which
 * differs between kernels, only the result counts.
 */
static void check_kunit(void)
{
	static char text[1 << 16];
	char *line, *next;
	int ok = -1;

	if (!slurp("/sys/kernel/debug/kunit/" SUITE "/results", text, sizeof(text))) {
		result(false, "kunit: " SUITE, "no such suite in this kernel");
		return;
	}
	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		else
			next = line + strlen(line);
		if (strstr(line, INDENT) == line)
			printf("%s\n", line);
		else if (strstr(line, "ok ") == line)
			ok = 1;
		else if (strstr(line, "not ok ") == line)
			ok = 0;
	}
	result(ok == 1, "kunit: " SUITE, ok < 0 ? "no result" : "");
}

static pid_t spawn(int *out)
{
	static char * const argv[] = { "fpswa", NULL }, * const envp[] = { NULL };
	pid_t pid;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		fatal("pipe");
	pid = fork();
	if (pid < 0)
		fatal("fork");
	if (!pid) {
		if (dup2(fd[1], STDOUT_FILENO) < 0)
			_exit(126);
		execve(TEST, argv, envp);
		_exit(127);
	}
	close(fd[1]);
	*out = fd[0];
	return pid;
}

/* The test has a watchdog of its own. */
static void selftest_run(void)
{
	char line[512], reason[200] = "SKIP no reason given", *skip;
	int out, status, len = 0;
	pid_t pid = spawn(&out);

	while (read(out, line + len, 1) == 1) {
		if (line[len++] != '\n' && len < (int)sizeof(line) - 2)
			continue;
		if (line[len - 1] == '\n')
			len--;
		line[len] = '\0';
		printf(INDENT "%s\n", line);
		skip = strstr(line, "1..0 # SKIP ");
		if (skip)
			snprintf(reason, sizeof(reason), "%s", skip + 7);
		len = 0;
	}
	/* A line that the test did not end. */
	line[len] = '\0';
	if (len)
		printf(INDENT "%s\n", line);
	if (waitpid(pid, &status, 0) != pid)
		fatal("waitpid");
	if (status == 4 << 8) {
		result(true, "selftest: fpswa", reason);
		return;
	}
	if (status & 0x7f)
		snprintf(reason, sizeof(reason), "crashed, signal %d", status & 0x7f);
	else
		snprintf(reason, sizeof(reason), "exit %d", status >> 8);
	result(!status, "selftest: fpswa", status ? reason : "");
}

static void check_health(void)
{
	/* bad page, machine check, died, warned, soft lockup */
	const unsigned long bad = 1 << 5 | 1 << 4 | 1 << 7 | 1 << 9 | 1 << 14;
	char text[32], note[40];

	first_line("/proc/sys/kernel/tainted", text, sizeof(text));
	snprintf(note, sizeof(note), "taint %s", text);
	result(!(strtoul(text, NULL, 10) & bad), "kernel: not tainted by a fault", note);
}

int main(void)
{
	if (getpid() != 1) {
		printf("this is the init of a test image\n");
		return 4;
	}
	mount_all();
	if (syscall(__NR_syslog, (long)CONSOLE_LEVEL, NULL, 1L))
		fatal("console level");
	usleep(200000);		/* for a message that another CPU was printing */
	printf("\nKTAP version 1\n1..4\n");
	check_cpus();
	check_kunit();
	selftest_run();
	check_health();
	printf("# contention: end\n");
	end();
}
