/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two levels, which is what was thought of first for many nodes: a word for each node in front of
 * the global one. Who finds his node's word locked does not know whether the value that will come
 * is from before he came, so he waits for a generation that was locked after that; and who waits
 * too long goes to the global word himself.
 */

static atomic64_t *node_word[MACHINE_MAX_CPUS];

/* By an address of its own the simulator knows which loop it is. */
static u32 *node_bound;

static unsigned int node_polls(unsigned int cpu)
{
	(void)cpu;
	return 2 * *node_bound;
}

static void nodes_start(void)
{
	unsigned int n;

	ours_start();
	node_bound = machine_alloc(sizeof(*node_bound), 0);
	*node_bound = sc->bound;
	machine_polls(node_bound, node_polls);
	for (n = 0; n < machine.nodes; n++)
		node_word[n] = machine_alloc(sizeof(atomic64_t), n);
}

static u32 nodes_publish(atomic64_t *word, u64 generation, u32 value)
{
	u64 w = atomic64_read(word);

	while (w & SHARED_COUNTER_LOCK && shared_counter_same_seq(w, generation))
		if (atomic64_try_cmpxchg_release(word, (s64 *)&w, shared_counter_published(w, value)))
			break;
	return value;
}

static u32 nodes_read(void)
{
	atomic64_t *word = node_word[machine_node(shim_cpu())];
	u64 w = atomic64_read(word), need, seen;
	u32 polls;

	need = (w & SHARED_COUNTER_SEQ_MASK) +
	       (w & SHARED_COUNTER_LOCK ? 2 : 1) * SHARED_COUNTER_SEQ;
	for (;;) {
		if (!(w & SHARED_COUNTER_LOCK)) {
			seen = w;
			if (atomic64_try_cmpxchg_acquire(word, (s64 *)&seen, w | SHARED_COUNTER_LOCK))
				return nodes_publish(word, w, shared_counter_read(sc, sample));
			w = seen;
			if ((s64)(w - need) >= 0)
				return w;
		}
		polls = 2 * READ_ONCE(*node_bound);
		do {
			cpu_relax();
			seen = atomic64_read(word);
		} while (shared_counter_same_seq(seen, w) && --polls);
		if (shared_counter_same_seq(seen, w))
			return nodes_publish(word, w, shared_counter_read(sc, sample));
		w = seen;
		if ((s64)((w & SHARED_COUNTER_SEQ_MASK) - need) >= 0)
			return w;
	}
}
