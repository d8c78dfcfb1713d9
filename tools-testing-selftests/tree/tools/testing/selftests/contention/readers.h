/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests here have in common: the clocksource and its debug switches, and a set of
 * threads, one per CPU, that read the clock as fast as they can and check each other.
 */
#ifndef CONTENTION_READERS_H
#define CONTENTION_READERS_H

#include "compat.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <sys/syscall.h>

#define MAX_CPUS	1024
#define NSEC		1000000000ULL
#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"
#define SWITCHES	"/sys/kernel/debug/contention/"

/* Never by the vDSO: it is the kernel's own read of the hardware that is under test. */
static inline uint64_t clock_read(void)
{
	struct timespec ts;

	if (syscall(__NR_clock_gettime, CLOCK_MONOTONIC, &ts))
		abort();
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static inline int file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

static inline int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	if (close(fd) || n != (ssize_t)strlen(text))
		return -1;
	return 0;
}

/* ---- clocksource ---- */

static char clocksource_before[32];

static inline int clocksource_current(char *name, size_t size)
{
	if (file_read(CLOCKSOURCE "current_clocksource", name, size))
		return -1;
	name[strcspn(name, " \n")] = '\0';
	return 0;
}

static inline bool clocksource_available(const char *name)
{
	char buf[256], *save, *word;

	if (file_read(CLOCKSOURCE "available_clocksource", buf, sizeof(buf)))
		return false;
	for (word = strtok_r(buf, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
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

static void clocksource_restore(void)
{
	if (clocksource_before[0])
		file_write(CLOCKSOURCE "current_clocksource", clocksource_before);
}

/*
 * The tests mean something only on a clocksource that is one device for all CPUs. Returns its
 * name, or NULL with the reason in why.
 */
static inline const char *clocksource_need(const char **why)
{
	static const char * const shared[] = { "hpet", "acpi_pm" };
	char now[32];
	unsigned int i;

	if (clocksource_current(now, sizeof(now))) {
		*why = "cannot read current_clocksource";
		return NULL;
	}
	for (i = 0; i < 2; i++)
		if (!strcmp(now, shared[i]))
			return shared[i];
	if (geteuid()) {
		*why = "clocksource is neither hpet nor acpi_pm, and changing it needs root";
		return NULL;
	}
	strcpy(clocksource_before, now);
	restore = clocksource_restore;
	for (i = 0; i < 2; i++)
		if (clocksource_available(shared[i]) && !clocksource_set(shared[i]))
			return shared[i];
	*why = "neither hpet nor acpi_pm can be the clocksource here";
	return NULL;
}

/* ---- debug switches, CONFIG_CONTENTION_DEBUG ---- */

struct stats {
	uint64_t leader, shared, stolen, fresh;
};

static inline int switch_set(const char *clocksource, const char *name, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), SWITCHES "%s/%s", clocksource, name);
	return file_write(path, on ? "1" : "0");
}

static inline int stats_get(const char *clocksource, struct stats *s)
{
	char path[128], buf[256];

	snprintf(path, sizeof(path), SWITCHES "%s/stats", clocksource);
	if (file_read(path, buf, sizeof(buf)))
		return -1;
	return sscanf(buf, "leader %lu shared %lu stolen %lu fresh %lu",
		      &s->leader, &s->shared, &s->stolen, &s->fresh) == 4 ? 0 : -1;
}

/* ---- CPUs ---- */

/* The CPUs that this process may run on; a CPU that is not in cpu[] is not ours to load. */
static inline int cpus_get(int *cpu)
{
	cpu_set_t set;
	int i, n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (i = 0; i < CPU_SETSIZE && n < MAX_CPUS; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n;
}

static inline int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* ---- readers ---- */

struct readers;

struct reader {
	/* Written by its thread alone, read by everyone; hence on lines of its own. */
	uint64_t reads __attribute__((aligned(128)));
	uint64_t on_cpu;	/* bursts of reads that began on the CPU meant for it */
	uint64_t back;		/* reads older than one that had returned before */
	uint64_t back_by;	/* the worst of them, ns */
	uint64_t longest;	/* from one return of the clock to the next, ns */
	uint64_t first, last;
	int error;
	int cpu;
	struct readers *all;
	pthread_t thread;
};

struct readers {
	struct reader *r;
	int n;
	bool check;		/* against the others too; costs a shared line per read */
	unsigned int ready __attribute__((aligned(128)));
	bool go, stop;
	uint64_t max __attribute__((aligned(128)));	/* the newest value that anyone has got */
};

/* A CPU that went offline and came back does not get its threads back by itself. */
#define BURST	64

static inline void reader_step_back(struct reader *r, uint64_t by)
{
	r->back++;
	if (by > r->back_by)
		r->back_by = by;
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct readers *all = r->all;
	uint64_t now, max, prev = 0, reads = 0;
	int cpu;

	if (pin(r->cpu))
		r->error = errno;
	__atomic_add_fetch(&all->ready, 1, __ATOMIC_ACQ_REL);
	while (!__atomic_load_n(&all->go, __ATOMIC_ACQUIRE))
		sched_yield();

	while (!__atomic_load_n(&all->stop, __ATOMIC_RELAXED)) {
		if (reads % BURST == 0) {
			cpu = sched_getcpu();
			if (cpu == r->cpu)
				r->on_cpu++;
			else
				pin(r->cpu);	/* fails while that CPU is offline */
		}
		if (all->check) {
			/*
			 * Acquire pairs with the release below: who sees a value in max comes
			 * after the read that got it, so it must not get an older one.
			 */
			max = __atomic_load_n(&all->max, __ATOMIC_ACQUIRE);
			now = clock_read();
			if (now < max)
				reader_step_back(r, max - now);
			while (max < now &&
			       !__atomic_compare_exchange_n(&all->max, &max, now, false,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
				;
		} else {
			now = clock_read();
			if (now < prev)
				reader_step_back(r, prev - now);
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
static inline int readers_start(struct readers *all, const int *cpu, int n, bool check)
{
	int i;

	memset(all, 0, sizeof(*all));
	all->check = check;
	if (posix_memalign((void **)&all->r, 128, n * sizeof(*all->r)))
		return -1;
	memset(all->r, 0, n * sizeof(*all->r));
	for (i = 0; i < n; i++) {
		all->r[i].cpu = cpu[i];
		all->r[i].all = all;
		if (pthread_create(&all->r[i].thread, NULL, reader_main, &all->r[i])) {
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

/* Waits until each reader has got one value that it began to read after this call. */
static inline int readers_progress(struct readers *all, unsigned int seconds)
{
	uint64_t from[MAX_CPUS];
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

/* Positive evidence only: pinned, all at the same time, all with progress, no step backwards. */
static inline bool readers_good(const struct readers *all)
{
	uint64_t first = 0, last = UINT64_MAX;
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
			ksft_print_msg("CPU %d: %lu of %lu reads went backwards, by up to %lu ns\n",
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

/* "# figure: name value unit" is what a runner collects. */
#define figure(name, fmt, value, unit)	ksft_print_msg("figure: %s " fmt " %s\n", name, value, unit)

static inline uint64_t readers_total(const struct readers *all)
{
	uint64_t total = 0;
	int i;

	for (i = 0; i < all->n; i++)
		total += all->r[i].reads;
	return total;
}

static inline uint64_t readers_longest(const struct readers *all)
{
	uint64_t longest = 0;
	int i;

	for (i = 0; i < all->n; i++)
		if (all->r[i].longest > longest)
			longest = all->r[i].longest;
	return longest;
}

static inline void readers_figures(const struct readers *all, const char *test)
{
	uint64_t min = UINT64_MAX, max = 0;
	char name[64];
	int i;

	for (i = 0; i < all->n; i++) {
		if (all->r[i].reads < min)
			min = all->r[i].reads;
		if (all->r[i].reads > max)
			max = all->r[i].reads;
	}
	snprintf(name, sizeof(name), "%s_reads", test);
	figure(name, "%lu", readers_total(all), "reads");
	snprintf(name, sizeof(name), "%s_reads_least", test);
	figure(name, "%lu", min, "reads");
	snprintf(name, sizeof(name), "%s_reads_most", test);
	figure(name, "%lu", max, "reads");
	snprintf(name, sizeof(name), "%s_longest_read", test);
	figure(name, "%lu", readers_longest(all) / 1000, "us");
}

#endif
