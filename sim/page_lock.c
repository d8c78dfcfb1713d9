// SPDX-License-Identifier: GPL-2.0
/*
 * A large parallel program has started: on each CPU a process faults for the pages of its text,
 * one after the other, all of them there. A fault takes a reference, tries the lock of the page,
 * maps it, unlocks it. Who does not get the lock sleeps in a queue, and who unlocks wakes the
 * first, who tries again; what the queue itself costs is not in this. Or, with -r, he tries again
 * at once until he has it; or, with -g, he gives up and lets it be, as the faults around a fault
 * do today. How long until all CPUs have all pages.
 */
#include <linux/page_lock.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

/* As in struct page: in one line. */
struct page {
	unsigned long flags;
	atomic_t mapcount, refcount;
};

/* Beside each page, and of no cost. */
struct waiters {
	unsigned int first, length;
	unsigned short cpu[MACHINE_MAX_CPUS];
};
static struct waiters *waiters;

static struct page **page;
static unsigned int pages = 100;
/* What a fault takes beside: without the lock, and with it. */
static double fault = 2000, mapping = 100, wake = 2000;
static enum { SLEEP, RETRY, GIVE_UP } kind;
static const char * const kinds[] = { "sleep", "retry", "give_up" };
static bool test_first;

static struct {
	u64 failed;
	unsigned int done;
	double ns, last;
} total;

static void add(atomic_t *v, int n)
{
	shim_access(v, sizeof(*v), SHIM_RMW);
	v->counter += n;
}

/* What page_lock_try() is without CONFIG_PAGE_LOCK_TEST_FIRST. */
static bool plain_try(unsigned long *flags)
{
	return !test_and_set_bit_lock(PG_locked, flags);
}

static bool try_lock(struct page *p)
{
	bool won = test_first ? page_lock_try(&p->flags) : plain_try(&p->flags);

	total.failed += !won;
	return won;
}

static void wait_for(struct page *p, struct waiters *w)
{
	if (kind == RETRY) {
		cpu_relax();
		return;
	}
	/* It was unlocked while the answer was on its way. */
	if (!(p->flags & BIT_MASK(PG_locked)))
		return;
	w->cpu[(w->first + w->length++) % MACHINE_MAX_CPUS] = shim_cpu();
	machine_sleep();
}

static void unlock(struct page *p, struct waiters *w)
{
	clear_bit_unlock_is_negative_byte(PG_locked, &p->flags);
	if (!w->length)
		return;
	machine_wake(w->cpu[w->first], wake);
	w->first = (w->first + 1) % MACHINE_MAX_CPUS;
	w->length--;
}

static void fault_for(struct page *p, struct waiters *w)
{
	bool locked;

	machine_think(fault * (0.9 + 0.2 * machine_random()));
	add(&p->refcount, 1);
	while (!(locked = try_lock(p)) && kind != GIVE_UP)
		wait_for(p, w);
	if (!locked) {
		add(&p->refcount, -1);
		return;
	}
	add(&p->mapcount, 1);
	machine_think(mapping);
	unlock(p, w);
}

static void process(void)
{
	double begin = machine_now();
	unsigned int i;

	for (i = 0; i < pages; i++)
		fault_for(page[i], &waiters[i]);
	total.ns += machine_now() - begin;
	total.last = machine_now();
	total.done++;
	machine_think(1e18);
}

static void run(unsigned int n, u64 seed)
{
	unsigned int i;

	machine_start(n, seed);
	for (i = 0; i < pages; i++)
		page[i] = machine_alloc(sizeof(*page[i]), i % (machine_node(n - 1) + 1));
	memset(&total, 0, sizeof(total));
	memset(waiters, 0, pages * sizeof(*waiters));
	machine_run(1e15, fault, process);
	if (total.done != n)
		die("%u of %u CPUs have come to the end", total.done, n);
	printf("%s\t%s\t%s\t%u\t%.3f\t%.1f\t%.3f\t%.1f\t%.2f\n", machine.name, test_first ? "test-first" : "plain",
	       kinds[kind], n, total.last / pages / 1000, total.ns / n / pages,
	       (double)n * pages * 1000 / total.last,
	       (double)total.failed / n / pages,
	       (double)(machine_totals.far + machine_totals.node) / n / pages);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *file = NULL;
	u64 seed = 1;
	int option;

	while ((option = getopt(argc, argv, "gm:p:rs:w:x:")) != -1) {
		switch (option) {
		case 'g':
			kind = GIVE_UP;
			break;
		case 'm':
			file = optarg;
			break;
		case 'p':
			pages = atoi(optarg);
			break;
		case 'r':
			kind = RETRY;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'w':
			fault = atof(optarg);
			break;
		case 'x':
			mapping = atof(optarg);
			break;
		default:
			file = NULL;
			optind = argc;
		}
	}
	if (!file || optind == argc || !pages)
		die("usage: page_lock -m machines/FILE [-g | -r] [-p pages] [-w ns of a fault] [-x ns with the lock] [-s seed] CPUs...");
	machine_load(file);
	page = calloc(pages, sizeof(*page));
	waiters = calloc(pages, sizeof(*waiters));
	if (!page || !waiters)
		die("no memory");
	printf("# machine\tform\tkind\tcpus\tus/page\tns/fault\tfaults/us\tfailed/fault\ttransfers/fault\n");
	for (; optind < argc; optind++) {
		test_first = false;
		run(atoi(argv[optind]), seed);
		test_first = true;
		run(atoi(argv[optind]), seed);
	}
	return 0;
}
