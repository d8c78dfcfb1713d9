// SPDX-License-Identifier: GPL-2.0
/* Twin without rule 1: an old sample is published over a newer one. */
#define SHARED_COUNTER_BROKEN		SHARED_COUNTER_NO_COMPARE
#define SHARED_COUNTER_VARIANT	shared_counter_twin_compare
#include "shared_counter_scenarios.c"
