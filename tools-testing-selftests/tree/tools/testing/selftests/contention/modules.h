/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel modules that a test loads and unloads, by modprobe or, where there is none, from
 * /lib/modules/<release>/<name>.ko. What was loaded here is unloaded again whatever ends the test,
 * if its restore function calls modules_unload().
 */
#ifndef CONTENTION_MODULES_H
#define CONTENTION_MODULES_H

#include "compat.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define MODULES_MAX	4
#define MODULE_ARGS	24

static const char *modules_ours[MODULES_MAX];
static int nr_modules_ours;
static pid_t modprobe_pid;

/* A file may have dashes in its name, the module that came from it has underscores. */
static inline const char *module_name(const char *file)
{
	static char name[64];
	char *dash;

	snprintf(name, sizeof(name), "%s", file);
	while ((dash = strchr(name, '-')))
		*dash = '_';
	return name;
}

static inline bool module_loaded(const char *name)
{
	char path[128];

	/* What is built in has a folder too, but not this. */
	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module_name(name));
	return !access(path, F_OK);
}

static inline const char *modprobe_find(void)
{
	static const char * const at[] = {
		"/sbin/modprobe", "/usr/sbin/modprobe", "/bin/modprobe", "/usr/bin/modprobe", NULL
	};
	int i;

	for (i = 0; at[i] && access(at[i], X_OK); i++)
		;
	return at[i];
}

/* Returns its exit status, or -1 and errno. */
static inline int modprobe_run(const char *modprobe, const char *option, const char *name,
			       const char *params)
{
	char *args[MODULE_ARGS + 1] = { "modprobe", "-q", (char *)option, (char *)name };
	char text[512], *save;
	int n = 4, status, out;
	pid_t pid;

	snprintf(text, sizeof(text), "%s", params);
	for (args[n] = strtok_r(text, " ", &save); args[n] && n < MODULE_ARGS - 1;
	     args[n] = strtok_r(NULL, " ", &save))
		n++;
	args[n] = NULL;

	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		/* A signal that is for us is not for the child to act on. */
		restore = NULL;
		out = open("/dev/null", O_WRONLY);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		execv(modprobe, args);
		_exit(127);
	}
	modprobe_pid = pid;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	modprobe_pid = 0;
	errno = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static inline void module_path(const char *name, char *path, size_t size)
{
	struct utsname u;

	if (uname(&u))
		u.release[0] = '\0';
	snprintf(path, size, "/lib/modules/%s/%s.ko", u.release, name);
}

static inline int module_insert(const char *name, const char *params)
{
	char path[256];
	int fd, ret;

	module_path(name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = syscall(__NR_finit_module, fd, params, 0);
	close(fd);
	return ret;
}

/* What is built in cannot be loaded for a test, though modprobe says that it could. */
static inline bool module_builtin(const char *name)
{
	char path[256], line[256], end[80];
	struct utsname u;
	bool found = false;
	FILE *list;

	snprintf(path, sizeof(path), "/sys/module/%s", module_name(name));
	if (!access(path, F_OK) && !module_loaded(name))
		return true;
	if (uname(&u))
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", u.release);
	snprintf(end, sizeof(end), "/%s.ko\n", name);
	list = fopen(path, "r");
	while (list && !found && fgets(line, sizeof(line), list))
		found = strlen(line) > strlen(end) &&
			!strcmp(line + strlen(line) - strlen(end), end);
	if (list)
		fclose(list);
	return found;
}

static inline bool module_exists(const char *name)
{
	const char *modprobe = modprobe_find();
	char path[256];

	if (module_builtin(name))
		return false;
	if (modprobe)
		return !modprobe_run(modprobe, "-n", name, "");
	module_path(name, path, sizeof(path));
	return !access(path, R_OK);
}

/* Before it is loaded, because a signal may come when it just has been. */
static inline void module_is_ours(const char *name)
{
	int i;

	if (module_loaded(name))
		return;
	for (i = 0; i < nr_modules_ours; i++)
		if (!strcmp(modules_ours[i], name))
			return;
	if (nr_modules_ours < MODULES_MAX)
		modules_ours[nr_modules_ours++] = name;
}

/*
 * Loads what it needs first, if that is not NULL. Returns 0, or -1; errno is 0 if it was modprobe
 * that failed.
 */
static inline int module_load(const char *name, const char *needs, const char *params)
{
	const char *modprobe = modprobe_find();

	if (needs)
		module_is_ours(needs);
	module_is_ours(name);
	if (modprobe)
		return modprobe_run(modprobe, "--", name, params) ? -1 : 0;
	/* It may be built in, which shows in its file not being there. */
	if (needs && !module_loaded(needs) && module_insert(needs, "") && errno != ENOENT)
		return -1;
	return module_insert(name, params);
}

static inline int module_unload(const char *name)
{
	return syscall(__NR_delete_module, module_name(name), O_NONBLOCK);
}

static inline void modules_unload(void)
{
	int i;

	if (modprobe_pid > 0)
		waitpid(modprobe_pid, NULL, 0);
	modprobe_pid = 0;
	/* Each is needed by those after it. */
	for (i = nr_modules_ours - 1; i >= 0; i--)
		module_unload(modules_ours[i]);
	nr_modules_ours = 0;
}

#endif
