// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/page_lock.h in its wait queue, on threads: the plain data behind the lock has one
 * owner at a time, in an order that the lock gives, and no sleeper is forgotten.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "page_queue.h"
#include "threads.h"

static unsigned long flags;
static struct page_queue queue;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t woken[QUEUE_MAX];

/* Behind the lock. */
static unsigned long owners, sequence;
static unsigned long taken[MAX_THREADS], slept[MAX_THREADS], lost[MAX_THREADS];

static void queue_lock(void)
{
	pthread_mutex_lock(&mutex);
}

static void queue_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static void queue_look(void)
{
}

static void queue_sleep(struct page_queue *q, unsigned int cpu)
{
	struct timespec until;

	(void)q;
	slept[cpu]++;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	threads_check(!sem_timedwait(&woken[cpu], &until), "sleeps for 20 s, and nobody wakes it");
}

static void queue_wake(struct page_queue *q, unsigned int cpu)
{
	(void)q;
	sem_post(&woken[cpu]);
}

static void init(unsigned int threads)
{
	while (threads--)
		sem_init(&woken[threads], 0, 0);
}

static void turn(unsigned int thread)
{
	unsigned int r = threads_random();

	if (!page_lock_try(&flags)) {
		lost[thread]++;
		if (r & 1)
			return;
		page_wait_for_lock(&queue, &flags, thread);
	}
	threads_check(!owners, "a second owner");
	owners = 1;
	sequence++;
	taken[thread]++;
	/* Also over a switch of threads, now and then. */
	shim_access(&flags, sizeof(flags), SHIM_STORE);
	owners = 0;
	page_unlock(&queue, &flags, r & 2);
}

static void end(char *text, size_t size)
{
	unsigned long all = 0, sleeps = 0, tries = 0;
	unsigned int i;

	for (i = 0; i < MAX_THREADS; i++) {
		all += taken[i];
		sleeps += slept[i];
		tries += lost[i];
	}
	snprintf(text, size, "%lu times locked, %lu slept, %lu failed tries", all, sleeps, tries);
	threads_check(all == sequence, "%lu changes: %s", sequence, text);
	threads_check(sleeps > 10 && tries > 10, "nothing happened: %s", text);
}

const struct threads_test threads_test = {
	.name = "page_lock", .init = init, .turn = turn, .end = end,
};
