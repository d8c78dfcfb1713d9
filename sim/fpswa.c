// SPDX-License-Identifier: GPL-2.0
/*
 * Each CPU traps for one floating point instruction after the other, and would say so in the log;
 * or has been told to be silent (prctl PR_FPEMU_NOPRINT). How many traps are handled, and how many
 * messages come; by the forms that the kernel had and ours. Those of others are in fpswa_rivals.h.
 *
 * A window is as long as its CPUs' clocks say, which tick HZ times a second. It is shorter here
 * than the 5 s of the kernel: what is too many messages comes at its beginning.
 */
#include <linux/jiffies.h>
#include <linux/percpu_ratelimit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

#define HZ		1024
#define BURST		5
#define WINDOW		(HZ / 100)	/* jiffies */

unsigned long shim_jiffies;

/* In one line, as it is read by all and written by one. */
static unsigned long *now;
#undef jiffies
#define jiffies		READ_ONCE(*now)

/* Nobody says how long a trap takes without contention; see README.md. */
static double trap = 1000, print = 20000, warm_up = 12e6;
static bool silent;

static struct {
	u64 traps, messages;
} total;

DEFINE_PERCPU_RATELIMIT(limit, WINDOW, BURST);
static struct percpu_ratelimit *rl;

#include "fpswa_rivals.h"

static void ours_start(void)
{
	rl = machine_alloc(sizeof(*rl), 0);
	*rl = limit;
}

static bool ours(void)
{
	return percpu_ratelimit_allow_at(rl, jiffies);
}

static const struct form {
	const char *name;
	void (*start)(void);
	/* May a message be printed? */
	bool (*ask)(void);
	/* What is done even by those that are silent. */
	void (*always)(void);
} forms[] = {
	{ "2.6", old_start, old_ask, old_always },
	{ "2006", steiner_start, steiner_ask, NULL },
	{ "ratelimit", ratelimit_start, ratelimit_ask, NULL },
	{ "ratelimit-7.3", ratelimit_start, ratelimit_new_ask, NULL },
	{ "ours", ours_start, ours, NULL },
};
#define FORMS	(sizeof(forms) / sizeof(forms[0]))
static const struct form *form;

static void tick(void)
{
	for (;;) {
		machine_think(1e9 / HZ);
		WRITE_ONCE(*now, *now + 1);
	}
}

/* CPU 0 has the clock. */
static void trapper(void)
{
	if (!shim_cpu())
		tick();
	for (;;) {
		machine_think(trap * (0.9 + 0.2 * machine_random()));
		if (machine_now() < warm_up)
			memset(&machine_totals, 0, sizeof(machine_totals));
		if (form->always)
			form->always();
		if (!silent && form->ask()) {
			total.messages += machine_now() >= warm_up;
			/* The console has a lock of its own; here each has one for himself. */
			machine_think(print);
		}
		total.traps += machine_now() >= warm_up;
	}
}

static void run(unsigned int n, double ms, u64 seed)
{
	machine_start(n + 1, seed);
	now = machine_alloc(sizeof(*now), 0);
	*now = 1000;
	form->start();
	memset(&total, 0, sizeof(total));
	machine_run(warm_up + ms * 1e6, trap, trapper);
	printf("%s\t%s\t%s\t%u\t%.2f\t%.4f\t%.1f\t%.3f\n", machine.name, form->name,
	       silent ? "silent" : "messages", n, total.traps / ms / 1000,
	       total.traps / ms / 1e6 * trap / n, total.messages / (ms / 1000 * HZ / WINDOW),
	       (double)(machine_totals.far + machine_totals.node) / total.traps);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *file = NULL, *names = "2.6 2006 ratelimit ratelimit-7.3 ours";
	char list[256], *name, *save;
	unsigned int i;
	double ms = 50;
	u64 seed = 1;
	int option;

	while ((option = getopt(argc, argv, "f:m:qs:t:u:w:")) != -1) {
		switch (option) {
		case 'f':
			names = optarg;
			break;
		case 'm':
			file = optarg;
			break;
		case 'q':
			silent = true;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			ms = atof(optarg);
			break;
		case 'u':
			warm_up = atof(optarg) * 1e6;
			break;
		case 'w':
			trap = atof(optarg);
			break;
		default:
			file = NULL;
			optind = argc;
		}
	}
	if (!file || optind == argc)
		die("usage: fpswa -m machines/FILE [-f 'forms'] [-q] [-w ns of a trap] [-t ms] [-u ms before] [-s seed] CPUs...");
	machine_load(file);
	printf("# machine\tform\tkind\tcpus\ttraps/us\tof_ideal\tmessages/window\ttransfers/trap\n");
	for (; optind < argc; optind++) {
		snprintf(list, sizeof(list), "%s", names);
		for (name = strtok_r(list, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
			for (i = 0; i < FORMS && strcmp(name, forms[i].name); i++)
				;
			if (i == FORMS)
				die("no form %s", name);
			form = &forms[i];
			run(atoi(argv[optind]), ms, seed);
		}
	}
	return 0;
}
