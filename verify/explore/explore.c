// SPDX-License-Identifier: GPL-2.0
/* The search, see explore.h. What it tests, and what it needs of the memory, is in the cases. */
#include <linux/compiler.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "explore.h"
#include "../random.h"

#define STACK_SIZE	(64 << 10)
#define IMAGE_SIZE	2048
#define SHARED_SIZE	1024
#define MAX_STEPS	4096
#define MAX_CONSTANTS	8
#define COLUMN		34

enum status {
	READY,
	POINT,		/* ready, and in the middle of nothing */
	BLOCKED,
	DONE,
};

/* All of a CPU that is not running: where it goes on, its stack, and what its next step is. */
struct image {
	jmp_buf		regs;
	uint64_t	hash;
	enum status	status;
	unsigned int	options;
	unsigned int	steps;		/* since the last point */
	unsigned int	marks;
	bool		began;		/* the next access belongs to this step */
	bool		(*until)(void *arg);
	void		*arg;
	const char	*what;
	const volatile void *addr;
	size_t		size;
	enum shim_access access;
	size_t		depth;
	char		stack[IMAGE_SIZE];
};

/* A state on the way from the first one to where the search is. */
struct node {
	struct image	image;		/* of the CPU that made the last step */
	const struct image *images[EXPLORE_MAX_CPUS];
	char		shared[SHARED_SIZE];
	unsigned int	last;
	unsigned int	preemptions;
	unsigned int	enabled;
	unsigned int	cpu, option;	/* what to try next */
	size_t		slot;
	double		schedules;
	unsigned char	choice[2];	/* the step that led here */
};

/* The states that were seen, by their hash alone, with the number of ways on from there. */
struct slot {
	uint64_t	hash;
	double		schedules;	/* -1: on the way */
};

extern char __start_explore_shared[], __stop_explore_shared[];
#define shared_size	((size_t)(__stop_explore_shared - __start_explore_shared))

static const struct explore_case *this_case;
static unsigned int nr_cpus;
static struct image start[EXPLORE_MAX_CPUS];
static char start_shared[SHARED_SIZE];
static struct {
	const volatile char *addr;
	size_t size;
} constants[MAX_CONSTANTS];
static unsigned int nr_constants;
static unsigned long long saw[EXPLORE_MAX_SAW];
static unsigned int worst_steps;

/* The CPU that runs. All run on the same stack, so that who did the same looks the same. */
static char stack[STACK_SIZE] __attribute__((__aligned__(64)));
static struct image *now, *stepped;
static unsigned int now_cpu;
static unsigned int now_option;
static jmp_buf scheduler, failure;
static bool tracing;
static bool all_differ;		/* no CPU is like another */
static char said[2048];
static char reason[256];

static struct node *nodes;
static unsigned int depth;
static struct slot *slots;
static size_t nr_slots, nr_states;
static unsigned long long steps;

static void *get_memory(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory) {
		fprintf(stderr, "explore: no memory for %zu bytes\n", size);
		exit(2);
	}
	return memory;
}

/* ---- a CPU ---- */

/* No more of the stack than what is alive, or states that are the same would look different. */
static __always_inline char *stack_pointer(void)
{
#if defined(__x86_64__)
	char *sp;

	asm volatile("mov %%rsp, %0" : "=r" (sp));
	return sp;
#elif defined(__aarch64__)
	char *sp;

	asm volatile("mov %0, sp" : "=r" (sp));
	return sp;
#else
	return (char *)__builtin_frame_address(0) - 256;
#endif
}

static __attribute__((__noinline__)) void stop_here(void)
{
	if (!_setjmp(now->regs)) {
		char *sp = stack_pointer();

		now->depth = stack + STACK_SIZE - sp;
		if (now->depth > IMAGE_SIZE)
			abort();
		memcpy(now->stack, sp, now->depth);
		_longjmp(scheduler, 1);
	}
}

static void stop(enum status status, const char *what, unsigned int options)
{
	now->status = status;
	now->what = what;
	now->options = options;
	stop_here();
	now->addr = NULL;
	now->until = NULL;
	now->arg = NULL;
	if (status == POINT) {
		now->steps = 0;
		now->marks = 0;
	}
	if (++now->steps > worst_steps)
		worst_steps = now->steps;
	explore_check(!this_case->max_steps || now->steps <= this_case->max_steps,
		      "not done after %u steps of its own", this_case->max_steps);
}

void shim_access(const volatile void *addr, size_t size, enum shim_access access)
{
	const volatile char *at = addr;
	unsigned int i;

	/* init() and end() have it for themselves. */
	if (!now)
		return;
	if (at < __start_explore_shared || at >= __stop_explore_shared)
		return;
	for (i = 0; i < nr_constants; i++) {
		if (at < constants[i].addr || at >= constants[i].addr + constants[i].size)
			continue;
		explore_check(access == SHIM_LOAD, "writes to a constant");
		return;
	}
	if (now->began) {
		now->began = false;
		return;
	}
	now->addr = addr;
	now->size = size;
	now->access = access;
	stop(READY, NULL, 1);
}

void explore_point(const char *what)
{
	stop(POINT, what, 1);
	now->began = true;
}

unsigned int explore_choose(const char *what, unsigned int n)
{
	stop(READY, what, n);
	return now_option;
}

void explore_wait(const char *what, bool (*until)(void *), void *arg)
{
	now->until = until;
	now->arg = arg;
	stop(BLOCKED, what, 1);
}

void explore_saw(const char *what)
{
	unsigned int i;

	for (i = 0; i < EXPLORE_MAX_SAW && this_case->saw[i]; i++)
		if (!strcmp(what, this_case->saw[i]))
			saw[i]++;
}

void explore_constant(const volatile void *addr, size_t size)
{
	if (nr_constants == MAX_CONSTANTS)
		abort();
	constants[nr_constants].addr = addr;
	constants[nr_constants++].size = size;
}

unsigned int explore_cpu(void)
{
	return now_cpu;
}

unsigned int explore_steps(void)
{
	return now->steps;
}

void explore_mark(unsigned int marks)
{
	(now ? now : stepped)->marks |= marks;
}

void explore_unmark(unsigned int marks)
{
	now->marks &= ~marks;
}

unsigned int explore_marks(void)
{
	return (now ? now : stepped)->marks;
}

void explore_say(const char *format, ...)
{
	size_t used = strlen(said);
	va_list args;

	if (!tracing)
		return;
	va_start(args, format);
	vsnprintf(said + used, sizeof(said) - used, format, args);
	va_end(args);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

void explore_fail(const char *format, ...)
{
	va_list args;
	int used = snprintf(reason, sizeof(reason), "CPU %u: ", now_cpu);

	va_start(args, format);
	vsnprintf(reason + used, sizeof(reason) - used, format, args);
	va_end(args);
	_longjmp(failure, 1);
}

/* Words, with the leftover of odd sizes; the multiplier is from Steele's and Vigna's tables. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const char *bytes = data;
	uint64_t word;

	while (size) {
		size_t n = size < 8 ? size : 8;

		word = 0;
		memcpy(&word, bytes, n);
		hash = (hash ^ word) * 0xd1342543de82ef95;
		hash ^= hash >> 32;
		bytes += n;
		size -= n;
	}
	return hash;
}

static void hash_image(struct image *image, unsigned int cpu)
{
	uint64_t hash = this_case->alike && !all_differ ? 1 : cpu + 1;

	hash = hash_bytes(hash, &image->status, sizeof(image->status));
	hash = hash_bytes(hash, &image->marks, sizeof(image->marks));
	if (image->status != DONE) {
		if (this_case->max_steps)
			hash = hash_bytes(hash, &image->steps, sizeof(image->steps));
		hash = hash_bytes(hash, &image->until, sizeof(image->until));
		hash = hash_bytes(hash, &image->arg, sizeof(image->arg));
		hash = hash_bytes(hash, image->regs, sizeof(image->regs));
		hash = hash_bytes(hash, image->stack, image->depth);
	}
	/* They are added up, so each has to be mixed well by itself. */
	hash ^= hash >> 29;
	hash *= 0x9e3779b97f4a7c15;
	image->hash = hash ^ hash >> 32;
}

static void cpu_begin(void)
{
	this_case->cpu[now_cpu]();
	now->status = DONE;
	now->depth = 0;
	_longjmp(scheduler, 1);
}

/* Brings a CPU from its start to its first step. */
static void boot(unsigned int cpu)
{
	static ucontext_t here, there;

	now = &start[cpu];
	now_cpu = cpu;
	memset(now, 0, sizeof(*now));
	if (!_setjmp(scheduler)) {
		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = STACK_SIZE;
		there.uc_link = NULL;
		makecontext(&there, cpu_begin, 0);
		swapcontext(&here, &there);
	}
	now = NULL;
	hash_image(&start[cpu], cpu);
}

/* One step of a CPU from the state in @from, with the outcome in @image and in shared memory. */
static void step(const struct image *from, unsigned int cpu, unsigned int option,
		 struct image *image)
{
	memcpy(image, from, offsetof(struct image, stack));
	memcpy(stack + STACK_SIZE - from->depth, from->stack, from->depth);
	now = image;
	now_cpu = cpu;
	now_option = option;
	steps++;
	if (!_setjmp(scheduler))
		_longjmp(image->regs, 1);
	now = NULL;
	stepped = image;
	if (this_case->check)
		this_case->check();
	hash_image(image, cpu);
}

static void set_up(const struct explore_case *c)
{
	unsigned int i;

	this_case = c;
	memset(__start_explore_shared, 0, shared_size);
	nr_constants = 0;
	memset(stack, 0, sizeof(stack));
	for (nr_cpus = 0; c->cpu[nr_cpus]; nr_cpus++)
		;
	c->init();
	for (i = 0; i < nr_cpus; i++)
		boot(i);
	memcpy(start_shared, __start_explore_shared, shared_size);
}

/* ---- the search ---- */

static size_t find_slot(uint64_t hash)
{
	size_t i = hash & (nr_slots - 1);

	while (slots[i].hash && slots[i].hash != hash)
		i = (i + 1) & (nr_slots - 1);
	return i;
}

static void grow_slots(void)
{
	struct slot *old = slots;
	size_t nr_old = nr_slots, i;
	unsigned int d;

	nr_slots *= 2;
	slots = get_memory(nr_slots * sizeof(*slots));
	for (i = 0; i < nr_old; i++)
		if (old[i].hash)
			slots[find_slot(old[i].hash)] = old[i];
	for (d = 0; d <= depth; d++)
		nodes[d].slot = find_slot(old[nodes[d].slot].hash);
	free(old);
}

static uint64_t hash_state(const struct node *node, int bound)
{
	uint64_t hash = hash_bytes(1, __start_explore_shared, shared_size);
	unsigned int i;

	for (i = 0; i < nr_cpus; i++)
		hash += node->images[i]->hash;
	/* With a bound it matters who may go on for nothing. */
	if (bound >= 0)
		hash = hash_bytes(hash + node->images[node->last]->hash * 3, &node->preemptions,
				  sizeof(node->preemptions));
	return hash ? hash : 1;
}

static bool can_step(const struct image *image)
{
	return image->status == READY || image->status == POINT ||
	       (image->status == BLOCKED && image->until(image->arg));
}

/* Whoever can make a step, as a mask; 0 if all are done, and it fails if nobody ever can. */
static unsigned int enabled_cpus(const struct image *const *images)
{
	unsigned int enabled = 0, i;
	bool done = true;

	for (i = 0; i < nr_cpus; i++) {
		now_cpu = i;
		if (can_step(images[i]))
			enabled |= 1u << i;
		done = done && images[i]->status == DONE;
	}
	if (!enabled && !done) {
		for (i = 0; images[i]->status != BLOCKED; i++)
			;
		now_cpu = i;
		explore_fail("waits for ever: %s", images[i]->what);
	}
	if (done && this_case->end)
		this_case->end();
	return enabled;
}

static bool is_preemption(const struct node *node, unsigned int cpu)
{
	return cpu != node->last && node->enabled >> node->last & 1 &&
	       node->images[node->last]->status != POINT;
}

/* Goes to the next thing to try from this node, if there is one. */
static bool next_choice(struct node *node, int bound)
{
	for (; node->cpu < nr_cpus; node->cpu++, node->option = 0) {
		if (!(node->enabled >> node->cpu & 1))
			continue;
		if (bound >= 0 && is_preemption(node, node->cpu) &&
		    node->preemptions >= (unsigned int)bound)
			continue;
		if (node->option < node->images[node->cpu]->options)
			return true;
	}
	return false;
}

/*
 * All schedules with at most that many preemptions, or with any number.
 * Returns 0, or -1 after a failure, whose steps are then the choices of nodes 1 to depth, or -2 if
 * there are more states than allowed.
 */
static int search(int bound, size_t max_states)
{
	struct node *node, *next;
	unsigned int i;
	uint64_t hash;
	size_t slot;

	nr_states = 0;
	steps = 0;
	worst_steps = 0;
	memset(saw, 0, sizeof(saw));
	free(slots);
	nr_slots = 1 << 16;
	slots = get_memory(nr_slots * sizeof(*slots));
	depth = 0;
	memcpy(__start_explore_shared, start_shared, shared_size);
	if (_setjmp(failure)) {
		now = NULL;
		return -1;
	}

	node = &nodes[0];
	for (i = 0; i < nr_cpus; i++)
		node->images[i] = &start[i];
	node->last = 0;
	node->preemptions = 0;
	hash = hash_state(node, bound);
	slot = find_slot(hash);
	for (;;) {
		/* node is new, hash and slot are its own, and what CPUs share is as it is there. */
		node->slot = slot;
		slots[slot].hash = hash;
		slots[slot].schedules = -1;
		if (++nr_states > max_states)
			return -2;
		node->enabled = enabled_cpus(node->images);
		node->schedules = !node->enabled;
		node->cpu = 0;
		node->option = 0;
		memcpy(node->shared, __start_explore_shared, shared_size);
		if (depth + 2 >= MAX_STEPS)
			explore_fail("more than %d steps", MAX_STEPS);
		if (nr_states > nr_slots / 2)
			grow_slots();
again:
		if (!next_choice(node, bound)) {
			slots[node->slot].schedules = node->schedules;
			if (!depth)
				return 0;
			nodes[depth - 1].schedules += node->schedules;
			node = &nodes[--depth];
			goto again;
		}
		next = node + 1;
		next->choice[0] = node->cpu;
		next->choice[1] = node->option;
		memcpy(next->images, node->images, sizeof(next->images));
		next->images[node->cpu] = &next->image;
		next->preemptions = node->preemptions + is_preemption(node, node->cpu);
		next->last = node->cpu;
		memcpy(__start_explore_shared, node->shared, shared_size);
		depth++;
		step(node->images[node->cpu], node->cpu, node->option++, &next->image);
		hash = hash_state(next, bound);
		slot = find_slot(hash);
		if (!slots[slot].hash) {
			node = next;
			continue;
		}
		if (slots[slot].schedules < 0)
			explore_fail("goes round for ever");
		node->schedules += slots[slot].schedules;
		depth--;
		goto again;
	}
}

/* ---- schedules, one at a time ---- */

static void copy_image(struct image *to, const struct image *from)
{
	memcpy(to, from, offsetof(struct image, stack));
	memcpy(to->stack, from->stack, from->depth);
}

/* A line of the table. Who polls says the same again and again. */
static void column(unsigned int cpu, const char *text)
{
	static char last[400];
	static unsigned int last_cpu, same;
	unsigned int i;

	if (cpu == last_cpu && !strcmp(text, last)) {
		same++;
		return;
	}
	if (same)
		printf("# (CPU %u: the same %u times more)\n", last_cpu, same);
	same = 0;
	last_cpu = cpu;
	snprintf(last, sizeof(last), "%s", text);
	if (!*text)
		return;
	printf("#");
	for (i = 0; i < cpu; i++)
		printf(" %-*s|", COLUMN, "");
	printf(" %s\n", text);
}

static unsigned long long value_at(const volatile void *addr, size_t size)
{
	unsigned long long value = 0;

	/* Which half of a number comes first does not matter: all here are whole words or bytes. */
	if (size == 8)
		return *(const volatile uint64_t *)addr;
	if (size == 4)
		return *(const volatile uint32_t *)addr;
	memcpy(&value, (const void *)addr, 1);
	return value;
}

static void tell_step(const struct image *from, unsigned int cpu, unsigned int option,
		      unsigned long long before)
{
	char text[400], old[100], new[100], *line, *save;

	if (from->addr) {
		unsigned long long after = value_at(from->addr, from->size);
		const char *name = explore_name(from->addr);

		explore_format(old, sizeof(old), from->addr, before);
		explore_format(new, sizeof(new), from->addr, after);
		if (from->access == SHIM_LOAD)
			snprintf(text, sizeof(text), "%s is %s", name, old);
		else if (from->access == SHIM_RMW && before == after)
			snprintf(text, sizeof(text), "%s stays %s", name, old);
		else
			snprintf(text, sizeof(text), "%s %s -> %s", name, old, new);
	} else if (from->options > 1) {
		snprintf(text, sizeof(text), "%s: %u", from->what, option);
	} else {
		snprintf(text, sizeof(text), "%s%s", from->what,
			 from->status == BLOCKED ? ": comes" : "");
	}
	column(cpu, text);
	for (line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		snprintf(text, sizeof(text), "  %s", line);
		column(cpu, text);
	}
	said[0] = '\0';
}

/* The choice of the n-th step; -1 ends the schedule. */
typedef int (*chooser)(unsigned int n, unsigned int enabled, struct image *images,
		       unsigned int *option);

/* One schedule. Returns -1 after a failure. */
static int run_schedule(chooser choose)
{
	static struct image images[EXPLORE_MAX_CPUS];
	static struct image next;
	static unsigned int n;
	static unsigned long long before;
	static struct image *from;
	static unsigned int option;
	const struct image *all[EXPLORE_MAX_CPUS];
	unsigned int enabled, i;
	int cpu;

	for (i = 0; i < nr_cpus; i++) {
		copy_image(&images[i], &start[i]);
		all[i] = &images[i];
	}
	memcpy(__start_explore_shared, start_shared, shared_size);
	from = NULL;
	if (_setjmp(failure)) {
		now = NULL;
		if (tracing && from)
			tell_step(from, now_cpu, option, before);
		return -1;
	}
	for (n = 0; ; n++) {
		from = NULL;
		enabled = enabled_cpus(all);
		if (!enabled)
			return 0;
		cpu = choose(n, enabled, images, &option);
		if (cpu < 0)
			return 0;
		depth = n + 1;
		from = &images[cpu];
		before = from->addr ? value_at(from->addr, from->size) : 0;
		step(from, cpu, option, &next);
		if (tracing)
			tell_step(from, cpu, option, before);
		copy_image(from, &next);
	}
}

static unsigned char schedule[MAX_STEPS][2];
static unsigned int schedule_length;
static bool schedule_bad;

static int replay_choice(unsigned int n, unsigned int enabled, struct image *images,
			 unsigned int *option)
{
	unsigned int cpu = schedule[n][0];

	if (n == schedule_length)
		return -1;
	*option = schedule[n][1];
	schedule_bad = cpu >= nr_cpus || !(enabled >> cpu & 1) || *option >= images[cpu].options;
	return schedule_bad ? -1 : (int)cpu;
}

static uint64_t random_state;

static int random_choice(unsigned int n, unsigned int enabled, struct image *images,
			 unsigned int *option)
{
	static unsigned int last;
	unsigned int cpu;

	/* Whoever runs goes on for a while, or nobody would ever get far ahead of the others. */
	if (n && enabled >> last & 1 && random_next(&random_state) >> 40 & 3) {
		cpu = last;
	} else {
		do {
			cpu = (random_next(&random_state) >> 32) % nr_cpus;
		} while (!(enabled >> cpu & 1));
	}
	last = cpu;
	*option = (random_next(&random_state) >> 32) % images[cpu].options;
	if (n >= MAX_STEPS)
		explore_fail("more than %d steps", MAX_STEPS);
	schedule[n][0] = cpu;
	schedule[n][1] = *option;
	return cpu;
}

static void print_table(const char *program)
{
	unsigned int i, run;

	printf("# again: %s -c %s -s '", program, this_case->name);
	for (i = 0; i < schedule_length; i += run) {
		for (run = 1; i + run < schedule_length &&
		     !memcmp(schedule[i], schedule[i + run], 2); run++)
			;
		printf("%s%u", i ? " " : "", schedule[i][0]);
		if (schedule[i][1])
			printf(".%u", schedule[i][1]);
		if (run > 1)
			printf("*%u", run);
	}
	printf("'\n#");
	for (i = 0; i < nr_cpus; i++)
		printf(" CPU %-*u%s", COLUMN - 4, i, i + 1 < nr_cpus ? "|" : "\n");
	tracing = true;
	said[0] = '\0';
	run_schedule(replay_choice);
	column(0, "");
	tracing = false;
}

/* "0*3 1 2.1": three steps of CPU 0, one of CPU 1, one of CPU 2 with outcome 1. */
static bool parse_schedule(const char *text)
{
	unsigned int cpu, option, run;
	int used;

	schedule_length = 0;
	while (*text) {
		option = 0;
		run = 1;
		if (sscanf(text, "%u%n", &cpu, &used) != 1)
			return false;
		text += used;
		if (*text == '.') {
			if (sscanf(text, ".%u%n", &option, &used) != 1)
				return false;
			text += used;
		}
		if (*text == '*') {
			if (sscanf(text, "*%u%n", &run, &used) != 1)
				return false;
			text += used;
		}
		text += strspn(text, " ");
		if (cpu >= EXPLORE_MAX_CPUS || option > 255 || run >= MAX_STEPS - schedule_length)
			return false;
		while (run--) {
			schedule[schedule_length][0] = cpu;
			schedule[schedule_length++][1] = option;
		}
	}
	return true;
}

/* ---- the program ---- */

static double seconds(void)
{
	struct timespec now_is;

	clock_gettime(CLOCK_MONOTONIC, &now_is);
	return now_is.tv_sec + now_is.tv_nsec / 1e9;
}

static void take_schedule(void)
{
	unsigned int i;

	schedule_length = depth;
	for (i = 0; i < depth; i++)
		memcpy(schedule[i], nodes[i + 1].choice, 2);
}

static const char *own_steps(const struct explore_case *c)
{
	static char text[48];

	snprintf(text, sizeof(text), ", %u of %u own steps", worst_steps, c->max_steps);
	return c->max_steps ? text : "";
}

/* Searches a case, and says in one line of TAP how it went, and why. */
static bool explore(const struct explore_case *c, unsigned int number, const char *program,
		    size_t max_states)
{
	char bound[32] = "";
	unsigned int i;
	double begin = seconds();
	char first_reason[sizeof(reason)];
	int ret, preemptions;

	set_up(c);
	ret = search(c->preemptions, max_states);
	if (c->preemptions >= 0)
		snprintf(bound, sizeof(bound), ", up to %d preemptions", c->preemptions);
	if (!ret) {
		for (i = 0; i < EXPLORE_MAX_SAW && c->saw[i]; i++) {
			if (saw[i])
				continue;
			printf("not ok %u - %s # it never came to: %s\n", number, c->name, c->saw[i]);
			return false;
		}
		if (c->preemptions < 0 && c->max_steps && worst_steps != c->max_steps) {
			printf("not ok %u - %s # no CPU takes %u steps of its own, the most are %u\n",
			       number, c->name, c->max_steps, worst_steps);
			return false;
		}
		printf("ok %u - %s: %s # %zu states, %llu steps, %.15g schedules%s%s, %.1f s\n",
		       number, c->name, c->what, nr_states, steps, nodes[0].schedules, bound,
		       own_steps(c), seconds() - begin);
		return true;
	}
	if (ret == -2) {
		printf("not ok %u - %s # more than %zu states%s; -n allows more\n", number, c->name,
		       max_states, bound);
		return false;
	}
	/* The same with as few preemptions as can be is easier to understand. */
	take_schedule();
	strcpy(first_reason, reason);
	ret = 0;
	for (preemptions = 0; !ret && (c->preemptions < 0 || preemptions < c->preemptions);
	     preemptions++)
		ret = search(preemptions, max_states);
	if (ret == -1) {
		take_schedule();
		preemptions--;
	} else {
		strcpy(reason, first_reason);
	}
	printf("not ok %u - %s: %s # %u steps, %d preemptions\n# %s\n", number, c->name, c->what,
	       schedule_length, preemptions, reason);
	print_table(program);
	return false;
}

static bool try_random(const struct explore_case *c, unsigned int number, const char *program,
		       unsigned long count, uint64_t seed)
{
	unsigned long i;
	double begin = seconds();

	set_up(c);
	steps = 0;
	worst_steps = 0;
	random_state = seed ? seed : 1;
	for (i = 0; i < count; i++) {
		if (!run_schedule(random_choice))
			continue;
		schedule_length = depth;
		printf("not ok %u - %s: %s # schedule %lu of seed %" PRIu64 ", %u steps\n# %s\n",
		       number, c->name, c->what, i, seed, schedule_length, reason);
		print_table(program);
		return false;
	}
	printf("ok %u - %s: %s # %lu random schedules, %llu steps, seed %" PRIu64 "%s, %.1f s\n",
	       number, c->name, c->what, count, steps, seed, own_steps(c), seconds() - begin);
	return true;
}

int main(int argc, char **argv)
{
	const char *name = NULL, *replay = NULL, *program = argv[0];
	size_t max_states = 100000000;
	unsigned long random = 0;
	bool first = false, bad = false;
	uint64_t seed = (uint64_t)time(NULL) << 20 ^ getpid();
	unsigned int i, n = 0, failed = 0;
	char *end;
	int opt;

	while ((opt = getopt(argc, argv, "c:dfn:r:s:S:")) != -1) {
		end = "";
		switch (opt) {
		case 'c':
			name = optarg;
			break;
		case 'd':
			all_differ = true;
			break;
		case 'f':
			first = true;
			break;
		case 'n':
			max_states = strtoull(optarg, &end, 10);
			break;
		case 'r':
			random = strtoul(optarg, &end, 10);
			break;
		case 's':
			replay = optarg;
			break;
		case 'S':
			seed = strtoull(optarg, &end, 10);
			break;
		default:
			bad = true;
		}
		bad = bad || *end;
	}
	if (bad || optind != argc || (replay && !name)) {
		fprintf(stderr, "usage: %s [-d] [-f] [-c case] [-n most states] [-r random schedules [-S seed]]\n"
			"       %s -c case -s schedule\n", program, program);
		return 2;
	}
	if (shared_size > SHARED_SIZE)
		abort();
	nodes = get_memory(MAX_STEPS * sizeof(*nodes));
	for (i = 0; i < explore_nr_cases; i++)
		n += !name || !strcmp(name, explore_cases[i].name);
	if (!n) {
		fprintf(stderr, "%s: no case %s\n", program, name);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (replay) {
		for (i = 0; strcmp(name, explore_cases[i].name); i++)
			;
		if (!parse_schedule(replay)) {
			fprintf(stderr, "%s: no schedule: %s\n", program, replay);
			return 2;
		}
		set_up(&explore_cases[i]);
		reason[0] = '\0';
		print_table(program);
		if (schedule_bad) {
			fprintf(stderr, "%s: the case cannot go on like that\n", program);
			return 2;
		}
		printf("# %s\n", reason[0] ? reason : "nothing wrong");
		return !!reason[0];
	}
	printf("TAP version 13\n1..%u\n", n);
	n = 0;
	for (i = 0; i < explore_nr_cases && !(first && failed); i++) {
		if (name && strcmp(name, explore_cases[i].name))
			continue;
		if (!(random ? try_random(&explore_cases[i], ++n, program, random, seed) :
			       explore(&explore_cases[i], ++n, program, max_states)))
			failed = 1;
	}
	return failed;
}
