/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the page lock have in common: places for a file, and the kernel's count of the
 * tries of that lock. The file has no name, so that nothing is left behind, whatever ends the test.
 */
#ifndef CONTENTION_PAGES_H
#define CONTENTION_PAGES_H

#include "readers.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#define FIX		"page_lock"
#define ENABLED		SWITCHES FIX "/enabled"
#define PLAIN		SWITCHES FIX "/plain"
#define UNFAIRNESS	"/proc/sys/vm/page_lock_unfairness"
#define NO_SWITCHES	"no switches in debugfs (CONFIG_CONTENTION_DEBUG)"

static bool good;		/* in this case */
static size_t page_size;

#define complain(fmt, ...) do {				\
	ksft_print_msg(fmt "\n", ##__VA_ARGS__);	\
	good = false;					\
} while (0)

static inline void set(const char *path, const char *text)
{
	if (file_write(path, text))
		complain("cannot write %s: %s", path, strerror(errno));
}

/* ---- places ---- */

struct place {
	const char *dir;
	char type[24];		/* of file system */
	char why[128];		/* it cannot be used; else empty */
	dev_t dev;
	__u64 room;		/* pages */
};

static inline bool place_unfit(struct place *p, const char *what)
{
	snprintf(p->why, sizeof(p->why), "%s: %s", what, strerror(errno));
	return false;
}

static inline void place_type(struct place *p, unsigned long magic)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{ TMPFS_MAGIC, "tmpfs" },
		{ EXT4_SUPER_MAGIC, "ext4" },
		{ XFS_SUPER_MAGIC, "xfs" },
		{ BTRFS_SUPER_MAGIC, "btrfs" },
		{ OVERLAYFS_SUPER_MAGIC, "overlayfs" },
	};
	unsigned int i;

	snprintf(p->type, sizeof(p->type), "%#lx", magic);
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (magic == known[i].magic)
			snprintf(p->type, sizeof(p->type), "%s", known[i].name);
}

/* Another place on the same file system would prove nothing new. */
static inline void place_find(struct place *p, const struct place *other, unsigned int least)
{
	struct statfs fs;
	struct stat st;

	if (stat(p->dir, &st) || statfs(p->dir, &fs)) {
		place_unfit(p, "cannot be looked at");
		return;
	}
	place_type(p, fs.f_type);
	p->dev = st.st_dev;
	/* Not all of it: who writes meanwhile needs some, and so does the file system itself. */
	p->room = (__u64)fs.f_bavail * fs.f_bsize / page_size * 7 / 8;
	if (other && !other->why[0] && p->dev == other->dev)
		snprintf(p->why, sizeof(p->why), "the same file system as %s", other->dir);
	else if (p->room < least)
		snprintf(p->why, sizeof(p->why), "has room for %llu pages only", p->room);
}

static inline int place_file(struct place *p)
{
	char name[128];
	int fd;

	fd = open(p->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Some file systems cannot do that. */
	snprintf(name, sizeof(name), "%s/contention.XXXXXX", p->dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	else
		place_unfit(p, "no file can be made");
	return fd;
}

/* ---- tries of the lock ---- */

struct tries {
	__u64 tried, seen, lost, won;
};

static inline int tries_read(struct tries *t)
{
	char buf[256];

	if (file_read(SWITCHES FIX "/stats", buf, sizeof(buf)))
		return -1;
	return sscanf(buf, "tried %llu seen %llu lost %llu won %llu",
		      &t->tried, &t->seen, &t->lost, &t->won) == 4 ? 0 : -1;
}

/*
 * Returns whether each try has one outcome. Others may be in the middle of a try, of which one half
 * is counted; so there are several looks.
 */
static inline bool tries_get(struct tries *t)
{
	int looks;

	*t = (struct tries){ 0 };
	for (looks = 0; looks < 500; looks++) {
		if (tries_read(t)) {
			complain("cannot read the counters");
			return false;
		}
		if (t->tried == t->seen + t->lost + t->won)
			return true;
		usleep(10 * 1000);
	}
	complain("%llu tries: %llu seen, %llu lost, %llu won", t->tried, t->seen, t->lost, t->won);
	return false;
}

/* The same for those since before, which is what *t becomes. */
static inline bool tries_since(const struct tries *before, struct tries *t)
{
	bool each = tries_get(t);

	t->tried -= before->tried;
	t->seen -= before->seen;
	t->lost -= before->lost;
	t->won -= before->won;
	return each;
}

/* Returns whether there are any. If so, the fix is on, and counts from *now. */
static inline bool switches_on(struct tries *now)
{
	if (!switches_save(FIX))
		return false;
	if (file_write(PLAIN, "0") || file_write(ENABLED, "1") || tries_read(now))
		ksft_exit_fail_msg("cannot use the switches: %s\n", strerror(errno));
	return true;
}

#endif
