/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel for the selftest fpswa.c on the host, to see what it says when that kernel is wrong. The
 * test of the selftest puts this in front of it and has its faults call fake_raise(). FAKE= in the
 * environment is what is wrong. All processes share the state; its lock makes each call exact.
 *
 * Its time goes on with each fault and each long sleep, not by itself: a busy host, on which a process
 * does not run for longer than a window, must not look like a kernel that is wrong.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define FAKE_WINDOW	300000	/* us */
#define FAKE_STEP	100	/* us for a fault */
#define FAKE_SLEEP	10000	/* us; a shorter one waits for somebody */
#define FAKE_RECORDS	4096
#define FAKE_LOG	1000	/* file descriptors */
#define FAKE_ENABLED	1001
#define FAKE_STATS	1002

static struct {
	int lock;
	bool enabled;
	unsigned long end, count, off_end, off_count;
	unsigned long us, allowed, suppressed, untold, calls;
	unsigned int records;
	char record[FAKE_RECORDS][160];
} *fake;

static bool fake_silent;
static unsigned int fake_at;

static bool fake_is(const char *what)
{
	const char *is = getenv("FAKE");

	return is && !strcmp(is, what);
}

static void __attribute__((constructor)) fake_boot(void)
{
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fake->enabled = true;
	/* Of a storm before the test. */
	fake->suppressed = 7;
	fake->untold = 7;
}

static void fake_print(unsigned long us, unsigned long untold)
{
	char tail[64] = "";

	if (untold)
		snprintf(tail, sizeof(tail), ", %lu assist faults not logged", untold);
	if (fake->records == FAKE_RECORDS)
		return;
	snprintf(fake->record[fake->records], sizeof(fake->record[0]),
		 "4,%u,%lu,-;fpswa(%d): floating-point assist fault at ip 1, isr 2%s\n",
		 fake->records, us, (int)getpid(), tail);
	fake->records++;
}

static void fake_limited(unsigned long us)
{
	unsigned long window = fake_is("early") ? FAKE_WINDOW / 2 : FAKE_WINDOW, untold;
	unsigned long burst = fake_is("six") ? 6 : fake_is("no-limit") ? 320 : 5;

	fake->calls++;
	if (us >= fake->end) {
		fake->end = us + window;
		fake->count = 0;
	}
	if (fake->count >= burst) {
		if (!fake_is("miscounted") || fake->calls % 100)
			fake->suppressed++;
		fake->untold++;
		return;
	}
	fake->allowed++;
	untold = fake->count && !fake_is("told-twice") ? 0 : fake->untold;
	if (++fake->count == 1 || fake_is("told-twice")) {
		if (!fake_is("told-twice"))
			fake->untold = 0;
		if (fake_is("told-half"))
			untold /= 2;
	}
	if (fake_is("told-never") || fake_is("unpatched"))
		untold = 0;
	if (!fake_is("mute"))
		fake_print(us, untold);
}

static void fake_lock(void)
{
	while (__atomic_exchange_n(&fake->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void fake_unlock(void)
{
	__atomic_store_n(&fake->lock, 0, __ATOMIC_RELEASE);
}

static int fake_usleep(unsigned int us)
{
	if (us >= FAKE_SLEEP) {
		fake_lock();
		fake->us += us;
		fake_unlock();
	}
	return usleep(us);
}

static void fake_raise(const char *kind)
{
	unsigned long us;

	if (fake_is("no-handler") && fake->calls > 10)
		raise(SIGFPE);
	while (fake_is("stuck") && fake->calls > 10)
		pause();
	/* One that does not fault on this CPU. */
	if (!strcmp(kind, "denormal"))
		return;
	if (fake_silent && !fake_is("silence-prints") && !fake_is("silence-counts"))
		return;
	fake_lock();
	fake->us += FAKE_STEP;
	us = fake->us;
	if (fake_silent) {
		if (fake_is("silence-prints"))
			fake_print(us, 0);
		else
			fake->suppressed++;
	} else if (fake->enabled) {
		fake_limited(us);
	} else {
		if (fake_is("off-counts"))
			fake->suppressed++;
		if (us >= fake->off_end) {
			fake->off_end = us + FAKE_WINDOW;
			fake->off_count = 0;
		}
		if (fake->off_count++ < 20)
			fake_print(us, 0);
	}
	fake_unlock();
}

static int fake_open(const char *path, int flags)
{
	(void)flags;
	if (!strcmp(path, "/dev/kmsg"))
		return FAKE_LOG;
	if (fake_is("no-switch") || fake_is("unpatched")) {
		errno = ENOENT;
		return -1;
	}
	return strstr(path, "/enabled") ? FAKE_ENABLED : FAKE_STATS;
}

static ssize_t fake_read(int fd, void *buf, size_t size)
{
	if (fd == FAKE_ENABLED)
		return snprintf(buf, size, "%d\n", fake->enabled);
	if (fd == FAKE_STATS)
		return snprintf(buf, size, "allowed %lu\nsuppressed %lu\n", fake->allowed,
				fake->suppressed);
	if (fake_is("overrun") && fake_at == 3) {
		fake_at++;
		errno = EPIPE;
		return -1;
	}
	if (fake_at >= fake->records) {
		errno = EAGAIN;
		return -1;
	}
	return snprintf(buf, size, "%s", fake->record[fake_at++]);
}

static ssize_t fake_write(int fd, const void *buf, size_t size)
{
	if (fd != FAKE_ENABLED)
		return write(fd, buf, size);
	fake->enabled = *(const char *)buf == '1';
	return size;
}

static int fake_close(int fd)
{
	return fd >= FAKE_LOG ? 0 : close(fd);
}

static int fake_prctl(int option, unsigned long value)
{
	if (option == 10)	/* PR_SET_FPEMU */
		fake_silent = value;
	return 0;
}

#define open(path, flags)	fake_open(path, flags)
#define read(fd, buf, size)	fake_read(fd, buf, size)
#define write(fd, buf, size)	fake_write(fd, buf, size)
#define close(fd)		fake_close(fd)
#define lseek(fd, at, whence)	((void)(fake_at = fake->records))
#define usleep(us)		fake_usleep(us)
#define prctl(option, value, ...) fake_prctl(option, value)
