/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that a seed gives again: xorshift64*, Sebastiano Vigna 2016. */
#ifndef VERIFY_RANDOM_H
#define VERIFY_RANDOM_H

#include <stdint.h>

/* *state is the seed at first, and never 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

#endif
