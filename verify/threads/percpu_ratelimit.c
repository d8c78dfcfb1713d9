// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/percpu_ratelimit.h and lib/percpu_ratelimit.c on threads: in each window each place
 * is given once, no window follows the last too early, and every suppressed call is told of once.
 */
#include <linux/jiffies.h>
#include <linux/percpu_ratelimit.h>
#include <stdio.h>

#include "threads.h"

#define BURST		3
#define INTERVAL	2

static DEFINE_PER_CPU(struct percpu_ratelimit_cpu, rl_cpu);
static struct {
	struct percpu_ratelimit_cpu of __attribute__((__aligned__(64)));
} copies[MAX_THREADS + 2];
static struct percpu_ratelimit rl = {
	.cpu = &rl_cpu,
	.interval = INTERVAL,
	.burst = BURST,
};
/* As after boot, about to wrap. */
#define FIRST_JIFFY	(-500UL)
unsigned long shim_jiffies = FIRST_JIFFY;
static unsigned long calls, told, places[BURST + 1];

void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	return (char *)&copies[cpu].of +
	       ((const volatile char *)ptr - (const volatile char *)&rl_cpu);
}

static void tick(void)
{
	__atomic_fetch_add(&shim_jiffies, 1, __ATOMIC_RELAXED);
}

static void turn(unsigned int thread)
{
	unsigned int place = percpu_ratelimit_allow(&rl);

	(void)thread;
	threads_check(place <= BURST, "place %u", place);
	__atomic_fetch_add(&places[place], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (place == 1)
		__atomic_fetch_add(&told, percpu_ratelimit_missed(&rl), __ATOMIC_RELAXED);
}

static void init(unsigned int threads)
{
	(void)threads;
}

static void end(char *text, size_t size)
{
	unsigned long windows = places[1], suppressed, ticks = shim_jiffies - FIRST_JIFFY;
	unsigned int i;

	snprintf(text, size, "%lu calls, %lu windows in %lu jiffies, %lu suppressed", calls, windows,
		 ticks, places[0]);
	threads_check(windows > 10 && windows <= ticks / INTERVAL + 1, "windows: %s", text);
	for (i = 2; i <= BURST; i++)
		threads_check(places[i] && places[i] <= places[i - 1],
			      "place %u was given %lu times: %s", i, places[i], text);
	suppressed = percpu_ratelimit_events(&rl, PERCPU_RATELIMIT_SUPPRESSED);
	threads_check(suppressed == places[0] && suppressed, "%lu counted: %s", suppressed, text);
	threads_check(percpu_ratelimit_events(&rl, PERCPU_RATELIMIT_ALLOWED) == calls - suppressed,
		      "let through and not counted: %s", text);
	told += percpu_ratelimit_missed(&rl);
	threads_check(told == suppressed, "told of %lu: %s", told, text);
}

const struct threads_test threads_test = {
	.name = "percpu_ratelimit", .init = init, .turn = turn, .tick = tick, .end = end,
};
