// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads on different CPUs hand a turn to each other through a futex. What the receiver reads
 * from the clock after it woke must not be older than what the sender read before it handed over.
 * The other CPUs read the clock meanwhile, so that there are values to share.
 */
#include "readers.h"
#include <linux/futex.h>

#define SECONDS_PER_PAIR	2

struct side {
	pthread_t thread;
	int cpu;
	unsigned int me;
	int error;
	__u64 handed, back, back_by;
};

static unsigned int turn;	/* the futex: even is side 0's turn, odd is side 1's */
static __u64 stamp;		/* the sender's last read; published by turn */
static bool stop;

static void turn_wait(unsigned int seen)
{
	struct timespec slice = { .tv_nsec = 100 * 1000 * 1000 };

	/* With a timeout, so that stop is seen even if the other side went first. */
	syscall(__NR_futex, &turn, FUTEX_WAIT, seen, &slice, NULL, 0);
}

static void *side_main(void *arg)
{
	struct side *s = arg;
	unsigned int seen;
	__u64 now;

	s->error = pin(s->cpu);
	if (s->error)
		return NULL;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
		if ((seen & 1) != s->me) {
			turn_wait(seen);
			continue;
		}
		now = clock_read();
		if (now < stamp) {
			s->back++;
			if (stamp - now > s->back_by)
				s->back_by = stamp - now;
		}
		stamp = clock_read();
		s->handed++;
		__atomic_store_n(&turn, seen + 1, __ATOMIC_RELEASE);
		syscall(__NR_futex, &turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static bool pair(int a, int b, const char *name)
{
	struct side s[2] = { { .cpu = a, .me = 0 }, { .cpu = b, .me = 1 } };
	bool good = true;
	int i;

	turn = 0;
	stamp = 0;
	stop = false;
	for (i = 0; i < 2; i++)
		if (pthread_create(&s[i].thread, NULL, side_main, &s[i]))
			ksft_exit_fail_msg("no thread: %s\n", strerror(errno));
	sleep(SECONDS_PER_PAIR);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		pthread_join(s[i].thread, NULL);
		if (s[i].error) {
			ksft_print_msg("CPU %d: %s\n", s[i].cpu, strerror(s[i].error));
			good = false;
		}
		if (s[i].back) {
			ksft_print_msg("CPU %d: %llu of %llu older than the sender's, by %llu ns\n",
				       s[i].cpu, s[i].back, s[i].handed, s[i].back_by);
			good = false;
		}
	}
	figure(name, "%llu", s[0].handed, "rounds");
	if (!s[0].handed || !s[1].handed) {
		ksft_print_msg("nothing was handed over\n");
		good = false;
	}
	return good;
}

int main(void)
{
	const char *clocksource;
	struct readers all;
	static int cpu[MAX_CPUS];
	int n;
	bool started, good;

	start();
	n = cpus_need(cpu);
	clocksource = clocksource_need();
	ksft_set_plan(n > 2 ? 3 : 2);
	ksft_print_msg("%d CPUs, clocksource %s\n", n, clocksource);

	ksft_test_result(pair(cpu[0], cpu[1], "handoff_idle"),
			 "CPU %d and CPU %d, the others idle\n",
			 cpu[0], cpu[1]);
	ksft_test_result(pair(cpu[n - 1], cpu[0], "handoff_idle_far"),
			 "CPU %d and CPU %d, the others idle\n",
			 cpu[n - 1], cpu[0]);
	if (n > 2) {
		started = !readers_start(&all, cpu + 2, n - 2, true);
		good = pair(cpu[0], cpu[1], "handoff_busy");
		good = !readers_together(&all, 10) && good;
		readers_stop(&all);
		ksft_test_result(started && readers_good(&all) && good,
				 "CPU %d and CPU %d, the others reading\n", cpu[0], cpu[1]);
	}
	finish();
	return 0;
}
