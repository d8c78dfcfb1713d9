// SPDX-License-Identifier: GPL-2.0
/*
 * Runs page_lock_torture.ko, whose threads lock pages of a file from all CPUs and check that each
 * is alone and none is forgotten, while the pages are written, faulted, punched out of the file and
 * migrated from here. In a directory that is usually in memory and in one that is usually on a
 * disk; with a lock that is handed to a waiter at once, the second time and the sixth time that he
 * waits (vm.page_lock_unfairness). Then the module's three broken locks, each of which must be
 * found out, and locktorture, which shares code with it.
 */
#include "readers.h"
#include "modules.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#define MODULE		"page_lock_torture"
#define FIX		"page_lock"
#define UNFAIRNESS	"/proc/sys/vm/page_lock_unfairness"
#define COMPACT		"/proc/sys/vm/compact_memory"
#define KMSG		"/dev/kmsg"
#define RUN_MS		1800
#define LOCKTORTURE_MS	3000
#define PAGES		4
#define PAGES_ROOM	64	/* on the file system, so that no fault ends in SIGBUS */
#define PAGEMAP_PFN	((1ULL << 55) - 1)
#define MOVE_ALL	4	/* MPOL_MF_MOVE_ALL */

struct place {
	const char *dir;
	char type[24];		/* of file system */
	char why[128];		/* it cannot be used; else empty */
	dev_t dev;
};

struct counts {
	__u64 tried, seen, lost, won;
};

/* What was done to the file. One thread does the first two, main the others. */
enum { TOUCHED, ZAPPED, PUNCHED, WRITTEN, MOVED, DEEDS };

static const char * const deed_name[DEEDS] = {
	[TOUCHED] = "touched", [ZAPPED] = "zapped", [PUNCHED] = "punched",
	[WRITTEN] = "written", [MOVED] = "moved",
};

static __u64 deeds[DEEDS];

static char unfairness_before[16], enabled_before[8], plain_before[8];
static bool have_switches;

static int kmsg = -1;
static bool kmsg_lost;

/* The run that is on, from what the module says. */
static struct {
	char prefix[48];
	char stats[768];
	bool ended, success, refused;
	__u64 total;		/* locktorture's */
} log_of;

/* All good runs. */
static __u64 sections, failed, interrupted, gone, rests, longest;

static char path[64];		/* of the file; empty: there is none */
static int file = -1;
static char *map;
static size_t page_size;
static int node[2] = { -1, -1 };
static const char *mover;	/* what moves pages */
static int move_errno;
static bool stop;

static bool good;		/* this run */

#define complain(fmt, ...) do {				\
	ksft_print_msg(fmt "\n", ##__VA_ARGS__);	\
	good = false;					\
} while (0)

/* ---- the kernel log ---- */

static void kmsg_open(void)
{
	kmsg = open(KMSG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		skip_all("cannot read " KMSG ", where the verdict is: %s", strerror(errno));
}

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

static void kmsg_read(void)
{
	char line[8192 + 1];	/* the most that one read returns */
	int tries;
	ssize_t n;

	/* Not for ever: without a limit messages come faster than they are read. */
	for (tries = 0; tries < 10000; tries++) {
		n = read(kmsg, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE) {
			kmsg_lost = true;
			continue;
		}
		if (n <= 0)
			break;
		line[n] = '\0';
		kmsg_record(line);
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

static inline void did(int what)
{
	__atomic_store_n(&deeds[what], deeds[what] + 1, __ATOMIC_RELAXED);
}

static void *toucher_main(void *arg)
{
	unsigned int i;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < PAGES; i++) {
			volatile char *at = map + i * page_size;

			*at = *at + 1;
			did(TOUCHED);
		}
		/* The next touches fault again, and find the pages in the page cache. */
		if (!madvise(map, PAGES * page_size, MADV_DONTNEED))
			did(ZAPPED);
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
	volatile char *touch = map + i * page_size;
	void *at = map + i * page_size;
	int status = -1, to;
	__u64 before;

	/* It has to be mapped, and the toucher may unmap it; then this one did not move. */
	(void)*touch;
	if (node[1] >= 0) {
		if (syscall(__NR_move_pages, 0, 1UL, &at, NULL, &status, 0) || status < 0)
			return;
		to = status == node[0] ? node[1] : node[0];
		if (syscall(__NR_move_pages, 0, 1UL, &at, &to, &status, MOVE_ALL) < 0)
			move_errno = errno;
		else if (status == to)
			did(MOVED);
		return;
	}
	/* All memory each time, which takes long. */
	if (!mover || calls++ % 16)
		return;
	before = frame_of(at);
	if (file_write(COMPACT, "1"))
		move_errno = errno;
	(void)*touch;
	if (before && frame_of(at) && frame_of(at) != before)
		did(MOVED);
}

static void disturb(void)
{
	static char pattern[65536];
	static unsigned int rounds;
	unsigned int i = rounds++ % PAGES;

	memset(pattern, 'a' + rounds % 26, page_size);
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)i * page_size,
		      page_size))
		complain("cannot punch a page out of the file: %s", strerror(errno));
	else
		did(PUNCHED);
	if (pwrite(file, pattern, page_size, (off_t)i * page_size) != (ssize_t)page_size)
		complain("cannot write the page again: %s", strerror(errno));
	else
		did(WRITTEN);
	move(i);
	usleep(500);
}

/* ---- runs ---- */

static bool each_had_it(void)
{
	return stat_of("fewest") && stat_of("failed") && stat_of("rests");
}

static bool stall_found(void)
{
	return stat_of("stalls");
}

static bool violation_found(void)
{
	return stat_of("violations");
}

static bool loss_found(void)
{
	return stat_of("lost_wakeups");
}

static __u64 slowness_ms(unsigned int ms)
{
	return ms * (__u64)(watchdog_seconds() > WATCHDOG ? watchdog_seconds() : WATCHDOG) /
	       WATCHDOG;
}

/*
 * For a time, and then until enough says so or patience ends: on a slow machine little may happen.
 * Returns whether there is a verdict.
 */
static bool torture(const char *name, const char *type, const char *params, unsigned int ms,
		    void (*beside)(void), bool (*enough)(void))
{
	__u64 begin, least = slowness_ms(ms) * 1000000, most = watchdog_seconds() / 8 * NSEC;
	char all[384];
	int err;

	kmsg_read();
	memset(&log_of, 0, sizeof(log_of));
	snprintf(log_of.prefix, sizeof(log_of.prefix), "%s-torture:", type);
	snprintf(all, sizeof(all), "torture_type=%s %s", type, params);
	if (module_load(name, "torture", all)) {
		err = errno;
		kmsg_read();
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
		kmsg_read();
	} while (clock_read() - begin < least ||
		 (enough && !enough() && clock_read() - begin < most));
	if (module_unload(name))
		complain("%s: %s does not unload: %s", type, name, strerror(errno));
	kmsg_read();
	if (!log_of.ended)
		complain("%s: no verdict in the kernel log%s", type,
			 kmsg_lost ? ", of which lines were lost" : "");
	if (log_of.stats[0])
		ksft_print_msg("%s:%s\n", type, log_of.stats);
	return log_of.ended;
}

/* Returns whether all went well. */
static bool good_run(unsigned int npages)
{
	pthread_t toucher;
	char params[256];

	good = true;
	snprintf(params, sizeof(params),
		 "path=%s npages=%u stall=%u rest=6 shuffle_interval=%u stat_interval=1",
		 path, npages, watchdog_seconds() / 8, npages > 1);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	if (pthread_create(&toucher, NULL, toucher_main, NULL))
		ksft_exit_fail_msg("no thread: %s\n", strerror(errno));
	if (torture(MODULE, "page_lock", params, RUN_MS, disturb, each_had_it) && !log_of.success)
		complain("page_lock: the verdict is FAILURE");
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(toucher, NULL);
	if (!each_had_it())
		complain("page_lock: too little happened");
	sections += stat_of("sections");
	failed += stat_of("failed");
	interrupted += stat_of("interrupted");
	gone += stat_of("gone");
	rests += stat_of("rests");
	if (stat_of("longest_ms") > longest)
		longest = stat_of("longest_ms");
	return good;
}

/* It must be found out, and by what it does wrong. */
static void broken_run(const char *type, bool (*found)(void), const char *what)
{
	good = true;
	if (torture(MODULE, type, "stall=1 shuffle_interval=0 stat_interval=1", 0, NULL, found) &&
	    log_of.success)
		complain("%s: the verdict is SUCCESS", type);
	if (!found())
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
	if (torture("locktorture", "mutex_lock", "stat_interval=0 verbose=0", LOCKTORTURE_MS, NULL,
		    NULL) && !log_of.success)
		complain("locktorture: the verdict is not SUCCESS");
	if (!log_of.total)
		complain("locktorture: no lock was taken");
	ksft_test_result(good, "%s\n", name);
}

/* ---- settings ---- */

static void file_close(void)
{
	if (path[0])
		unlink(path);
	path[0] = '\0';
	if (file >= 0)
		close(file);
	file = -1;
}

static void restore_all(void)
{
	modules_unload();
	if (unfairness_before[0])
		file_write(UNFAIRNESS, unfairness_before);
	if (enabled_before[0])
		switch_set(FIX, "enabled", enabled_before[0] != '0');
	if (plain_before[0])
		switch_set(FIX, "plain", plain_before[0] != '0');
	file_close();
}

static void must(bool done, const char *what)
{
	if (!done)
		complain("%s: %s", what, strerror(errno));
}

static int counts_get(struct counts *c)
{
	char buf[256];

	if (file_read(SWITCHES FIX "/stats", buf, sizeof(buf)))
		return -1;
	return sscanf(buf, "tried %llu seen %llu lost %llu won %llu", &c->tried, &c->seen,
		      &c->lost, &c->won) == 4 ? 0 : -1;
}

/* A try in its middle is counted by half, and others go on with theirs. */
static struct counts counts(void)
{
	struct counts c = { 0 };
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (counts_get(&c)) {
			complain("cannot read the counters");
			break;
		}
		if (c.tried == c.seen + c.lost + c.won)
			return c;
		usleep(10 * 1000);
	}
	complain("counters: tried %llu, seen %llu + lost %llu + won %llu", c.tried, c.seen, c.lost,
		 c.won);
	return c;
}

/* ---- places ---- */

static void place_type(struct place *p, unsigned long magic)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{ TMPFS_MAGIC, "tmpfs" },
		{ EXT4_SUPER_MAGIC, "ext4" },
		{ XFS_SUPER_MAGIC, "xfs" },
		{ BTRFS_SUPER_MAGIC, "btrfs" },
	};
	unsigned int i;

	snprintf(p->type, sizeof(p->type), "%#lx", magic);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (magic == known[i].magic)
			snprintf(p->type, sizeof(p->type), "%s", known[i].name);
}

static void place_find(struct place *p, const struct place *other)
{
	struct statvfs room;
	struct statfs fs;
	struct stat st;

	if (stat(p->dir, &st) || statfs(p->dir, &fs) || statvfs(p->dir, &room)) {
		snprintf(p->why, sizeof(p->why), "cannot be looked at: %s", strerror(errno));
		return;
	}
	place_type(p, fs.f_type);
	p->dev = st.st_dev;
	if (other && !other->why[0] && p->dev == other->dev)
		snprintf(p->why, sizeof(p->why), "the same file system as %s", other->dir);
	else if ((unsigned long)fs.f_type == OVERLAYFS_SUPER_MAGIC)
		snprintf(p->why, sizeof(p->why), "overlayfs has its pages in another file");
	else if ((__u64)room.f_bavail * room.f_frsize < PAGES_ROOM * page_size)
		snprintf(p->why, sizeof(p->why), "has no room");
}

static bool file_open(struct place *p)
{
	snprintf(path, sizeof(path), "%s/page_lock.XXXXXX", p->dir);
	file = mkostemp(path, O_CLOEXEC);
	if (file < 0) {
		path[0] = '\0';
		snprintf(p->why, sizeof(p->why), "no file can be made: %s", strerror(errno));
		return false;
	}
	if (ftruncate(file, PAGES * page_size)) {
		snprintf(p->why, sizeof(p->why), "no file of %d pages: %s", PAGES, strerror(errno));
		return false;
	}
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, page_size)) {
		snprintf(p->why, sizeof(p->why), "no page can be punched out of a file: %s",
			 strerror(errno));
		return false;
	}
	map = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED) {
		snprintf(p->why, sizeof(p->why), "cannot be mapped: %s", strerror(errno));
		return false;
	}
	return true;
}

static void moved_result(const struct place *p)
{
	static const char name[] = "pages were migrated";

	if (deeds[MOVED])
		ksft_test_result_pass("%s (%s): %s by %s\n", p->dir, p->type, name, mover);
	else if (!mover)
		ksft_test_result_skip("%s (%s): %s: one memory node, and no compaction\n", p->dir,
				      p->type, name);
	else if (node[1] < 0 || move_errno == EPERM || move_errno == EACCES ||
		 move_errno == ENOSYS)
		ksft_test_result_skip("%s (%s): %s: not by %s%s%s\n", p->dir, p->type, name, mover,
				      move_errno ? ": " : "",
				      move_errno ? strerror(move_errno) : "");
	else
		ksft_test_result_fail("%s (%s): %s by %s%s%s\n", p->dir, p->type, name, mover,
				      move_errno ? ": " : "",
				      move_errno ? strerror(move_errno) : "");
}

/* Switched off. */
static void off_run(void)
{
	struct counts before, after;
	bool ok;

	good = true;
	must(!switch_set(FIX, "enabled", false), "enabled");
	/* A try that has begun is over by then. */
	usleep(50 * 1000);
	before = counts();
	ok = good;
	ok = good_run(1) && ok;
	after = counts();
	must(!switch_set(FIX, "enabled", true), "enabled");
	ksft_print_msg("switched off: tried %llu seen %llu lost %llu won %llu\n",
		       after.tried - before.tried, after.seen - before.seen,
		       after.lost - before.lost, after.won - before.won);
	ksft_test_result(ok && good && after.seen == before.seen && after.lost > before.lost,
			 "switched off, nobody looks, and the lock is as good\n");
}

/* The results of one place; returns whether it could be used. */
static bool place_test(struct place *p, bool off)
{
	static const char * const unfairness[] = { "5", "0", "1" };
	/* Pages are migrated when all rest, and more of them where there are more. */
	static const unsigned int npages[] = { 1, 1, PAGES };
	unsigned int i;
	bool all = true;

	memset(deeds, 0, sizeof(deeds));
	move_errno = 0;
	if (p->why[0] || !file_open(p)) {
		for (i = 0; i < 5; i++)
			ksft_test_result_skip("%s: %s\n", p->dir, p->why);
		file_close();
		return false;
	}
	for (i = 0; i < 3; i++) {
		bool ok = true;

		if (unfairness_before[0] && file_write(UNFAIRNESS, unfairness[i])) {
			ksft_print_msg("cannot write " UNFAIRNESS ": %s\n", strerror(errno));
			ok = false;
		}
		ok = good_run(npages[i]) && ok;
		ksft_test_result(ok, "%s (%s), unfairness %s: one owner, and nobody is forgotten\n",
				 p->dir, p->type, unfairness[i]);
	}
	if (unfairness_before[0])
		file_write(UNFAIRNESS, unfairness_before);
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
	file_close();
	return true;
}

/* ---- */

/* The first and the last node that have memory. */
static void nodes_find(void)
{
	char text[256], *last;

	if (!file_read("/sys/devices/system/node/has_memory", text, sizeof(text))) {
		last = text + strcspn(text, "\n");
		*last = '\0';
		while (last > text && strchr("0123456789", last[-1]))
			last--;
		node[0] = strtol(text, NULL, 10);
		node[1] = strtol(last, NULL, 10);
		if (node[1] == node[0])
			node[1] = -1;
	}
	if (node[1] >= 0)
		mover = "move_pages()";
	else if (!access(COMPACT, W_OK))
		mover = COMPACT;
}

static void counted_result(bool ran, const struct counts *before)
{
	static const char name[] = "each try has one outcome, and a lock that is held is seen";
	struct counts after;

	if (!have_switches || !ran) {
		ksft_test_result_skip("%s: %s\n", name,
				      ran ? "no switches in debugfs (CONFIG_CONTENTION_DEBUG)" :
					    "there was no place for a file");
		return;
	}
	good = true;
	after = counts();
	ksft_print_msg("switched on and off: tried %llu seen %llu lost %llu won %llu\n",
		       after.tried - before->tried, after.seen - before->seen,
		       after.lost - before->lost, after.won - before->won);
	ksft_test_result(good && after.tried > before->tried && after.seen > before->seen,
			 "%s\n", name);
}

int main(void)
{
	static struct place place[] = { { .dir = "/tmp" }, { .dir = "/var/tmp" } };
	static const int places = sizeof(place) / sizeof(place[0]);
	static int cpu[MAX_CPUS];
	struct counts before = { 0 };
	char modules_disabled[8];
	bool ran = false;
	int n, i;

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
	kmsg_open();
	nodes_find();
	restore = restore_all;
	if (file_read(UNFAIRNESS, unfairness_before, sizeof(unfairness_before)))
		unfairness_before[0] = '\0';
	have_switches = !file_read(SWITCHES FIX "/enabled", enabled_before,
				   sizeof(enabled_before)) &&
			!file_read(SWITCHES FIX "/plain", plain_before, sizeof(plain_before)) &&
			!counts_get(&before);
	ksft_set_plan(places * 5 + 3 + 1 + 3 + 1);
	ksft_print_msg("%d CPUs, %s\n", n, mover ? mover : "nothing that migrates pages");
	if (have_switches &&
	    (switch_set(FIX, "plain", false) || switch_set(FIX, "enabled", true)))
		ksft_exit_fail_msg("cannot write the switches: %s\n", strerror(errno));

	for (i = 0; i < places; i++) {
		place_find(&place[i], i ? &place[0] : NULL);
		ran |= place_test(&place[i], have_switches && !ran);
	}
	if (!have_switches || !ran)
		ksft_test_result_skip("switched off: %s\n",
				      ran ? "no switches in debugfs (CONFIG_CONTENTION_DEBUG)" :
					    "there was no place for a file");
	counted_result(ran, &before);
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
		ksft_test_result_skip("killable waits: there was no place for a file\n");
		ksft_test_result_skip("pages that go: there was no place for a file\n");
	}
	broken_run("busted_set", stall_found, "nobody gets the lock");
	broken_run("busted_rmw", violation_found, "two owners");
	broken_run("busted_waiters", loss_found, "lost wake-ups");
	locktorture_run();
	finish();
	return 0;
}
