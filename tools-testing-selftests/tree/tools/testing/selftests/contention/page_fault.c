// SPDX-License-Identifier: GPL-2.0
/*
 * A large parallel program has started: its processes all fault for the pages of one file, and each
 * fault tries page locks. What is proven: whoever touches a page finds what belongs there, whatever
 * happens to the file meanwhile, and all get on. With CONFIG_CONTENTION_DEBUG, figures: the look at
 * the lock switched on against off, in short slices that take turns. Those are never a verdict.
 *
 * In a directory that is usually in memory and in one that is usually on a disk.
 */
#include "pages.h"
#include <limits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <linux/futex.h>

#define AROUND		"/sys/kernel/debug/fault_around_bytes"
#define PAGES		10000	/* of the file; as the text of a large program */
#define PAGES_LEAST	256
#define RANGE		256	/* pages that are disturbed at once, at most */
#define WINDOW		64	/* pages that a worker keeps, where another is to get on beside */
#define RUN		(600 * 1000)	/* us */
#define SLICE		(150 * 1000)
#define SLICE_ALONE	(120 * 1000)
#define ROUNDS		3
#define WORDS		3	/* checked in a page: the first, a middle one, the last */

enum mode { OFF, ON, MODES };

static const char * const mode_name[MODES] = { "off", "on" };

/*
 * What is in a page, which is also a count of what was done to it: four steps of this are a
 * generation. While a page is punched it has its old words or zeros, while it is written zeros or
 * its new ones.
 */
enum phase { WRITTEN, PUNCHED, EMPTY, FILLED, PHASES };

struct totals {
	__u64 touched;		/* pages; what the disturbing one does is counted here too */
	__u64 empty;		/* pages that could be nothing but zero */
	__u64 changing;		/* pages that were changed just then */
	__u64 faults, major, ns, user_us, system_us;
};

struct worker {
	/* Written by its worker alone, and that all the time; hence the distance to others. */
	struct totals did;	/* in one run */
	__u64 wrong;
	char first_wrong[96];
	unsigned int passes;
	unsigned int rested;	/* the last round that it has seen the end of */
	const char *failed;	/* what, and errno of that */
	int error;
	/* for the worker, from main: */
	void (*job)(struct worker *w);
	int cpu;		/* -1: any */
	__u64 least;		/* what it has to have touched before a run may end */
	/* what it works with: */
	int fd;
	int flags;
	char *map;
	__u32 seed;
	/* main's own: */
	pid_t pid;
	pthread_t thread;
	char pad[LINES];
};

/* What the workers do; set before they start. */
struct task {
	const char *name;
	bool threads;
	bool one_map;		/* all touch the same mapping, and none of them zaps it */
	unsigned int window;	/* pages after which they are given back; 0: the whole file */
	bool (*beside)(struct worker *w);	/* what one more does meanwhile */
	bool holes;		/* the file has no page to begin with */
};

struct crew {
	unsigned int round;	/* odd: work; even: rest */
	bool quit;
};

/* Shared with all processes. */
static struct crew *crew;
static struct worker *worker;
static __u32 *state;

static int workers;		/* with the disturbing one */
static const int *cpus;
static struct task task;

static int file;
static char key[32];		/* of its file system, in figures */
static unsigned int pages;
static char *buffer;		/* RANGE pages */
static char *common;		/* the mapping of one_map */
static enum { NOTHING, PATTERN, HOLES } content;

static const char *no_figures;	/* why */
static const char *around, *unfairness;	/* as they were; NULL: not there */
static bool counted = true;
static __u64 seen[MODES], slices;

/* ---- what is in a page ---- */

static __u64 word(unsigned int page, __u32 generation, unsigned int which)
{
	return (page + 1ULL) << 40 | (__u64)generation << 8 | (which + 1);
}

static size_t offset(unsigned int which)
{
	return which == WORDS - 1 ? page_size - sizeof(__u64) : which * page_size / (WORDS - 1);
}

static void page_make(char *at, unsigned int page, __u32 generation)
{
	unsigned int i;
	__u64 value;

	memset(at, 0, page_size);
	for (i = 0; i < WORDS; i++) {
		value = word(page, generation, i);
		memcpy(at + offset(i), &value, sizeof(value));
	}
}

/* Each byte is zero or has come to what it will be: a copy may stop between any two bytes. */
static bool mixed(__u64 found, __u64 whole)
{
	for (; found; found >>= 8, whole >>= 8)
		if ((found & 255) && (found & 255) != (whole & 255))
			return false;
	return true;
}

/* May this be found at some moment while the state of the page goes from before to after? */
static bool legal(unsigned int page, unsigned int which, __u64 found, __u32 before, __u32 after)
{
	__u32 generation = before / PHASES, phase = before % PHASES, steps = after - before;
	__u64 old = word(page, generation, which), new = word(page, generation + 1, which);

	if (!steps && phase == WRITTEN)
		return found == old;
	if (!steps && phase == EMPTY)
		return !found;
	/* The toucher did not run for long, and there are three generations that it may be. */
	if (phase + steps >= PHASES + FILLED)
		return true;
	if (phase <= PUNCHED && mixed(found, old))
		return true;
	return phase + steps >= FILLED && mixed(found, new);
}

static void page_check(struct worker *w, unsigned int page)
{
	const char *at = w->map + page * page_size;
	__u32 before, after;
	__u64 found[WORDS];
	unsigned int i;

	/*
	 * Acquire, all of them, keep the order in which they stand here. The first pairs with the
	 * release in states_step(): who sees that a page was emptied comes after that was done.
	 * The others pair with the fence there: who has got a word of what was done next sees in
	 * the end that the state has moved on.
	 */
	before = __atomic_load_n(&state[page], __ATOMIC_ACQUIRE);
	for (i = 0; i < WORDS; i++)
		found[i] = __atomic_load_n((const __u64 *)(at + offset(i)), __ATOMIC_ACQUIRE);
	after = __atomic_load_n(&state[page], __ATOMIC_RELAXED);

	if (before != after || before % PHASES == PUNCHED || before % PHASES == FILLED)
		w->did.changing++;
	else if (before % PHASES == EMPTY)
		__atomic_store_n(&w->did.empty, w->did.empty + 1, __ATOMIC_RELAXED);
	for (i = 0; i < WORDS; i++) {
		if (legal(page, i, found[i], before, after))
			continue;
		if (!w->wrong++)
			snprintf(w->first_wrong, sizeof(w->first_wrong),
				 "page %u word %u: %#llx, state %u-%u", page, i, found[i], before,
				 after);
		return;
	}
}

/* ---- the file ---- */

static bool file_put(const char *from, unsigned int page, unsigned int n)
{
	ssize_t size = n * page_size;

	return pwrite(file, from, size, (off_t)page * page_size) == size;
}

static bool file_make(bool holes)
{
	unsigned int page;

	if (content == (holes ? HOLES : PATTERN))
		return true;
	content = NOTHING;
	if (ftruncate(file, 0) || ftruncate(file, (off_t)pages * page_size))
		return false;
	for (page = 0; page < pages; page++) {
		state[page] = holes ? EMPTY : WRITTEN;
		if (holes)
			continue;
		page_make(buffer, page, 0);
		/* One by one, or a file system may make large folios, which one fault maps. */
		if (!file_put(buffer, page, 1))
			return false;
	}
	/* Or the disk is still written to while something else is measured. */
	if (fsync(file))
		return false;
	content = holes ? HOLES : PATTERN;
	return true;
}

static char *map_file(int fd, int flags)
{
	char *map = mmap(NULL, pages * page_size, PROT_READ, flags, fd, 0);

	/* One fault for 512 pages would be no load. Fails where there are no such pages. */
	if (map != MAP_FAILED)
		madvise(map, pages * page_size, MADV_NOHUGEPAGE);
	return map;
}

/* Which of n pages are in memory, and how many; or -1. */
static int file_resident(unsigned int page, unsigned int n, unsigned char *in)
{
	char *map = map_file(file, MAP_SHARED);
	int count = -1;
	unsigned int i;

	if (map == MAP_FAILED)
		return -1;
	if (!mincore(map + page * page_size, n * page_size, in))
		for (i = count = 0; i < n; i++)
			count += in[i] & 1;
	munmap(map, pages * page_size);
	return count;
}

static bool file_drop(unsigned int page, unsigned int n)
{
	return !fsync(file) && !posix_fadvise(file, (off_t)page * page_size, (off_t)n * page_size,
					      POSIX_FADV_DONTNEED);
}

static bool file_punch(unsigned int page, unsigned int n)
{
	return !fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)page * page_size, (off_t)n * page_size);
}

/* ---- what happens beside ---- */

/* Nobody misses a rest: main waits for all to come to it. */
static inline bool working(void)
{
	return __atomic_load_n(&crew->round, __ATOMIC_ACQUIRE) % 2;
}

static __u32 next_random(struct worker *w, __u32 below)
{
	w->seed = w->seed * 1664525 + 1013904223;
	return ((__u64)w->seed * below) >> 32;
}

static void next_range(struct worker *w, unsigned int *page, unsigned int *n)
{
	*n = 1 + next_random(w, RANGE < pages ? RANGE : pages);
	*page = next_random(w, pages - *n + 1);
}

/*
 * What another worker will touch soon: where all are slow (see beside_drop()), nobody gets all
 * around the file in time.
 */
static void next_range_ahead(struct worker *w, unsigned int *page, unsigned int *n)
{
	const struct worker *other = &worker[next_random(w, workers - 1)];
	__u64 touched = __atomic_load_n(&other->did.touched, __ATOMIC_RELAXED);

	*page = (touched + next_random(w, WINDOW)) % pages;
	*n = 1 + next_random(w, RANGE);
	if (*n > pages - *page)
		*n = pages - *page;
}

static inline void count(struct worker *w)
{
	__atomic_store_n(&w->did.touched, w->did.touched + 1, __ATOMIC_RELAXED);
}

static bool beside_zap(struct worker *w)
{
	unsigned int page, n;

	next_range(w, &page, &n);
	if (madvise(common + page * page_size, n * page_size, MADV_DONTNEED))
		return false;
	count(w);
	return true;
}

static bool beside_drop(struct worker *w)
{
	unsigned char before[RANGE], after[RANGE];
	unsigned int page, n, i = 0;

	/* Some of the touches are to find a page that another has just read. */
	usleep(2000);
	/*
	 * Not the whole file, and neither does a worker give back all of it at once: pages take the
	 * lock of the LRU lists, which all are in a queue for. With fewer real CPUs than a guest
	 * has, the next in the queue often does not run, and 10000 pages take half a minute.
	 */
	next_range(w, &page, &n);
	if (file_resident(page, n, before) < 0 || !file_drop(page, n) ||
	    file_resident(page, n, after) < 0)
		return false;
	/*
	 * What left was read in this run, as the file was dropped before it; others have come
	 * meanwhile. Major faults do not tell: a fault that had to wait for the lock of a page
	 * counts as one.
	 */
	while (i < n && !(before[i] & ~after[i] & 1))
		i++;
	if (i < n)
		count(w);
	return true;
}

static bool beside_holes(struct worker *w)
{
	unsigned int page, n;
	char *dirt;

	/* Else memory that a hole gets may be what a hole had: zero, even if nobody cleared it. */
	dirt = mmap(NULL, RANGE * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (dirt == MAP_FAILED)
		return false;
	memset(dirt, 0x5a, RANGE * page_size);
	munmap(dirt, RANGE * page_size);
	next_range(w, &page, &n);
	if (!file_punch(page, n))
		return false;
	count(w);
	return true;
}

static void states_step(unsigned int page, unsigned int n)
{
	unsigned int i;

	/* Release: what was done to the page before is done. Pairs with page_check(). */
	for (i = 0; i < n; i++)
		__atomic_store_n(&state[page + i], state[page + i] + 1, __ATOMIC_RELEASE);
	/* The state goes first, then what is done next. Pairs with page_check() as well. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static __u64 touches_of_empty(void)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < workers; i++)
		sum += __atomic_load_n(&worker[i].did.empty, __ATOMIC_RELAXED);
	return sum;
}

static bool beside_punch(struct worker *w)
{
	unsigned int page, n, i;
	__u64 seen_before;

	next_range_ahead(w, &page, &n);
	for (i = 0; i < n; i++)
		page_make(buffer + i * page_size, page + i, state[page + i] / PHASES + 1);
	states_step(page, n);
	if (!file_punch(page, n))
		return false;
	states_step(page, n);
	/* Now and then until somebody has seen it; where all is slow, nobody might. */
	seen_before = touches_of_empty();
	while (w->did.touched % 4 == 0 && working() && touches_of_empty() == seen_before)
		usleep(100);
	states_step(page, n);
	if (!file_put(buffer, page, n))
		return false;
	states_step(page, n);
	count(w);
	return true;
}

/* ---- workers ---- */

static void worker_failed(struct worker *w, const char *what)
{
	w->error = errno;
	__atomic_store_n(&w->failed, what, __ATOMIC_RELEASE);
}

static bool map_new(struct worker *w)
{
	w->map = map_file(w->fd, w->flags);
	return w->map != MAP_FAILED;
}

/* The pages are to fault again. A mapping that goes and comes is what a new process has, too. */
static bool map_forget(struct worker *w, unsigned int from, unsigned int to)
{
	if (to - from == pages && w->passes++ % 2)
		return !munmap(w->map, pages * page_size) && map_new(w);
	return !madvise(w->map + from * page_size, (to - from) * page_size, MADV_DONTNEED);
}

static void touch(struct worker *w)
{
	unsigned int page = 0, from = 0, window = task.window ? task.window : pages;

	while (working()) {
		page_check(w, page++);
		count(w);
		if (page == pages || page - from == window) {
			if (!task.one_map && !map_forget(w, from, page)) {
				worker_failed(w, "cannot map the file anew");
				return;
			}
			from = page == pages ? 0 : page;
		}
		if (page == pages)
			page = 0;
	}
}

static void disturber(struct worker *w)
{
	while (working()) {
		if (!task.beside(w)) {
			worker_failed(w, "cannot do it");
			return;
		}
	}
}

static __u64 microseconds(const struct timeval *from, const struct timeval *to)
{
	return (to->tv_sec - from->tv_sec) * 1000000LL + to->tv_usec - from->tv_usec;
}

static void worker_run(struct worker *w)
{
	struct rusage before, after;
	__u64 begin = clock_read();

	getrusage(RUSAGE_THREAD, &before);
	w->job(w);
	getrusage(RUSAGE_THREAD, &after);
	w->did.ns = clock_read() - begin;
	w->did.major = after.ru_majflt - before.ru_majflt;
	w->did.faults = w->did.major + after.ru_minflt - before.ru_minflt;
	w->did.user_us = microseconds(&before.ru_utime, &after.ru_utime);
	w->did.system_us = microseconds(&before.ru_stime, &after.ru_stime);
	if (w->failed || !w->map)
		return;
	/* The next run begins with no page, like this one, and that is not part of it. */
	if (madvise(w->map, pages * page_size, MADV_DONTNEED))
		worker_failed(w, "cannot give the pages back");
}

static bool worker_open(struct worker *w)
{
	char path[64];

	if (task.one_map) {
		w->map = common;
		return true;
	}
	/* As a program is opened by each that runs it: readahead's state is per open file. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	return w->fd >= 0 && map_new(w);
}

static void worker_life(struct worker *w)
{
	unsigned int round = 0, now;

	errno = w->cpu < 0 ? 0 : pin(w->cpu);
	if (errno)
		worker_failed(w, "cannot run on its CPU");
	else if (w->job == touch && !worker_open(w))
		worker_failed(w, "cannot map the file");
	for (;;) {
		/*
		 * Release: all that main wants to know of the run stands in *w. Pairs with
		 * has_rested().
		 */
		__atomic_store_n(&w->rested, round, __ATOMIC_RELEASE);
		while ((now = __atomic_load_n(&crew->round, __ATOMIC_ACQUIRE)) == round)
			syscall(__NR_futex, &crew->round, FUTEX_WAIT, round, NULL, NULL, 0);
		round = now;
		if (__atomic_load_n(&crew->quit, __ATOMIC_RELAXED))
			break;
		if (round % 2 && !w->failed)
			worker_run(w);
	}
	if (w->fd >= 0) {
		munmap(w->map, pages * page_size);
		close(w->fd);
	}
}

static void *worker_thread(void *arg)
{
	worker_life(arg);
	return NULL;
}

static bool worker_start(struct worker *w)
{
	pid_t parent = getpid(), pid;

	if (task.threads) {
		errno = pthread_create(&w->thread, NULL, worker_thread, w);
		return !errno;
	}
	pid = fork();
	if (pid) {
		/* *w is shared: only the parent may write to this. */
		w->pid = pid;
		return pid > 0;
	}
	/* What there is to undo, the parent does. */
	restore = NULL;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	worker_life(w);
	_exit(0);
}

/* A process may have been killed, by a fault for one. */
static bool worker_gone(struct worker *w)
{
	int status;

	if (w->pid <= 0 || waitpid(w->pid, &status, WNOHANG) != w->pid)
		return w->pid < 0;
	if (WIFSIGNALED(status))
		complain("worker %td ended by signal %d", w - worker, WTERMSIG(status));
	else
		complain("worker %td ended with status %d", w - worker, WEXITSTATUS(status));
	w->pid = -1;
	return true;
}

static bool has_rested(const struct worker *w)
{
	/* Acquire pairs with the release in worker_life(). */
	return __atomic_load_n(&w->rested, __ATOMIC_ACQUIRE) == crew->round;
}

static bool has_got_on(const struct worker *w)
{
	return __atomic_load_n(&w->did.touched, __ATOMIC_RELAXED) >= w->least ||
	       __atomic_load_n(&w->failed, __ATOMIC_RELAXED);
}

/* Until all have come to it; crew_judge() says who has not in time. */
static void crew_await(bool (*come)(const struct worker *), unsigned int seconds)
{
	__u64 end = clock_read() + seconds * (__u64)NSEC;
	int i;

	for (i = 0; i < workers; i++)
		while (!come(&worker[i]) && !worker_gone(&worker[i]) && clock_read() < end)
			usleep(1000);
}

static void crew_turn(void)
{
	/* Release: the workers see what main has set in *w. Pairs with worker_life(), working(). */
	__atomic_store_n(&crew->round, crew->round + 1, __ATOMIC_RELEASE);
	syscall(__NR_futex, &crew->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* n that touch, and one that disturbs if the task has that. Nobody works until crew_run(). */
static void crew_start(int n)
{
	int i, want = n + !!task.beside;
	bool started = true;

	memset(crew, 0, sizeof(*crew));
	memset(worker, 0, want * sizeof(*worker));
	if (task.one_map) {
		common = map_file(file, MAP_SHARED);
		if (common == MAP_FAILED) {
			complain("cannot map the file: %s", strerror(errno));
			want = 0;
		}
	}
	for (i = workers = 0; started && i < want; i++) {
		worker[i].job = i < n ? touch : disturber;
		worker[i].cpu = i < n ? cpus[i] : -1;
		worker[i].rested = ~0U;
		worker[i].fd = -1;
		/* As text is mapped, and as data is. */
		worker[i].flags = i % 2 ? MAP_SHARED : MAP_PRIVATE;
		worker[i].seed = i;
		started = worker_start(&worker[i]);
		if (started)
			workers++;
		else
			complain("worker %d cannot start: %s", i, strerror(errno));
	}
	crew_await(has_rested, watchdog_seconds());
}

/* Positive evidence only: they all touched pages, which faulted, and none was wrong. */
static void crew_judge(void)
{
	int i;

	if (!workers)
		complain("nobody worked");
	for (i = 0; i < workers; i++) {
		const struct worker *w = &worker[i];

		if (w->failed)
			complain("worker %d %s: %s", i, w->failed, strerror(w->error));
		else if (w->did.touched < w->least)
			complain("worker %d did no more than %llu", i, w->did.touched);
		/* In a mapping of all, others may have had the faults. */
		else if (w->job == touch && !task.one_map && !w->did.faults)
			complain("worker %d: %llu touches without a fault", i, w->did.touched);
		if (w->wrong)
			complain("worker %d: %llu wrong, first %s", i, w->wrong, w->first_wrong);
	}
}

/* All work for a time, and until each has got on; then all rest. */
static void crew_run(unsigned int us)
{
	int i;

	for (i = 0; i < workers; i++) {
		memset(&worker[i].did, 0, sizeof(worker[i].did));
		worker[i].least = worker[i].job == touch ? WINDOW : 2;
	}
	crew_turn();
	usleep(us);
	/* The scheduler may starve one for long. */
	crew_await(has_got_on, watchdog_seconds() / 4);
	crew_turn();
	crew_await(has_rested, watchdog_seconds());
	crew_judge();
}

static void crew_end(void)
{
	int i, status = 0;

	__atomic_store_n(&crew->quit, true, __ATOMIC_RELAXED);
	crew_turn();
	for (i = 0; i < workers; i++) {
		if (task.threads)
			pthread_join(worker[i].thread, NULL);
		else if (worker[i].pid > 0 && (waitpid(worker[i].pid, &status, 0) < 0 || status))
			complain("worker %d ended with status %#x", i, status);
	}
	if (task.one_map && common != MAP_FAILED)
		munmap(common, pages * page_size);
	workers = 0;
}

static void totals_add(struct totals *to, const struct totals *t)
{
	to->touched += t->touched;
	to->empty += t->empty;
	to->changing += t->changing;
	to->faults += t->faults;
	to->major += t->major;
	to->ns += t->ns;
	to->user_us += t->user_us;
	to->system_us += t->system_us;
}

/* Adds what those did that touch. Returns thousand faults per second. */
static double crew_totals(struct totals *to)
{
	double rate = 0;
	int i;

	for (i = 0; i < workers; i++) {
		const struct totals *did = &worker[i].did;

		if (worker[i].job != touch)
			continue;
		totals_add(to, did);
		/* In its own time: some see the end much later than others. */
		if (did->ns)
			rate += did->faults * 1e6 / did->ns;
	}
	return rate;
}

/* ---- the pages are right ---- */

/* Why the task cannot be done on this file system, or NULL. */
static const char *impossible(void)
{
	static unsigned char in[PAGES];
	static char text[96];
	const char *what = NULL;
	int i;

	if (!file_make(task.holes))
		what = "cannot fill the file";
	/* Past the end, so that nothing is changed. */
	else if ((task.holes || task.beside == beside_punch) && !file_punch(pages, 1))
		what = "cannot punch holes";
	if (what) {
		snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
		return text;
	}
	if (task.beside != beside_drop)
		return NULL;
	/* A page that somebody else holds right now stays, so more than once. */
	for (i = 0; i < 10; i++) {
		if (file_drop(0, pages) && !file_resident(0, pages, in))
			return NULL;
		usleep(10000);
	}
	return "pages stay in the cache";
}

static void correct(const struct place *p, const struct task *what, int n)
{
	__u64 begin = clock_read();
	struct totals t = { 0 };
	const char *why;

	task = *what;
	good = true;
	if (p->why[0]) {
		ksft_test_result_skip("%s: %s: %s\n", p->dir, task.name, p->why);
		return;
	}
	why = impossible();
	if (why) {
		ksft_test_result_skip("%s (%s): %s: %s\n", p->dir, p->type, task.name, why);
		return;
	}
	crew_start(n);
	crew_run(RUN);
	crew_totals(&t);
	/* If the next case does not end, these tell slow from stuck. */
	ksft_print_msg("%llu touches, %llu faults, %llu of them major; %llu ms\n", t.touched,
		       t.faults, t.major, (clock_read() - begin) / 1000000);
	if (task.beside)
		ksft_print_msg("disturbed %llu times; touches of empty pages %llu, changing %llu\n",
			       worker[n].did.touched, t.empty, t.changing);
	if (!t.faults)
		complain("no fault at all");
	if (task.beside == beside_punch && !t.empty)
		complain("nobody touched a page that was punched");
	/* Neither all there nor as it was. */
	if (task.beside && task.beside != beside_zap)
		content = NOTHING;
	crew_end();
	ksft_test_result(good, "%s (%s): %s\n", p->dir, p->type, task.name);
}

/* ---- comparison ---- */

struct sum {
	double rate[ROUNDS];		/* kfaults/s */
	struct totals totals;
	struct tries tries;
};

static void slice(struct sum *s, int round, enum mode mode, int n)
{
	struct tries before, t;

	set(ENABLED, mode == ON ? "1" : "0");
	/* Ours rest. Who else was in the middle of a try finishes it the old way. */
	usleep(5000);
	counted &= tries_get(&before);
	crew_run(n > 1 ? SLICE : SLICE_ALONE);
	counted &= tries_since(&before, &t);
	slices++;

	s->rate[round] = crew_totals(&s->totals);
	s->tries.tried += t.tried;
	s->tries.seen += t.seen;
	s->tries.lost += t.lost;
	if (!t.tried) {
		complain("%d CPUs, %s: no lock was tried", n, mode_name[mode]);
		counted = false;
	}
	seen[mode] += t.seen;
}

static void report(const char *who, const char *what, double value, const char *unit)
{
	char name[96];

	snprintf(name, sizeof(name), "%s_%s", who, what);
	figure(name, "%.1f", value, unit);
}

static void compare(const char *kind, int n)
{
	static struct sum sum[MODES];
	double median[MODES];
	char who[64];
	int i, m;

	memset(sum, 0, sizeof(sum));
	crew_start(n);
	for (i = 0; i < ROUNDS; i++)
		for (m = 0; m < MODES; m++)
			slice(&sum[m], i, m, n);
	crew_end();
	for (m = 0; m < MODES; m++) {
		const struct totals *t = &sum[m].totals;
		const struct tries *tries = &sum[m].tries;

		snprintf(who, sizeof(who), "fault_%s_%s_%d_%s", key, kind, n, mode_name[m]);
		median[m] = figure_rates(who, sum[m].rate, ROUNDS, "kfaults/s");
		report(who, "user", t->user_us * 1e5 / t->ns, "%");
		report(who, "system", t->system_us * 1e5 / t->ns, "%");
		report(who, "tried", tries->tried * 1e3 / t->faults, "per_1000_faults");
		report(who, "seen", tries->seen * 1e3 / t->faults, "per_1000_faults");
		report(who, "lost", tries->lost * 1e3 / t->faults, "per_1000_faults");
	}
	snprintf(who, sizeof(who), "fault_%s_%s_%d_on_over_off", key, kind, n);
	figure(who, "%.2f", median[ON] / median[OFF], "times");
}

/* 1, 2, 4 and 8 CPUs, and all of them; or those only, which is where locks are waited for. */
static void compare_counts(const char *kind, int n, bool all_only)
{
	int i;

	for (i = 1; !all_only && i <= 8 && i < n; i *= 2)
		compare(kind, i);
	compare(kind, n);
}

/*
 * It matters to those who wait, and only a fault for a single page waits. As it is by itself, it is
 * in the comparison before.
 */
static void compare_unfair(int n)
{
	set(UNFAIRNESS, "0");
	compare("unfair0", n);
	set(UNFAIRNESS, "1");
	compare("unfair1", n);
	set(UNFAIRNESS, unfairness);
}

static const struct comparison {
	const char *name;
	const char *kind;
	bool single;		/* no pages around a fault */
	bool unfair;
} comparison[] = {
	{ "on and off, pages around a fault mapped", "around", false, false },
	{ "on and off, a fault for each page", "single", true, false },
	{ "on and off, more and less unfair", "unfair", true, true },
};

static void figures(const struct place *p, const struct comparison *c, int n, bool all_only)
{
	const char *why = p->why[0] ? p->why : no_figures;

	task = (struct task){ .name = c->name };
	good = true;
	if (!why && c->single && !around)
		why = "no " AROUND;
	if (!why && c->unfair && !unfairness)
		why = "no " UNFAIRNESS;
	if (!why)
		why = impossible();
	if (why) {
		ksft_test_result_skip("%s: %s: %s\n", p->dir, c->name, why);
		return;
	}
	/* One page; where pages are larger, the kernel makes it one. */
	if (c->single)
		set(AROUND, "4096");
	if (c->unfair)
		compare_unfair(n);
	else
		compare_counts(c->kind, n, all_only);
	if (c->single)
		set(AROUND, around);
	ksft_test_result(good, "%s (%s): %s\n", p->dir, p->type, c->name);
}

/* ---- places ---- */

static void place_open(struct place *p, const struct place *other)
{
	place_find(p, other, PAGES_LEAST);
	/* Two may have the same type. */
	snprintf(key, sizeof(key), "%s%s", p->type,
		 other && !strcmp(p->type, other->type) ? "-2" : "");
	pages = p->room < PAGES ? p->room : PAGES;
	content = NOTHING;
	if (p->why[0])
		return;
	if (pages < PAGES)
		ksft_print_msg("%s (%s): %u pages, there is no room for %u\n", p->dir, p->type,
			       pages, PAGES);
	file = place_file(p);
}

/* In a second place, only what may be different there. */
static void place_test(struct place *p, const struct place *other, int n)
{
	static const struct task tasks[] = {
		{ .name = "resident, processes" },
		{ .name = "resident, threads", .threads = true },
		{ .name = "resident, one mapping, beside MADV_DONTNEED", .threads = true,
		  .one_map = true, .beside = beside_zap },
		{ .name = "not resident: holes, beside their making", .beside = beside_holes,
		  .holes = true, .window = WINDOW },
		{ .name = "not resident: dropped from the cache all the time",
		  .beside = beside_drop, .window = WINDOW },
		{ .name = "beside punching holes and writing again", .beside = beside_punch,
		  .window = WINDOW },
	};
	bool in_memory;
	unsigned int i;

	place_open(p, other);
	in_memory = !strcmp(p->type, "tmpfs");
	for (i = 0; i < ARRAY_SIZE(tasks); i++)
		/* What is in memory only cannot be dropped. */
		if (tasks[i].beside != (in_memory ? beside_drop : beside_holes))
			correct(p, &tasks[i], n);
	for (i = 0; i < ARRAY_SIZE(comparison); i++)
		if (!other || !comparison[i].unfair)
			figures(p, &comparison[i], n, other);
	if (!p->why[0])
		close(file);
}

static void *share(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		skip_all("no memory: %s", strerror(errno));
	return map;
}

int main(void)
{
	static struct place place[] = { { .dir = "/tmp" }, { .dir = "/var/tmp" } };
	static int cpu[MAX_CPUS];
	struct tries before;
	unsigned int i;
	int n;

	start();
	n = cpus_need(cpu);
	cpus = cpu;
	page_size = sysconf(_SC_PAGESIZE);
	crew = share(sizeof(*crew));
	worker = share((n + 1) * sizeof(*worker));
	state = share(PAGES * sizeof(*state));
	buffer = share(RANGE * page_size);
	/* Small kernels may lack it. */
	if (madvise(buffer, page_size, MADV_DONTNEED) && errno == ENOSYS)
		skip_all("no madvise() in this kernel (CONFIG_ADVISE_SYSCALLS)");
	restore = settings_restore;
	around = setting_save(AROUND);
	unfairness = setting_save(UNFAIRNESS);
	/* Each place has one of two tasks, and the second place one comparison less. */
	ksft_set_plan(5 + 3 + 5 + 2 + 3);
	ksft_print_msg("%d CPUs, files of %d pages, %d rounds\n", n, PAGES, ROUNDS);
	if (!switches_on(&before))
		no_figures = geteuid() ? "the switches need root" : NO_SWITCHES;
	else if (around)
		ksft_print_msg("fault_around_bytes %s", around);

	for (i = 0; i < ARRAY_SIZE(place); i++)
		place_test(&place[i], i ? &place[0] : NULL, n);
	if (slices) {
		ksft_print_msg("%llu slices; locks seen held: on %llu, off %llu\n", slices,
			       seen[ON], seen[OFF]);
		ksft_test_result(counted, "each try has one outcome\n");
		ksft_test_result(seen[ON], "switched on, a lock that is held is seen\n");
		ksft_test_result(!seen[OFF], "switched off, nobody looks\n");
	} else {
		if (!no_figures)
			no_figures = "there was no place for figures";
		ksft_test_result_skip("each try has one outcome: %s\n", no_figures);
		ksft_test_result_skip("switched on: %s\n", no_figures);
		ksft_test_result_skip("switched off: %s\n", no_figures);
	}
	finish();
	return 0;
}
