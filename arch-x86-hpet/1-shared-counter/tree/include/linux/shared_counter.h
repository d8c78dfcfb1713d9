/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SHARED_COUNTER_H
#define _LINUX_SHARED_COUNTER_H

/*
 * One CPU reads a slow hardware counter, the others that came meanwhile take its value; and none of
 * them waits for ever.
 *
 * The idea of a sequence number and a bit lock in one word in front of the HPET is Waiman Long's
 * ("x86/hpet: Reduce HPET counter read contention", v6, August 2016). There, and in the form that
 * was merged in 4.9, a waiter depends on the holder of the lock: a holder that was stopped
 * (by NMI, machine check or panic) or whose vCPU was preempted keeps all others waiting. Here the
 * lock bit only says "somebody is reading". To read twice is harmless, so a waiter takes over
 * after a bounded time.
 *
 * The state is one 64-bit word, so that a single load gives a consistent view of it:
 *
 *	 63        38 37     33   32   31          0
 *	+------------+---------+------+-------------+
 *	| seq (26)   | epoch(5)| lock | value (32)  |
 *	+------------+---------+------+-------------+
 *
 *	value	what was published last
 *	lock	somebody is reading the counter
 *	epoch	takeovers since the last publish
 *	seq	publishes
 *
 * Transitions, (seq, epoch, lock, value):
 *
 *	lead		(s, 0, 0, v) -> (s,     0,     1, v )	nobody reads: I do
 *	take over	(s, e, 1, v) -> (s,     e + 1, 1, v )	whoever reads takes too long: I do
 *	publish		(s, e, l, v) -> (s + 1, 0,     0, v')	v' as the rules below say
 *
 * Rules:
 *
 *  (1) The value in the word never goes back. A leader publishes over the very word that it
 *      locked, thus v' was sampled after v was. Everybody else publishes v' over a word of the
 *      seq from before the sample, with the same consequence, or where v' is the newer of the
 *      two.
 *  (2) A value that is returned is in the word, or an equal or newer one is, when the read returns.
 *      Hence everybody publishes, also one who read for himself alone.
 *  (3) A read returns what the word held when it began, or something newer: a sample taken since,
 *      or a value published since.
 *
 * Invariant: if one read returned before another began, the second does not return an older value
 * than the first. (By 2 the word held the first's value or a newer one when it returned, by 1 it
 * still does when the second begins, the rest is 3.) The rules assume a counter that does not go
 * back itself while it is read; it may stand still, and it may be set back while nobody reads (the
 * HPET is, on resume), since a leader does not compare. Whether something was published is judged
 * by seq, never by value.
 *
 * Progress: a read polls the word at most 2 * (SHARED_COUNTER_ROUNDS * bound + defer) times and
 * samples the counter at most twice, whoever holds the lock and whatever stopped it. The publish
 * loop goes round only when another CPU made a step, and ends with the first publish of a value
 * sampled after ours: so only who was already reading when we sampled can be in our way, each with
 * a publish and with the lock for his next read.
 *
 * A value that was taken from another CPU was published while the reader waited, so it was sampled
 * no longer ago than that leader took from its sample to its publish plus the reader's own wait.
 *
 * Gates: whoever finds the lock free tries to take it, and on a machine of many nodes they are
 * many. Each try takes the line away from all others, who fetch it anew, and the publish that
 * would end this stands in the same queue. So where more than one node has CPUs, each has a gate,
 * a word with the seq for which one of its CPUs has gone to try; the others of the node wait as
 * if the lock were taken. And a node whose last try failed waits for a read time or more before
 * the next: then the node that got the lock mostly gets it again, and one CPU tries instead of one
 * of each node. A gate only keeps CPUs from trying, for one generation: nothing above depends on
 * it, nobody has to open it again, and if who passed it is stopped, the node's other waiters try
 * when their bound is over. Who was stopped between his look at the word and the gate may set it
 * back to an old seq; then another one passes in vain, or once more.
 *
 * Limits: newer is decided by the sign of a difference, in the counter's own width. A CPU that is
 * stopped between sample and publish, while the others go on, for more than half a turn of the
 * counter (150 s for 32 bits at 14.318 MHz, 2.3 s for the 24 bits at 3.58 MHz of the ACPI PM
 * timer), or for exactly a multiple of 2^26 publishes, may publish an old value. A leader whose
 * lock was taken over samples again before it publishes, so it would have to be stopped twice.
 * Timekeeping's own arithmetic does not outlive half a turn without a tick either.
 */

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/contention.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/topology.h>

#define SHARED_COUNTER_LOCK		BIT_ULL(32)
#define SHARED_COUNTER_EPOCH		BIT_ULL(33)
#define SHARED_COUNTER_EPOCH_MASK	GENMASK_ULL(37, 33)
#define SHARED_COUNTER_SEQ_SHIFT	38
#define SHARED_COUNTER_SEQ		BIT_ULL(SHARED_COUNTER_SEQ_SHIFT)
#define SHARED_COUNTER_SEQ_MASK		GENMASK_ULL(63, 38)

/* A gate is seq + 1, as 0 is one that nobody has passed, and whether the last try failed. */
#define SHARED_COUNTER_GATE_FAILED	1
#define SHARED_COUNTER_GATE_SEQ		2

/* How often a reader that cannot even take over waits again before it reads for itself. */
#define SHARED_COUNTER_ROUNDS		3

/*
 * The bound in read times. The wait of a reader that came just after the leader began is one read
 * and one broadcast of the line; a bound below that makes all waiters take over at once.
 */
#define SHARED_COUNTER_BOUND_READS	16
#define SHARED_COUNTER_BOUND_DEFAULT	2000	/* polls: 16 reads of 1 us at 8 ns a poll */
#define SHARED_COUNTER_BOUND_MIN	64
#define SHARED_COUNTER_BOUND_MAX	BIT(20)

/*
 * How long a node waits after a try that failed: a read time, and with more nodes more, as a
 * publish takes longer to reach them all; the whole bound with 256.
 */
#define SHARED_COUNTER_DEFER_LEAST	16
#define SHARED_COUNTER_DEFER_ALL	(SHARED_COUNTER_DEFER_LEAST * SHARED_COUNTER_BOUND_READS)

/*
 * Tests build twins of this file with one rule taken out, to see that they would notice; a kernel
 * build never defines this.
 */
#define SHARED_COUNTER_NO_PUBLISH	1	/* rule 2: publish only where somebody waits */
#define SHARED_COUNTER_NO_COMPARE	2	/* rule 1: publish whatever was sampled */
#define SHARED_COUNTER_NO_BOUND		3	/* progress: wait for the holder */
#ifndef SHARED_COUNTER_BROKEN
#define SHARED_COUNTER_BROKEN		0
#endif
#define shared_counter_broken(rule)	((rule) == SHARED_COUNTER_BROKEN)

/* How a read ended. Each read counts once. */
enum shared_counter_event {
	SHARED_COUNTER_LEADER,		/* found the lock free, sampled, published */
	SHARED_COUNTER_SHARED,		/* took another CPU's value */
	SHARED_COUNTER_STOLEN,		/* took over from a holder, sampled, published */
	SHARED_COUNTER_FRESH,		/* read for itself: NMI, lock lost, nobody published */
	SHARED_COUNTER_EVENTS
};

#define SHARED_COUNTER_EVENT_NAMES	"leader\0shared\0stolen\0fresh\0"

/**
 * struct shared_counter - a slow counter whose reads are shared
 * @word: the state, alone on its cache line: every read of every CPU looks at it
 * @bound: polls of @word after which a waiter doubts that the holder is alive
 * @defer: polls of @word before the next try from a node whose last one failed
 * @shift: 32 less the width of the counter in bits
 * @gate: per CPU, the gate of its node; NULL until shared_counter_add_gates(), and with one node
 * @tried: per CPU, room for the gate of a node: of which CPU is said by @gate
 * @events: per-CPU counts by enum shared_counter_event
 */
struct shared_counter {
	atomic64_t		word ____cacheline_aligned_in_smp;
	u32			bound ____cacheline_aligned_in_smp;
	u32			defer;
	u32			shift;

	atomic_t * __percpu	*gate;
	atomic_t __percpu	*tried;
#ifdef CONFIG_CONTENTION_DEBUG
	unsigned long __percpu	*events;
#endif
};

/**
 * DEFINE_SHARED_COUNTER() - define a static struct shared_counter
 * @name: its name; the per-CPU counts are @name_events, the gates @name_gate and @name_tried
 * @bits: width of the counter, at most 32
 */
#ifdef CONFIG_CONTENTION_DEBUG
#define DEFINE_SHARED_COUNTER(name, bits)						\
	static DEFINE_PER_CPU(unsigned long [SHARED_COUNTER_EVENTS], name##_events);	\
	static DEFINE_PER_CPU(atomic_t *, name##_gate);					\
	static DEFINE_PER_CPU_ALIGNED(atomic_t, name##_tried);				\
	static struct shared_counter name = {						\
		.bound = SHARED_COUNTER_BOUND_DEFAULT,					\
		.defer = SHARED_COUNTER_BOUND_DEFAULT / SHARED_COUNTER_BOUND_READS,	\
		.shift = 32 - (bits),							\
		.gate = &name##_gate,							\
		.tried = &name##_tried,							\
		.events = name##_events,						\
	}
#define shared_counter_count(sc, event)	this_cpu_inc((sc)->events[event])
#else
#define DEFINE_SHARED_COUNTER(name, bits)						\
	static DEFINE_PER_CPU(atomic_t *, name##_gate);					\
	static DEFINE_PER_CPU_ALIGNED(atomic_t, name##_tried);				\
	static struct shared_counter name = {						\
		.bound = SHARED_COUNTER_BOUND_DEFAULT,					\
		.defer = SHARED_COUNTER_BOUND_DEFAULT / SHARED_COUNTER_BOUND_READS,	\
		.shift = 32 - (bits),							\
		.gate = &name##_gate,							\
		.tried = &name##_tried,							\
	}
#define shared_counter_count(sc, event)	do { } while (0)
#endif

static __always_inline bool shared_counter_same_seq(u64 a, u64 b)
{
	return !((a ^ b) & SHARED_COUNTER_SEQ_MASK);
}

/* The carry out of seq falls off the top: 2^26 - 1 is followed by 0. */
static __always_inline u64 shared_counter_published(u64 w, u32 value)
{
	return ((w & SHARED_COUNTER_SEQ_MASK) + SHARED_COUNTER_SEQ) | value;
}

/* The carry out of epoch must not get into seq: nothing was published. */
static __always_inline u64 shared_counter_taken_over(u64 w)
{
	return (w & ~SHARED_COUNTER_EPOCH_MASK) |
	       ((w + SHARED_COUNTER_EPOCH) & SHARED_COUNTER_EPOCH_MASK);
}

/* Is a at least as new as b? The values are 32 - shift bits wide and wrap. */
static __always_inline bool shared_counter_reached(const struct shared_counter *sc, u32 a, u32 b)
{
	return (s32)((a - b) << sc->shift) >= 0;
}

/**
 * shared_counter_read_fresh() - read the counter without waiting for anybody
 * @sc: the shared counter
 * @sample: reads the hardware; inlined, and called once
 *
 * For a caller that must not wait (NMI), or has waited long enough. The value is published all the
 * same: a reader that comes after this one returned must not get an older one.
 *
 * Context: any, NMI, machine check and panic among them, also on the CPU that holds the lock.
 * Return: a value sampled after the call began.
 */
static __always_inline u32 shared_counter_read_fresh(struct shared_counter *sc,
						     u32 (*sample)(void))
{
	/*
	 * Acquire: the sample comes after this load, or its seq could be that of a publish whose
	 * value is newer than the sample. Pairs with the release of the publish that was seen.
	 */
	u64 before = atomic64_read_acquire(&sc->word);
	u64 w = before;
	u32 value = sample();

	shared_counter_count(sc, SHARED_COUNTER_FRESH);
	do {
		if (shared_counter_broken(SHARED_COUNTER_NO_PUBLISH) && !(w & SHARED_COUNTER_LOCK))
			break;
		if (!shared_counter_broken(SHARED_COUNTER_NO_COMPARE) &&
		    !shared_counter_same_seq(w, before) &&
		    shared_counter_reached(sc, (u32)w, value))
			break;
		/*
		 * Release: the sample was taken before it is seen. Pairs with the acquire of the
		 * next leader and of the load above, whose samples must not be older.
		 */
	} while (!atomic64_try_cmpxchg_release(&sc->word, (s64 *)&w,
					       shared_counter_published(w, value)));
	return value;
}

enum shared_counter_outcome {
	SHARED_COUNTER_MISSED,		/* the word was not what it had to be, nothing was done */
	SHARED_COUNTER_LED,		/* sampled and published */
	SHARED_COUNTER_LOST,		/* locked, but taken over before the publish */
};

/*
 * Put @locked where @seen is, then sample and publish. Interrupts are off meanwhile: a handler on
 * this CPU would make all others wait. raw_, since a tracer of interrupt flags may read this clock.
 */
static __always_inline enum shared_counter_outcome
shared_counter_lead(struct shared_counter *sc, u64 *seen, u64 locked, u32 *value,
		    u32 (*sample)(void))
{
	enum shared_counter_outcome outcome = SHARED_COUNTER_MISSED;
	unsigned long flags;

	raw_local_irq_save(flags);
	/*
	 * Acquire: the sample is taken under the lock. Pairs with the release of the publish that
	 * made the word what it is. The release below: as in shared_counter_read_fresh().
	 */
	if (likely(atomic64_try_cmpxchg_acquire(&sc->word, (s64 *)seen, locked))) {
		*value = sample();
		if (likely(atomic64_cmpxchg_release(&sc->word, locked,
						    shared_counter_published(locked, *value)) ==
			   locked))
			outcome = SHARED_COUNTER_LED;
		else
			outcome = SHARED_COUNTER_LOST;
	}
	raw_local_irq_restore(flags);
	return outcome;
}

/*
 * Poll until somebody publishes or the bound is over. The bound grows with the CPU's number, from
 * one to two times @bound, or all waiters would go for the line in the same moment.
 */
static __always_inline u64 shared_counter_wait(struct shared_counter *sc, u64 w, u32 bound)
{
	u32 polls = bound + (u64)bound * raw_smp_processor_id() / nr_cpu_ids;
	u64 seen;

	do {
		cpu_relax();
		seen = atomic64_read(&sc->word);
		if (shared_counter_broken(SHARED_COUNTER_NO_BOUND))
			polls = 2;
	} while (shared_counter_same_seq(seen, w) && --polls);
	return seen;
}

/*
 * Pass the gate, if there is one, and take the lock, which is free in @seen. Relaxed: a gate orders
 * nothing.
 */
static __always_inline enum shared_counter_outcome
shared_counter_pass(struct shared_counter *sc, u64 *seen, u32 *value, u32 (*sample)(void))
{
	enum shared_counter_outcome outcome = SHARED_COUNTER_MISSED;
	atomic_t *gate = this_cpu_read(*sc->gate);
	unsigned long flags = 0;
	int tried, now = 0;
	u64 w = *seen;

	if (gate) {
		/* Or a handler that reads would find the gate shut by what it interrupted. */
		raw_local_irq_save(flags);
		now = ((w >> SHARED_COUNTER_SEQ_SHIFT) + 1) * SHARED_COUNTER_GATE_SEQ;
		tried = atomic_read(gate);
		now |= tried & SHARED_COUNTER_GATE_FAILED;
		if (tried == now || !atomic_try_cmpxchg_relaxed(gate, &tried, now))
			goto out;
		if (now & SHARED_COUNTER_GATE_FAILED) {
			*seen = shared_counter_wait(sc, w, READ_ONCE(sc->defer));
			if (*seen != w)
				goto out;
		}
	}
	outcome = shared_counter_lead(sc, seen, w | SHARED_COUNTER_LOCK, value, sample);
	if (!gate)
		return outcome;
	/* Unless another CPU has passed meanwhile, who will find out for himself. */
	if ((outcome == SHARED_COUNTER_MISSED ? SHARED_COUNTER_GATE_FAILED : 0) !=
	    (now & SHARED_COUNTER_GATE_FAILED))
		atomic_cmpxchg_relaxed(gate, now, now ^ SHARED_COUNTER_GATE_FAILED);
out:
	raw_local_irq_restore(flags);
	return outcome;
}

/**
 * shared_counter_read() - read the counter or take the value of a CPU that is reading it
 * @sc: the shared counter
 * @sample: reads the hardware; inlined, and called twice at most
 *
 * Context: any; interrupts on or off, before and after other CPUs are up. In NMI it does not wait.
 *	Elsewhere it waits for a bounded time, also in a panic that hit the holder of the lock.
 *	Interrupts are off while the hardware is read.
 * Return: a value that was sampled or published since the call began; not older than the value of
 *	any read that returned before the call began.
 * Ordering: none that a caller may rely on beyond that.
 */
static __always_inline u32 shared_counter_read(struct shared_counter *sc, u32 (*sample)(void))
{
	enum shared_counter_outcome outcome;
	unsigned int round;
	u64 w, seen, locked;
	u32 value;

	if (in_nmi())
		goto fresh;

	w = atomic64_read(&sc->word);
	if (!(w & SHARED_COUNTER_LOCK)) {
		seen = w;
		outcome = shared_counter_pass(sc, &seen, &value, sample);
		if (likely(outcome == SHARED_COUNTER_LED)) {
			shared_counter_count(sc, SHARED_COUNTER_LEADER);
			return value;
		}
		if (outcome == SHARED_COUNTER_LOST)
			goto fresh;
		/* A whole read happened since we came. */
		if (!shared_counter_same_seq(seen, w))
			goto shared;
		/* It is locked now, or about to be: a CPU of our node has passed the gate. */
		w = seen;
	}

	for (round = 0; round < SHARED_COUNTER_ROUNDS; round++) {
		seen = shared_counter_wait(sc, w, READ_ONCE(sc->bound));
		if (!shared_counter_same_seq(seen, w))
			goto shared;
		if (seen == w) {
			locked = w & SHARED_COUNTER_LOCK ? shared_counter_taken_over(w) :
							   w | SHARED_COUNTER_LOCK;
			outcome = shared_counter_lead(sc, &seen, locked, &value, sample);
			if (outcome == SHARED_COUNTER_LED) {
				shared_counter_count(sc, w & SHARED_COUNTER_LOCK ?
						     SHARED_COUNTER_STOLEN :
						     SHARED_COUNTER_LEADER);
				return value;
			}
			if (outcome == SHARED_COUNTER_LOST)
				goto fresh;
			if (!shared_counter_same_seq(seen, w))
				goto shared;
		}
		/* Somebody else has it now. Give him his time, or all of us stampede. */
		w = seen;
	}
fresh:
	/* The sample of a lost lock may be old enough to look new; this takes another. */
	return shared_counter_read_fresh(sc, sample);

shared:
	shared_counter_count(sc, SHARED_COUNTER_SHARED);
	return (u32)seen;
}

/**
 * shared_counter_add_gates() - give each NUMA node a gate, if more than one has CPUs
 * @sc: the shared counter
 *
 * A CPU that no node is known of yet stays without, and may always try.
 *
 * Context: once, when it is known which possible CPU is in which node; readers may be at it.
 */
static inline void shared_counter_add_gates(struct shared_counter *sc)
{
	int node, cpu, first = NUMA_NO_NODE;
	bool many = false;

	/* A node may have memory only. */
	for_each_possible_cpu(cpu) {
		node = cpu_to_node(cpu);
		if (first == NUMA_NO_NODE)
			first = node;
		many |= node != first;
	}
	if (!many)
		return;
	for_each_online_node(node) {
		atomic_t *gate = NULL;

		for_each_possible_cpu(cpu) {
			if (cpu_to_node(cpu) != node)
				continue;
			if (!gate)
				gate = per_cpu_ptr(sc->tried, cpu);
			WRITE_ONCE(*per_cpu_ptr(sc->gate, cpu), gate);
		}
	}
}

/* What of the bound a node waits after a try that failed. */
static inline u32 shared_counter_defer(u32 bound)
{
	return (u64)bound * clamp_t(u32, nr_online_nodes, SHARED_COUNTER_DEFER_LEAST,
				    SHARED_COUNTER_DEFER_ALL) / SHARED_COUNTER_DEFER_ALL;
}

/**
 * shared_counter_calibrate() - set the bound from what a read costs on this machine
 * @sc: the shared counter
 * @sample: reads the hardware
 *
 * The counter itself is the only clock that can be trusted here: it is in use because the TSC is
 * not. The quickest of a few tries counts, the others were disturbed. A counter that stands still
 * leaves the bound as it is.
 *
 * Context: once, when the counter works; readers may be at it. Takes about 300 reads.
 */
static inline void shared_counter_calibrate(struct shared_counter *sc, u32 (*sample)(void))
{
	const u32 reads = 64, polls = 4096;
	u32 read_ticks = U32_MAX, poll_ticks = U32_MAX;
	u32 bound = READ_ONCE(sc->bound), try, i;

	for (try = 0; try < 4; try++) {
		u32 start = sample(), middle, end;

		for (i = 1; i < reads; i++)
			sample();
		middle = sample();
		for (i = 0; i < polls; i++) {
			cpu_relax();
			atomic64_read(&sc->word);
		}
		end = sample();
		read_ticks = min(read_ticks, (middle - start) << sc->shift >> sc->shift);
		poll_ticks = min(poll_ticks, (end - middle) << sc->shift >> sc->shift);
	}
	/* The polls were timed together with one read. */
	poll_ticks -= min(poll_ticks, read_ticks / reads);
	if (read_ticks && poll_ticks)
		bound = clamp_t(u64, (u64)SHARED_COUNTER_BOUND_READS * read_ticks * polls /
				     ((u64)reads * poll_ticks),
				SHARED_COUNTER_BOUND_MIN, SHARED_COUNTER_BOUND_MAX);
	WRITE_ONCE(sc->bound, bound);
	WRITE_ONCE(sc->defer, shared_counter_defer(bound));
}

#endif /* _LINUX_SHARED_COUNTER_H */
