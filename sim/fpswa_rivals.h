/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other ways to limit the messages, written anew, to be compared with:
 *
 *  2.6		handle_fpu_swa() before December 2006: two words that everybody reads and writes
 *  2006	"FPSWA exceptions take excessive system time", Jack Steiner, December 2006
 *  ratelimit	___ratelimit() of 5.10 to 6.12: a lock that is only tried
 *  ratelimit-7.3 its successor, Paul McKenney and Petr Mladek, 2025: first a counter without the lock
 *
 * Without messages the second to the fourth do nothing. A plain ++ of theirs is a load and a
 * store, as in the kernel, and others may come in between.
 */

static struct {
	long count, time;
} *old;

static void old_start(void)
{
	old = machine_alloc(sizeof(*old), 0);
}

/* Done before it is looked whether the task is silent; then last_time stays as it was at boot. */
static void old_always(void)
{
	if ((long)(jiffies - READ_ONCE(old->time)) > WINDOW)
		WRITE_ONCE(old->count, 0);
}

static bool old_ask(void)
{
	/* 4, and not 5. */
	if (READ_ONCE(old->count) >= BURST - 1)
		return false;
	WRITE_ONCE(old->time, jiffies);
	WRITE_ONCE(old->count, READ_ONCE(old->count) + 1);
	return true;
}

struct swa_msg {
	unsigned long count, time;
};

static DEFINE_PER_CPU(struct swa_msg, swa_cpu);
static struct swa_msg *swa_last;

static void steiner_start(void)
{
	swa_last = machine_alloc(sizeof(*swa_last), 0);
}

static bool steiner_ask(void)
{
	struct swa_msg *cp = per_cpu_ptr(&swa_cpu, shim_cpu());
	unsigned long t = jiffies, count;
	long seen;

	if (t > READ_ONCE(cp->time))
		WRITE_ONCE(cp->count, 0);
	if (READ_ONCE(cp->count) >= BURST)
		return false;
	WRITE_ONCE(cp->count, READ_ONCE(cp->count) + 1);
	WRITE_ONCE(cp->time, t + WINDOW);
	count = READ_ONCE(swa_last->count);
	if (t > READ_ONCE(swa_last->time)) {
		seen = count;
		atomic_long_try_cmpxchg_relaxed((atomic_long_t *)&swa_last->count, &seen,
						16 + (count & ~15UL));
	}
	if ((READ_ONCE(swa_last->count) & 15) >= BURST)
		return false;
	shim_access(&swa_last->count, sizeof(long), SHIM_RMW);
	if ((swa_last->count++ & 15) >= BURST)
		return false;
	WRITE_ONCE(swa_last->time, t + WINDOW);
	return true;
}

static struct {
	atomic_long_t lock, left;
	long begin, printed, missed;
} *rs;

static void ratelimit_start(void)
{
	rs = machine_alloc(sizeof(*rs), 0);
}

static bool rs_trylock(void)
{
	long unlocked = 0;

	/* queued_spin_trylock() looks first. */
	return !atomic_long_read(&rs->lock) &&
	       atomic_long_try_cmpxchg_relaxed(&rs->lock, &unlocked, 1);
}

static void rs_unlock(void)
{
	WRITE_ONCE(rs->lock.counter, 0);
}

static bool ratelimit_ask(void)
{
	bool allowed = false;

	if (!rs_trylock())
		return false;
	if (!READ_ONCE(rs->begin))
		WRITE_ONCE(rs->begin, jiffies);
	if ((long)(READ_ONCE(rs->begin) + WINDOW - jiffies) < 0) {
		WRITE_ONCE(rs->begin, jiffies);
		WRITE_ONCE(rs->printed, 0);
	}
	if (READ_ONCE(rs->printed) < BURST) {
		WRITE_ONCE(rs->printed, READ_ONCE(rs->printed) + 1);
		allowed = true;
	} else {
		WRITE_ONCE(rs->missed, READ_ONCE(rs->missed) + 1);
	}
	rs_unlock();
	return allowed;
}

static bool rs_take(void)
{
	if (atomic_long_read(&rs->left) <= 0)
		return false;
	shim_access(&rs->left, sizeof(long), SHIM_RMW);
	return rs->left.counter-- > 0;
}

static void rs_missed(void)
{
	shim_access(&rs->missed, sizeof(long), SHIM_RMW);
	rs->missed++;
}

static bool ratelimit_new_ask(void)
{
	bool allowed = false;

	if (!rs_trylock()) {
		allowed = READ_ONCE(rs->begin) && rs_take();
		if (!allowed)
			rs_missed();
		return allowed;
	}
	if (!READ_ONCE(rs->begin) || (long)(READ_ONCE(rs->begin) + WINDOW - jiffies) < 0) {
		WRITE_ONCE(rs->begin, jiffies);
		WRITE_ONCE(rs->left.counter, BURST);
	}
	allowed = rs_take();
	rs_unlock();
	if (!allowed)
		rs_missed();
	return allowed;
}
