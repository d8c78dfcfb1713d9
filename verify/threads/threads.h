/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the headers of the fixes on real threads, which the shims of verify/shim stop at random: before
 * an access to shared memory a thread may spin, or let another one have its core. Built with
 * -fsanitize=thread it also sees whether what is ordered by the acquire and release of a header is
 * ordered by these, or by luck. That a test passes proves nothing; verify/explore and verify/litmus
 * do. This is what is left between them: the real compiler, the real processor, and long runs.
 */
#ifndef THREADS_H
#define THREADS_H

#include <linux/compiler.h>
#include <stdbool.h>

#define MAX_THREADS	8

/* A program has one of these. */
struct threads_test {
	const char	*name;
	void		(*init)(unsigned int threads);
	/* A thread calls it again and again. */
	void		(*turn)(unsigned int thread);
	/* Called by one more thread about every 0.2 ms; may be NULL. */
	void		(*tick)(void);
	/* All threads are done. Says in a few words what happened, and fails if that was nothing. */
	void		(*end)(char *text, size_t size);
};
extern const struct threads_test threads_test;

/* A random number of the thread that calls. */
unsigned int threads_random(void);

__attribute__((__format__(__printf__, 1, 2), __noreturn__))
void threads_fail(const char *format, ...);

#define threads_check(condition, ...) do {			\
	if (!(condition))					\
		threads_fail(__VA_ARGS__);			\
} while (0)

#endif
