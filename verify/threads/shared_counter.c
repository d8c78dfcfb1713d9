// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/shared_counter.h on threads: no step backwards, and the order that its acquires and
 * releases are for. Each sample leaves a plain mark at its value. Whoever samples later looks at the
 * mark of the value that he found in the word by an acquire, which is behind the release of the
 * publish; without one of the two that is a data race.
 */
#include <linux/atomic.h>
#include <linux/smp.h>

static __thread unsigned long long found;

/* Whatever loaded the word last; in sound code that is an acquire where a sample follows. */
#define FOUND(value) ({ s64 _value = (value); found = _value; _value; })
#define atomic64_read(v)		FOUND(atomic64_read(v))
#define atomic64_read_acquire(v)	FOUND(atomic64_read_acquire(v))
#define TRY(cmpxchg, v, old, new) ({						\
	bool _done = cmpxchg(v, old, new);					\
										\
	found = *(old);								\
	_done;									\
})
#define atomic64_try_cmpxchg_acquire(v, old, new) \
	TRY(atomic64_try_cmpxchg_acquire, v, old, new)
#define atomic64_try_cmpxchg_relaxed(v, old, new) \
	TRY(atomic64_try_cmpxchg_relaxed, v, old, new)

#include <linux/shared_counter.h>
#include <stdio.h>
#include <stdlib.h>

#include "threads.h"

#define MARKS	(1 << 25)

static unsigned long events[SHARED_COUNTER_EVENTS];
/* As on two nodes, with every other thread in the second. */
static atomic_t tried[2] __attribute__((__aligned__(64)));
static atomic_t *gate_of[MAX_THREADS];
static struct shared_counter sc = {
	.bound = 50,
	.defer = 5,
	.gate = gate_of,
	.events = events,
};
/* Nobody asks, since the gates are there. */
unsigned int shim_nr_nodes = 2;

int shim_cpu_to_node(unsigned int cpu)
{
	return cpu % 2;
}

static u32 counter, newest;
static unsigned char *mark;
static unsigned long turns[MAX_THREADS];
static __thread bool nmi;

void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	if (ptr == gate_of)
		return &gate_of[cpu];
	return (void *)ptr;
}

bool shim_in_nmi(void)
{
	return nmi;
}

static __always_inline u32 sample(void)
{
	u32 value;

	threads_check(mark[(u32)found] == 1, "no mark at %u", (u32)found);
	value = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
	mark[value] = 1;
	return value;
}

static void init(unsigned int threads)
{
	unsigned int i;

	for (i = 0; i < threads; i++)
		gate_of[i] = &tried[i % 2];
	mark = calloc(MARKS, 1);
	threads_check(mark, "no memory");
	mark[0] = 1;
}

static void turn(unsigned int thread)
{
	u32 floor = __atomic_load_n(&newest, __ATOMIC_ACQUIRE), value;

	/* Enough for a minute or more. */
	if (floor > MARKS - 1000)
		return;
	/* Nobody waits in an NMI, so these are in the others' way. */
	nmi = !(threads_random() & 0xff);
	value = shared_counter_read(&sc, sample);
	threads_check(value >= floor, "%u is returned, %u was before", value, floor);
	while (floor < value &&
	       !__atomic_compare_exchange_n(&newest, &floor, value, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	turns[thread]++;
}

static void end(char *text, size_t size)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < MAX_THREADS; i++)
		sum += turns[i];
	snprintf(text, size, "%lu reads: %lu leader, %lu shared, %lu stolen, %lu fresh", sum,
		 events[SHARED_COUNTER_LEADER], events[SHARED_COUNTER_SHARED],
		 events[SHARED_COUNTER_STOLEN], events[SHARED_COUNTER_FRESH]);
	for (i = 0; i < SHARED_COUNTER_EVENTS; i++) {
		threads_check(events[i], "it never came to all outcomes: %s", text);
		sum -= events[i];
	}
	threads_check(!sum, "not all reads are counted: %s", text);
}

const struct threads_test threads_test = {
	.name = "shared_counter", .init = init, .turn = turn, .end = end,
};
