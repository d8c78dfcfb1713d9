// SPDX-License-Identifier: GPL-2.0
/*
 * Interleavings of the shared counter read, scripted on a made-up counter.
 *
 * What another CPU, or an NMI, does between a reader's sample and its publish is done from within
 * the sample callback: that is the whole window in which the word can change under a leader.
 *
 * This file is compiled once as it is and once for each broken twin of the header, see
 * shared_counter_twin_*.c: a scenario is worth something only if there is a twin that it catches.
 */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/shared_counter.h>
#include <linux/slab.h>

#include "shared_counter_scenarios.h"

#ifndef SHARED_COUNTER_VARIANT
#define SHARED_COUNTER_VARIANT		shared_counter_true
#endif

/* Per-CPU names have to be unique in the whole kernel on some configurations, even static ones. */
#define sc_events	__PASTE(SHARED_COUNTER_VARIANT, _sc_events)
#define sc_gate		__PASTE(SHARED_COUNTER_VARIANT, _sc_gate)
#define sc_tried	__PASTE(SHARED_COUNTER_VARIANT, _sc_tried)
#define stress_events	__PASTE(SHARED_COUNTER_VARIANT, _stress_events)
#define stress_gate	__PASTE(SHARED_COUNTER_VARIANT, _stress_gate)
#define stress_tried	__PASTE(SHARED_COUNTER_VARIANT, _stress_tried)

DEFINE_SHARED_COUNTER(sc, 32);

static u32 counter, counter_step;
static void (*meanwhile)(void);		/* happens once, after the next sample */
static const char *why;			/* the first thing that was wrong */
static u32 newest;			/* of the values returned so far */

#define WRONG_IF(cond)	do { if ((cond) && !why) why = #cond; } while (0)

static void start(unsigned int bits, u32 first, u64 word)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(sc_gate, cpu) = NULL;
	sc.shift = 32 - bits;
	sc.bound = SHARED_COUNTER_BOUND_MIN;
	sc.defer = SHARED_COUNTER_BOUND_MIN / SHARED_COUNTER_BOUND_READS;
	atomic64_set(&sc.word, word | first);
	counter = first;
	counter_step = 1;
	newest = first;
	meanwhile = NULL;
	why = NULL;
}

static __always_inline u32 sample(void)
{
	void (*then)(void) = meanwhile;
	u32 value;

	counter = (counter + counter_step) << sc.shift >> sc.shift;
	value = counter;
	meanwhile = NULL;
	if (then)
		then();
	return value;
}

static u64 word(void)
{
	return atomic64_read(&sc.word);
}

static bool locked(void)
{
	return word() & SHARED_COUNTER_LOCK;
}

static u32 seq(void)
{
	return (word() & SHARED_COUNTER_SEQ_MASK) / SHARED_COUNTER_SEQ;
}

/* A read that began after all earlier ones were over has returned @value. */
static void returned(u32 value)
{
	WRONG_IF(!shared_counter_reached(&sc, value, newest));
	WRONG_IF(!shared_counter_reached(&sc, (u32)word(), value));
	newest = value;
}

static void read_once(void)
{
	returned(shared_counter_read(&sc, sample));
}

static void read_once_fresh(void)
{
	returned(shared_counter_read_fresh(&sc, sample));
}

#ifdef CONFIG_CONTENTION_DEBUG
static unsigned long count(enum shared_counter_event event)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(sc_events, cpu)[event];
	return sum;
}

#define WRONG_UNLESS_COUNTED(event, n, what) do {	\
	enum shared_counter_event counted = event;	\
	unsigned long was = count(counted);		\
							\
	what;						\
	WRONG_IF(count(counted) - was != (n));		\
} while (0)
#else
#define WRONG_UNLESS_COUNTED(event, n, what)	what
#endif

static const char *single_reader(void)
{
	int i;

	start(32, 1000, 0);
	for (i = 1; i <= 100; i++) {
		WRONG_UNLESS_COUNTED(SHARED_COUNTER_LEADER, 1, read_once());
		WRONG_IF(newest != 1000 + i);
		WRONG_IF(seq() != i);
		WRONG_IF(locked());
	}
	return why;
}

/*
 * A reader on another CPU. It is given much longer than it may take, for a host may have other
 * things to do, and is freed by hand after that. For a twin a second will
 * do.
 */
#define PATIENCE	(shared_counter_broken(0) ? 10 * HZ : HZ)

static struct completion other_done;
static u32 other_value;

static int other_reader(void *unused)
{
	other_value = shared_counter_read(&sc, sample);
	complete(&other_done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* @while_it_waits is called again and again until the reader is done. */
static void read_elsewhere_while(void (*while_it_waits)(void))
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct task_struct *task = kthread_create(other_reader, NULL, "shared_counter");
	unsigned long end = jiffies + PATIENCE;
	bool in_time = false;

	if (IS_ERR(task)) {
		WRONG_IF(IS_ERR(task));
		return;
	}
	init_completion(&other_done);
	if (cpu < nr_cpu_ids)
		kthread_bind(task, cpu);
	wake_up_process(task);
	while (!in_time && time_before(jiffies, end)) {
		in_time = wait_for_completion_timeout(&other_done, HZ / 50 + 1);
		if (!in_time && while_it_waits)
			while_it_waits();
	}
	WRONG_IF(!in_time);
	if (!in_time) {
		atomic64_set(&sc.word, shared_counter_published(word(), newest + 1));
		wait_for_completion(&other_done);
	}
	kthread_stop(task);
	returned(other_value);
}

static void read_elsewhere(void)
{
	read_elsewhere_while(NULL);
}

static const char *dead_holder(void)
{
	start(32, 1000, SHARED_COUNTER_LOCK);
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_STOLEN, 1, read_elsewhere());
	WRONG_IF(newest != 1001);
	WRONG_IF(locked());
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_LEADER, 1, read_once());
	return why;
}

/* Takes the lock over again and again and never reads. */
static int serial_killer(void *unused)
{
	while (!kthread_should_stop()) {
		u64 w = word();
		u64 new = w & SHARED_COUNTER_LOCK ? shared_counter_taken_over(w) :
						    w | SHARED_COUNTER_LOCK;

		atomic64_cmpxchg(&sc.word, w, new);
		cond_resched();
	}
	return 0;
}

static const char *holders_that_keep_dying(void)
{
	struct task_struct *killer;
	int i;

	start(32, 1000, SHARED_COUNTER_LOCK);
	killer = kthread_run(serial_killer, NULL, "shared_counter_k");
	WRONG_IF(IS_ERR(killer));
	for (i = 0; i < 20 && !why; i++)
		read_elsewhere();
	if (!IS_ERR(killer))
		kthread_stop(killer);
	return why;
}

static u32 published_by_hand;

static void publish_and_lock_again(void)
{
	u64 w = shared_counter_published(word(), published_by_hand);

	atomic64_set(&sc.word, w | SHARED_COUNTER_LOCK);
}

static const char *publish_to_a_waiter(u32 value)
{
	/* It would not let go of the only CPU. */
	if (num_online_cpus() < 2)
		return NULL;
	start(32, 1000, SHARED_COUNTER_LOCK);
	sc.bound = U32_MAX / 2;
	published_by_hand = value;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_SHARED, 1,
			     read_elsewhere_while(publish_and_lock_again));
	WRONG_IF(other_value != published_by_hand);
	WRONG_IF(counter != 1000);
	return why;
}

static atomic_t one_gate;

static void start_with_gate(int passed)
{
	int cpu;

	start(32, 1000, 0);
	for_each_possible_cpu(cpu)
		per_cpu(sc_gate, cpu) = &one_gate;
	atomic_set(&one_gate, passed);
}

/* Who has passed the gate of the node was stopped before it took the lock. */
static const char *dead_at_the_gate(void)
{
	start_with_gate(SHARED_COUNTER_GATE_SEQ);
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_LEADER, 1, read_elsewhere());
	WRONG_IF(newest != 1001);
	WRONG_IF(locked());
	/* The gate was for that generation alone. */
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_LEADER, 1, read_once());
	WRONG_IF(atomic_read(&one_gate) != seq() * SHARED_COUNTER_GATE_SEQ);
	return why;
}

/* Another one of the node has passed the gate, and what he publishes comes. */
static const char *shut_gate(void)
{
	if (num_online_cpus() < 2)
		return NULL;
	start_with_gate(SHARED_COUNTER_GATE_SEQ);
	sc.bound = U32_MAX / 2;
	published_by_hand = 2000;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_SHARED, 1,
			     read_elsewhere_while(publish_and_lock_again));
	WRONG_IF(other_value != published_by_hand);
	WRONG_IF(counter != 1000);
	return why;
}

/* The last try of the node failed, and now nobody else reads. */
static const char *failed_at_the_gate(void)
{
	start_with_gate(SHARED_COUNTER_GATE_FAILED);
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_LEADER, 1, read_elsewhere());
	WRONG_IF(newest != 1001);
	/* It succeeded, so the next does not wait. */
	WRONG_IF(atomic_read(&one_gate) != seq() * SHARED_COUNTER_GATE_SEQ);
	return why;
}

/* A waiter takes what was published since it came, and does not touch the counter. */
static const char *shared_value(void)
{
	return publish_to_a_waiter(2000);
}

/* The same from a counter that stands still: progress must not be looked for in the value. */
static const char *shared_frozen_value(void)
{
	return publish_to_a_waiter(1000);
}

/* A holder stopped, and the counter stands still. */
static const char *frozen_counter(void)
{
	start(32, 1000, SHARED_COUNTER_LOCK);
	counter_step = 0;
	read_once();
	WRONG_IF(locked());
	WRONG_IF(seq() != 1);
	read_once();
	WRONG_IF(seq() != 2);
	return why;
}

static void others_read_later(void)
{
	counter += 100;
	read_once();
}

/* The holder was stolen from, and comes back with a sample from before. */
static const char *late_publish(void)
{
	start(32, 1000, 0);
	meanwhile = others_read_later;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_STOLEN, 1,
			     WRONG_UNLESS_COUNTED(SHARED_COUNTER_FRESH, 1, read_once()));
	WRONG_IF(newest != 1103);
	WRONG_IF(locked());
	return why;
}

static void others_read_later_fresh(void)
{
	counter += 100;
	read_once_fresh();
}

/* The one who took over is too late as well. */
static const char *late_thief(void)
{
	start(32, 1000, SHARED_COUNTER_LOCK);
	meanwhile = others_read_later_fresh;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_FRESH, 2, read_once());
	WRONG_IF(newest != 1103);
	WRONG_IF(locked());
	return why;
}

/* As late_publish, but who is late waits for nobody and has this sample only. */
static const char *late_publish_fresh(void)
{
	u32 late;

	start(32, 1000, 0);
	meanwhile = others_read_later;
	late = shared_counter_read_fresh(&sc, sample);
	WRONG_IF(late != 1001);
	/* It is over only now, so it may return less. The word may not go back to it. */
	WRONG_IF(newest != 1102);
	WRONG_IF((u32)word() != newest);
	return why;
}

static u64 waiting_since;

static void nmi_reads_then_somebody_leads(void)
{
	read_once_fresh();
	waiting_since = word() | SHARED_COUNTER_LOCK;
	atomic64_set(&sc.word, waiting_since);
}

/*
 * One CPU reads for itself and is late to publish. Another reads for itself meanwhile, and returns.
 * Then a third waits for a leader, and what it gets is what the first one publishes.
 */
static const char *late_publish_to_a_waiter(void)
{
	start(32, 1000, 0);
	meanwhile = nmi_reads_then_somebody_leads;
	shared_counter_read_fresh(&sc, sample);
	WRONG_IF(newest != 1002);
	if (!shared_counter_same_seq(word(), waiting_since))
		returned((u32)word());
	/* Otherwise it goes on waiting, and takes over. */
	read_once();
	return why;
}

static void nobody_took_over(void)
{
	WRONG_IF(word() & SHARED_COUNTER_EPOCH_MASK);
}

static void nmi_reads(void)
{
	__preempt_count_add(NMI_OFFSET);
	WRONG_IF(!in_nmi());
	meanwhile = nobody_took_over;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_FRESH, 1, read_once());
	__preempt_count_sub(NMI_OFFSET);
	WRONG_IF(locked());
}

/* The NMI hits the holder itself: nobody else can let the lock go. */
static const char *nmi_on_the_holder(void)
{
	start(32, 1000, 0);
	sc.bound = SHARED_COUNTER_BOUND_MAX;
	meanwhile = nmi_reads;
	read_once();
	WRONG_IF(newest != 1003);
	WRONG_IF(locked());
	return why;
}

/* A panic that is no NMI hits the holder itself. */
static const char *panic_on_the_holder(void)
{
	start(32, 1000, 0);
	meanwhile = read_once;
	WRONG_UNLESS_COUNTED(SHARED_COUNTER_STOLEN, 1, read_once());
	WRONG_IF(newest != 1003);
	return why;
}

/* Nobody read for more than half a turn, so the word looks newer than any sample. */
static const char *long_idle(void)
{
	start(32, 1000, 0);
	counter += 0x90000000;
	newest = counter;
	read_once_fresh();
	WRONG_IF((u32)word() != counter);
	counter += 0x90000000;
	newest = counter;
	read_once();
	WRONG_IF((u32)word() != counter);
	return why;
}

/* As the HPET is on resume. */
static const char *counter_set_back(void)
{
	start(32, 1000, 0);
	counter = 5;
	newest = counter;
	read_once();
	WRONG_IF(newest != 6);
	WRONG_IF((u32)word() != 6);
	return why;
}

static const char *wrap(unsigned int bits)
{
	int i;

	start(bits, (u32)-16 << (32 - bits) >> (32 - bits), 0);
	for (i = 0; i < 4; i++)
		read_once();
	for (i = 0; i < 32; i++) {
		meanwhile = read_once;
		shared_counter_read_fresh(&sc, sample);
		WRONG_IF((u32)word() != newest);
		meanwhile = read_once;
		read_once();
	}
	WRONG_IF(newest != 4 + 5 * 32 - 16);
	return why;
}

static const char *value_wrap(void)
{
	return wrap(32);
}

static const char *value_wrap_24_bits(void)
{
	return wrap(24);
}

static const char *seq_wrap(void)
{
	start(32, 1000, SHARED_COUNTER_SEQ_MASK - SHARED_COUNTER_SEQ);
	read_once();
	WRONG_IF(word() != (SHARED_COUNTER_SEQ_MASK | 1001));
	meanwhile = read_once;
	read_once();
	WRONG_IF(word() != (SHARED_COUNTER_SEQ | 1004));
	return why;
}

/* The 32nd takeover without a publish. */
static const char *epoch_wrap(void)
{
	start(32, 1000, SHARED_COUNTER_SEQ_MASK | SHARED_COUNTER_EPOCH_MASK | SHARED_COUNTER_LOCK);
	WRONG_IF(shared_counter_taken_over(word()) !=
		 (SHARED_COUNTER_SEQ_MASK | SHARED_COUNTER_LOCK | 1000));
	read_once();
	WRONG_IF(word() != 1001);
	return why;
}

/* dead_holder comes before all others that wait: the twin without a bound gets no further. */
static const struct shared_counter_scenario scenarios[] = {
	{ "single_reader", single_reader },
	{ "dead_holder", dead_holder },
	{ "dead_at_the_gate", dead_at_the_gate },
	{ "failed_at_the_gate", failed_at_the_gate },
	{ "shut_gate", shut_gate },
	{ "holders_that_keep_dying", holders_that_keep_dying },
	{ "frozen_counter", frozen_counter },
	{ "shared_value", shared_value },
	{ "shared_frozen_value", shared_frozen_value },
	{ "late_publish", late_publish },
	{ "late_thief", late_thief },
	{ "late_publish_fresh", late_publish_fresh },
	{ "late_publish_to_a_waiter", late_publish_to_a_waiter },
	{ "nmi_on_the_holder", nmi_on_the_holder },
	{ "panic_on_the_holder", panic_on_the_holder },
	{ "long_idle", long_idle },
	{ "counter_set_back", counter_set_back },
	{ "value_wrap", value_wrap },
	{ "value_wrap_24_bits", value_wrap_24_bits },
	{ "seq_wrap", seq_wrap },
	{ "epoch_wrap", epoch_wrap },
	{ }
};

/*
 * All CPUs read for a while. A counter that moves only when it is sampled makes every step back
 * visible. Now and then a reader is slow between sample and publish, reads as an NMI does, or
 * takes the lock and forgets it.
 */
DEFINE_SHARED_COUNTER(stress, 32);
static atomic_t stress_counter;
static bool stress_frozen;
static u32 stress_newest;
static bool stress_go;

struct stress_reader {
	struct task_struct	*task;
	u32			seed;
	unsigned long		reads;
	unsigned long		back;
};

static __always_inline u32 stress_sample(void)
{
	u32 value = stress_frozen ? atomic_read(&stress_counter) :
				    atomic_inc_return(&stress_counter);

	if (!(value & 0x3f))
		udelay(5);
	return value;
}

static u32 stress_random(struct stress_reader *reader)
{
	reader->seed = reader->seed * 1664525 + 1013904223;
	return reader->seed >> 24;
}

static void stress_read(struct stress_reader *reader)
{
	/* Acquire: pairs with the cmpxchg below, the read that raised stress_newest was over. */
	u32 newest = smp_load_acquire(&stress_newest);
	u32 value;

	if (stress_random(reader) < 16)
		value = shared_counter_read_fresh(&stress, stress_sample);
	else
		value = shared_counter_read(&stress, stress_sample);
	WRITE_ONCE(reader->reads, reader->reads + 1);
	if ((s32)(value - newest) < 0)
		WRITE_ONCE(reader->back, reader->back + 1);
	while ((s32)(value - newest) > 0) {
		u32 old = cmpxchg(&stress_newest, newest, value);

		if (old == newest)
			break;
		newest = old;
	}
}

static int stress_thread(void *data)
{
	struct stress_reader *reader = data;

	/* Together, or the first has read for a while before the last exists. */
	while (!READ_ONCE(stress_go))
		cond_resched();
	while (!kthread_should_stop()) {
		if (!stress_random(reader)) {
			u64 w = atomic64_read(&stress.word);

			atomic64_cmpxchg(&stress.word, w, w | SHARED_COUNTER_LOCK);
		}
		stress_read(reader);
		cond_resched();
	}
	return 0;
}

static int stress_run(struct shared_counter_stress *s)
{
	struct stress_reader *readers = kcalloc(nr_cpu_ids, sizeof(*readers), GFP_KERNEL);
	unsigned long end = jiffies + msecs_to_jiffies(s->msecs);
	unsigned int idle;
	int cpu;

	if (!readers)
		return -ENOMEM;
	/* seq wraps after a hundred publishes. */
	atomic64_set(&stress.word, (SHARED_COUNTER_SEQ_MASK - 100 * SHARED_COUNTER_SEQ) | s->first);
	stress.bound = 200;
	stress.defer = 20;
	atomic_set(&stress_counter, s->first);
	stress_newest = s->first;
	stress_frozen = s->frozen;
	stress_go = false;
	for_each_possible_cpu(cpu)
		per_cpu(stress_gate, cpu) = s->gates ? per_cpu_ptr(&stress_tried, cpu & 1) : NULL;

	for_each_online_cpu(cpu) {
		struct task_struct *task = kthread_create(stress_thread, &readers[cpu],
							  "shared_counter/%d", cpu);

		if (IS_ERR(task)) {
			s->idle++;
			continue;
		}
		readers[cpu].seed = cpu + 1;
		readers[cpu].task = task;
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	WRITE_ONCE(stress_go, true);
	do {
		msleep(20);
		idle = 0;
		for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
			s->back += READ_ONCE(readers[cpu].back);
			idle += readers[cpu].task && !READ_ONCE(readers[cpu].reads);
		}
		/* A host may be late to let the last CPU run. */
	} while (!s->back && time_before(jiffies, idle ? end + PATIENCE : end));

	s->back = 0;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!readers[cpu].task)
			continue;
		kthread_stop(readers[cpu].task);
		s->reads += readers[cpu].reads;
		s->back += readers[cpu].back;
		s->idle += !readers[cpu].reads;
	}
	s->samples = atomic_read(&stress_counter) - s->first;
#ifdef CONFIG_CONTENTION_DEBUG
	for_each_possible_cpu(cpu) {
		unsigned long *events = per_cpu(stress_events, cpu);
		int event;

		for (event = 0; event < SHARED_COUNTER_EVENTS; event++) {
			s->counted += events[event];
			events[event] = 0;
		}
	}
#endif
	kfree(readers);
	return 0;
}

const struct shared_counter_variant SHARED_COUNTER_VARIANT = {
	.scenarios = scenarios,
	.stress = stress_run,
};
