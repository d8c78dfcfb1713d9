// SPDX-License-Identifier: GPL-2.0
/*
 * Runs page_lock_torture.ko, whose threads lock pages of a file from all CPUs and check that each
 * is alone and none is forgotten, while the pages are written, faulted, punched out of the file and
 * migrated from here. In a directory that is usually in memory and in one that is usually on a
 * disk; with a lock that is handed to a waiter at once, the second time and the sixth time that he
 * waits (vm.page_lock_unfairness). Then the module's three broken locks, each of which must be
 * found out, and locktorture, which shares code with it.
 */
#include "pages.h"
#include "modules.h"

#define MODULE		"page_lock_torture"
#define COMPACT		"/proc/sys/vm/compact_memory"
#define RUN_MS		1800
#define LOCKTORTURE_MS	3000
#define PAGES		4
#define PAGES_LEAST	64	/* of room, so that no fault ends in SIGBUS */
#define PAGEMAP_PFN	((1ULL << 55) - 1)
#define MOVE_ALL	4	/* MPOL_MF_MOVE_ALL */

/* What was done to the file. One thread does the first two, main the others. */
enum { TOUCHED, ZAPPED, PUNCHED, WRITTEN, MOVED, DEEDS };

static const char * const deed_name[DEEDS] = {
	[TOUCHED] = "touched", [ZAPPED] = "zapped", [PUNCHED] = "punched",
	[WRITTEN] = "written", [MOVED] = "moved",
};

static __u64 deeds[DEEDS];

/* The run that is on, from what the module says. */
static struct {
	char prefix[48];
	char stats[768];
	bool ended, success, refused;
	__u64 total;		/* locktorture's */
} log_of;

/* All good runs. */
static __u64 sections, failed, interrupted, gone, rests, longest;

static char path[64];		/* of the file, for the module */
static int file;
static char *map;
static int node[2] = { -1, -1 };
static const char *mover;	/* what moves pages */
static int move_errno;
static bool stop;
static const char *unfairness;	/* as it was; NULL: not there */
static const char * const value[] = { "5", "0", "1" };	/* that it is set to */

/* ---- the kernel log ---- */

static void kmsg_record(char *line)
{
	char *text = strchr(line, ';');
	size_t len = strlen(log_of.prefix);

	if (!text)
		return;
	text++;
	text[strcspn(text, "\n")] = '\0';
	if (strstr(text, "One torture test at a time"))
		log_of.refused = true;
	if (sscanf(text, "Writes: Total: %llu", &log_of.total) == 1 ||
	    strncmp(text, log_of.prefix, len))
		return;
	text += len;
	if (!strncmp(text, " stats: ", 8)) {
		snprintf(log_of.stats, sizeof(log_of.stats), "%s", text + 7);
	} else if (!strncmp(text, "!!!", 3)) {
		ksft_print_msg("%s%s\n", log_of.prefix, text);
	} else if (!strncmp(text, "--- End of test: ", 17)) {
		log_of.ended = true;
		log_of.success = !strncmp(text + 17, "SUCCESS", 7);
	}
}

/* A number from the newest line of figures. */
static __u64 stat_of(const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), " %s=", name);
	at = strstr(log_of.stats, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* ---- what is done to the file ---- */

static void *toucher_main(void *arg)
{
	unsigned int i;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < PAGES; i++) {
			char *at = map + i * page_size;

			__atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
			deeds[TOUCHED]++;
		}
		/* The next touches fault again, and find the pages in the page cache. */
		if (!madvise(map, PAGES * page_size, MADV_DONTNEED))
			deeds[ZAPPED]++;
		usleep(500);
	}
	return NULL;
}

static __u64 frame_of(const char *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	__u64 entry = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), (unsigned long)at / page_size * sizeof(entry)) !=
	    sizeof(entry))
		entry = 0;
	close(fd);
	return entry & PAGEMAP_PFN;
}

static void move(unsigned int i)
{
	static unsigned int calls;
	char *touch = map + i * page_size;
	void *at = map + i * page_size;
	int status = -1, to;
	__u64 before;

	/* It has to be mapped, and the toucher may unmap it; then this one did not move. */
	__atomic_load_n(touch, __ATOMIC_RELAXED);
	if (node[1] >= 0) {
		if (syscall(__NR_move_pages, 0, 1UL, &at, NULL, &status, 0) || status < 0)
			return;
		to = status == node[0] ? node[1] : node[0];
		if (syscall(__NR_move_pages, 0, 1UL, &at, &to, &status, MOVE_ALL) < 0)
			move_errno = errno;
		else if (status == to)
			deeds[MOVED]++;
		return;
	}
	/* All memory each time, which takes long. */
	if (!mover || calls++ % 16)
		return;
	before = frame_of(at);
	if (file_write(COMPACT, "1"))
		move_errno = errno;
	__atomic_load_n(touch, __ATOMIC_RELAXED);
	if (before && frame_of(at) && frame_of(at) != before)
		deeds[MOVED]++;
}

/*
 * Whether pages are taken out of the file, or killable waits are interrupted. Not both: one that is
 * interrupted just when it is woken does not pass it on in most kernels (6.12 sees to that), and
 * the next in the queue then has to be woken by whoever locks that page again.
 */
static bool punch;

static void disturb(void)
{
	static char pattern[65536];
	static unsigned int rounds;
	unsigned int i = rounds++ % PAGES;

	memset(pattern, 'a' + rounds % 26, page_size);
	if (punch) {
		if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)i * page_size, page_size))
			complain("cannot punch a page out of the file: %s", strerror(errno));
		else
			deeds[PUNCHED]++;
	}
	if (pwrite(file, pattern, page_size, (off_t)i * page_size) != (ssize_t)page_size)
		complain("cannot write the page again: %s", strerror(errno));
	else
		deeds[WRITTEN]++;
	move(i);
	usleep(500);
}

/* ---- runs ---- */

static const char * const all_of_it[] = { "fewest", "failed", "rests", NULL };

static bool counted(const char * const *stat)
{
	while (*stat && stat_of(*stat))
		stat++;
	return !*stat;
}

static __u64 slowness_ms(unsigned int ms)
{
	return ms * (__u64)(watchdog_seconds() > WATCHDOG ? watchdog_seconds() : WATCHDOG) /
	       WATCHDOG;
}

/*
 * For a time, and then until enough of the figures are not zero or patience ends: on a slow machine
 * little may happen. Returns whether there is a verdict.
 */
static bool module_run(const char *name, const char *type, const char *params, unsigned int ms,
		       void (*beside)(void), const char * const *enough)
{
	__u64 begin, least = slowness_ms(ms) * 1000000, most = watchdog_seconds() / 8 * NSEC;
	char all[384];
	int err;

	kmsg_read(kmsg_record);
	memset(&log_of, 0, sizeof(log_of));
	snprintf(log_of.prefix, sizeof(log_of.prefix), "%s-torture:", type);
	snprintf(all, sizeof(all), "torture_type=%s %s", type, params);
	if (module_load(name, "torture", all)) {
		err = errno;
		kmsg_read(kmsg_record);
		complain("%s: %s does not load: %s", type, name,
			 log_of.refused ? "another torture test runs" :
			 err ? strerror(err) : "see modprobe and the kernel log");
		return false;
	}
	begin = clock_read();
	do {
		if (beside)
			beside();
		else
			usleep(20 * 1000);
		kmsg_read(kmsg_record);
	} while (clock_read() - begin < least ||
		 (enough && !counted(enough) && clock_read() - begin < most));
	if (module_unload(name))
		complain("%s: %s does not unload: %s", type, name, strerror(errno));
	kmsg_read(kmsg_record);
	if (!log_of.ended)
		complain("%s: no verdict in the kernel log%s", type,
			 kmsg_lost ? ", of which lines were lost" : "");
	if (log_of.stats[0])
		ksft_print_msg("%s:%s\n", type, log_of.stats);
	return log_of.ended;
}

static void good_run(unsigned int npages, bool with_punches)
{
	pthread_t toucher;
	char params[256];

	punch = with_punches;
	snprintf(params, sizeof(params),
		 "path=%s npages=%u stall=%u rest=6 interrupt=%d shuffle_interval=%u stat_interval=1",
		 /* A file system may wait some seconds for its journal, with a page locked. */
		 path, npages, watchdog_seconds() / 4, !punch, npages > 1);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	if (pthread_create(&toucher, NULL, toucher_main, NULL))
		ksft_exit_fail_msg("no thread: %s\n", strerror(errno));
	if (module_run(MODULE, "page_lock", params, RUN_MS, disturb, all_of_it) && !log_of.success)
		complain("page_lock: the verdict is FAILURE");
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(toucher, NULL);
	if (!counted(all_of_it))
		complain("page_lock: too little happened");
	sections += stat_of("sections");
	failed += stat_of("failed");
	interrupted += stat_of("interrupted");
	gone += stat_of("gone");
	rests += stat_of("rests");
	if (stat_of("longest_ms") > longest)
		longest = stat_of("longest_ms");
}

/*
 * A page of the module's own: no write, fault or punch comes along and wakes a waiter that the lock
 * forgot. So nobody is interrupted, see above.
 */
static void alone_run(const char *value)
{
	char params[96];

	snprintf(params, sizeof(params), "stall=%u interrupt=0 shuffle_interval=0 stat_interval=1",
		 watchdog_seconds() / 8);
	good = true;
	if (unfairness)
		set(UNFAIRNESS, value);
	if (module_run(MODULE, "page_lock", params, RUN_MS, NULL, all_of_it) &&
	    !log_of.success)
		complain("page_lock: the verdict is FAILURE");
	if (!counted(all_of_it))
		complain("page_lock: too little happened");
	if (unfairness)
		set(UNFAIRNESS, unfairness);
	ksft_test_result(good, "left alone, unfairness %s: one owner, and nobody is forgotten\n",
			 value);
}

/* It must be found out, and by what it does wrong. */
static void broken_run(const char *type, const char *stat, const char *what)
{
	static const char params[] = "stall=1 shuffle_interval=0 stat_interval=1";
	const char * const found[] = { stat, NULL };

	good = true;
	if (module_run(MODULE, type, params, 0, NULL, found) && log_of.success)
		complain("%s: the verdict is SUCCESS", type);
	if (!counted(found))
		complain("%s: the fault is not in its figures", type);
	ksft_test_result(good, "%s is found out: %s\n", type, what);
}

static void locktorture_run(void)
{
	static const char name[] = "locktorture goes on as ever";

	if (module_loaded("locktorture") || !module_exists("locktorture")) {
		ksft_test_result_skip("%s: not a module (CONFIG_LOCK_TORTURE_TEST=m), or in use\n",
				      name);
		return;
	}
	good = true;
	if (module_run("locktorture", "mutex_lock", "stat_interval=0", LOCKTORTURE_MS, NULL,
		       NULL) && !log_of.success)
		complain("locktorture: the verdict is not SUCCESS");
	if (!log_of.total)
		complain("locktorture: no lock was taken");
	ksft_test_result(good, "%s\n", name);
}

/* ---- places ---- */

static void restore_all(void)
{
	modules_unload();
	settings_restore();
}

static bool file_open(struct place *p)
{
	file = place_file(p);
	if (file < 0)
		return false;
	/* Not /proc/self, for it may be modprobe in which the module opens it. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), file);
	if (ftruncate(file, PAGES * page_size))
		return place_unfit(p, "the file cannot have its pages");
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, page_size))
		return place_unfit(p, "no page can be punched out of a file");
	map = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return map != MAP_FAILED || place_unfit(p, "cannot be mapped");
}

static void moved_result(const struct place *p)
{
	const char *why = move_errno ? strerror(move_errno) : "it did not";
	char name[160];

	snprintf(name, sizeof(name), "%s (%s): pages were migrated", p->dir, p->type);
	if (deeds[MOVED])
		ksft_test_result_pass("%s by %s\n", name, mover);
	else if (!mover)
		ksft_test_result_skip("%s: one memory node, and no compaction\n", name);
	else if (node[1] < 0 || move_errno == EPERM || move_errno == EACCES ||
		 move_errno == ENOSYS)
		ksft_test_result_skip("%s: not by %s: %s\n", name, mover, why);
	else
		ksft_test_result_fail("%s by %s: %s\n", name, mover, why);
}

static void tries_print(const char *what, const struct tries *t)
{
	ksft_print_msg("%s: tried %llu seen %llu lost %llu won %llu\n", what, t->tried, t->seen,
		       t->lost, t->won);
}

static void off_run(void)
{
	struct tries before, t;

	good = true;
	set(ENABLED, "0");
	/* A try that has begun is over by then. */
	usleep(50 * 1000);
	tries_get(&before);
	good_run(1, false);
	tries_since(&before, &t);
	set(ENABLED, "1");
	tries_print("switched off", &t);
	ksft_test_result(good && !t.seen && t.lost,
			 "switched off, nobody looks, and the lock is as good\n");
}

/* The results of one place; returns whether it could be used. */
static bool place_test(struct place *p, bool off)
{
	/* Pages are migrated when all rest, and more of them where there are more. */
	static const unsigned int npages[ARRAY_SIZE(value)] = { 1, 1, PAGES };
	unsigned int i;
	bool all = true;

	memset(deeds, 0, sizeof(deeds));
	move_errno = 0;
	if (p->why[0] || !file_open(p)) {
		for (i = 0; i < 5; i++)
			ksft_test_result_skip("%s: %s\n", p->dir, p->why);
		return false;
	}
	for (i = 0; i < ARRAY_SIZE(value); i++) {
		good = true;
		if (unfairness)
			set(UNFAIRNESS, value[i]);
		good_run(npages[i], i != 1);
		ksft_test_result(good,
				 "%s (%s), unfairness %s: one owner, and nobody is forgotten\n",
				 p->dir, p->type, value[i]);
	}
	if (unfairness)
		set(UNFAIRNESS, unfairness);
	for (i = 0; i < DEEDS; i++) {
		ksft_print_msg("%s (%s): %s %llu times\n", p->dir, p->type, deed_name[i],
			       deeds[i]);
		if (i != MOVED)
			all &= deeds[i] > 0;
	}
	ksft_test_result(all, "%s (%s): pages were touched, punched and written\n", p->dir,
			 p->type);
	moved_result(p);
	if (off)
		off_run();
	munmap(map, PAGES * page_size);
	close(file);
	return true;
}

/* ---- */

static void mover_find(void)
{
	char text[256];

	/* A list of those that have memory. Its first two numbers are two of them. */
	if (!file_read("/sys/devices/system/node/has_memory", text, sizeof(text)))
		sscanf(text, "%d%*1[-,]%d", &node[0], &node[1]);
	if (node[1] >= 0)
		mover = "move_pages()";
	else if (!access(COMPACT, W_OK))
		mover = COMPACT;
}

static void counted_result(const struct tries *before)
{
	struct tries t;

	good = true;
	tries_since(before, &t);
	tries_print("switched on and off", &t);
	ksft_test_result(good && t.tried && t.seen,
			 "each try has one outcome, and a lock that is held is seen\n");
}

int main(void)
{
	static struct place place[] = { { .dir = "/tmp" }, { .dir = "/var/tmp" } };
	static int cpu[MAX_CPUS];
	struct tries before;
	char modules_disabled[8];
	bool have_switches, ran = false;
	const char *why;
	unsigned int i;
	int n;

	start();
	n = cpus_need(cpu);
	if (geteuid())
		skip_all("loading a module needs root");
	if (!file_read("/proc/sys/kernel/modules_disabled", modules_disabled,
		       sizeof(modules_disabled)) && modules_disabled[0] == '1')
		skip_all("no module can be loaded any more");
	if (module_loaded(MODULE))
		skip_all(MODULE " is loaded already");
	if (!module_exists(MODULE))
		skip_all("no module " MODULE " (CONFIG_PAGE_LOCK_TORTURE_TEST=m)");
	page_size = sysconf(_SC_PAGESIZE);
	if (kmsg_open())
		skip_all("cannot read " KMSG ", where the verdict is: %s", strerror(errno));
	mover_find();
	restore = restore_all;
	unfairness = setting_save(UNFAIRNESS);
	ksft_set_plan(ARRAY_SIZE(place) * 5 + 1 + 3 + ARRAY_SIZE(value) + 3 + 1);
	ksft_print_msg("%d CPUs, %s\n", n, mover ? mover : "nothing that migrates pages");
	have_switches = switches_on(&before);

	for (i = 0; i < ARRAY_SIZE(place); i++) {
		place_find(&place[i], i ? &place[0] : NULL, PAGES_LEAST);
		if (!strcmp(place[i].type, "overlayfs"))
			snprintf(place[i].why, sizeof(place[i].why),
				 "overlayfs has its pages in another file");
		ran |= place_test(&place[i], have_switches && !ran);
	}
	why = ran ? NO_SWITCHES : "there was no place for a file";
	if (!have_switches || !ran) {
		ksft_test_result_skip("switched off: %s\n", why);
		ksft_test_result_skip("each try has one outcome: %s\n", why);
	} else {
		counted_result(&before);
	}
	if (ran) {
		figure("page_lock_sections", "%llu", sections, "sections");
		figure("page_lock_trylocks_failed", "%llu", failed, "trylocks");
		figure("page_lock_rests", "%llu", rests, "rests");
		figure("page_lock_longest_wait", "%llu", longest, "ms");
		ksft_test_result(interrupted > 0, "%llu killable waits were interrupted\n",
				 interrupted);
		ksft_test_result(gone > 0, "%llu times the page had gone when its lock was got\n",
				 gone);
	} else {
		ksft_test_result_skip("killable waits: %s\n", why);
		ksft_test_result_skip("pages that go: %s\n", why);
	}
	for (i = 0; i < ARRAY_SIZE(value); i++)
		alone_run(value[i]);
	broken_run("busted_set", "stalls", "nobody gets the lock");
	broken_run("busted_rmw", "violations", "two owners");
	broken_run("busted_waiters", "lost_wakeups", "lost wake-ups");
	locktorture_run();
	finish();
	return 0;
}
