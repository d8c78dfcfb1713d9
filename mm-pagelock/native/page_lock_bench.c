// SPDX-License-Identifier: GPL-2.0
/*
 * What looking at the page lock before trying it gains and costs on two real cores, with the header
 * of the fix as it is. Two threads, each on its own core: here the owner of the lock, there the
 * other, who tries it or gets the cache lines into some state. The forms, with the test and
 * without, take turns in slices of half a millisecond, so that whatever else the machine does hits
 * both.
 *
 * The figures are no verdict. The exit status is about the lock: that it had one owner at a time,
 * that each form did with each try what it says, and that something happened in every row.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "page_lock_bench.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ALIGNED		__attribute__((__aligned__(128)))

#define EXIT_USAGE	2
#define EXIT_SKIP	4

#define SLICE		500e-6	/* seconds; thousands of sections, few interrupts */
#define PAGES		128	/* that many lines fit into any first-level cache... */
#define APART		4	/* ...with so many between them that no prefetcher helps */

/* ---- what is measured ---- */

enum { OFF, ON, FORMS };

static const struct form {
	const char	*name;
	void		(*lock)(struct page *page, struct owned *o);
	void		(*unlock)(struct page *page, struct owned *o);
	void		(*own)(struct page *page, const struct hold *hold, double seconds,
			       struct owned *o);
	void		(*try)(struct page *page, enum before before, const int *stop,
			       struct tries *t);
	int		(*pairs)(struct page *pool, const unsigned short *order, int n,
				 enum before before, int copy);
} form[FORMS] = {
	[OFF] = { "off", lock_off, unlock_off, own_off, try_off, pairs_off },
	[ON] = { "on", lock_on, unlock_on, own_on, try_on, pairs_on },
};

static const char * const before_name[BEFORES] = { "bare", "head", "get", "tryget" };

static const struct hold hold[] = {
	{ .name = "always", .keep = true },
	{ .name = "reading", .keep = true, .reads = true },
	{ .name = "half", .pause = SECTION },
	{ .name = "tenth", .pause = 9 * SECTION },
};

#define HOLDS		ARRAY_SIZE(hold)

enum { ALONE, TRIES, TRIES_TRYGET, OTHERS };

static const struct {
	const char	*name;
	enum before	before;
} others[OTHERS] = {
	[ALONE] = { "nobody", BARE },
	[TRIES] = { "bare", BARE },
	[TRIES_TRYGET] = { "tryget", TRYGET },
};

enum { WARM, COLD, SHARED, STATES };

static const char * const state_name[STATES] = { "warm", "cold", "shared" };

/* As Linux knows them everywhere, though what they count is up to the CPU. */
static const struct {
	const char	*name;
	__u64		config;
} event[] = {
	{ "cache-references", PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_COUNT_HW_CACHE_MISSES },
};

#define EVENTS		ARRAY_SIZE(event)

struct samples {
	double	*value;
	size_t	n, room;
};

static struct contended {
	struct samples	failed, got, sections;	/* a second */
	struct tries	all;
	__u64		events[EVENTS];
} contended[HOLDS][OTHERS][FORMS];
static unsigned long slices, disturbed;

static struct samples uncontended[STATES][BEFORES][FORMS][COPIES];	/* ns */

static struct page contended_page ALIGNED;
static struct page pool[PAGES * APART] ALIGNED;
static unsigned short order[PAGES];

static void __attribute__((__noreturn__, __format__(__printf__, 1, 2))) broken(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "page_lock_bench: broken: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(EXIT_FAILURE);
}

static void __attribute__((__noreturn__)) skip(const char *why)
{
	printf("page_lock_bench: %s\n", why);
	exit(EXIT_SKIP);
}

static void hung(int sig)
{
	static const char text[] = "page_lock_bench: broken: got nowhere\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	_exit(EXIT_FAILURE);
}

/* ---- the other core ---- */

enum job { TRY, WRITE, READ, END };

/* What one waits for has a line of its own, so that the wait disturbs nothing. */
static struct {
	enum job		job ALIGNED;
	const struct form	*form;
	enum before		before;
	struct tries		tries;
	long			preempted;
	int			cpu;
	int			perf[EVENTS], perf_errno;
	__u64			events[EVENTS];
	int			posted ALIGNED;
	int			started ALIGNED;
	int			done ALIGNED;
	int			stop ALIGNED;
} other ALIGNED;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		skip("cannot pin a thread to a CPU");
}

/* How many times this thread has lost its CPU to another. */
static long preemptions(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_THREAD, &r))
		abort();
	return r.ru_nivcsw;
}

static void perf_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	unsigned int i;

	for (i = 0; i < EVENTS; i++) {
		attr.config = event[i].config;
		other.perf[i] = syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
		if (other.perf[i] < 0) {
			other.perf_errno = errno;
			return;
		}
	}
}

static void perf_add(int sign)
{
	unsigned int i;
	__u64 value;

	for (i = 0; i < EVENTS && !other.perf_errno; i++) {
		if (read(other.perf[i], &value, sizeof(value)) == sizeof(value))
			other.events[i] += sign * value;
		else
			other.perf_errno = EIO;
	}
}

static void try(int turn)
{
	long start = preemptions();

	perf_add(-1);
	/* Release: pairs with await(), after which the owner starts to count. */
	__atomic_store_n(&other.started, turn, __ATOMIC_RELEASE);
	other.form->try(&contended_page, other.before, &other.stop, &other.tries);
	perf_add(1);
	other.preempted = preemptions() - start;
}

/* Afterwards no cache has the line. False if this does not know how. */
static bool flush(struct page *page)
{
#ifdef __x86_64__
	__builtin_ia32_clflush(page);
	__builtin_ia32_mfence();
	return true;
#else
	(void)page;
	return false;
#endif
}

/*
 * Acquire: pairs with the releases in post(), try() and other_core(). Whoever spins when the other
 * has no CPU is without one when the other has it again; so after a while it sleeps.
 */
static void await(const int *what, int value)
{
	unsigned int spins = 0;

	while (__atomic_load_n(what, __ATOMIC_ACQUIRE) != value) {
		relax();
		if (++spins > 1000)
			usleep(50);
	}
}

static void *other_core(void *unused)
{
	int turn, i;

	pin(other.cpu);
	perf_open();
	for (turn = 1;; turn++) {
		await(&other.posted, turn);
		switch (other.job) {
		case TRY:
			try(turn);
			break;
		case WRITE:
			for (i = 0; i < PAGES; i++)
				pool[order[i]].touched = turn;
			break;
		case READ:
			for (i = 0; i < PAGES; i++)
				flush(&pool[order[i]]);
			for (i = 0; i < PAGES; i++)
				(void)pool[order[i]].touched;
			break;
		case END:
			return unused;
		}
		/* Release: pairs with await(), whose caller looks at what came of it. */
		__atomic_store_n(&other.done, turn, __ATOMIC_RELEASE);
	}
}

static void post(enum job job)
{
	other.job = job;
	/* Release: pairs with await() in other_core(), which then looks at what is to be done. */
	__atomic_store_n(&other.posted, other.posted + 1, __ATOMIC_RELEASE);
}

/* ---- this core ---- */

static void add(struct samples *s, double value)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->value = realloc(s->value, s->room * sizeof(*s->value));
		if (!s->value)
			abort();
	}
	s->value[s->n++] = value;
}

static void check_slice(int f, bool kept, const struct tries *t, const struct owned *o)
{
	const char *name = form[f].name;

	if (o->broken || t->broken)
		broken("%s: in one slice the lock had two owners %lu times", name,
		       o->broken + t->broken);
	if (contended_page.refcount != 1 || contended_page.flags)
		broken("%s: left over: %d references, flags %#lx", name, contended_page.refcount,
		       contended_page.flags);
	if (t->tried != t->seen + t->lost + t->won)
		broken("%s: %lu tries, but %lu seen, %lu lost, %lu won", name, t->tried, t->seen,
		       t->lost, t->won);
	if (kept && t->won)
		broken("%s: a lock was got that was held", name);
	if (f == OFF && t->seen)
		broken("off: %lu tries were tests", t->seen);
	if (f == ON && kept && t->lost)
		broken("on: %lu locked instructions on a lock that was held", t->lost);
}

static void contended_slice(unsigned int h, int who, int f)
{
	struct contended *c = &contended[h][who][f];
	struct tries *t = &other.tries;
	struct owned o = { 0 };
	unsigned int e;
	long preempted;

	memset(t, 0, sizeof(*t));
	memset(other.events, 0, sizeof(other.events));
	other.preempted = 0;
	other.form = &form[f];
	other.before = others[who].before;
	other.stop = 0;
	if (hold[h].keep)
		form[f].lock(&contended_page, &o);
	preempted = -preemptions();
	if (who != ALONE) {
		post(TRY);
		await(&other.started, other.posted);
	}
	form[f].own(&contended_page, &hold[h], SLICE, &o);
	if (who != ALONE) {
		__atomic_store_n(&other.stop, 1, __ATOMIC_RELAXED);
		await(&other.done, other.posted);
	}
	preempted += preemptions();
	if (hold[h].keep)
		form[f].unlock(&contended_page, &o);
	check_slice(f, hold[h].keep, t, &o);

	slices++;
	if (preempted || other.preempted) {
		/* Its figures would be the scheduler's. */
		disturbed++;
		return;
	}
	c->all.tried += t->tried;
	c->all.seen += t->seen;
	c->all.lost += t->lost;
	c->all.won += t->won;
	for (e = 0; e < EVENTS; e++)
		c->events[e] += other.events[e];
	add(&c->sections, o.sections / o.seconds);
	if (who != ALONE) {
		add(&c->failed, (t->seen + t->lost) / t->seconds);
		add(&c->got, t->won / t->seconds);
	}
}

static void uncontended_turn(int state, enum before before, int f)
{
	double start, took;
	long preempted;
	int i, got;

	for (i = 0; i < COPIES; i++) {
		preempted = -preemptions();
		/* In any state, so that code and addresses are warm. */
		form[f].pairs(pool, order, PAGES, before, i);
		if (state != WARM) {
			post(state == COLD ? WRITE : READ);
			await(&other.done, other.posted);
		}
		start = now();
		got = form[f].pairs(pool, order, PAGES, before, i);
		took = now() - start;
		preempted += preemptions();
		if (got != PAGES)
			broken("%s: got %d of %d free locks", form[f].name, got, PAGES);
		slices++;
		if (preempted)
			disturbed++;
		else
			add(&uncontended[state][before][f][i], took * 1e9 / PAGES);
	}
}

static int states(void)
{
	return flush(&contended_page) ? STATES : SHARED;
}

static void one_round(int round)
{
	int f, state, b, who;
	unsigned int h;

	for (state = 0; state < states(); state++)
		for (b = 0; b < BEFORES; b++)
			for (f = 0; f < FORMS; f++)
				uncontended_turn(state, b, (round + f) % FORMS);
	for (h = 0; h < HOLDS; h++)
		for (who = 0; who < OTHERS; who++)
			for (f = 0; f < FORMS; f++)
				contended_slice(h, who, (round + f) % FORMS);
}

/* On a busy machine a row may need more than its share of rounds. */
static bool complete(void)
{
	int who, f, state, b, i;
	unsigned int h;

	for (f = 0; f < FORMS; f++) {
		for (h = 0; h < HOLDS; h++)
			for (who = 0; who < OTHERS; who++)
				if (!contended[h][who][f].sections.n)
					return false;
		for (state = 0; state < states(); state++)
			for (b = 0; b < BEFORES; b++)
				for (i = 0; i < COPIES; i++)
					if (!uncontended[state][b][f][i].n)
						return false;
	}
	return true;
}

/* ---- the report ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct quartiles {
	double	low, median, high;
};

static struct quartiles quartiles(struct samples *s)
{
	qsort(s->value, s->n, sizeof(*s->value), by_value);
	return (struct quartiles){ s->value[s->n / 4], s->value[s->n / 2], s->value[s->n * 3 / 4] };
}

/* A table in which nothing happened is none. */
static void check_row(const struct contended *c, unsigned int h, int who, int f)
{
	const char *none = NULL;

	if (!(c->all.seen + c->all.lost))
		none = "failed";
	else if (!hold[h].keep && !c->all.won)
		none = "got the lock";
	else if (f == ON && !c->all.seen)
		none = "was a test";
	if (none)
		broken("%s, %s, %s: no try %s", hold[h].name, others[who].name, form[f].name, none);
}

static void report_row(struct contended *c, unsigned int h, int who, int f)
{
	struct quartiles failed, sections = quartiles(&c->sections);
	struct quartiles alone = quartiles(&contended[h][ALONE][f].sections);

	printf("%-7s %-7s %-4s ", hold[h].name, others[who].name, form[f].name);
	if (who == ALONE) {
		printf("%24s %7s %7s ", "-", "-", "-");
	} else {
		check_row(c, h, who, f);
		failed = quartiles(&c->failed);
		printf("%8.0f [%6.0f %6.0f] %7.3f %7.0f ", failed.median / 1e3, failed.low / 1e3,
		       failed.high / 1e3, (double)(c->all.lost + c->all.won) / c->all.tried,
		       quartiles(&c->got).median / 1e3);
	}
	printf("%8.0f [%6.0f %6.0f] %7.2f\n", sections.median / 1e3, sections.low / 1e3,
	       sections.high / 1e3, sections.median / alone.median);
}

static void report_contended(void)
{
	unsigned int h;
	int who, f;

	printf("\n"
	       "Contended. One core has the lock always, half of the time or a tenth of it, and\n"
	       "changes the reference count %d times in a section; reading: always, and it only\n"
	       "reads the page. The other tries to get it as fast as it can, bare or with a\n"
	       "reference by tryget() around each try.\n"
	       "failed, got: tries. locked: locked instructions on the lock's bit, for each try.\n"
	       "sections: the owner's. part: of those that it manages alone.\n"
	       "In 1000/s, median [quartiles].\n\n"
	       "%-7s %-7s %-4s %24s %7s %7s %24s %7s\n", ACCESSES, "held", "tries", "form",
	       "failed", "locked", "got", "sections", "part");
	for (h = 0; h < HOLDS; h++)
		for (who = 0; who < OTHERS; who++)
			for (f = 0; f < FORMS; f++)
				report_row(&contended[h][who][f], h, who, f);
	printf("left out because another process ran: %lu of %lu slices\n", disturbed, slices);
}

struct figure {
	double	low, mean, high;
};

/* Of the copies' medians. A median of all would only say which sort of copy there are more of. */
static struct figure copies(struct samples *s)
{
	struct figure f = { 0 };
	double median;
	int i;

	for (i = 0; i < COPIES; i++) {
		median = quartiles(&s[i]).median;
		f.mean += median / COPIES;
		if (!i || median < f.low)
			f.low = median;
		if (median > f.high)
			f.high = median;
	}
	return f;
}

static void report_uncontended(void)
{
	struct figure off, on;
	int state, b;

	printf("\n"
	       "Uncontended. Lock and unlock of a free page: bare, or with what a caller does\n"
	       "first, compound_head(), get() or tryget(), and the put() that belongs to it.\n"
	       "warm: the line is in this core's cache, changed. cold: the other core changed it\n"
	       "last. shared: the other core has read it, and this one does not have it.\n"
	       "In ns, mean [least, most] of %d copies of the code, of each the median.\n\n"
	       "%-7s %-7s %24s %24s %9s\n", COPIES, "line", "tries", "off", "on", "on - off");
	for (state = 0; state < states(); state++)
		for (b = 0; b < BEFORES; b++) {
			off = copies(uncontended[state][b][OFF]);
			on = copies(uncontended[state][b][ON]);
			printf("%-7s %-7s %8.1f [%6.1f %6.1f] %8.1f [%6.1f %6.1f] %+9.1f\n",
			       state_name[state], before_name[b], off.mean, off.low, off.high,
			       on.mean, on.low, on.high, on.mean - off.mean);
		}
	if (states() < STATES)
		printf("shared: left out, no way known to flush a line on this architecture\n");
}

static void report_events(void)
{
	struct contended *c;
	unsigned int h, e;
	int who, f;

	if (other.perf_errno) {
		printf("\nno hardware counters: %s\n", strerror(other.perf_errno));
		return;
	}
	printf("\n"
	       "Hardware events for each try, as far as this CPU has them.\n\n"
	       "%-7s %-7s %-4s", "held", "tries", "form");
	for (e = 0; e < EVENTS; e++)
		printf(" %16s", event[e].name);
	printf("\n");
	for (h = 0; h < HOLDS; h++)
		for (who = ALONE + 1; who < OTHERS; who++)
			for (f = 0; f < FORMS; f++) {
				c = &contended[h][who][f];
				printf("%-7s %-7s %-4s", hold[h].name, others[who].name,
				       form[f].name);
				for (e = 0; e < EVENTS; e++)
					printf(" %16.3f", (double)c->events[e] / c->all.tried);
				printf("\n");
			}
}

/* ---- the machine ---- */

static long topology(int cpu, const char *what)
{
	char path[96];
	long id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%ld", &id) != 1)
			id = -1;
		fclose(f);
	}
	return id;
}

/* Two threads of one core have their first cache in common: nothing travels. */
static bool same_core(int a, int b)
{
	return topology(a, "core_id") >= 0 && topology(a, "core_id") == topology(b, "core_id") &&
	       topology(a, "physical_package_id") == topology(b, "physical_package_id");
}

static void choose_cores(int *here, int *there)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		skip("cannot ask which CPUs it may run on");
	*here = -1;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (*here < 0) {
			*here = cpu;
		} else if (!same_core(*here, cpu)) {
			*there = cpu;
			return;
		}
	}
	skip("needs two cores, and may run on one only");
}

static void report_machine(int here, int there, int seconds)
{
	char line[256], model[200] = "unknown CPU";
	struct utsname u;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "model name : %199[^\n]", model) == 1)
			break;
	if (f)
		fclose(f);
	uname(&u);
	printf("%s, %ld CPUs, %s %s %s; on CPUs %d and %d for %d s\n", model,
	       sysconf(_SC_NPROCESSORS_ONLN), u.sysname, u.release, u.machine, here, there,
	       seconds);
}

static void __attribute__((__noreturn__)) usage(FILE *to, int status)
{
	fprintf(to, "usage: page_lock_bench [-h] [-s SECONDS], 1 to 3600, 20 if not given\n");
	exit(status);
}

static void make_pages(void)
{
	unsigned short page;
	int i, j;

	contended_page.refcount = 1;
	for (i = 0; i < PAGES; i++) {
		order[i] = i * APART;
		pool[order[i]].refcount = 1;
	}
	for (i = PAGES - 1; i; i--) {
		j = rand() % (i + 1);
		page = order[i];
		order[i] = order[j];
		order[j] = page;
	}
}

int main(int argc, char **argv)
{
	int c, here, round, seconds = 20;
	pthread_t thread;
	double stop_at;
	char *rest;

	opterr = 0;
	while ((c = getopt(argc, argv, "s:h")) != -1) {
		if (c == 'h')
			usage(stdout, EXIT_SUCCESS);
		if (c != 's')
			usage(stderr, EXIT_USAGE);
		seconds = strtol(optarg, &rest, 10);
		if (*rest || seconds < 1 || seconds > 3600)
			usage(stderr, EXIT_USAGE);
	}
	if (optind < argc)
		usage(stderr, EXIT_USAGE);

	choose_cores(&here, &other.cpu);
	pin(here);
	report_machine(here, other.cpu, seconds);
	make_pages();

	/* A lock that cannot be got, for one. */
	signal(SIGALRM, hung);
	alarm(seconds + 30);
	if (pthread_create(&thread, NULL, other_core, NULL))
		skip("cannot start a second thread");
	stop_at = now() + seconds;
	for (round = 0; now() < stop_at || !complete(); round++)
		one_round(round);
	post(END);
	pthread_join(thread, NULL);

	report_contended();
	report_uncontended();
	report_events();
	return EXIT_SUCCESS;
}
