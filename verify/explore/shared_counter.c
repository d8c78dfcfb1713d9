// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/shared_counter.h: the invariant, the three rules, the table of transitions and the
 * bound that are stated at its top.
 */
#include <linux/shared_counter.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"

static unsigned long events[SHARED_COUNTER_EVENTS];

static explore_shared struct shared_counter sc;
/* The gates of two nodes, and which CPU has which, if there are any. */
static explore_shared atomic_t tried[2];
static atomic_t *gate_of[EXPLORE_MAX_CPUS];
/* The hardware, and the newest value that anybody returned; neither wraps. */
static explore_shared u64 hardware, newest;
/* The word before the last step, and before all. */
static explore_shared u64 word_before;
static u64 word_at_first;

static bool counter_stands;

unsigned int shim_nr_cpus;

unsigned int shim_cpu(void)
{
	return explore_cpu();
}

#define FIELD(w, mask)	(((w) & (mask)) / ((mask) & -(mask)))
#define SEQ(w)		FIELD(w, SHARED_COUNTER_SEQ_MASK)
#define EPOCH(w)	FIELD(w, SHARED_COUNTER_EPOCH_MASK)
#define LOCKED(w)	FIELD(w, SHARED_COUNTER_LOCK)

/* What a CPU did in its read: made a transition, took a sample, counted an event. */
#define LED		BIT(0)
#define TOOK_OVER	BIT(1)
#define SAMPLED		BIT(2)
#define SAMPLED_TWICE	BIT(3)
#define IN_NMI		BIT(4)
#define IRQS_OFF	BIT(5)
#define THIEF		BIT(6)	/* made up, see thieves_5() */
#define COUNTED(event)	BIT(8 + (event))
#define BEGAN_AT(w)	((SEQ(w) & 15) << 12)	/* what seq was */

bool shim_in_nmi(void)
{
	return explore_marks() & IN_NMI;
}

void shim_irqs_off(bool off)
{
	if (off)
		explore_mark(IRQS_OFF);
	else
		explore_unmark(IRQS_OFF);
}

/* One is enough for a case; the case says who is where. */
unsigned int shim_nr_nodes = 1;

int shim_cpu_to_node(unsigned int cpu)
{
	(void)cpu;
	return 0;
}

/* The counts belong to no state. Who asks for the place of one is about to add to it. */
void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	const char *name = SHARED_COUNTER_EVENT_NAMES;
	unsigned int event = (const volatile unsigned long *)ptr - events, i;

	if (ptr == gate_of)
		return &gate_of[cpu];
	for (i = 0; i < event; i++)
		name += strlen(name) + 1;
	explore_mark(COUNTED(event));
	explore_saw(name);
	return (void *)ptr;
}

static u64 mask(void)
{
	return U32_MAX >> sc.shift;
}

/* The counter wraps after two samples. */
static u64 first(void)
{
	return 3 * (mask() + 1) - 2;
}

/* For the reader of a schedule: 1 is what was sampled first. */
static long long told(u64 value)
{
	return value - first();
}

/* Before the first publish the word may have what the counter was before it was set back. */
static bool set_back;

static bool is_published(u64 w)
{
	return !set_back || (w ^ word_at_first) & SHARED_COUNTER_SEQ_MASK;
}

/* No value is from the future, nor older than half a turn. */
static u64 unwrap(u32 value)
{
	u64 age = (hardware - value) & mask();

	explore_check(age < mask() / 2, "has a value that the counter had not yet: %llx", (u64)value);
	return hardware - age;
}

static __always_inline u32 sample(void)
{
	explore_check(!(explore_marks() & SAMPLED_TWICE), "samples a third time");
	explore_mark(explore_marks() & SAMPLED ? SAMPLED_TWICE : SAMPLED);
	if (counter_stands) {
		hardware += explore_choose("sample, ticks", 2);
	} else {
		shim_access(&hardware, sizeof(hardware), SHIM_RMW);
		hardware++;
	}
	return hardware & mask();
}

static bool is_counted(unsigned int event, unsigned int marks)
{
	return (explore_marks() & 0xf00) == COUNTED(event) &&
	       (explore_marks() & (LED | TOOK_OVER | SAMPLED)) == marks;
}

static __always_inline void read_one(unsigned int context)
{
	u64 floor, value;
	u32 seq;

	explore_point("read()");
	explore_mark(context);
	/* Rule 3 asks for what the word holds, the invariant for what is never more. */
	floor = newest;
	if (is_published(sc.word.counter))
		floor = max(floor, unwrap(sc.word.counter));
	seq = SEQ(sc.word.counter);
	explore_mark(BEGAN_AT(sc.word.counter));
	value = unwrap(shared_counter_read(&sc, sample));
	explore_say("returns %lld", told(value));
	explore_check(value >= floor, "goes back: returns %lld, and %lld was known at the beginning",
		      told(value), told(floor));
	explore_check(SEQ(sc.word.counter) != seq, "returns %lld, and nothing was published meanwhile",
		      told(value));
	explore_check(unwrap(sc.word.counter) >= value, "rule 2: returns %lld, and the word has %lld",
		      told(value), told(unwrap(sc.word.counter)));
/* Whoever reads for himself may have held the lock before. */
	explore_check(is_counted(SHARED_COUNTER_LEADER, LED | SAMPLED) ||
		      is_counted(SHARED_COUNTER_SHARED, 0) ||
		      is_counted(SHARED_COUNTER_STOLEN, TOOK_OVER | SAMPLED) ||
		      is_counted(SHARED_COUNTER_FRESH, SAMPLED) ||
		      is_counted(SHARED_COUNTER_FRESH, LED | SAMPLED) ||
		      is_counted(SHARED_COUNTER_FRESH, TOOK_OVER | SAMPLED),
		      "counts something else than it did: %x", explore_marks());
	explore_check(!(explore_marks() & IRQS_OFF), "leaves interrupts off");
	explore_check(!context || is_counted(SHARED_COUNTER_FRESH, SAMPLED), "waits in an NMI");
	if (value > newest)
		newest = value;
}

static void reads_1(void)
{
	read_one(0);
}

static void reads_2(void)
{
	read_one(0);
	read_one(0);
}

static void reads_3(void)
{
	read_one(0);
	read_one(0);
	read_one(0);
}

static void nmi_reads_2(void)
{
	read_one(IN_NMI);
	read_one(IN_NMI);
}

/* The table of transitions, in other words than those of the code. */
static void check(void)
{
	u64 was = word_before, is = sc.word.counter;

	if (is == was)
		return;
	word_before = is;
	if (SEQ(is) == SEQ(was)) {
		explore_check(LOCKED(is), "unlocked without a publish");
		explore_check((u32)is == (u32)was, "another value, but no publish");
		if (LOCKED(was))
			explore_check(EPOCH(is) == (EPOCH(was) + 1) % 32, "no lead, no takeover");
		else
			explore_check(!EPOCH(was) && !EPOCH(is), "lead with an epoch");
		explore_mark(LOCKED(was) ? TOOK_OVER : LED);
		explore_check((explore_marks() & BEGAN_AT(~0ULL)) == BEGAN_AT(was) ||
			      explore_marks() & THIEF,
			      "locks, though something was published since it began");
		explore_check(explore_marks() & IRQS_OFF || explore_marks() & THIEF,
			      "holds the lock with interrupts on");
		return;
	}
	explore_check(SEQ(is) == (SEQ(was) + 1) % (1 << 26), "seq moves by more than one");
	explore_check(!LOCKED(is) && !EPOCH(is), "published, but not unlocked");
	if (!is_published(was))
		return;
	explore_check(unwrap(is) >= unwrap(was), "rule 1: the word goes back from %lld to %lld",
		      told(unwrap(was)), told(unwrap(is)));
}

/* Five CPUs, each of which takes over and is stopped for ever. */
static void thieves_5(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		explore_point("takes over, and stops for ever");
		explore_mark(THIEF);
		shim_access(&sc.word, sizeof(sc.word), SHIM_RMW);
		if (LOCKED(sc.word.counter))
			sc.word.counter += SHARED_COUNTER_EPOCH;
	}
}

/*
 * seq wraps after two publishes, as does the counter after two samples. With more CPUs than polls, no
 * CPU waits for longer than another: in a case whose CPUs are alike they must not.
 */
static void start(unsigned int bits, unsigned int cpus, u64 state)
{
	sc.shift = 32 - bits;
	sc.bound = 1;
	sc.defer = 1;
	sc.events = events;
	sc.gate = gate_of;
	memset(gate_of, 0, sizeof(gate_of));
	explore_constant(gate_of, sizeof(gate_of));
	explore_constant(&sc.gate, sizeof(sc.gate));
	hardware = first();
	newest = hardware;
	sc.word.counter = (SHARED_COUNTER_SEQ_MASK - SHARED_COUNTER_SEQ) | state |
			  (hardware & mask());
	word_before = sc.word.counter;
	word_at_first = sc.word.counter;
	counter_stands = false;
	set_back = false;
	shim_nr_cpus = cpus;
	explore_constant(&sc.bound, sizeof(sc.bound));
	explore_constant(&sc.defer, sizeof(sc.defer));
	explore_constant(&sc.shift, sizeof(sc.shift));
}

static void free_32(void)
{
	start(32, EXPLORE_MAX_CPUS, 0);
}

static void free_24(void)
{
	start(24, EXPLORE_MAX_CPUS, 0);
}

static void stands(void)
{
	start(32, EXPLORE_MAX_CPUS, 0);
	counter_stands = true;
}

/* As on resume. Nobody was reading. */
static void was_set_back(void)
{
	start(32, EXPLORE_MAX_CPUS, 0);
	sc.word.counter += 1000;
	word_before = sc.word.counter;
	word_at_first = sc.word.counter;
	set_back = true;
}

static void held(void)
{
	start(32, EXPLORE_MAX_CPUS, SHARED_COUNTER_LOCK);
}

/* Whoever holds the lock is stopped for ever, as are 31 who took over from him. */
static void held_for_ever(void)
{
	start(32, EXPLORE_MAX_CPUS, SHARED_COUNTER_LOCK | SHARED_COUNTER_EPOCH_MASK);
}

/* So many CPUs in the first node, the others in the second. */
static void gates(unsigned int first)
{
	unsigned int cpu;

	start(32, EXPLORE_MAX_CPUS, 0);
	for (cpu = 0; cpu < EXPLORE_MAX_CPUS; cpu++)
		gate_of[cpu] = &tried[cpu >= first];
}

/* As nobody has ever read. */
static void gates_at_boot(void)
{
	gates(1);
	/* To wait would be seen. */
	sc.bound = 8;
	sc.word.counter = hardware & mask();
	word_before = sc.word.counter;
	word_at_first = sc.word.counter;
}

static void gates_1(void)
{
	gates(1);
}

static void gates_2(void)
{
	gates(2);
}

/* In the second node, since those that are alike are in one. */
static void far_reads_1(void)
{
	read_one(0);
}

static void far_reads_2(void)
{
	read_one(0);
	read_one(0);
}

/* The last CPU waits for longer than the others. */
static void staggered(void)
{
	start(32, 3, 0);
	sc.bound = 3;
}

#define OUTCOMES	{ "leader", "shared", "stolen", "fresh" }

/*
 * The most steps are what the search found, where it found all. They are at most 1 to look, 1 to try to lead, 3 times the
 * polls and 1 to try to take over, 2 to sample and lose the lock, 2 to look and sample again, and
 * then 1 to publish, and 1 more for each time that another CPU is in the way: with a lock for the
 * read that it is at, with the publish of an older value, with the lock for its next read.
 */
const struct explore_case explore_cases[] = {
	{
		.name = "two", .what = "2 CPUs, 3 reads each",
		.cpu = { reads_3, reads_3 }, .alike = true,
		.init = free_32, .check = check, .max_steps = 12, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "alone", .what = "a CPU with a gate, 3 reads",
		.cpu = { reads_3 },
		.init = gates_at_boot, .check = check, .max_steps = 6, .preemptions = -1,
		.saw = { "leader" },
	}, {
		.name = "gates", .what = "2 nodes with a gate and a CPU each, 2 reads each",
		.cpu = { reads_2, far_reads_2 },
		.init = gates_1, .check = check, .max_steps = 14, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "node", .what = "a node of 2 CPUs with a gate, 2 reads each",
		.cpu = { reads_2, reads_2 }, .alike = true,
		.init = gates_2, .check = check, .max_steps = 14, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "unequal", .what = "2 nodes with a gate, with 2 CPUs and with 1",
		.cpu = { reads_1, reads_1, far_reads_1 }, .alike = true,
		.init = gates_2, .check = check, .max_steps = 15, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "nodes", .what = "2 nodes with a gate and 2 CPUs each",
		.cpu = { reads_1, reads_1, far_reads_1, far_reads_1 }, .alike = true,
		.init = gates_2, .check = check, .max_steps = 0, .preemptions = 5,
		.saw = OUTCOMES,
	}, {
		.name = "nmi", .what = "2 CPUs, and NMIs",
		.cpu = { reads_2, reads_1, nmi_reads_2 }, .alike = true,
		.init = free_32, .check = check, .max_steps = 12, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "back", .what = "2 CPUs and NMIs, a counter that was set back",
		.cpu = { reads_2, reads_1, nmi_reads_2 }, .alike = true,
		.init = was_set_back, .check = check, .max_steps = 13,
		.preemptions = -1, .saw = OUTCOMES,
	}, {
		.name = "stands", .what = "3 CPUs, a counter that may stand still",
		.cpu = { reads_2, reads_1, reads_1 }, .alike = true,
		.init = stands, .check = check, .max_steps = 14, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "thieves", .what = "2 CPUs, and others that take over and stop",
		.cpu = { reads_1, reads_1, thieves_5 }, .alike = true,
		.init = held, .check = check, .max_steps = 16, .preemptions = -1,
		.saw = { "shared", "stolen", "fresh" },
	}, {
		.name = "crowd", .what = "5 CPUs, 2 reads each",
		.cpu = { reads_2, reads_2, reads_2, reads_2, reads_2 }, .alike = true,
		.init = free_32, .check = check, .max_steps = 25, .preemptions = 2,
		.saw = OUTCOMES,
	}, {
		.name = "narrow", .what = "3 CPUs, a counter of 24 bits",
		.cpu = { reads_2, reads_2, reads_1 }, .alike = true,
		.init = free_24, .check = check, .max_steps = 0, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "staggered", .what = "3 CPUs with bounds of 3, 4 and 5 polls",
		.cpu = { reads_2, reads_2, reads_2 },
		.init = staggered, .check = check, .max_steps = 31, .preemptions = 4,
		.saw = OUTCOMES,
	}, {
		.name = "held", .what = "3 CPUs, and a holder that was stopped before",
		.cpu = { reads_2, reads_2, reads_1 }, .alike = true,
		.init = held_for_ever, .check = check, .max_steps = 16, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "four", .what = "4 CPUs, 1 read each",
		.cpu = { reads_1, reads_1, reads_1, reads_1 }, .alike = true,
		.init = free_32, .check = check, .max_steps = 0, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "three", .what = "3 CPUs, 2 reads each",
		.cpu = { reads_2, reads_2, reads_2 }, .alike = true,
		.init = free_32, .check = check, .max_steps = 0, .preemptions = -1,
		.saw = OUTCOMES,
	},
};
const unsigned int explore_nr_cases = sizeof(explore_cases) / sizeof(explore_cases[0]);

const char *explore_name(const volatile void *addr)
{
	if (addr == &tried[0] || addr == &tried[1])
		return addr == &tried[0] ? "gate 0" : "gate 1";
	return addr == &sc.word ? "word" : "counter";
}

void explore_format(char *text, size_t size, const volatile void *addr, unsigned long long value)
{
	if (addr == &sc.word)
		snprintf(text, size, "%llu/%llu%s:%lld", SEQ(value), EPOCH(value),
			 LOCKED(value) ? "L" : "",
			 (long long)((s32)(((u32)value - (u32)first()) << sc.shift) >> sc.shift));
	else if (addr == &tried[0] || addr == &tried[1])
		snprintf(text, size, "%llu", value);
	else
		snprintf(text, size, "%lld", told(value));
}
