/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs code of the kernel on a few simulated CPUs, in every order in which they can take turns.
 *
 * Each CPU is a coroutine, which stops before each access to shared memory (shim_access() in
 * verify/shim); to go on from there to the next access is one step. The program tries all ways in
 * which the CPUs' steps can follow each other, up to a bound on preemptions where a case has one,
 * and remembers the states it has been in. A state is all that decides the future: what CPUs share,
 * and each CPU's registers and stack. The idea of the search is that of explicit-state model
 * checkers (Holzmann's SPIN); that of bounding preemptions, from which short counterexamples
 * follow, is Musuvathi's and Qadeer's (CHESS, 2007).
 *
 * A CPU that stops for ever, wherever it is, is one that gets no turn any more. What is checked in
 * all states, or when one CPU has finished something, thus holds for any CPU that stops anywhere.
 *
 * Memory is sequentially consistent here: barriers are the business of verify/litmus and, on
 * threads, of verify/threads.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>

#define EXPLORE_MAX_CPUS	8
#define EXPLORE_MAX_SAW		8

/* What CPUs share, and what a case needs to know of the past; all else has to stay as it is. */
#define explore_shared		__attribute__((__section__("explore_shared")))

/**
 * struct explore_case - what the CPUs do, and what must be true
 * @name: one word
 * @what: a line for the reader
 * @cpu: what each CPU does; ends with the first NULL
 * @alike: CPUs with the same function may be exchanged, for nothing depends on their numbers
 * @init: sets up what CPUs share; all of it is zero before
 * @check: called after each step; NULL if there is nothing to check
 * @end: called when all CPUs are done
 * @max_steps: a CPU's own steps from one explore_point() to the next, however the others run; where
 *	there is no bound on preemptions, some CPU has to need as many. 0: they are not counted,
 *	which saves states; to go round for ever is a failure nevertheless
 * @preemptions: how often a CPU may be stopped in the middle of something; -1: no bound
 * @saw: what has to happen somewhere, by explore_saw(), or the case proves nothing
 */
struct explore_case {
	const char		*name;
	const char		*what;
	void			(*cpu[EXPLORE_MAX_CPUS + 1])(void);
	bool			alike;
	void			(*init)(void);
	void			(*check)(void);
	void			(*end)(void);
	unsigned int		max_steps;
	int			preemptions;
	const char		*saw[EXPLORE_MAX_SAW];
};

/* What a program has: the cases, and how to print a value at an address, or NULL for a number. */
extern const struct explore_case explore_cases[];
extern const unsigned int explore_nr_cases;
const char *explore_name(const volatile void *addr);
void explore_format(char *text, size_t size, const volatile void *addr, unsigned long long value);

/* For the CPUs' functions. */

/*
 * Here something begins, in the step of its first access: whoever begins earlier can only be asked
 * for less. To be stopped here is no preemption.
 */
void explore_point(const char *what);

/* A step with n outcomes, all of which are tried. Returns 0 to n - 1. */
unsigned int explore_choose(const char *what, unsigned int n);

/*
 * Blocks until the function says yes, and goes on in the same step. If that is never, it fails. arg
 * is not on the stack.
 */
void explore_wait(const char *what, bool (*until)(void *), void *arg);

/* Of one of the case's @saw: it happened. */
void explore_saw(const char *what);

/* Shared memory that nobody changes after init(), so that to load it is no step. */
void explore_constant(const volatile void *addr, size_t size);

/* Which CPU this is, from 0. A case whose CPUs are alike must not keep it over a step. */
unsigned int explore_cpu(void);

/* Steps that this CPU made since the last point, which is the first. */
unsigned int explore_steps(void);

/*
 * Bits for what a CPU has done since the last point. check() sets them for the CPU whose step it
 * was.
 */
void explore_mark(unsigned int marks);
void explore_unmark(unsigned int marks);
unsigned int explore_marks(void);

/* A line in the table of a schedule. */
__attribute__((__format__(__printf__, 1, 2))) void explore_say(const char *format, ...);

/* The invariant does not hold. Does not return. */
__attribute__((__format__(__printf__, 1, 2), __noreturn__))
void explore_fail(const char *format, ...);

#define explore_check(condition, ...) do {			\
	if (!(condition))					\
		explore_fail(__VA_ARGS__);			\
} while (0)

#endif
