// SPDX-License-Identifier: GPL-2.0
/* Twin without the bound: a reader waits for the holder, for ever if need be. */
#define SHARED_COUNTER_BROKEN		SHARED_COUNTER_NO_BOUND
#define SHARED_COUNTER_VARIANT	shared_counter_twin_bound
#include "shared_counter_scenarios.c"
