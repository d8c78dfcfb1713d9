// SPDX-License-Identifier: GPL-2.0
/* See include/libc.h. Each call is the system call of that name, or the one that took its place. */
#include "libc.h"

#define ATEXIT_MAX	4

int main(int argc, char **argv, char **envp);
void libc_start(long *stack) __noreturn;

/* The kernel's answer: an error is a small negative number. In start.S. */
long kernel_call(long nr, long a, long b, long c, long d, long e, long f);

int errno;

static char **environment;
static void (*at_exit[ATEXIT_MAX])(void);
static int at_exits;

void libc_start(long *stack)
{
	int argc = stack[0];
	char **argv = (char **)(stack + 1);

	environment = argv + argc + 1;
	exit(main(argc, argv, environment));
}

/* ---- memory and text; gcc calls the first two by itself ---- */

void *memcpy(void *to, const void *from, size_t size)
{
	const char *f = from;
	char *t = to;

	while (size--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	char *t = to;

	while (size--)
		*t++ = byte;
	return to;
}

char *strerror(int error)
{
	static char text[24];

	snprintf(text, sizeof(text), "error %d", error);
	return text;
}

int snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return n;
}

/* A longer line would lose its end, and with it what makes it a line. */
int vprintf(const char *fmt, va_list args)
{
	char line[1024];
	int n = vsnprintf(line, sizeof(line), fmt, args);

	if (n >= (int)sizeof(line)) {
		n = sizeof(line);
		line[n - 1] = '\n';
	}
	return write(STDOUT_FILENO, line, n);
}

int printf(const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vprintf(fmt, args);
	va_end(args);
	return n;
}

int putchar(int c)
{
	char byte = c;

	return write(STDOUT_FILENO, &byte, 1) == 1 ? c : -1;
}

/* ---- the process ---- */

char *getenv(const char *name)
{
	size_t n = strlen(name), i;
	char **e;

	for (e = environment; *e; e++) {
		for (i = 0; i < n && (*e)[i] == name[i]; i++)
			;
		if (i == n && (*e)[n] == '=')
			return *e + n + 1;
	}
	return NULL;
}

int atexit(void (*function)(void))
{
	if (at_exits == ATEXIT_MAX)
		return -1;
	at_exit[at_exits++] = function;
	return 0;
}

void exit(int status)
{
	while (at_exits)
		at_exit[--at_exits]();
	_exit(status);
}

void _exit(int status)
{
	for (;;)
		syscall(__NR_exit_group, status);
}

/* ---- system calls ---- */

long syscall(long nr, ...)
{
	long a[6], ret;
	va_list args;
	int i;

	/* Those that were not passed are garbage, which the kernel does not look at. */
	va_start(args, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	ret = kernel_call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (ret < 0 && ret >= -4095) {
		errno = -ret;
		return -1;
	}
	return ret;
}

ssize_t read(int fd, void *buf, size_t size)
{
	return syscall(__NR_read, (long)fd, buf, size);
}

ssize_t write(int fd, const void *buf, size_t size)
{
	return syscall(__NR_write, (long)fd, buf, size);
}

int open(const char *path, int flags, ...)
{
	return syscall(__NR_openat, (long)AT_FDCWD, path, (long)flags, 0L);
}

int close(int fd)
{
	return syscall(__NR_close, (long)fd);
}

long lseek(int fd, long offset, int whence)
{
	return syscall(__NR_lseek, (long)fd, offset, (long)whence);
}

int pipe2(int fd[2], int flags)
{
	return syscall(__NR_pipe2, fd, (long)flags);
}

int dup2(int from, int to)
{
	return syscall(__NR_dup2, (long)from, (long)to);
}

int mkdir(const char *path, int mode)
{
	return syscall(__NR_mkdirat, (long)AT_FDCWD, path, (long)mode);
}

int mount(const char *what, const char *at, const char *type, unsigned long flags, const void *data)
{
	return syscall(__NR_mount, what, at, type, flags, data);
}

/* No stack given: the child has a copy of ours. */
pid_t fork(void)
{
	return syscall(__NR_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L, 0L);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	return syscall(__NR_execve, path, argv, envp);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	return syscall(__NR_wait4, (long)pid, status, (long)options, 0L);
}

pid_t getpid(void)
{
	return syscall(__NR_getpid);
}

pid_t geteuid(void)
{
	return syscall(__NR_geteuid);
}

unsigned int alarm(unsigned int seconds)
{
	struct itimerval timer, old;

	memset(&timer, 0, sizeof(timer));
	timer.it_value.tv_sec = seconds;
	syscall(__NR_setitimer, (long)ITIMER_REAL, &timer, &old);
	return old.it_value.tv_sec;
}

int usleep(unsigned int us)
{
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	return syscall(__NR_nanosleep, &ts, 0L);
}

int sched_yield(void)
{
	return syscall(__NR_sched_yield);
}

int clock_gettime(int clock, struct timespec *ts)
{
	return syscall(__NR_clock_gettime, (long)clock, ts);
}

int prctl(int option, ...)
{
	long a[4];
	va_list args;
	int i;

	va_start(args, option);
	for (i = 0; i < 4; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return syscall(__NR_prctl, (long)option, a[0], a[1], a[2], a[3]);
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, long offset)
{
	return (void *)syscall(__NR_mmap, at, size, (long)prot, (long)flags, (long)fd, offset);
}

/* ---- signals ---- */

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return syscall(__NR_rt_sigaction, (long)sig, act, old, sizeof(sigset_t));
}

int sigaddset(sigset_t *set, int sig)
{
	set->sig |= 1UL << (sig - 1);
	return 0;
}

__sighandler_t signal(int sig, __sighandler_t handler)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

int kill(pid_t pid, int sig)
{
	return syscall(__NR_kill, (long)pid, (long)sig);
}

int raise(int sig)
{
	return syscall(__NR_tgkill, (long)getpid(), syscall(__NR_gettid), (long)sig);
}
