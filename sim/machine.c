// SPDX-License-Identifier: GPL-2.0
/* See machine.h. */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/topology.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../verify/random.h"
#include "machine.h"

#define LINE		64
#define ARENA		(64UL << 20)
#define STACK		(32UL << 10)
#define NOBODY		(-1)

struct copies {
	u64	sharers;	/* CPUs of this node */
	u64	going;		/* whose copies a write takes away, and which are good until then */
	double	busy;		/* until then the node's cache is at a request for this line */
};

struct line {
	int		owner;		/* who has the only copy and may write to it, or NOBODY */
	unsigned int	home;
	unsigned int	sharing;	/* nodes with copies */
	int		spinners;	/* CPUs that poll it, a list */
	int		first, last;	/* CPUs that wait for the home, a list */
	double		busy;		/* until then the home is at a request for this line */
	double		gone;		/* then the last write is done */
	struct copies	*node;
};

struct cpu {
	jmp_buf		context;
	ucontext_t	start;
	bool		started;
	void		*stack;
	unsigned int	node;
	u64		bit;		/* its own in struct copies */
	double		time;		/* of its own: ahead of all others' by hits alone */
	uint64_t	random;
	/* in the queue of events */
	double		due;
	u64		order;
	int		place;		/* or NOBODY */
	/* polling */
	bool		relaxed;	/* cpu_relax() was the last thing */
	const volatile void *polled;
	unsigned int	polls, most, replay;
	double		since;
	struct line	*spins;
	int		next, previous;
	int		behind;		/* who waits for the same home after this one */
};

struct machine machine;
struct machine_totals machine_totals;
unsigned int shim_nr_cpus, shim_nr_nodes;

static struct cpu cpus[MACHINE_MAX_CPUS];
static struct cpu *current;
static struct cpu *waker;		/* goes on when those that it wakes have made up for their polls */
static jmp_buf done;
static double until, counter_busy;
static void (*cpu_main)(void);
static struct cpu *queue[MACHINE_MAX_CPUS];
static int queued;
static u64 orders;
static char *arena;
static char *per_cpu;
/* Who has loaded this polls so often next. */
#define BOUNDS		4
static struct {
	const volatile void *addr;
	unsigned int (*polls)(unsigned int cpu);
} bounds[BOUNDS];
static size_t per_cpu_size;
static size_t used;
static struct line lines[ARENA / LINE];

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* ---- the queue of events: a heap, with each CPU in it once at most ---- */

static bool earlier(const struct cpu *a, const struct cpu *b)
{
	return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void queue_put(struct cpu *c, int place)
{
	queue[place] = c;
	c->place = place;
}

static void queue_up(struct cpu *c, int place)
{
	for (; place && earlier(c, queue[(place - 1) / 4]); place = (place - 1) / 4)
		queue_put(queue[(place - 1) / 4], place);
	queue_put(c, place);
}

static void queue_down(struct cpu *c, int place)
{
	int child, best, i;

	for (;; place = best) {
		child = 4 * place + 1;
		if (child >= queued)
			break;
		best = child;
		for (i = child + 1; i < child + 4 && i < queued; i++)
			if (earlier(queue[i], queue[best]))
				best = i;
		if (!earlier(queue[best], c))
			break;
		queue_put(queue[best], place);
	}
	queue_put(c, place);
}

static void queue_add(struct cpu *c, double due)
{
	c->due = due;
	c->order = orders++;
	queue_up(c, queued++);
}

static void queue_remove(struct cpu *c)
{
	struct cpu *last = queue[--queued];
	int place = c->place;

	c->place = NOBODY;
	if (last == c)
		return;
	queue_up(last, place);
	queue_down(last, last->place);
}

/* ---- coroutines ---- */

static void cpu_begin(void)
{
	cpu_main();
	die("a CPU has nothing more to do");
}

static void switch_to(struct cpu *to)
{
	struct cpu *from = current;

	current = to;
	if (from == to || _setjmp(from->context))
		return;
	if (to->started)
		_longjmp(to->context, 1);
	to->started = true;
	setcontext(&to->start);
}

/* What is next happens; this CPU has an event in the queue, or is in the list of a line. */
static void wait_for_event(void)
{
	struct cpu *next;

	if (waker) {
		switch_to(waker);
		return;
	}
	next = queue[0];
	if (!queued || next->due > until)
		_longjmp(done, 1);
	queue_remove(next);
	next->time = next->due;
	switch_to(next);
}

static void wait_until(double due)
{
	queue_add(current, due);
	wait_for_event();
}

/* ---- lines ---- */

static struct line *line_of(const volatile void *addr)
{
	size_t at = (const volatile char *)addr - arena;
	struct line *l = &lines[at / LINE];

	if (at >= used)
		return NULL;
	if (!l->node) {
		l->node = calloc(machine.nodes, sizeof(*l->node));
		if (!l->node)
			die("no memory");
	}
	return l;
}

static double distance(unsigned int a, unsigned int b)
{
	unsigned int i;

	for (i = 0; i < machine.hops - 1; i++)
		if (a / machine.hop[i].nodes == b / machine.hop[i].nodes)
			break;
	return machine.hop[i].ns;
}

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* Until it is this CPU's turn; what it asks for begins now. home_next() has to follow. */
static void home_wait(struct line *l, struct cpu *c)
{
	if (l->first == NOBODY && l->busy <= c->time)
		return;
	c->behind = NOBODY;
	if (l->first == NOBODY) {
		l->first = c - cpus;
		queue_add(c, l->busy);
	} else {
		cpus[l->last].behind = c - cpus;
	}
	l->last = c - cpus;
	wait_for_event();
	l->first = c->behind;
}

/* The home is busy for so long, then it is the next one's turn. */
static void home_next(struct line *l, double busy)
{
	l->busy = busy;
	if (l->first != NOBODY)
		queue_add(&cpus[l->first], busy);
}

static bool has_copy(const struct line *l, const struct cpu *c)
{
	const struct copies *own = &l->node[c->node];

	return own->sharers & c->bit || (own->going & c->bit && c->time < l->gone);
}

/* From another CPU of the node. Returns when the line is there. */
static double load_near(struct copies *own, struct cpu *c)
{
	double begin = max_of(c->time, own->busy);

	machine_totals.node++;
	own->busy = begin + machine.node_busy;
	own->sharers |= c->bit;
	return begin + machine.node;
}

static double load_far(struct line *l, struct cpu *c)
{
	struct copies *own = &l->node[c->node];
	unsigned int owner_node;
	double end;

	home_wait(l, c);
	/* Another one of the node came before. */
	if (own->sharers) {
		home_next(l, c->time);
		return load_near(own, c);
	}
	machine_totals.far++;
	end = c->time + distance(c->node, l->home);
	if (l->owner == NOBODY) {
		home_next(l, c->time + machine.home_busy);
	} else {
		owner_node = cpus[l->owner].node;
		if (owner_node != l->home)
			end += distance(l->home, owner_node);
		l->owner = NOBODY;
		home_next(l, end);
	}
	/* Others of the node get it from here, but not before it is here. */
	own->busy = end;
	own->sharers |= c->bit;
	l->sharing++;
	return end;
}

static double load_missed(struct line *l, struct cpu *c)
{
	struct copies *own = &l->node[c->node];

	if (!own->sharers)
		return load_far(l, c);
	l->owner = NOBODY;
	return load_near(own, c);
}

/* When nobody else has a copy any more. */
static double write_missed(struct line *l, struct cpu *c)
{
	struct copies *own = &l->node[c->node];
	unsigned int most = 0, n, i;
	double end, farthest = 0;

	home_wait(l, c);
	/* What the node is at comes first. */
	end = max_of(c->time, own->busy);
	for (i = 0; i < machine.nodes; i++) {
		struct copies *copies = &l->node[i];

		if (!copies->sharers)
			continue;
		n = __builtin_popcountll(copies->sharers & ~(i == c->node ? c->bit : 0));
		most = n > most ? n : most;
		if (i != c->node)
			farthest = max_of(farthest, distance(l->home, i));
	}
	end += most * machine.invalidate_cpu;
	if (own->sharers && l->sharing == 1) {
		machine_totals.node++;
		end += machine.node;
	} else {
		machine_totals.far++;
		/* The copies go while the line comes; who had the only one sends it. */
		end += distance(c->node, l->home) + l->sharing * machine.invalidate_node;
		if (l->sharing > 1 || (l->owner != NOBODY && cpus[l->owner].node != l->home))
			end += farthest;
	}
	for (i = 0; i < machine.nodes; i++) {
		l->node[i].going = l->node[i].sharers;
		l->node[i].sharers = 0;
	}
	l->gone = end;
	own->sharers = c->bit;
	own->busy = end;
	l->sharing = 1;
	l->owner = c - cpus;
	home_next(l, end);
	return end;
}

/* ---- polling ---- */

static void spinner_remove(struct cpu *c)
{
	struct line *l = c->spins;

	if (c->previous == NOBODY)
		l->spinners = c->next;
	else
		cpus[c->previous].next = c->next;
	if (c->next != NOBODY)
		cpus[c->next].previous = c->previous;
	c->spins = NULL;
}

/*
 * Polls a line of which this CPU has a copy. Returns when that has changed, or when the loop is to
 * be left, and how many polls had the old value.
 */
static unsigned int spin(struct cpu *c, struct line *l)
{
	unsigned int left = UINT_MAX, polls;

	if (c->most) {
		if (c->polls > c->most)
			die("a loop polls for longer than machine_polls() was told");
		left = c->most - c->polls + 1;
		queue_add(c, c->time + left * machine.poll);
	}
	c->since = c->time;
	c->spins = l;
	c->previous = NOBODY;
	c->next = l->spinners;
	if (c->next != NOBODY)
		cpus[c->next].previous = c - cpus;
	l->spinners = c - cpus;
	wait_for_event();
	if (!c->spins) {
		polls = (c->time - c->since) / machine.poll;
		return polls < left ? polls : left;
	}
	spinner_remove(c);
	return left;
}

/*
 * Before the line changes, so that who has polled it makes up for that with the old value, up to
 * the poll that misses.
 */
static void spinners_wake(struct line *l)
{
	struct cpu *self = current;

	while (l->spinners != NOBODY) {
		struct cpu *c = &cpus[l->spinners];

		spinner_remove(c);
		if (c->place != NOBODY)
			queue_remove(c);
		c->time = self->time;
		waker = self;
		switch_to(c);
		waker = NULL;
	}
}

void shim_relax(void)
{
	if (current)
		current->relaxed = true;
}

void shim_access(const volatile void *addr, size_t size, enum shim_access access)
{
	struct cpu *c = current;
	struct line *l;
	unsigned int polls, i;
	bool poll;

	(void)size;
	if (!c)
		return;
	poll = c->relaxed && access == SHIM_LOAD;
	c->relaxed = false;
	if (c->replay) {
		if (!poll || addr != c->polled)
			die("a loop polls for less long than machine_polls() was told");
		c->replay--;
		return;
	}
	/* Hits take no event, but whoever has many of them must not get away from the others. */
	if (c->time > c->due + machine.node)
		wait_until(c->time);
	/* What is not shared is not of interest. */
	l = line_of(addr);
	if (!l)
		return;
	if (!poll || addr != c->polled)
		c->polls = 0;
	for (i = 0; !poll && i < BOUNDS && bounds[i].addr; i++)
		if (addr == bounds[i].addr)
			c->most = bounds[i].polls(c - cpus);
	c->polls += poll;
	c->polled = poll ? addr : NULL;

	if (access == SHIM_LOAD && has_copy(l, c)) {
		if (!poll) {
			c->time += machine.hit;
			return;
		}
		polls = spin(c, l);
		if (polls) {
			c->replay = polls - 1;
			c->polls += polls - 1;
			return;
		}
	}
	if (access != SHIM_LOAD && l->owner == c - cpus) {
		c->time += machine.hit + (access == SHIM_RMW ? machine.rmw : 0);
		/* Nobody else has a copy, so nobody polls it. */
		return;
	}
	if (access == SHIM_LOAD) {
		wait_until(load_missed(l, c));
		return;
	}
	wait_until(write_missed(l, c));
	if (access == SHIM_RMW)
		c->time += machine.rmw;
	spinners_wake(l);
}

/* ---- for those on a CPU ---- */

unsigned int shim_cpu(void)
{
	return current ? current - cpus : 0;
}

unsigned int machine_node(unsigned int cpu)
{
	return cpu / machine.cpus;
}

int shim_cpu_to_node(unsigned int cpu)
{
	return machine_node(cpu);
}

double machine_now(void)
{
	return current->time;
}

void machine_think(double ns)
{
	wait_until(current->time + ns);
}

void machine_sleep(void)
{
	wait_for_event();
}

void machine_wake(unsigned int cpu, double ns)
{
	queue_add(&cpus[cpu], current->time + ns);
}

double machine_random(void)
{
	return (random_next(&current->random) >> 11) * 0x1p-53;
}

void machine_think_random(double mean)
{
	machine_think(-mean * log(1 - machine_random()));
}

double machine_counter(void)
{
	double begin = max_of(current->time, counter_busy), end, way;

	machine_totals.counter_reads++;
	end = begin + machine.counter_service;
	counter_busy = end;
	way = machine.counter_latency;
	if (current->node)
		way += distance(current->node, 0);
	wait_until(end + way);
	return end;
}

void machine_polls(const volatile void *addr, unsigned int (*polls)(unsigned int cpu))
{
	unsigned int i;

	for (i = 0; i < BOUNDS && bounds[i].addr && bounds[i].addr != addr; i++)
		;
	if (i == BOUNDS)
		die("no room for a bound more");
	bounds[i].addr = addr;
	bounds[i].polls = polls;
}

/* ---- the machine ---- */

/* The linker has these where a program has such variables. */
extern char __start_shim_percpu[] __attribute__((__weak__));
extern char __stop_shim_percpu[] __attribute__((__weak__));

void *shim_per_cpu(const volatile void *ptr, unsigned int cpu)
{
	return per_cpu + cpu * per_cpu_size + ((const volatile char *)ptr - __start_shim_percpu);
}

void *machine_alloc(size_t size, unsigned int node)
{
	void *p = arena + used;
	size_t i;

	size = (size + LINE - 1) / LINE * LINE;
	if (used + size > ARENA)
		die("no memory for %zu bytes more", size);
	for (i = used / LINE; i < (used + size) / LINE; i++) {
		free(lines[i].node);
		lines[i] = (struct line){ .owner = NOBODY, .spinners = NOBODY, .first = NOBODY,
					  .home = node };
	}
	used += size;
	memset(p, 0, size);
	return p;
}

void machine_start(unsigned int n, u64 seed)
{
	unsigned int i;

	if (!n || n > MACHINE_MAX_CPUS || n > machine.nodes * machine.cpus)
		die("%s has 1 to %u CPUs, not %u", machine.name, machine.nodes * machine.cpus, n);
	if (!arena) {
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED)
			die("no memory");
	}
	used = 0;
	memset(bounds, 0, sizeof(bounds));
	shim_nr_cpus = n;
	shim_nr_nodes = machine_node(n - 1) + 1;
	counter_busy = 0;
	queued = 0;
	orders = 0;
	current = NULL;
	waker = NULL;
	memset(&machine_totals, 0, sizeof(machine_totals));
	for (i = 0; i < n; i++) {
		struct cpu *c = &cpus[i];
		void *stack = c->stack;

		memset(c, 0, sizeof(*c));
		c->stack = stack ? stack : mmap(NULL, STACK, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (c->stack == MAP_FAILED)
			die("no memory");
		c->node = machine_node(i);
		c->bit = 1ULL << i % machine.cpus;
		c->place = NOBODY;
		c->random = (seed + i + 1) * 0x9e3779b97f4a7c15;
	}
	per_cpu_size = (__stop_shim_percpu - __start_shim_percpu + LINE - 1) / LINE * LINE;
	per_cpu = arena;
	for (i = 0; i < n; i++)
		machine_alloc(per_cpu_size, machine_node(i));
}

void machine_run(double ns, double spread, void (*main)(void))
{
	unsigned int i;

	until = ns;
	cpu_main = main;
	for (i = 0; i < shim_nr_cpus; i++) {
		getcontext(&cpus[i].start);
		cpus[i].start.uc_stack.ss_sp = cpus[i].stack;
		cpus[i].start.uc_stack.ss_size = STACK;
		makecontext(&cpus[i].start, cpu_begin, 0);
		current = &cpus[i];
		queue_add(&cpus[i], spread * machine_random());
	}
	if (!_setjmp(done)) {
		static struct cpu nobody;

		current = &nobody;
		wait_for_event();
	}
	current = NULL;
}

static const struct {
	const char *name;
	double *value;
} keys[] = {
	{ "hit", &machine.hit }, { "rmw", &machine.rmw }, { "poll", &machine.poll },
	{ "node", &machine.node }, { "node_busy", &machine.node_busy },
	{ "home_busy", &machine.home_busy },
	{ "invalidate_node", &machine.invalidate_node },
	{ "invalidate_cpu", &machine.invalidate_cpu },
	{ "counter_service", &machine.counter_service },
	{ "counter_latency", &machine.counter_latency },
};
#define KEYS	(sizeof(keys) / sizeof(keys[0]))

void machine_load(const char *file)
{
	FILE *f = fopen(file, "r");
	char text[512], key[32], *comment;
	unsigned int line = 0, i;
	double a, b;
	int n;

	if (!f)
		die("cannot read %s", file);
	memset(&machine, 0, sizeof(machine));
	for (i = 0; i < KEYS; i++)
		*keys[i].value = -1;
	while (fgets(text, sizeof(text), f)) {
		line++;
		comment = strchr(text, '#');
		if (comment)
			*comment = '\0';
		if (sscanf(text, "%31s", key) != 1)
			continue;
		if (!strcmp(key, "name")) {
			if (sscanf(text, "%*s %31s", machine.name) != 1)
				die("%s:%u: no name", file, line);
			continue;
		}
		n = sscanf(text, "%*s %lf %lf", &a, &b);
		if (n < 1 || a < 0)
			die("%s:%u: %s needs a number", file, line, key);
		for (i = 0; i < KEYS && strcmp(key, keys[i].name); i++)
			;
		if (i < KEYS) {
			*keys[i].value = a;
		} else if (!strcmp(key, "nodes")) {
			machine.nodes = a;
		} else if (!strcmp(key, "cpus")) {
			machine.cpus = a;
		} else if (!strcmp(key, "hop")) {
			if (n != 2 || a < 1 || b <= 0 || machine.hops == MACHINE_MAX_HOPS)
				die("%s:%u: hop needs nodes and ns, at most %d times", file, line,
				    MACHINE_MAX_HOPS);
			machine.hop[machine.hops].nodes = a;
			machine.hop[machine.hops++].ns = b;
		} else {
			die("%s:%u: %s is nothing that a machine has", file, line, key);
		}
	}
	fclose(f);
	for (i = 0; i < KEYS; i++)
		if (*keys[i].value < 0)
			die("%s: %s is missing", file, keys[i].name);
	if (!machine.nodes || !machine.cpus || machine.cpus > 64 || !machine.hops ||
	    !machine.name[0] || !machine.poll)
		die("%s: needs name, nodes, cpus up to 64, a poll above 0 and a hop", file);
}
