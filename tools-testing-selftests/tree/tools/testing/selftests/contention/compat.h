/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of a test's life that kselftest.h does not have, or does not have alike, on all
 * kernels that this suite is built in (5.10 and later).
 */
#ifndef CONTENTION_COMPAT_H
#define CONTENTION_COMPAT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* lib.mk defines it from 6.12 on */
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include "../kselftest.h"

#ifndef ARRAY_SIZE	/* kselftest.h has it after 5.10 */
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/*
 * Seconds; less than the timeout in settings, whose message would not say as much. A slow kernel
 * (KCSAN, lockdep) with a runner that gives more time sets the environment variable of this name.
 */
#define WATCHDOG	80
#define WATCHDOG_ENV	"CONTENTION_WATCHDOG"

static char watchdog_msg[96];

/* Undoes what the test changed on the machine; set, before the change, by those that do. */
static void (*restore)(void);

static void restore_at_exit(void)
{
	if (restore)
		restore();
}

/* The watchdog, or somebody ends the test from outside: the machine is left as it was. */
static void on_signal(int sig)
{
	ssize_t said;

	/* Main changes the machine, so it must stand still meanwhile: only it undoes things. */
	if (syscall(__NR_gettid) != getpid()) {
		syscall(__NR_tgkill, getpid(), getpid(), sig);
		return;
	}
	if (sig == SIGALRM) {
		said = write(STDOUT_FILENO, watchdog_msg, strlen(watchdog_msg));
		(void)said;
	}
	restore_at_exit();
	if (sig == SIGALRM)
		_exit(KSFT_FAIL);
	/* Comes when this returns, before main goes on; the parent sees what ended us. */
	signal(sig, SIG_DFL);
	raise(sig);
}

static inline void handle(int sig, const struct sigaction *action)
{
	struct sigaction old;

	/* What is ignored, by nohup for one, stays so. */
	if (sig == SIGALRM || (!sigaction(sig, NULL, &old) && old.sa_handler != SIG_IGN))
		sigaction(sig, action, NULL);
}

static inline unsigned int watchdog_seconds(void)
{
	const char *text = getenv(WATCHDOG_ENV);
	unsigned long seconds;
	char *end;

	if (!text || !*text)
		return WATCHDOG;
	seconds = strtoul(text, &end, 10);
	if (*end || !seconds || seconds > 86400) {
		printf("Bail out! " WATCHDOG_ENV " is '%s', not a number of seconds\n", text);
		exit(KSFT_FAIL);
	}
	return seconds;
}

/*
 * Line buffered, because a log that ends in the middle must still show how far the test got;
 * kselftest.h does so itself only from 6.12 on. A test that hangs says so and fails.
 */
static inline void start(void)
{
	/* SIGPIPE: who read our output may go first. */
	static const int ends[] = { SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, 0 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	unsigned int seconds, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	seconds = watchdog_seconds();
	snprintf(watchdog_msg, sizeof(watchdog_msg),
		 "Bail out! hang: not at an end after %u s\n", seconds);
	atexit(restore_at_exit);
	for (i = 0; ends[i]; i++)
		sigaddset(&action.sa_mask, ends[i]);
	for (i = 0; ends[i]; i++)
		handle(ends[i], &action);
	alarm(seconds);
	ksft_print_header();
}

static inline int file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

static inline int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	if (close(fd) || n != (ssize_t)strlen(text))
		return -1;
	return 0;
}

/* "# figure: name value unit" is what a runner collects. */
#define figure(name, fmt, value, unit)	ksft_print_msg("figure: %s " fmt " %s\n", name, value, unit)

/* ksft_exit_skip() with no plan yet, which is the only form that is printed alike everywhere. */
#define skip_all(...) do {			\
	printf("1..0 # SKIP " __VA_ARGS__);	\
	putchar('\n');				\
	exit(KSFT_SKIP);			\
} while (0)

/* ksft_finished() of 6.1 and later: passes only if every planned test ran and none failed. */
static inline void finish(void)
{
	if (ksft_plan && ksft_plan == (unsigned int)(ksft_get_pass_cnt() + ksft_get_xskip_cnt()))
		ksft_exit_pass();
	else
		ksft_exit_fail();
}

#endif
