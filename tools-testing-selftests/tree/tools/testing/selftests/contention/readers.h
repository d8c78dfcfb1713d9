/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests here have in common: the clocksource, settings and debug switches, the kernel log,
 * and a set of threads, one per CPU, that read the clock as fast as they can and check each other.
 */
#ifndef CONTENTION_READERS_H
#define CONTENTION_READERS_H

#include "compat.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <linux/types.h>

#define MAX_CPUS	8192	/* the most that x86 can have */
#define LINES		128	/* bytes; a cache line and the one fetched with it */
#define NSEC		1000000000ULL
#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"
#define SWITCHES	"/sys/kernel/debug/contention/"
#define INJECT		SWITCHES "hpet/inject"
#define CPU_ONLINE	"/sys/devices/system/cpu/cpu%d/online"

/* Never by the vDSO: it is the kernel's own read of the hardware that is under test. */
static inline __u64 clock_read(void)
{
	struct timespec ts;

	if (syscall(__NR_clock_gettime, CLOCK_MONOTONIC, &ts))
		abort();
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static inline int cpu_set_online(int cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), CPU_ONLINE, cpu);
	return file_write(path, on ? "1" : "0");
}

/* ---- clocksource ---- */

static inline int clocksource_current(char *name, size_t size)
{
	if (file_read(CLOCKSOURCE "current_clocksource", name, size))
		return -1;
	name[strcspn(name, "\n ")] = '\0';
	return 0;
}

static inline bool clocksource_available(const char *name)
{
	char buf[256], *save, *word;

	if (file_read(CLOCKSOURCE "available_clocksource", buf, sizeof(buf)))
		return false;
	for (word = strtok_r(buf, "\n ", &save); word; word = strtok_r(NULL, "\n ", &save))
		if (!strcmp(word, name))
			return true;
	return false;
}

static inline int clocksource_set(const char *name)
{
	char now[32];

	if (file_write(CLOCKSOURCE "current_clocksource", name))
		return -1;
	return clocksource_current(now, sizeof(now)) || strcmp(now, name) ? -1 : 0;
}

/*
 * The tests mean something only on a clocksource that is one device for all CPUs. They do not
 * make it one: on a big machine without the fix, readers that all go to the device at once are
 * the very lockup that the fix is about, and who runs all selftests did not ask for that.
 */
static inline const char *clocksource_need(void)
{
	static const char * const shared[] = { "hpet", "acpi_pm" };
	char now[32];
	unsigned int i;

	if (clocksource_current(now, sizeof(now)))
		skip_all("cannot read " CLOCKSOURCE "current_clocksource");
	for (i = 0; i < 2; i++)
		if (!strcmp(now, shared[i]))
			return shared[i];
	for (i = 0; i < 2; i++)
		if (clocksource_available(shared[i]))
			skip_all("clocksource is %s; boot with clocksource=%s or 'echo %s >"
				 CLOCKSOURCE "current_clocksource' first",
				 now, shared[i], shared[i]);
	skip_all("clocksource is %s; this machine offers neither hpet nor acpi_pm", now);
}

/* ---- settings ---- */

static struct {
	char path[96];
	char text[64];
} saved[8];
static unsigned int nr_saved;

/* Returns what stands in a file, and will again after settings_restore(); NULL: unknown. */
static inline const char *setting_save(const char *path)
{
	if (nr_saved == 8 || file_read(path, saved[nr_saved].text, sizeof(saved[0].text)))
		return NULL;
	snprintf(saved[nr_saved].path, sizeof(saved[0].path), "%s", path);
	return saved[nr_saved++].text;
}

static inline void settings_restore(void)
{
	unsigned int i;

	for (i = nr_saved; i--; )
		file_write(saved[i].path, saved[i].text);
}

/* ---- debug switches, CONFIG_CONTENTION_DEBUG ---- */

struct stats {
	__u64 leader, shared, stolen, fresh;
};

static inline int switch_set(const char *clocksource, const char *name, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), SWITCHES "%s/%s", clocksource, name);
	return file_write(path, on ? "1" : "0");
}

/* Returns whether there are any. */
static inline bool switches_save(const char *fix)
{
	char enabled[96], plain[96];

	snprintf(enabled, sizeof(enabled), SWITCHES "%s/enabled", fix);
	snprintf(plain, sizeof(plain), SWITCHES "%s/plain", fix);
	return setting_save(enabled) && setting_save(plain);
}

static inline int stats_get(const char *clocksource, struct stats *s)
{
	char path[128], buf[256];

	snprintf(path, sizeof(path), SWITCHES "%s/stats", clocksource);
	if (file_read(path, buf, sizeof(buf)))
		return -1;
	return sscanf(buf, "leader %llu shared %llu stolen %llu fresh %llu",
		      &s->leader, &s->shared, &s->stolen, &s->fresh) == 4 ? 0 : -1;
}

/* ---- the kernel log ---- */

#define KMSG		"/dev/kmsg"

static int kmsg = -1;
static bool kmsg_lost;	/* lines that were overwritten before they were read */

/* Returns 0, or -1 and errno. */
static inline int kmsg_open(void)
{
	kmsg = open(KMSG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0 && lseek(kmsg, 0, SEEK_END) < 0)
		kmsg = -1;
	return kmsg < 0 ? -1 : 0;
}

static inline void kmsg_read(void (*record)(char *line))
{
	char line[8192 + 1];	/* the most that one read returns */
	int tries;
	ssize_t n;

	/* Not for ever: without a limit messages come faster than they are read. */
	for (tries = 0; kmsg >= 0 && tries < 10000; tries++) {
		n = read(kmsg, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE) {
			kmsg_lost = true;
			continue;
		}
		if (n <= 0)
			break;
		line[n] = '\0';
		record(line);
	}
}

/* ---- CPUs ---- */

/*
 * The CPUs that this process may run on; a CPU that is not in cpu[] is not ours to load. The
 * kernel fills no set smaller than its own, which has the CPUs that are possible only, too.
 */
static inline int cpus_need(int *cpu)
{
	int i, bits, n = 0, err = EINVAL;
	cpu_set_t *set;
	size_t size;

	for (bits = sysconf(_SC_NPROCESSORS_CONF); err == EINVAL && bits < 1 << 20; bits *= 2) {
		size = CPU_ALLOC_SIZE(bits);
		set = CPU_ALLOC(bits);
		if (!set)
			skip_all("no memory for a set of %d CPUs", bits);
		err = sched_getaffinity(0, size, set) ? errno : 0;
		for (i = 0; !err && i < (int)size * 8 && n < MAX_CPUS; i++)
			if (CPU_ISSET_S(i, size, set))
				cpu[n++] = i;
		CPU_FREE(set);
	}
	if (err)
		skip_all("cannot tell which CPUs it may run on: %s", strerror(err));
	if (n < 2)
		skip_all("needs 2 CPUs at least");
	return n;
}

/* Returns 0 or the error. */
static inline int pin(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	int err = ENOMEM;

	if (set) {
		CPU_ZERO_S(size, set);
		CPU_SET_S(cpu, size, set);
		err = sched_setaffinity(0, size, set) ? errno : 0;
	}
	CPU_FREE(set);
	return err;
}

/* ---- readers ---- */

struct readers;

struct reader {
	/* Written by its thread alone, and that all the time; hence the distance to others. */
	__u64 reads;
	__u64 on_cpu;	/* bursts of reads that began on the CPU meant for it */
	__u64 back;		/* reads older than one that had returned before */
	__u64 back_by;	/* the worst of them, ns */
	__u64 longest;	/* from one return of the clock to the next, ns */
	__u64 first, last;
	int error;
	int cpu;
	struct readers *all;
	pthread_t thread;
	char pad[LINES];
};

struct readers {
	struct reader *r;
	int n;
	bool check;		/* against the others too; costs a shared line per read */
	char pad1[LINES];
	unsigned int ready;
	bool go, stop;
	char pad2[LINES];
	__u64 max;	/* the newest value that anyone has got */
	char pad3[LINES];
};

/* A CPU that went offline and came back does not get its threads back by itself. */
#define BURST	64

static inline void reader_step_back(struct reader *r, __u64 now, __u64 than)
{
	__u64 by = than - now;

	r->back++;
	if (by > r->back_by)
		r->back_by = by;
}

static inline void reader_begin(struct reader *r)
{
	r->error = pin(r->cpu);
	__atomic_add_fetch(&r->all->ready, 1, __ATOMIC_ACQ_REL);
	while (!__atomic_load_n(&r->all->go, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void reader_on_cpu(struct reader *r)
{
	if (sched_getcpu() == r->cpu)
		r->on_cpu++;
	else
		pin(r->cpu);	/* fails while that CPU is offline */
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct readers *all = r->all;
	__u64 now, max, prev = 0, reads = 0;

	reader_begin(r);
	while (!__atomic_load_n(&all->stop, __ATOMIC_RELAXED)) {
		if (reads % BURST == 0)
			reader_on_cpu(r);
		if (all->check) {
			/*
			 * Acquire pairs with the release below: who sees a value in max comes
			 * after the read that got it, so it must not get an older one.
			 */
			max = __atomic_load_n(&all->max, __ATOMIC_ACQUIRE);
			now = clock_read();
			if (now < max)
				reader_step_back(r, now, max);
			while (max < now &&
			       !__atomic_compare_exchange_n(&all->max, &max, now, false,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
				;
		} else {
			now = clock_read();
			if (now < prev)
				reader_step_back(r, now, prev);
		}
		if (!prev)
			r->first = now;
		else if (now > prev && now - prev > r->longest)
			r->longest = now - prev;
		prev = now;
		__atomic_store_n(&r->reads, ++reads, __ATOMIC_RELAXED);
	}
	r->last = prev;
	return NULL;
}

/* Nobody reads before everybody is on its CPU and main has said go. */
static inline int readers_start_as(struct readers *all, const int *cpu, int n, bool check,
				   void *(*loop)(void *))
{
	int i;

	memset(all, 0, sizeof(*all));
	all->check = check;
	all->r = calloc(n, sizeof(*all->r));
	if (!all->r)
		return -1;
	for (i = 0; i < n; i++) {
		all->r[i].cpu = cpu[i];
		all->r[i].all = all;
		if (pthread_create(&all->r[i].thread, NULL, loop, &all->r[i])) {
			ksft_print_msg("thread %d cannot be created\n", i);
			break;
		}
		all->n++;
	}
	while (__atomic_load_n(&all->ready, __ATOMIC_ACQUIRE) < (unsigned int)all->n)
		usleep(1000);
	__atomic_store_n(&all->go, true, __ATOMIC_RELEASE);
	return all->n == n ? 0 : -1;
}

static inline int readers_start(struct readers *all, const int *cpu, int n, bool check)
{
	return readers_start_as(all, cpu, n, check, reader_main);
}

static inline void readers_stop(struct readers *all)
{
	int i;

	__atomic_store_n(&all->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < all->n; i++)
		pthread_join(all->r[i].thread, NULL);
}

static inline void readers_free(struct readers *all)
{
	free(all->r);
	all->r = NULL;
}

static inline __u64 readers_total(const struct readers *all)
{
	__u64 total = 0;
	int i;

	for (i = 0; i < all->n; i++)
		total += __atomic_load_n(&all->r[i].reads, __ATOMIC_RELAXED);
	return total;
}

/* Waits until each reader has got one value that it began to read after this call. */
static inline int readers_progress(struct readers *all, unsigned int seconds)
{
	static __u64 from[MAX_CPUS];	/* too large for a stack */
	unsigned int ms = 0;
	int i;

	for (i = 0; i < all->n; i++)
		from[i] = __atomic_load_n(&all->r[i].reads, __ATOMIC_RELAXED);
	for (i = 0; i < all->n; i++)
		while (__atomic_load_n(&all->r[i].reads, __ATOMIC_RELAXED) < from[i] + 2) {
			if (ms++ > seconds * 1000) {
				ksft_print_msg("reader on CPU %d got no value for %u s\n",
					       all->r[i].cpu, seconds);
				return -1;
			}
			usleep(1000);
		}
	return 0;
}

/* The same for any one of them, which is much sooner where CPUs are few. */
static inline int readers_any(struct readers *all, unsigned int seconds)
{
	__u64 from = readers_total(all);
	unsigned int ms = 0;

	/* More reads than readers: one of them has begun one since. */
	while (readers_total(all) <= from + all->n) {
		if (ms++ > seconds * 1000) {
			ksft_print_msg("no reader got a value for %u s\n", seconds);
			return -1;
		}
		usleep(1000);
	}
	return 0;
}

/*
 * For the end of a test: each has begun a read after all had got their first value, so they all ran
 * at the same time, however long one of them was starved.
 */
static inline int readers_together(struct readers *all, unsigned int seconds)
{
	return readers_progress(all, seconds) || readers_progress(all, seconds) ? -1 : 0;
}

/* Positive evidence only: pinned, all at the same time, all with progress, no step backwards. */
static inline bool readers_good(const struct readers *all)
{
	__u64 first = 0, last = ~0ULL;
	bool good = all->n > 0;
	int i;

	for (i = 0; i < all->n; i++) {
		const struct reader *r = &all->r[i];

		if (r->error || !r->on_cpu) {
			ksft_print_msg("CPU %d: reader was not there: %s\n", r->cpu,
				       r->error ? strerror(r->error) : "never ran on it");
			good = false;
		}
		if (!r->reads) {
			ksft_print_msg("CPU %d: no read at all\n", r->cpu);
			good = false;
			continue;
		}
		if (r->back) {
			ksft_print_msg("CPU %d: %llu of %llu went backwards, by up to %llu ns\n",
				       r->cpu, r->back, r->reads, r->back_by);
			good = false;
		}
		if (r->first > first)
			first = r->first;
		if (r->last < last)
			last = r->last;
	}
	if (good && first >= last) {
		ksft_print_msg("the readers did not run at the same time\n");
		good = false;
	}
	return good;
}

static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts n rates; prints their median, which it returns, the least and the most of them. */
static inline double figure_rates(const char *what, double *rate, int n, const char *unit)
{
	char name[80];

	qsort(rate, n, sizeof(rate[0]), by_size);
	figure(what, "%.1f", rate[n / 2], unit);
	snprintf(name, sizeof(name), "%s_min", what);
	figure(name, "%.1f", rate[0], unit);
	snprintf(name, sizeof(name), "%s_max", what);
	figure(name, "%.1f", rate[n - 1], unit);
	return rate[n / 2];
}

static inline __u64 readers_longest(const struct readers *all)
{
	__u64 longest = 0;
	int i;

	for (i = 0; i < all->n; i++)
		if (all->r[i].longest > longest)
			longest = all->r[i].longest;
	return longest;
}

static inline void readers_figures(const struct readers *all, const char *test)
{
	__u64 min = ~0ULL, max = 0;
	char name[64];
	int i;

	for (i = 0; i < all->n; i++) {
		if (all->r[i].reads < min)
			min = all->r[i].reads;
		if (all->r[i].reads > max)
			max = all->r[i].reads;
	}
	snprintf(name, sizeof(name), "%s_reads", test);
	figure(name, "%llu", readers_total(all), "reads");
	snprintf(name, sizeof(name), "%s_reads_least", test);
	figure(name, "%llu", min, "reads");
	snprintf(name, sizeof(name), "%s_reads_most", test);
	figure(name, "%llu", max, "reads");
	snprintf(name, sizeof(name), "%s_longest_read", test);
	figure(name, "%llu", readers_longest(all) / 1000, "us");
}

#endif
