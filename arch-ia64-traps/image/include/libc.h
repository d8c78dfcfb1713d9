/* SPDX-License-Identifier: GPL-2.0 */
/*
 * There is no C library for ia64. This is what the selftest and the init of the image call of one,
 * on top of the kernel's own exported headers; the headers with libc's names include this.
 */
#ifndef LIBC_H
#define LIBC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <asm/errno.h>
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/time.h>
#include <linux/types.h>

#define __noreturn	__attribute__((noreturn))

typedef __kernel_ssize_t ssize_t;
typedef __kernel_pid_t pid_t;

/* ---- errno.h, string.h ---- */

extern int errno;

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
char *strchr(const char *s, int c);
char *strstr(const char *s, const char *what);
char *strerror(int error);

/* ---- stdlib.h ---- */

char *getenv(const char *name);
unsigned long strtoul(const char *s, char **end, int base);
int atexit(void (*function)(void));
void exit(int status) __noreturn;

/* ---- stdio.h: nothing is buffered, so a fork has nothing to print twice ---- */

#define stdout		NULL
#define _IOLBF		1
#define setvbuf(stream, buf, mode, size)	((void)0)

int vsnprintf(char *buf, size_t size, const char *fmt, va_list args);
int snprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int vprintf(const char *fmt, va_list args);
int printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int putchar(int c);

/* ---- unistd.h, fcntl.h, sched.h, time.h, sys/... ---- */

#define STDOUT_FILENO	1
#define SEEK_END	2
#define MAP_FAILED	((void *)-1)

long syscall(long nr, ...);
ssize_t read(int fd, void *buf, size_t size);
ssize_t write(int fd, const void *buf, size_t size);
int open(const char *path, int flags, ...);
int close(int fd);
long lseek(int fd, long offset, int whence);
int pipe2(int fd[2], int flags);
int dup2(int from, int to);
int mkdir(const char *path, int mode);
int mount(const char *what, const char *at, const char *type, unsigned long flags, const void *data);
pid_t fork(void);
int execve(const char *path, char *const argv[], char *const envp[]);
pid_t waitpid(pid_t pid, int *status, int options);
void _exit(int status) __noreturn;
pid_t getpid(void);
pid_t geteuid(void);
unsigned int alarm(unsigned int seconds);
int usleep(unsigned int us);
int sched_yield(void);
int clock_gettime(int clock, struct timespec *ts);
int prctl(int option, ...);
void *mmap(void *at, size_t size, int prot, int flags, int fd, long offset);

/* ---- signal.h: as the kernel has them ---- */

typedef struct {
	unsigned long sig;
} sigset_t;

struct sigaction {
	__sighandler_t sa_handler;
	unsigned long sa_flags;
	sigset_t sa_mask;
};

int sigaction(int sig, const struct sigaction *act, struct sigaction *old);
int sigaddset(sigset_t *set, int sig);
__sighandler_t signal(int sig, __sighandler_t handler);
int kill(pid_t pid, int sig);
int raise(int sig);

#endif
