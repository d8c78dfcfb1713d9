// SPDX-License-Identifier: GPL-2.0
/*
 * ia64 floating-point assist faults on all CPUs at once: the kernel emulates the instruction and
 * says so, at most 5 times in 5 seconds for the whole machine, and not at all for a process that
 * asked for silence. Counted is what arrives in /dev/kmsg, and against it what the kernel counts.
 *
 * Not readers.h, but processes and few functions of libc, since this file is built without one as
 * well: there is none for ia64 in the place where the patched kernel is booted.
 */
#include "compat.h"
#include <sched.h>
#include <time.h>
#include <linux/types.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_CPUS	4096	/* the most that ia64 can have */
#define LINES		128	/* bytes; a cache line and the one fetched with it */
#define NSEC		1000000000ULL
#define SWITCHES	"/sys/kernel/debug/contention/fpswa/"
#define BURST		5	/* messages in a window */
#define WINDOW		5000000	/* us */
/*
 * A message has the time at which it was printed, up to a tick or a preemption after the window
 * was opened. What comes this much before the 5 s are over counts for the next window. The messages
 * of a storm stand within milliseconds, so the exact place of the border does not matter.
 */
#define SLACK		1000000
#define STORM_MS	11500	/* three windows */
#define SLICE_MS	500
#define ROUNDS		3
#define KINDS		3	/* of faults */

#ifndef PR_SET_FPEMU
#define PR_SET_FPEMU		10
#define PR_FPEMU_NOPRINT	1
#endif

/* ---- faults ---- */

#ifdef __ia64__
#define HAVE_ASSISTS	true

/* An operand with the smallest exponent that a register can have: the result's is out of range. */
static void raise_frcpa(void)
{
	asm volatile ("setf.exp f6 = %0\n\t;;\n\tfrcpa.s0 f7, p6 = f6, f1\n\t;;"
		      : : "r" (1L) : "f6", "f7", "p6");
}

static void raise_frsqrta(void)
{
	asm volatile ("setf.exp f6 = %0\n\t;;\n\tfrsqrta.s0 f7, p6 = f6\n\t;;"
		      : : "r" (1L) : "f6", "f7", "p6");
}

/* 1 is the smallest denormal double. Which CPUs want help with one is their own business. */
static void raise_denormal(void)
{
	asm volatile ("setf.d f6 = %0\n\t;;\n\tfma.d.s0 f7 = f6, f1, f6\n\t;;"
		      : : "r" (1L) : "f6", "f7");
}
#else
#define HAVE_ASSISTS	false

static void raise_frcpa(void) { }
static void raise_frsqrta(void) { }
static void raise_denormal(void) { }
#endif

static struct {
	const char *name;
	void (*raise)(void);
	bool faults;		/* on this CPU */
} kind[KINDS] = {
	{ .name = "frcpa", .raise = raise_frcpa },	/* has to fault, on all CPUs */
	{ .name = "frsqrta", .raise = raise_frsqrta },
	{ .name = "denormal fma", .raise = raise_denormal },
};

/* ---- clock ---- */

static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

/* ---- the log ---- */

static int log_fd;
static bool log_lost;

/* What the messages of one phase, or of all that the fix let through, say. */
struct messages {
	__u64 n;
	unsigned int windows;	/* opened */
	unsigned int most;	/* messages in one */
	unsigned int quiet;	/* the last window before which there may be nothing to tell */
	unsigned int untold;	/* later ones that did not say what was not logged */
	unsigned int twice;	/* windows that said it more than once */
	__u64 told;		/* the sum of what they said, without the first window's */
	__u64 open;		/* the last window's first message, us */
	unsigned int in, tells;	/* its messages so far, and those that told */
	bool first_tells;
};

static void window_end(struct messages *m)
{
	if (m->windows > m->quiet && !m->tells)
		m->untold++;
	if (m->tells > 1)
		m->twice++;
}

static void message(struct messages *m, const char *text, __u64 us)
{
	const char *tail = strstr(text, " assist faults not logged");
	const char *number = tail;

	m->n++;
	if (!m->windows || us >= m->open + WINDOW - SLACK) {
		if (m->windows)
			window_end(m);
		m->windows++;
		m->open = us;
		m->in = 0;
		m->tells = 0;
		m->first_tells = tail;
	}
	if (++m->in > m->most)
		m->most = m->in;
	if (!tail)
		return;
	/* On another CPU the second message of a window may be printed before the first. */
	m->tells++;
	while (number > text && number[-1] >= '0' && number[-1] <= '9')
		number--;
	if (m->windows > 1)
		m->told += strtoul(number, NULL, 10);
}

/* All that came since the last call. A record is "priority,sequence,microseconds,flags;text". */
static void log_read(struct messages *m)
{
	static char buf[8192 + 1];
	const char *text, *us;
	ssize_t n;

	for (;;) {
		n = read(log_fd, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EPIPE) {
			log_lost = true;
			continue;
		}
		if (n <= 0)
			break;
		buf[n] = '\0';
		text = strchr(buf, ';');
		if (!text || !strstr(text, "floating-point assist fault"))
			continue;
		us = strchr(buf, ',');
		us = us ? strchr(us + 1, ',') : NULL;
		if (us && us < text)
			message(m, text, strtoul(us + 1, NULL, 10));
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		ksft_print_msg("/dev/kmsg cannot be read: %s\n", strerror(errno));
		log_lost = true;
	}
}

/* ---- switch and counters, CONFIG_CONTENTION_DEBUG ---- */

struct stats {
	__u64 allowed, suppressed;
};

static bool have_switch;
static char enabled_before[8];

static bool number_after(const char *text, const char *word, __u64 *value)
{
	const char *at = strstr(text, word);

	if (!at)
		return false;
	*value = strtoul(at + strlen(word), NULL, 10);
	return true;
}

static bool stats_get(struct stats *s)
{
	char buf[256];

	if (!have_switch)
		return true;
	if (file_read(SWITCHES "stats", buf, sizeof(buf)) ||
	    !number_after(buf, "allowed ", &s->allowed) ||
	    !number_after(buf, "suppressed ", &s->suppressed)) {
		ksft_print_msg(SWITCHES "stats cannot be read\n");
		return false;
	}
	return true;
}

static bool switch_set(bool on)
{
	if (!have_switch || !file_write(SWITCHES "enabled", on ? "1" : "0"))
		return true;
	ksft_print_msg(SWITCHES "enabled cannot be written: %s\n", strerror(errno));
	return false;
}

/* ---- a storm: one process per CPU ---- */

struct worker {
	/* Written by its process alone, and that all the time; hence the distance to others. */
	__u64 raised;	/* faults */
	__u64 tried;	/* instructions, whether they fault or not */
	int error;
	pid_t pid;
	char pad[LINES];
};

static struct shared {
	unsigned int ready;
	bool go, stop;
	char pad[LINES];
	struct worker w[MAX_CPUS];
} *shared;

static int cpu[MAX_CPUS], cpus, running;
static __u64 raised_on;		/* by reporting processes, while the switch was on */

static void restore_all(void)
{
	int i;

	for (i = 0; i < running; i++)
		kill(shared->w[i].pid, SIGKILL);
	if (enabled_before[0])
		switch_set(enabled_before[0] != '0');
}

static bool cpus_read(void)
{
	static unsigned long set[MAX_CPUS / 8 / sizeof(long)];
	long n = syscall(__NR_sched_getaffinity, 0, sizeof(set), set);
	int i;

	for (i = 0; i < n * 8; i++)
		if (set[i / 8 / sizeof(long)] >> i % (8 * sizeof(long)) & 1)
			cpu[cpus++] = i;
	return cpus > 0;
}

static int pin(int nr)
{
	unsigned long set[MAX_CPUS / 8 / sizeof(long)];

	memset(set, 0, sizeof(set));
	set[nr / 8 / sizeof(long)] = 1UL << nr % (8 * sizeof(long));
	return syscall(__NR_sched_setaffinity, 0, sizeof(set), set) ? errno : 0;
}

static void raise_kind(struct worker *w, unsigned int k)
{
	kind[k].raise();
	__atomic_store_n(&w->raised, w->raised + kind[k].faults, __ATOMIC_RELAXED);
	__atomic_store_n(&w->tried, w->tried + 1, __ATOMIC_RELAXED);
}

/* Either one fault of one kind, or all kinds in turn until the storm is over. */
static void work(struct worker *w, int nr, bool silent, int once)
{
	unsigned int k;

	restore = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	w->error = pin(nr);
	if (prctl(PR_SET_FPEMU, silent ? PR_FPEMU_NOPRINT : 0, 0, 0, 0))
		w->error = errno;
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
	while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE))
		sched_yield();
	if (once >= 0)
		raise_kind(w, once);
	else
		while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
			for (k = 0; k < KINDS; k++)
				if (kind[k].faults)
					raise_kind(w, k);
	_exit(0);
}

static bool wait_for(int n, bool (*done)(int), const char *what)
{
	int i, ms = 0;

	for (i = 0; i < n; i++)
		while (!done(i)) {
			if (ms++ > 10000) {
				ksft_print_msg("CPU %d: %s within 10 s\n", cpu[i], what);
				return false;
			}
			usleep(1000);
		}
	return true;
}

static bool is_ready(int i)
{
	(void)i;
	return __atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) >= (unsigned int)running;
}

static bool has_fault(int i)
{
	return __atomic_load_n(&shared->w[i].raised, __ATOMIC_RELAXED);
}

/*
 * Runs n processes for that long, or each for one fault of one kind. Returns false if one of them
 * was not where it should be, or made no progress; *faults is what all of them raised, *ns how long
 * that took.
 */
static bool storm(int n, unsigned int ms, bool silent, int once, __u64 *faults, __u64 *ns)
{
	bool good = true;
	__u64 begin;
	int i, status;

	memset(shared, 0, sizeof(*shared));
	for (running = 0; running < n; running++) {
		pid_t pid = fork();

		if (!pid)
			work(&shared->w[running], cpu[running], silent, once);
		if (pid < 0) {
			ksft_print_msg("no process %d: %s\n", running, strerror(errno));
			good = false;
			break;
		}
		shared->w[running].pid = pid;
	}
	n = running;
	good &= wait_for(n, is_ready, "process not ready");
	begin = now();
	__atomic_store_n(&shared->go, true, __ATOMIC_RELEASE);
	if (once < 0) {
		usleep(ms * 1000);
		good &= wait_for(n, has_fault, "no fault survived");
	}
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	/* Who is stuck would not see it. */
	for (i = 0; !good && i < n; i++)
		kill(shared->w[i].pid, SIGKILL);
	*faults = 0;
	for (i = 0; i < n; i++) {
		struct worker *w = &shared->w[i];

		if (waitpid(w->pid, &status, 0) != w->pid || status) {
			ksft_print_msg("CPU %d: the process ended with status 0x%x%s\n", cpu[i],
				       status, (status & 0x7f) == SIGFPE ?
				       ", SIGFPE: no assist handler in the firmware?" : "");
			good = false;
		}
		if (w->error) {
			ksft_print_msg("CPU %d: %s\n", cpu[i], strerror(w->error));
			good = false;
		}
		if (!w->tried) {
			ksft_print_msg("CPU %d: no progress\n", cpu[i]);
			good = false;
		}
		*faults += w->raised;
	}
	running = 0;
	*ns = now() - begin;
	return good;
}

/* ---- phases ---- */

enum mode { ON, ON_SILENT, OFF, OFF_SILENT, MODES };

static const char * const mode_name[MODES] = { "on", "on_silenced", "off", "off_silenced" };
static const char * const mode_asis[MODES] = { "asis", "asis_silenced", };

static struct messages on;	/* all that was printed while the fix was on */
static __u64 off_messages, silent_messages;
static __u64 on_moved;		/* counted by the kernel for reporting processes */
static __u64 wrong_moved;	/* counted though it was silenced or switched off */
static __u64 rate_faults[MODES], rate_ns[MODES];
static bool progress = true, readable = true;

static void phase(enum mode mode, int n, unsigned int ms, int once, bool rate)
{
	bool silent = mode == ON_SILENT || mode == OFF_SILENT;
	struct stats before = { 0, 0 }, after = { 0, 0 };
	struct messages other;
	__u64 faults, ns, messages = on.n, moved;

	/* A process that hangs would do so in each phase. */
	if (!progress)
		return;
	memset(&other, 0, sizeof(other));
	readable &= switch_set(mode == ON || mode == ON_SILENT);
	readable &= stats_get(&before);
	progress &= storm(n, ms, silent, once, &faults, &ns);
	readable &= stats_get(&after);
	log_read(mode == ON || mode == ON_SILENT ? &on : &other);
	messages = on.n - messages + other.n;
	moved = after.allowed - before.allowed + after.suppressed - before.suppressed;

	if (silent)
		silent_messages += messages;
	else if (mode == OFF)
		off_messages += messages;
	if (mode == ON) {
		on_moved += moved;
		raised_on += faults;
	} else {
		wrong_moved += moved;
	}
	if (rate) {
		rate_faults[mode] += faults;
		rate_ns[mode] += ns;
	}
}

/* After this the next message opens a window. */
static void quiet(void)
{
	usleep(WINDOW + SLACK / 2);
}

static void figures(void)
{
	unsigned int m, modes = have_switch ? MODES : OFF;
	char name[64];

	for (m = 0; m < modes; m++) {
		snprintf(name, sizeof(name), "fpswa_%s",
			 have_switch ? mode_name[m] : mode_asis[m]);
		figure(name, "%llu", rate_faults[m] * 1000 / (rate_ns[m] / 1000000 + 1),
		       "faults/s");
	}
	figure("fpswa_faults", "%llu", raised_on, "faults");
	figure("fpswa_messages", "%llu", on.n, "messages");
	figure("fpswa_windows", "%u", on.windows, "windows");
	if (have_switch)
		figure("fpswa_messages_off", "%llu", off_messages, "messages");
}

int main(void)
{
	struct stats begin = { 0, 0 }, end = { 0, 0 };
	__u64 before, told = 0;
	unsigned int k, m, r;
	bool logged, ran;
	const char *why;

	start();
	if (!HAVE_ASSISTS)
		skip_all("only ia64 has floating-point assist faults");
	if (!cpus_read())
		skip_all("cannot tell which CPUs it may run on: %s", strerror(errno));
	log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_fd < 0)
		skip_all("cannot open /dev/kmsg: %s", strerror(errno));
	lseek(log_fd, 0, SEEK_END);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		skip_all("no shared memory: %s", strerror(errno));
	have_switch = !file_read(SWITCHES "enabled", enabled_before, sizeof(enabled_before));
	why = geteuid() ? "the switch needs root" :
			  "no switch in debugfs (CONFIG_CONTENTION_DEBUG)";
	restore = restore_all;
	ksft_set_plan(9);
	ksft_print_msg("%d CPUs, %s\n", cpus, have_switch ? "switch" : why);

	/* One fault of each kind, in a window of their own, shows which of them this CPU has. */
	quiet();
	on.quiet = ~0U;
	for (k = 0; k < KINDS; k++) {
		before = on.n;
		phase(ON, 1, 0, k, false);
		kind[k].faults = on.n > before;
		raised_on += kind[k].faults;
		ksft_print_msg("%s: %s\n", kind[k].name, kind[k].faults ? "faults" : "no fault");
	}
	logged = kind[0].faults;
	/* On a slow machine each of these, and then the storm, opened a window of its own. */
	on.quiet = on.windows + 1;
	/* What was suppressed before us has been told by now, so the rest has to add up. */
	readable &= stats_get(&begin);

	if (logged) {
		phase(ON, cpus, STORM_MS, -1, false);
		for (r = 0; r < ROUNDS; r++)
			for (m = 0; m < (have_switch ? MODES : OFF); m++)
				phase(m, cpus, SLICE_MS, -1, true);
		/* A window that one fault opens, with nobody else about. */
		quiet();
		phase(ON, 1, 0, 0, false);
		window_end(&on);
		told = on.told;
		figures();
	}
	readable &= stats_get(&end);
	log_read(&on);
	/* Nothing is shown by a phase that was left out. */
	ran = logged && progress;

	ksft_print_msg("%llu faults, %llu messages in %u windows, %llu told to be not logged\n",
		       raised_on, on.n, on.windows, told);
	ksft_test_result(logged && on.n && !log_lost, "a fault is logged\n");
	ksft_test_result(ran, "every process made progress in every phase\n");
	ksft_test_result(ran && on.windows >= 4 && on.most <= BURST,
			 "at most %d messages in a window: %u\n", BURST, on.most);
	/* Without the switch, one has to say it once for us to know that this kernel can. */
	if (!have_switch && on.windows > 1 && !told)
		ksft_test_result_skip("later windows tell: none did; not patched, or %s\n", why);
	else
		ksft_test_result(ran && on.windows > 1 && on.first_tells && !on.untold && !on.twice,
				 "each later window tells what was not logged\n");
	ksft_test_result(ran && !silent_messages, "a silenced process adds no message\n");
	if (have_switch) {
		ksft_print_msg("counted %llu of %llu faults, %llu of them suppressed\n",
			       on_moved, raised_on, end.suppressed - begin.suppressed);
		ksft_test_result(ran && readable && on_moved == raised_on,
				 "each fault is counted once\n");
		ksft_test_result(ran && readable && told &&
				 told == end.suppressed - begin.suppressed,
				 "each suppressed one is told once\n");
		ksft_test_result(ran && readable && !wrong_moved,
				 "silenced or switched off, nothing is counted\n");
		ksft_test_result(ran && readable && rate_faults[ON] && rate_faults[OFF] &&
				 rate_faults[ON_SILENT] && rate_faults[OFF_SILENT],
				 "faults were raised in each mode\n");
	} else {
		ksft_test_result_skip("each fault is counted once: %s\n", why);
		ksft_test_result_skip("each suppressed one is told once: %s\n", why);
		ksft_test_result_skip("silenced or switched off, nothing is counted: %s\n", why);
		ksft_test_result_skip("faults were raised in each mode: %s\n", why);
	}
	finish();
	return 0;
}
