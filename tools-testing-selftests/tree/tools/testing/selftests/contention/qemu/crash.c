// SPDX-License-Identifier: GPL-2.0
/*
 * Ends the guest by a panic while a CPU is stopped for ever in a read of the HPET, with whatever
 * lock it has there. CRASH=1 puts this into the guest in place of the tests. What the kernel still
 * says is for the runner to read.
 */
#include "../readers.h"

int main(void)
{
	static int cpu[MAX_CPUS];
	char text[128], command[32];
	struct readers all;
	int n;

	start();
	n = cpus_need(cpu);
	ksft_set_plan(1);
	pin(cpu[0]);
	snprintf(command, sizeof(command), "stop %d 0", cpu[n - 1]);
	/* That CPU alone reads, for in the kernel's own form all readers stop with it. */
	if (readers_start(&all, cpu + n - 1, 1, false) || file_write(INJECT, command))
		ksft_exit_fail_msg("cannot stop a CPU by " INJECT "\n");
	do {
		if (file_read(INJECT, text, sizeof(text)))
			ksft_exit_fail_msg("cannot read " INJECT "\n");
	} while (!strstr(text, "stopping 1"));
	file_write("/proc/sysrq-trigger", "c");
	ksft_exit_fail_msg("no panic\n");
}
