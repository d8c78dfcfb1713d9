// SPDX-License-Identifier: GPL-2.0
/* Twin without rule 2: a value is returned that the word does not hold. */
#define SHARED_COUNTER_BROKEN		SHARED_COUNTER_NO_PUBLISH
#define SHARED_COUNTER_VARIANT	shared_counter_twin_publish
#include "shared_counter_scenarios.c"
