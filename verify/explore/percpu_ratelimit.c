// SPDX-License-Identifier: GPL-2.0
/*
 * include/linux/percpu_ratelimit.h and lib/percpu_ratelimit.c: the transitions and the invariants
 * that are stated at the top of the header, and that each suppressed call is told of once.
 */
#include <linux/jiffies.h>
#include <linux/percpu_ratelimit.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"

#define NR_CPUS		3

static explore_shared struct percpu_ratelimit rl;
static DEFINE_PER_CPU(struct percpu_ratelimit_cpu, rl_cpu);
/* Each CPU's copy of what is above. */
static explore_shared struct percpu_ratelimit_cpu copies[NR_CPUS];
explore_shared unsigned long shim_jiffies;

/* What was seen of the past. Times wrap as jiffies do. */
static explore_shared struct {
	u64		word;			/* before the last step */
	unsigned long	began[EXPLORE_MAX_CPUS];
	unsigned char	got[EXPLORE_MAX_CPUS];	/* the place that a transition gave */
	unsigned char	calls, allowed, told;
	/* Since its call began, a CPU has seen a window that was full, and not over. */
	bool		seen_full[EXPLORE_MAX_CPUS];
	bool		calling[EXPLORE_MAX_CPUS];
} ghost;

/* Jiffies; 0 counts as 1. */
static unsigned int interval;

/* CPUs that a task may run on, and whether NMIs and other tasks share one. */
static unsigned int cpus_to_choose;
static bool one_cpu;
unsigned int shim_nr_cpus;

unsigned int shim_cpu(void)
{
	if (cpus_to_choose)
		return explore_choose("runs on CPU", cpus_to_choose);
	return one_cpu ? explore_cpu() / 2 : explore_cpu();
}

void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	return (char *)&copies[cpu] + ((const volatile char *)ptr - (const volatile char *)&rl_cpu);
}

static bool before(unsigned long a, unsigned long b)
{
	return (long)(a - b) < 0;
}

#define DEADLINE(w)	((unsigned long)((w) >> PERCPU_RATELIMIT_COUNT_BITS))
#define COUNT(w)	((unsigned int)((w) & PERCPU_RATELIMIT_COUNT_MASK))
/* Of a deadline, 56 bits are kept. */
#define SAME_TIME(a, b)	(!(((a) ^ (b)) << PERCPU_RATELIMIT_COUNT_BITS))

static __always_inline unsigned int call(void)
{
	unsigned int cpu, place;
	unsigned long known;

	explore_point("allow()");
	/* Not where others write to it: they may be late, which costs a look and no more. */
	known = cpus_to_choose || one_cpu ? 0 : DEADLINE(copies[shim_cpu()].closed);
	ghost.began[explore_cpu()] = shim_jiffies;
	ghost.seen_full[explore_cpu()] = false;
	ghost.calling[explore_cpu()] = true;
	place = percpu_ratelimit_allow(&rl);
	cpu = explore_cpu();
	explore_say(place ? "is let through as %u" : "is refused", place);
	explore_check(place == ghost.got[cpu], "is told %u, but its place is %u", place,
		      ghost.got[cpu]);
	ghost.calling[cpu] = false;
	explore_check(place || ghost.seen_full[cpu],
		      "invariant 5: is refused, and has seen no full window");
	explore_check(!known || !before(shim_jiffies << 8, known << 8) || explore_steps() <= 3,
		      "its CPU knows that the window is full, and it asks the others");
	if (known && !place && explore_steps() <= 3)
		explore_saw("known");
	explore_saw(place ? place == 1 ? "open" : "take" : "none");
	ghost.got[cpu] = 0;
	ghost.calls++;
	return place;
}

static void calls_1(void)
{
	call();
}

static void calls_2(void)
{
	call();
	call();
}

static void calls_3(void)
{
	call();
	call();
	call();
}

/* Whoever opens a window tells of those suppressed before. */
static __always_inline void call_and_tell(void)
{
	unsigned long missed;

	if (call() != 1)
		return;
	explore_point("missed()");
	missed = percpu_ratelimit_missed(&rl);
	explore_say("tells of %lu", missed);
	explore_check((long)missed >= 0, "tells of %ld", missed);
	if (missed)
		explore_saw("tell");
	ghost.told += missed;
}

static void tells_2(void)
{
	call_and_tell();
	call_and_tell();
}

static void tells_3(void)
{
	call_and_tell();
	call_and_tell();
	call_and_tell();
}

static __always_inline void tick(void)
{
	explore_point("tick");
	shim_access(&shim_jiffies, sizeof(shim_jiffies), SHIM_RMW);
	shim_jiffies++;
}

static void ticks_2(void)
{
	tick();
	tick();
}

static void ticks_3(void)
{
	tick();
	tick();
	tick();
}

/* A window goes by while nobody calls. */
static void ticks_long(void)
{
	explore_point("ticks");
	shim_access(&shim_jiffies, sizeof(shim_jiffies), SHIM_RMW);
	shim_jiffies += 10;
	tick();
}

/* The word of a window that is full, and not over for a call that began then. */
static bool full_for(u64 w, unsigned long began)
{
	return COUNT(w) == rl.burst && before(began << 8, DEADLINE(w) << 8);
}

static void check(void)
{
	u64 was = ghost.word, is = rl.word.counter;
	unsigned int cpu = explore_cpu();
	unsigned long at;
	unsigned int i;

	/* Whoever called looked at one of these in the step that was just made, or did not look. */
	if (ghost.calling[cpu]) {
		ghost.seen_full[cpu] |= full_for(is, ghost.began[cpu]);
		for (i = 0; i < NR_CPUS; i++)
			ghost.seen_full[cpu] |= full_for(copies[i].closed, ghost.began[cpu]);
	}
	explore_check(ghost.told <= copies[0].events[PERCPU_RATELIMIT_SUPPRESSED] +
		      copies[1].events[PERCPU_RATELIMIT_SUPPRESSED] +
		      copies[2].events[PERCPU_RATELIMIT_SUPPRESSED],
		      "tells of more than were suppressed");
	if (is == was)
		return;
	ghost.word = is;
	ghost.allowed++;
	explore_check(!ghost.got[cpu], "moves the word twice");
	ghost.got[cpu] = COUNT(is);
	if (COUNT(is) == 1) {
		at = DEADLINE(is) - max(interval, 1U);
		explore_check(SAME_TIME(at, ghost.began[cpu]) ||
			      (before(ghost.began[cpu] << 8, at << 8) &&
			       !before(shim_jiffies << 8, at << 8)),
			      "opens a window at a time that it did not see");
		explore_check(!COUNT(was) || !before(at << 8, DEADLINE(was) << 8),
			      "invariant 3: opens a window before the last is over");
	} else {
		explore_check(DEADLINE(is) == DEADLINE(was), "another deadline, but no new window");
		explore_check(COUNT(is) == COUNT(was) + 1, "the count moves by more than one");
		explore_check(COUNT(is) <= rl.burst, "invariant 2: more than %u in a window",
			      rl.burst);
	}
}

static void end(void)
{
	unsigned long suppressed = percpu_ratelimit_events(&rl, PERCPU_RATELIMIT_SUPPRESSED);

	explore_check(ghost.allowed == percpu_ratelimit_events(&rl, PERCPU_RATELIMIT_ALLOWED),
		      "%u were let through, %lu are counted", ghost.allowed,
		      percpu_ratelimit_events(&rl, PERCPU_RATELIMIT_ALLOWED));
	explore_check(ghost.calls == ghost.allowed + suppressed,
		      "%u calls, %u let through, %lu counted as suppressed", ghost.calls,
		      ghost.allowed, suppressed);
	explore_check(ghost.told + percpu_ratelimit_missed(&rl) == suppressed,
		      "not every one of %lu suppressed calls is told of once", suppressed);
}

/* @at: the time; a limit that was in use has a window that ends then, with @count let through */
static void start(unsigned int burst, unsigned long at, unsigned int count)
{
	shim_nr_cpus = NR_CPUS;
	cpus_to_choose = 0;
	one_cpu = false;
	rl.cpu = &rl_cpu;
	interval = 2;
	rl.interval = interval;
	rl.burst = burst;
	explore_constant(&rl.cpu, offsetof(struct percpu_ratelimit, burst) + sizeof(rl.burst) -
			 offsetof(struct percpu_ratelimit, cpu));
	shim_jiffies = at;
	if (count)
		rl.word.counter = percpu_ratelimit_window(at) + count;
	ghost.word = rl.word.counter;
}

static void never_used(void)
{
	start(2, 1000, 0);
}

/* The window that is over was full. The next one's end has a carry out of 56 bits. */
static void full_before_wrap(void)
{
	start(2, (1UL << 56) - 2, 2);
}

/* All of jiffies wraps, and the window that is over was not full. */
static void jiffies_wrap(void)
{
	start(2, -2UL, 1);
}

/* As after boot, when jiffies is about to wrap. */
static void never_used_wrap(void)
{
	start(2, -5UL, 0);
}

static void burst_of_one(void)
{
	start(1, 1000, 1);
}

static void burst_of_three(void)
{
	start(3, 1000, 0);
}

static void no_interval(void)
{
	start(1, 1000, 0);
	interval = 0;
	rl.interval = 0;
}

static void migrates(void)
{
	start(1, 1000, 0);
	cpus_to_choose = 2;
}

/* The first two are a task and what interrupts it. */
static void shares_a_cpu(void)
{
	start(1, 1000, 0);
	one_cpu = true;
}

/*
 * The most steps are what the search found, where it found all: 1 to look at the time, 1 at what the
 * CPU knows, 1 at the word, then a try for each place that others can take in the windows that a call
 * meets, 1 to remember that the last is full, 1 to count.
 */
#define OUTCOMES	{ "open", "take", "none", "known" }

const struct explore_case explore_cases[] = {
	{
		.name = "first", .what = "3 CPUs, a limit of 2 that was never used",
		.cpu = { calls_2, calls_2, calls_1, ticks_2 },
		.init = never_used, .check = check, .end = end, .max_steps = 9, .preemptions = -1,
		.saw = OUTCOMES,
	}, {
		.name = "boot", .what = "2 CPUs, a limit that was never used, jiffies below 0",
		.cpu = { calls_2, calls_2, ticks_3 },
		.init = never_used_wrap, .check = check, .end = end,
		.max_steps = 7, .preemptions = -1, .saw = OUTCOMES,
	}, {
		.name = "wrap", .what = "2 CPUs, a full window before, the deadline wraps",
		.cpu = { calls_3, calls_3, ticks_3 },
		.init = full_before_wrap, .check = check, .end = end, .max_steps = 8,
		.preemptions = -1, .saw = OUTCOMES,
	}, {
		.name = "jiffies", .what = "2 CPUs, a window not full before, jiffies wraps",
		.cpu = { calls_3, calls_3, ticks_3 },
		.init = jiffies_wrap, .check = check, .end = end, .max_steps = 8,
		.preemptions = -1, .saw = OUTCOMES,
	}, {
		.name = "one", .what = "3 CPUs, a limit of 1",
		.cpu = { calls_2, calls_2, calls_1, ticks_3 },
		.init = burst_of_one, .check = check, .end = end, .max_steps = 7,
		.preemptions = -1, .saw = { "open", "none", "known" },
	}, {
		.name = "three", .what = "3 CPUs, a limit of 3",
		.cpu = { calls_2, calls_2, calls_2, ticks_2 },
		.init = burst_of_three, .check = check, .end = end, .max_steps = 11,
		.preemptions = 3, .saw = OUTCOMES,
	}, {
		.name = "zero", .what = "2 CPUs, an interval of 0",
		.cpu = { calls_3, calls_3, ticks_2 },
		.init = no_interval, .check = check, .end = end, .max_steps = 7,
		.preemptions = -1, .saw = { "open", "none" },
	}, {
		.name = "gap", .what = "2 CPUs, and long times without a call",
		.cpu = { calls_3, calls_3, ticks_long },
		.init = burst_of_one, .check = check, .end = end, .max_steps = 7,
		.preemptions = -1, .saw = { "open", "none", "known" },
	}, {
		.name = "migrates", .what = "2 tasks that are on any CPU at any time",
		.cpu = { calls_3, calls_2, ticks_2 },
		.init = migrates, .check = check, .end = end, .max_steps = 10, .preemptions = -1,
		.saw = { "open", "none" },
	}, {
		.name = "nmi", .what = "a CPU with NMIs and another one",
		.cpu = { calls_2, calls_2, calls_2, ticks_2 },
		.init = shares_a_cpu, .check = check, .end = end, .max_steps = 7,
		.preemptions = 4, .saw = { "open", "none" },
	}, {
		.name = "tell", .what = "3 CPUs tell how many were suppressed",
		.cpu = { tells_3, tells_2, calls_2, ticks_long },
		.init = burst_of_one, .check = check, .end = end, .max_steps = 14,
		.preemptions = 2, .saw = { "open", "none", "tell" },
	},
};
const unsigned int explore_nr_cases = sizeof(explore_cases) / sizeof(explore_cases[0]);

const char *explore_name(const volatile void *addr)
{
	const volatile struct percpu_ratelimit_cpu *copy;
	static char name[40];
	unsigned int i;

	if (addr == &rl.word)
		return "word";
	if (addr == &rl.told)
		return "told";
	if (addr == &shim_jiffies)
		return "jiffies";
	for (i = 0; addr >= (void *)&copies[i + 1]; i++)
		;
	copy = &copies[i];
	snprintf(name, sizeof(name), "CPU%u %s", i, addr == &copy->closed ? "closed" :
		 addr == &copy->events[PERCPU_RATELIMIT_ALLOWED] ? "allowed" : "suppressed");
	return name;
}

void explore_format(char *text, size_t size, const volatile void *addr, unsigned long long value)
{
	bool word = addr == &rl.word;
	unsigned int i;

	for (i = 0; i < NR_CPUS; i++)
		word = word || addr == &copies[i].closed;
	if (word)
		snprintf(text, size, "%ld:%u", DEADLINE(value), COUNT(value));
	else
		snprintf(text, size, "%lld", value);
}
