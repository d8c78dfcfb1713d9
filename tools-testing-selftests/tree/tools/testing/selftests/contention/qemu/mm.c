// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the kernel's own tests of memory management in the guest and reports each by its exit
 * status, which is the one thing that they have had in common on all kernels. A test that passed
 * nothing and skipped something is a skip, though. What they print goes along as comments. MM=1
 * puts it and them into the guest; mm.list says which, with their arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#define LIST	"/mm/list"
#define MAX	32

static int run(const char *command)
{
	char line[400], *words = strdup(command), *argv[16], *save;
	int fd[2], argc = 0, status, skips = 0, passes = 0;
	FILE *out;
	pid_t pid;

	if (!words)
		return -1;
	argv[0] = strtok_r(words, " ", &save);
	while (argv[argc] && argc < 15)
		argv[++argc] = strtok_r(NULL, " ", &save);
	argv[argc] = NULL;
	if (!argc || pipe(fd))
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		if (!chdir("/mm"))
			execv(argv[0], argv);
		_exit(127);
	}
	close(fd[1]);
	out = fdopen(fd[0], "r");
	while (out && fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = '\0';
		printf("# %s: %s\n", argv[0], line);
		if (strstr(line, "SKIP"))
			skips++;
		else if (!strncmp(line, "ok ", 3))
			passes++;
	}
	if (out)
		fclose(out);
	free(words);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return !status && skips && !passes ? 4 << 8 : status;
}

int main(void)
{
	char command[MAX][256];
	int n = 0, i, status, failed = 0;
	FILE *list = fopen(LIST, "r");

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (list && n < MAX && fgets(command[n], sizeof(command[n]), list)) {
		command[n][strcspn(command[n], "\n")] = '\0';
		if (command[n][0] == '#')
			puts(command[n]);
		else
			n++;
	}
	printf("TAP version 13\n1..%d\n", n);
	for (i = 0; i < n; i++) {
		status = run(command[i]);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
			printf("ok %d %s # SKIP its output says why\n", i + 1, command[i]);
		else if (status)
			printf("not ok %d %s # wait status 0x%x\n", i + 1, command[i], status);
		else
			printf("ok %d %s\n", i + 1, command[i]);
		failed += status && !(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	}
	return failed || !n;
}
