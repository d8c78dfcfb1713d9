/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other ways to read the HPET, written anew after their authors' description, to be compared with:
 *
 *  v6	"x86/hpet: Reduce HPET counter read contention", Waiman Long, August 2016: a word with a
 *	sequence number whose lowest bit is a lock, and the value beside it
 *  4.9	what was merged in the end: lock and value in one word of 64 bits, and whoever waits sees by the
 *	value that somebody has read
 */

struct v6 {
	atomic_long_t	seq;		/* odd: somebody reads */
	u32		value;		/* in the same line */
};

static struct v6 *v6;
static atomic64_t *merged;		/* lock in the lower half, value in the upper */

static void rivals_start(void)
{
	v6 = machine_alloc(sizeof(*v6), 0);
	merged = machine_alloc(sizeof(*merged), 0);
}

static u32 v6_read(void)
{
	long seq = atomic_long_read(&v6->seq), old = seq;
	u32 value;

	if (!(seq & 1)) {
		if (atomic_long_try_cmpxchg_relaxed(&v6->seq, &old, seq + 1)) {
			value = sample();
			WRITE_ONCE(v6->value, value);
			WRITE_ONCE(v6->seq.counter, seq + 2);
			return value;
		}
		seq = old;
	}
	while (seq & 1 && atomic_long_read(&v6->seq) == seq)
		cpu_relax();
	return READ_ONCE(v6->value);
}

static u32 merged_read(void)
{
	u64 old = atomic64_read(merged), seen;
	atomic_t *lock = (atomic_t *)merged;
	int unlocked = 0;
	u32 value;

	/* queued_spin_trylock() looks first. */
	if (!(u32)old && !atomic_read(lock) && atomic_try_cmpxchg_relaxed(lock, &unlocked, 1)) {
		value = sample();
		/* The value, then the unlock: two stores to one line. */
		WRITE_ONCE(((u32 *)merged)[1], value);
		WRITE_ONCE(((u32 *)merged)[0], 0);
		return value;
	}
	do {
		cpu_relax();
		seen = atomic64_read(merged);
	} while (seen >> 32 == old >> 32 && (u32)seen);
	return seen >> 32;
}
