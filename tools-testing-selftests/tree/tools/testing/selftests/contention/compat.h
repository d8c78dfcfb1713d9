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
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include "../kselftest.h"

/* Seconds; less than the timeout in settings, whose message would not say as much. */
#define WATCHDOG	80

static char watchdog_msg[96];

/* Undoes what the test changed on the machine; set by those that change something. */
static void (*restore)(void);

static void watchdog(int sig)
{
	(void)sig;
	if (write(STDOUT_FILENO, watchdog_msg, strlen(watchdog_msg)) < 0)
		_exit(KSFT_FAIL);
	if (restore)
		restore();
	_exit(KSFT_FAIL);
}

/*
 * Line buffered, because a log that ends in the middle must still show how far the test got;
 * kselftest.h does so itself only from 6.12 on. A test that hangs says so and fails.
 */
static inline void start(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(watchdog_msg, sizeof(watchdog_msg),
		 "Bail out! hang: not at an end after %u s\n", WATCHDOG);
	signal(SIGALRM, watchdog);
	alarm(WATCHDOG);
	ksft_print_header();
}

/* ksft_exit_skip() with no plan yet, which is the only form that is printed alike everywhere. */
#define skip_all(...) do {			\
	if (restore)				\
		restore();			\
	printf("1..0 # SKIP " __VA_ARGS__);	\
	putchar('\n');				\
	exit(KSFT_SKIP);			\
} while (0)

/* ksft_finished() of 6.1 and later: passes only if every planned test ran and none failed. */
static inline void finish(void)
{
	if (restore)
		restore();
	if (ksft_plan && ksft_plan == (unsigned int)(ksft_get_pass_cnt() + ksft_get_xskip_cnt()))
		ksft_exit_pass();
	else
		ksft_exit_fail();
}

#endif
