// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads on two real CPUs run the code that hpet.c runs on the model: a machine file of this
 * machine on the standard output, measured, and as comments what a shared read took. hpet -m of
 * that file says what the model makes of it.
 *
 * The counter is made up: a sample takes as long as the files say of the HPET. Medians of many
 * short rounds, as other programs and a host take time away.
 */
#define _GNU_SOURCE
#include <linux/shared_counter.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SERVICE		600
#define LATENCY		300
#define THINK		100	/* ns between reads, on average */
#define ROUNDS		201
#define ROUND_NS	1000000

unsigned int shim_nr_cpus = 2, shim_nr_nodes = 1;

static __thread unsigned int this_cpu;
static unsigned int cpu_of[2];

unsigned int shim_cpu(void)
{
	return this_cpu;
}

int shim_cpu_to_node(unsigned int cpu)
{
	(void)cpu;
	return 0;
}

bool shim_in_nmi(void)
{
	return false;
}

void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	(void)cpu;
	return (void *)ptr;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	this_cpu = cpu;
	CPU_ZERO(&set);
	CPU_SET(cpu_of[cpu], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), by_size);
	return v[n / 2];
}

static struct {
	long value __attribute__((__aligned__(128)));
	long pad __attribute__((__aligned__(128)));
} line;

#define TURNS	2000

/* What a turn takes, less that of an empty one. */
#define COST(what) ({								\
	double _t[ROUNDS];							\
	int _i, _k;								\
										\
	for (_i = 0; _i < ROUNDS; _i++) {					\
		double _begin = now();						\
										\
		for (_k = 0; _k < TURNS; _k++)					\
			what;							\
		_t[_i] = (now() - _begin) / TURNS;				\
	}									\
	median(_t, ROUNDS);							\
})

static void pause_load(void)
{
	__builtin_ia32_pause();
	(void)__atomic_load_n(&line.value, __ATOMIC_RELAXED);
	barrier();
}

/* The other waits for odd, this one for even: two transfers a turn, each for a locked instruction. */
static bool stop;

static void *pong(void *arg)
{
	long v;

	(void)arg;
	pin(1);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		v = __atomic_load_n(&line.value, __ATOMIC_RELAXED);
		if (v & 1)
			__atomic_compare_exchange_n(&line.value, &v, v + 1, false, 0, 0);
	}
	return NULL;
}

static void ping(void)
{
	long v = __atomic_load_n(&line.value, __ATOMIC_RELAXED);

	__atomic_compare_exchange_n(&line.value, &v, v + 1, false, 0, 0);
	while (__atomic_load_n(&line.value, __ATOMIC_RELAXED) & 1)
		if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
			return;
}

DEFINE_SHARED_COUNTER(sc, 32);
static unsigned long samples;
static double resolution;

static __always_inline u32 sample(void)
{
	double begin = now(), t;

	__atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
	do {
		t = now();
	} while (t - begin < SERVICE + LATENCY - resolution);
	return t;
}

struct reader {
	unsigned int cpu;
	unsigned long reads;
	double ns;
	uint64_t seed;
};

static pthread_barrier_t all;
static double round_end;

static void *reader(void *arg)
{
	struct reader *r = arg;
	double begin, end, next;

	pin(r->cpu);
	pthread_barrier_wait(&all);
	/* Main says when this ends. */
	pthread_barrier_wait(&all);
	next = now();
	while (next < round_end) {
		/* Uniform instead of exponential: there is no logarithm to pay for. */
		r->seed = r->seed * 6364136223846793005 + 1442695040888963407;
		end = next + (r->seed >> 33) * (2.0 * THINK / (1U << 31));
		do {
			begin = now();
		} while (begin < end);
		shared_counter_read(&sc, sample);
		next = now();
		r->reads++;
		r->ns += next - begin - resolution;
	}
	return NULL;
}

static void reads(unsigned int n)
{
	static double took[ROUNDS], share[ROUNDS];
	struct reader r[2];
	pthread_t thread[2];
	unsigned int i;
	int k;

	for (k = 0; k < ROUNDS; k++) {
		pthread_barrier_init(&all, NULL, n + 1);
		for (i = 0; i < n; i++) {
			r[i] = (struct reader){ .cpu = i, .seed = k * 2 + i + 1 };
			pthread_create(&thread[i], NULL, reader, &r[i]);
		}
		pthread_barrier_wait(&all);
		samples = 0;
		round_end = now() + ROUND_NS;
		pthread_barrier_wait(&all);
		for (i = 0; i < n; i++)
			pthread_join(thread[i], NULL);
		if (!r[0].reads || (n > 1 && !r[1].reads)) {
			/* One of them did not run at all. */
			k--;
			continue;
		}
		took[k] = (r[0].ns + (n > 1) * r[1].ns) / (r[0].reads + (n > 1) * r[1].reads);
		share[k] = (double)(r[0].reads + (n > 1) * r[1].reads) / samples;
		pthread_barrier_destroy(&all);
	}
	printf("# measured: %u CPUs, %d ns between reads: %.0f ns a read, %.2f reads of a sample\n", n, THINK,
	       median(took, ROUNDS), median(share, ROUNDS));
}

int main(void)
{
	double hit, rmw, poll, transfer;
	cpu_set_t set;
	pthread_t other;
	unsigned int i, n = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu_of[n++] = i;
	if (n < 2) {
		fprintf(stderr, "native: needs two CPUs\n");
		return 4;
	}
	pin(0);
	/* A load that the next one waits for, as the compiler cannot know that it is 0. */
	hit = COST({
		long _v = __atomic_load_n(&line.pad, __ATOMIC_RELAXED);

		__asm__ __volatile__("" : "+r" (_v) : : "memory");
	});
	rmw = COST(__atomic_fetch_add(&line.pad, 1, __ATOMIC_RELAXED));
	poll = COST(pause_load());
	resolution = COST((void)now()) / 2;
	pthread_create(&other, NULL, pong, NULL);
	ping();
	transfer = COST(ping()) / 2 - rmw;
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);

	printf("# Two CPUs of this machine, by native.c.\n");
	printf("name\t\tthis-machine\nnodes\t\t1\ncpus\t\t2\n");
	printf("hit\t\t%.1f\nrmw\t\t%.1f\npoll\t\t%.1f\nnode\t\t%.0f\nhop\t\t1 %.0f\n", hit,
	       rmw - hit > 0 ? rmw - hit : 0, poll, transfer, transfer);
	printf("# not measured, and of little weight with two CPUs\n");
	printf("node_busy\t5\nhome_busy\t5\ninvalidate_node\t0\ninvalidate_cpu\t0\n");
	printf("counter_service\t%d\ncounter_latency\t%d\n", SERVICE, LATENCY);
	sc.bound = SHARED_COUNTER_BOUND_READS * (SERVICE + LATENCY) / poll;
	reads(1);
	reads(2);
	return 0;
}
