// SPDX-License-Identifier: GPL-2.0
/* The threads, see threads.h. */
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../random.h"
#include "threads.h"

static __thread unsigned int this_thread;
static __thread uint64_t random_state;
static uint64_t seed;
static bool stopping;
unsigned int shim_nr_cpus;

unsigned int shim_cpu(void)
{
	return this_thread;
}

unsigned int threads_random(void)
{
	return random_next(&random_state) >> 32;
}

static bool is_stopping(void)
{
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED);
}

void shim_access(const volatile void *addr, size_t size, enum shim_access access)
{
	unsigned int r = threads_random(), i;

	(void)addr;
	(void)size;
	(void)access;
	if (!(r & 0x3ff))
		sched_yield();
	else if (!(r & 0xf))
		for (i = r >> 24; i; i--)
			barrier();
}

void shim_irqs_off(bool off)
{
	(void)off;
}

void threads_fail(const char *format, ...)
{
	va_list args;

	flockfile(stdout);
	printf("not ok 1 - %s # seed %" PRIu64 "\n# thread %u: ", threads_test.name, seed,
	       this_thread);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static void begin(unsigned int thread)
{
	this_thread = thread;
	random_state = (seed + thread + 1) * 0x9e3779b97f4a7c15;
}

static void *run(void *arg)
{
	begin((size_t)arg);
	while (!is_stopping())
		threads_test.turn(this_thread);
	return NULL;
}

static void *ticks(void *arg)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	begin((size_t)arg);
	while (!is_stopping()) {
		nanosleep(&nap, NULL);
		threads_test.tick();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS + 1];
	unsigned int n = 4, seconds = 2;
	char text[200] = "";
	size_t i;
	int opt;

	seed = (uint64_t)time(NULL) << 20 ^ getpid();
	while ((opt = getopt(argc, argv, "n:s:S:")) != -1) {
		switch (opt) {
		case 'n':
			n = atoi(optarg);
			break;
		case 's':
			seconds = atoi(optarg);
			break;
		case 'S':
			seed = strtoull(optarg, NULL, 10);
			break;
		default:
			n = 0;
		}
	}
	if (optind != argc || n < 2 || n > MAX_THREADS || !seconds) {
		fprintf(stderr, "usage: %s [-n threads, 2 to %d] [-s seconds] [-S seed]\n", argv[0],
			MAX_THREADS);
		return 2;
	}
	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	begin(n + 1);
	shim_nr_cpus = n;
	threads_test.init(n);
	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)i))
			threads_fail("cannot start thread %zu", i);
	if (threads_test.tick && pthread_create(&thread[n], NULL, ticks, (void *)(size_t)n))
		threads_fail("cannot start the clock");
	sleep(seconds);
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	for (i = 0; i < n + !!threads_test.tick; i++)
		pthread_join(thread[i], NULL);
	threads_test.end(text, sizeof(text));
	printf("ok 1 - %s # %u threads, %u s, seed %" PRIu64 ": %s\n", threads_test.name, n, seconds,
	       seed, text);
	return 0;
}
