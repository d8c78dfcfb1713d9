// SPDX-License-Identifier: GPL-2.0
/*
 * Many CPUs read the clock: each does something else for a while, then reads. How many reads are
 * done, how long one takes, and what it costs the machine; by the forms that the kernel had, that
 * were proposed, and ours. Those of others are in hpet_rivals.h.
 */
#include <linux/shared_counter.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

#define MHZ	14.31818

DEFINE_SHARED_COUNTER(defined, 32);
static struct shared_counter *sc;
static double think = 100, warm_up = 1000000, tick, newest;

static struct {
	u64 reads, back;
	double ns, longest;
} total;

bool shim_in_nmi(void)
{
	return false;
}

void shim_irqs_off(bool off)
{
	(void)off;
}

static __always_inline u32 sample(void)
{
	return (u64)(machine_counter() * 1e-3 * MHZ);
}

#include "hpet_rivals.h"

static u32 flat_read(void)
{
	return shared_counter_read(sc, sample);
}

/* As long as shared_counter_wait() does. */
static unsigned int wait_polls(u32 bound, unsigned int cpu)
{
	return bound + (u64)bound * cpu / shim_nr_cpus;
}

static unsigned int bound_polls(unsigned int cpu)
{
	return wait_polls(sc->bound, cpu);
}

static unsigned int defer_polls(unsigned int cpu)
{
	return wait_polls(sc->defer, cpu);
}

/* The bound as shared_counter_calibrate() finds it: by CPU 0, which is near the counter. */
static double bound_reads = SHARED_COUNTER_BOUND_READS;
static double defer_reads;		/* or as the header has it */

static void ours_start(void)
{
	double polls = bound_reads * (machine.counter_service + machine.counter_latency) /
		       machine.poll;

	sc = machine_alloc(sizeof(*sc), 0);
	*sc = defined;
	machine_polls(&sc->bound, bound_polls);
	machine_polls(&sc->defer, defer_polls);
	sc->bound = clamp_t(double, polls, SHARED_COUNTER_BOUND_MIN, SHARED_COUNTER_BOUND_MAX);
	sc->defer = defer_reads ? max(sc->bound * defer_reads / bound_reads, 1.0) :
				  shared_counter_defer(sc->bound);
}

#include "hpet_nodes.h"

/* The gates that shared_counter_add_gates() makes; without them for one form. */
static void gates_start(void)
{
	ours_start();
	shared_counter_add_gates(sc);
}

static const struct form {
	const char *name;
	void (*start)(void);
	u32 (*read)(void);
	bool ours;
} forms[] = {
	{ "plain", rivals_start, sample, false },
	{ "v6", rivals_start, v6_read, false },
	{ "4.9", rivals_start, merged_read, false },
	{ "flat", ours_start, flat_read, true },
	{ "nodes", nodes_start, nodes_read, true },
	{ "gates", gates_start, flat_read, true },
};
#define FORMS	(sizeof(forms) / sizeof(forms[0]))
static const struct form *form;

static void reader(void)
{
	double begin, took, known;
	u32 value;

	for (;;) {
		if (tick)
			machine_think((floor(machine_now() / tick) + 1) * tick - machine_now() +
				      think * machine_random());
		else
			machine_think_random(think);
		begin = machine_now();
		if (begin < warm_up)
			memset(&machine_totals, 0, sizeof(machine_totals));
		known = newest;
		value = form->read();
		total.back += value < known;
		newest = value > newest ? value : newest;
		took = machine_now() - begin;
		/* Of those that end in it; else a form whose reads take long would have fewer. */
		if (machine_now() < warm_up)
			continue;
		total.reads++;
		total.ns += took;
		total.longest = took > total.longest ? took : total.longest;
	}
}

static void run(unsigned int n, double us, u64 seed)
{
	machine_start(n, seed);
	form->start();
	memset(&total, 0, sizeof(total));
	newest = 0;
	machine_run(warm_up + us * 1000, think, reader);
	printf("%s\t%s\t%u\t%.0f\t%.3f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\n", machine.name,
	       form->name, n, think, total.reads / us, total.ns / total.reads, total.longest,
	       (double)total.reads / machine_totals.counter_reads,
	       total.ns * 0.1 / (us * n), (double)machine_totals.far / total.reads,
	       (double)machine_totals.node / total.reads);
	fflush(stdout);
	if (total.back && form->ours)
		die("%s: the clock went backwards %llu times", form->name, total.back);
}

int main(int argc, char **argv)
{
	const char *file = NULL, *names = "plain v6 4.9 flat nodes gates";
	char list[256], *name, *save;
	unsigned int i;
	double us = 1000;
	u64 seed = 1;
	int option, n;

	while ((option = getopt(argc, argv, "b:d:f:m:p:s:t:u:w:")) != -1) {
		switch (option) {
		case 'b':
			bound_reads = atof(optarg);
			break;
		case 'd':
			defer_reads = atof(optarg);
			break;
		case 'f':
			names = optarg;
			break;
		case 'm':
			file = optarg;
			break;
		case 'p':
			tick = atof(optarg) * 1000;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			us = atof(optarg);
			break;
		case 'u':
			warm_up = atof(optarg) * 1000;
			break;
		case 'w':
			think = atof(optarg);
			break;
		default:
			file = NULL;
			optind = argc;
		}
	}
	if (!file || optind == argc)
		die("usage: hpet -m machines/FILE [-f 'forms'] [-w ns between reads] [-t us] [-u us before that] [-b bound, in reads] [-d wait of a node after a try that failed, in reads] [-s seed] CPUs...");
	machine_load(file);
	printf("# machine\tform\tcpus\tthink_ns\treads/us\tmean_ns\tlongest_ns\treads/counter_read\t%%time\tfar/read\tnode/read\n");
	for (; optind < argc; optind++) {
		n = atoi(argv[optind]);
		snprintf(list, sizeof(list), "%s", names);
		for (name = strtok_r(list, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
			for (i = 0; i < FORMS && strcmp(name, forms[i].name); i++)
				;
			if (i == FORMS)
				die("no form %s", name);
			form = &forms[i];
			run(n, us, seed);
		}
	}
	return 0;
}
