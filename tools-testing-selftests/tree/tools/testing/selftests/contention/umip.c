// SPDX-License-Identifier: GPL-2.0
/*
 * Every CPU executes SGDT in user mode, which it may not (UMIP). The kernel emulates it and has two
 * messages about each, of which it lets five through in two minutes for the whole machine. What is
 * proven: all get on, with the right result; never more than five messages in a window; each window
 * says how many were held back before it, and each of those is told once.
 *
 * A window of two minutes is too long to wait for. With CONFIG_CONTENTION_DEBUG it is made a second
 * long, and counters say what came to the limit.
 */
#include "readers.h"
#include <sys/prctl.h>
#include <sys/wait.h>

#define FIX		"umip"
#define COMM		"umip_selftest"	/* stands in the messages */
#define LIMIT		5		/* messages in a window */
#define PER_FAULT	2		/* messages about one fault */
#define USUAL_WINDOW	120		/* seconds */
#define WINDOW		1		/* seconds; shorter, and a slow machine blurs its ends */
#define WINDOW_US	(WINDOW * 1000 * 1000)
#define STORM		(5600 * 1000)	/* us; ends within a window */
#define STORM_BLIND	(2000 * 1000)	/* the same where windows cannot be crossed */
#define NEED		40		/* of the watchdog's seconds, not for waiting */
/*
 * No message should come while speeds are compared, so this is longer than that takes. But it is
 * still open when the test ends, and who runs the test again waits for its end.
 */
#define QUIET_WINDOW	20
#define ROUNDS		7
#define SLICE_ALL	(300 * 1000)	/* us */
#define SLICE_ALONE	(200 * 1000)
#define MAX_RECORDS	4096
#define MAX_WINDOWS	64

enum mode { PERCPU, BASE, MODES };

static const char * const mode_name[MODES] = { "percpu", "base" };

struct counts {
	__u64 allowed, suppressed;
};

/* A line of the kernel log: a message about a fault, or how many were not printed. */
struct record {
	__u64 us;
	bool is_told;
	__u64 told;
};

struct window {
	__u64 us;	/* of its first record */
	int messages, told;
	bool in_order;	/* what was suppressed is told before the last message */
};

/* Every CPU was there and got on, in all that was done; and whatever else must not go wrong. */
static bool good = true;
static __u64 wrong;	/* results */
static __u64 faults;	/* by main, and by threads that have ended */

static bool have_switches;

static int kmsg_errno;
static struct record record[MAX_RECORDS];
static int records;
static __u64 messages, foreign;

static __u64 let_through[MODES], moved[MODES];

/* ---- the fault ---- */

/* Returns whether the result is what the emulation has instead of the truth. */
static inline bool fault(void)
{
	/* limit 0, base 0xfffffffffffe0000 */
	static const unsigned char dummy[10] = { 0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255 };
	unsigned char table[10];

	memset(table, 0x55, sizeof(table));
#ifdef __x86_64__
	asm volatile("sgdt %0" : "+m" (table));
#endif
	return !memcmp(table, dummy, sizeof(table));
}

static void fault_once(void)
{
	if (!fault())
		wrong++;
	faults++;
}

static void *faulter_main(void *arg)
{
	struct reader *r = arg;
	__u64 n = 0, bad = 0;

	reader_begin(r);
	while (!__atomic_load_n(&r->all->stop, __ATOMIC_RELAXED)) {
		if (n % BURST == 0)
			reader_on_cpu(r);
		if (!fault())
			bad++;
		/* One read at each end only: the clock may be slower than the fault. */
		if (!n)
			r->first = clock_read();
		__atomic_store_n(&r->reads, ++n, __ATOMIC_RELAXED);
	}
	r->last = clock_read();
	__atomic_add_fetch(&wrong, bad, __ATOMIC_RELAXED);
	return NULL;
}

/* ---- the kernel log ---- */

static void kmsg_record(char *line)
{
	static const char message[] = "umip: ", about[] = "umip_printk: ";
	struct record r = { 0 };
	char *text, *end;

	text = strchr(line, ';');
	if (!text || sscanf(line, "%*u,%*u,%llu", &r.us) != 1)
		return;
	text++;
	if (!strncmp(text, message, strlen(message))) {
		messages++;
		/* Others count as well, since the limit is for all together. */
		if (strncmp(text + strlen(message), COMM "[", strlen(COMM "[")))
			foreign++;
	} else if (!strncmp(text, about, strlen(about))) {
		r.told = strtoull(text + strlen(about), &end, 10);
		if (strncmp(end, " callbacks suppressed", 21))
			return;
		r.is_told = true;
	} else {
		return;
	}
	if (records < MAX_RECORDS)
		record[records++] = r;
	else
		kmsg_lost = true;
}

static void kmsg_forget(void)
{
	records = 0;
	messages = 0;
}

static __u64 kmsg_told(void)
{
	__u64 told = 0;
	int i;

	for (i = 0; i < records; i++)
		told += record[i].told;
	return told;
}

/* ---- switches ---- */

static int interval_seconds(unsigned int seconds)
{
	struct timespec tick;
	char text[32];

	/* The interval is in jiffies. The coarse clock goes on by one at a time. */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || !tick.tv_nsec)
		return -1;
	snprintf(text, sizeof(text), "%llu",
		 (seconds * NSEC + tick.tv_nsec / 2) / tick.tv_nsec);
	return file_write(SWITCHES FIX "/interval", text);
}

static int counts_get(struct counts *c)
{
	char buf[256];

	if (file_read(SWITCHES FIX "/stats", buf, sizeof(buf)))
		return -1;
	return sscanf(buf, "allowed %llu suppressed %llu", &c->allowed, &c->suppressed) == 2 ?
	       0 : -1;
}

static struct counts counts(void)
{
	struct counts c = { 0 };

	if (have_switches && counts_get(&c)) {
		ksft_print_msg("cannot read the counters\n");
		good = false;
	}
	return c;
}

static bool switches_read(void)
{
	struct counts c;

	return switches_save(FIX) && setting_save(SWITCHES FIX "/interval") && !counts_get(&c);
}

static void must(bool done, const char *what)
{
	if (!done) {
		ksft_print_msg("%s: %s\n", what, strerror(errno));
		good = false;
	}
}

/* ---- windows ---- */

/* Faults until the window that is open has no message left, or returns false. */
static bool window_fill(void)
{
	__u64 before = counts().suppressed;
	int tries;

	for (tries = 0; tries < 20; tries++) {
		fault_once();
		if (counts().suppressed > before)
			return true;
	}
	ksft_print_msg("%d faults of one CPU, and nothing was suppressed\n", tries);
	return false;
}

/*
 * The window that is open is full. Faults until one is let through, which is when the next one has
 * opened. Nobody else faults meanwhile, so that all that was suppressed until now is told at the
 * opening. With forget, the window's records become the first ones.
 */
static bool window_next(unsigned int seconds, bool forget)
{
	__u64 deadline = clock_read() + seconds * NSEC, before;

	do {
		usleep(20 * 1000);
		kmsg_read(kmsg_record);
		if (forget)
			kmsg_forget();
		before = counts().allowed;
		fault_once();
		if (counts().allowed > before) {
			kmsg_read(kmsg_record);
			return true;
		}
	} while (clock_read() < deadline);
	return false;
}

/*
 * The log does not say where a window ended, only when its messages were stored. While every CPU
 * faults, they all come at the window's beginning, so a gap of half a window parts two. A narrower
 * one is not right always: an opening is at a jiffy, which may be late by as long as a guest's CPU
 * does not run, and a task may have to wait between being let through and its message being stored.
 * That windows are not too short is seen on all of them together.
 */
static int windows_find(struct window *w, int max)
{
	int i, n = 0;

	for (i = 0; i < records; i++) {
		const struct record *r = &record[i];

		if (!n || r->us >= w[n - 1].us + WINDOW_US / 2) {
			if (n == max)
				return max;
			w[n] = (struct window){ .us = r->us };
			n++;
		}
		if (r->is_told) {
			w[n - 1].told++;
		} else {
			w[n - 1].messages++;
			/* Not the first: who comes second may be quicker than the opener. */
			w[n - 1].in_order = w[n - 1].told;
		}
	}
	return n;
}

static bool windows_limited(const struct window *w, int n)
{
	bool ok = true;
	int i;

	for (i = 0; i < n; i++) {
		if (w[i].messages > LIMIT) {
			ksft_print_msg("window %d: %d messages\n", i, w[i].messages);
			ok = false;
		}
	}
	return ok;
}

static bool windows_opened(const struct window *w, int n)
{
	bool ok = true, full = false;
	int i;

	for (i = 0; i < n; i++) {
		if (w[i].told != 1 || !w[i].in_order) {
			ksft_print_msg("window %d: told %d times what was suppressed%s\n", i,
				       w[i].told, w[i].in_order ? "" : ", not before it");
			ok = false;
		}
		full |= w[i].messages == LIMIT;
	}
	if (!full) {
		ksft_print_msg("no window has %d messages\n", LIMIT);
		ok = false;
	}
	if (n < 3) {
		ksft_print_msg("%d windows are too few\n", n);
		return false;
	}
	if (w[n - 1].us - w[0].us + WINDOW_US / 2 < (n - 1ULL) * WINDOW_US) {
		ksft_print_msg("%d windows began within %llu us\n", n, w[n - 1].us - w[0].us);
		ok = false;
	}
	return ok;
}

/* ---- all CPUs ---- */

/* They fault for a time; returns thousand faults per second. */
static double storm(const int *cpu, int n, unsigned int us)
{
	struct readers all;
	__u64 begin, end;
	double rate;

	if (readers_start_as(&all, cpu, n, false, faulter_main))
		good = false;
	begin = clock_read();
	do {
		usleep(us < 100 * 1000 ? us : 100 * 1000);
		/* A log that wraps is read before it does. */
		kmsg_read(kmsg_record);
	} while (clock_read() - begin < us * 1000ULL);
	/* On a busy machine the time may be too short for a thread to run in it at all. */
	if (readers_together(&all, 10))
		good = false;
	end = clock_read();
	/* The figure is of faults until now; the threads may take long to see the stop. */
	rate = readers_total(&all) * 1e6 / (end - begin);
	readers_stop(&all);
	if (!readers_good(&all))
		good = false;
	faults += readers_total(&all);
	readers_free(&all);
	kmsg_read(kmsg_record);
	return rate;
}

/* The messages can be judged only if they can be read, and none is missing. */
static bool kmsg_judged(const char *what)
{
	if (kmsg < 0) {
		ksft_test_result_skip("%s: cannot read " KMSG ": %s\n", what,
				      strerror(kmsg_errno));
	} else if (kmsg_lost) {
		ksft_print_msg("the kernel log lost lines or has too many: %llu messages seen\n",
			       messages);
		ksft_test_result_fail("%s\n", what);
	} else {
		return true;
	}
	return false;
}

static void limit_test(const int *cpu, int n, __u64 begun)
{
	static const char limited[] = "5 messages in a window at most";
	static const char opened[] = "each window is long enough, and tells what was suppressed";
	static const char counted[] = "each message was counted, and printed if let through";
	static const char exact[] = "all that was suppressed is told, and nothing twice";
	static struct window window[MAX_WINDOWS];
	bool filled, crossed = false, crossed_again = false;
	unsigned int patience = watchdog_seconds();
	struct counts before, after;
	__u64 faults_before, messages_before, told_before, told, seen, may;
	int windows;

	/* The window that is open has the length that it began with. */
	patience = patience > NEED ? patience - NEED : 0;
	filled = window_fill();
	if (filled)
		crossed = window_next(patience, true);
	before = counts();
	faults_before = faults;
	messages_before = messages;
	told_before = kmsg_told();
	/* The storm may take long to begin, and this window's messages are to stand together. */
	if (crossed)
		window_fill();

	storm(cpu, n, crossed ? STORM : STORM_BLIND);

	if (crossed)
		crossed_again = window_fill() && window_next(10, false);
	after = counts();
	seen = messages - messages_before;
	told = kmsg_told() - told_before;
	after.allowed -= before.allowed;
	after.suppressed -= before.suppressed;
	figure("umip_storm_faults", "%llu", faults - faults_before, "faults");
	figure("umip_storm_messages", "%llu", seen, "messages");

	windows = windows_find(window, MAX_WINDOWS);
	if (!crossed && !messages) {
		ksft_test_result_skip("%s: none now, as after many before\n", limited);
	} else if (kmsg_judged(limited)) {
		/* More windows than can be would be another way to break the limit. */
		may = LIMIT * (2 + (clock_read() - begun) / (WINDOW * NSEC));
		if (messages > may)
			ksft_print_msg("%llu messages, %llu at most can be\n", messages, may);
		ksft_test_result(filled && windows_limited(window, windows) && messages <= may,
				 "%s\n", limited);
	}
	if (filled && !crossed)
		ksft_test_result_skip("%s: the one of before is still open after %u s\n", opened,
				      patience);
	else if (kmsg_judged(opened))
		ksft_test_result(crossed && crossed_again && windows_opened(window, windows),
				 "%s\n", opened);

	ksft_print_msg("%llu faults: %llu messages let through, %llu not; %llu read, %llu told\n",
		       faults - faults_before, after.allowed, after.suppressed, seen, told);
	if (after.allowed + after.suppressed > PER_FAULT * (faults - faults_before))
		ksft_print_msg("more than the faults here: a wrong count, or others do it too\n");
	if (foreign)
		ksft_test_result_skip("%s: other programs do the same now\n", counted);
	else if (kmsg_judged(counted))
		ksft_test_result(after.allowed + after.suppressed ==
				 PER_FAULT * (faults - faults_before) && after.allowed == seen,
				 "%s\n", counted);
	if (filled && !crossed)
		ksft_test_result_skip("%s: the window of before is still open\n", exact);
	else if (foreign)
		ksft_test_result_skip("%s: other programs do the same now\n", exact);
	else if (kmsg_judged(exact))
		/* The storm's windows may have told less than was suppressed, the last all. */
		ksft_test_result(crossed_again && told_before && told == after.suppressed,
				 "%s\n", exact);
}

/* Without switches there is one verdict, and not even that while a window of before is open. */
static void limit_test_blind(const int *cpu, int n, const char *why)
{
	static const char limited[] = "no more messages than two windows may have";
	__u64 begin = clock_read(), may;

	storm(cpu, n, STORM_BLIND);
	may = LIMIT * (2 + (clock_read() - begin) / (USUAL_WINDOW * NSEC));
	if (kmsg_judged(limited)) {
		ksft_print_msg("%llu faults, %llu messages, %llu at most can be\n", faults,
			       messages, may);
		if (messages)
			ksft_test_result(messages <= may, "%s\n", limited);
		else
			ksft_test_result_skip("%s: none now, as after many before\n", limited);
	}
	ksft_test_result_skip("windows: %s\n", why);
	ksft_test_result_skip("counters: %s\n", why);
	ksft_test_result_skip("what is told: %s\n", why);
}

/* ---- comparison ---- */

static void mode_set(enum mode mode)
{
	if (have_switches)
		must(!switch_set(FIX, "enabled", mode == PERCPU), "enabled");
}

static void compare(const char *who, const int *cpu, int n)
{
	double rate[MODES][ROUNDS], median[MODES];
	int modes = have_switches ? MODES : 1;
	struct counts before, after;
	__u64 messages_before;
	char name[64];
	int i, m;

	for (i = 0; i < ROUNDS; i++) {
		for (m = 0; m < modes; m++) {
			mode_set(m);
			before = counts();
			messages_before = messages;
			rate[m][i] = storm(cpu, n, n > 1 ? SLICE_ALL : SLICE_ALONE);
			after = counts();
			let_through[m] += messages - messages_before;
			moved[m] += after.allowed + after.suppressed - before.allowed -
				    before.suppressed;
		}
	}
	for (m = 0; m < modes; m++) {
		snprintf(name, sizeof(name), "umip_%s_%s", who,
			 have_switches ? mode_name[m] : "asis");
		median[m] = figure_rates(name, rate[m], ROUNDS, "kfaults/s");
	}
	if (have_switches) {
		snprintf(name, sizeof(name), "umip_%s_percpu_over_base", who);
		figure(name, "%.2f", median[PERCPU] / median[BASE], "times");
	}
}

/* Both limits have let through what they will, before speeds are compared. */
static void quiet(void)
{
	int i;

	mode_set(BASE);
	for (i = 0; i < LIMIT; i++)
		fault_once();
	mode_set(PERCPU);
	if (have_switches) {
		/* Of the window that is open the end is near, and stays where it is. */
		must(!interval_seconds(QUIET_WINDOW), "interval");
		if (window_fill())
			window_next(WINDOW + 2, false);
	}
	for (i = 0; i < LIMIT; i++)
		fault_once();
	kmsg_read(kmsg_record);
}

/* ---- */

static void umip_need(void)
{
	char line[8192], *word, *save;
	bool has = false;
	FILE *f;

#ifndef __x86_64__
	skip_all("for x86-64 only");
#endif
	f = fopen("/proc/cpuinfo", "re");
	if (!f)
		skip_all("cannot read /proc/cpuinfo: %s", strerror(errno));
	while (!has && fgets(line, sizeof(line), f)) {
		word = strtok_r(line, " \t\n", &save);
		if (!word || strcmp(word, "flags"))
			continue;
		while (!has && (word = strtok_r(NULL, " \t\n", &save)))
			has = !strcmp(word, "umip");
	}
	fclose(f);
	if (!has)
		skip_all("CPU or kernel without UMIP (CONFIG_X86_UMIP)");
}

/* In a child, because a kernel that does not emulate it ends who tries. */
static void emulation_need(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		skip_all("cannot fork: %s", strerror(errno));
	if (!pid)
		_exit(!fault());
	if (waitpid(pid, &status, 0) != pid)
		skip_all("cannot wait for a child: %s", strerror(errno));
	if (WIFSIGNALED(status))
		skip_all("SGDT is not emulated here, it ends in signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		skip_all("SGDT returns the truth here");
}

int main(void)
{
	static int cpu[MAX_CPUS];
	const char *why;
	__u64 begun;
	int n;

	start();
	n = cpus_need(cpu);
	umip_need();
	/* What others print about themselves must not count as ours. */
	prctl(PR_SET_NAME, COMM);
	restore = settings_restore;
	have_switches = switches_read();
	why = geteuid() ? "the switches need root" :
			  "no switches in debugfs (CONFIG_CONTENTION_DEBUG)";
	begun = clock_read();
	if (kmsg_open())
		kmsg_errno = errno;
	if (have_switches) {
		/* Before the first fault, which may open a window. */
		must(!interval_seconds(WINDOW), "interval");
		must(!switch_set(FIX, "plain", false), "plain");
		mode_set(PERCPU);
	}
	emulation_need();
	ksft_set_plan(8);
	ksft_print_msg("%d CPUs, windows of %d s, %d rounds\n", n,
		       have_switches ? WINDOW : USUAL_WINDOW, ROUNDS);

	if (have_switches)
		limit_test(cpu, n, begun);
	else
		limit_test_blind(cpu, n, why);
	quiet();
	compare("all", cpu, n);
	compare("alone", cpu, 1);

	ksft_test_result(good, "every CPU got on with its faults in every slice\n");
	ksft_print_msg("%llu faults, %llu with a wrong result\n", faults, wrong);
	ksft_test_result(faults && !wrong, "the result of SGDT is the dummy one\n");
	if (have_switches) {
		figure("umip_percpu_messages", "%llu", let_through[PERCPU], "messages");
		figure("umip_base_messages", "%llu", let_through[BASE], "messages");
		ksft_test_result(moved[PERCPU], "switched on, the per-CPU limit is asked\n");
		ksft_test_result(!moved[BASE], "switched off, it is not\n");
	} else {
		ksft_test_result_skip("comparison of on and off: %s\n", why);
		ksft_test_result_skip("switched off: %s\n", why);
	}
	finish();
	return 0;
}
