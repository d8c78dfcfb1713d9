/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the loader on the host say, and do, when something is not as it should be. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) do {							\
	if (!(condition)) {							\
		printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);	\
		exit(1);							\
	}									\
} while (0)

#endif
