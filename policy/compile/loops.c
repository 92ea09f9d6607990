/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/compile/automata.h"

void build_pool_reserve(struct build *b, size_t n)
{
	if (b->pool_cap - b->npool >= n)
		return;
	while (b->pool_cap - b->npool < n)
		b->pool_cap = b->pool_cap ? b->pool_cap * 2 : 1024;
	b->pool = b_realloc(b->pool, b->pool_cap, sizeof *b->pool);
}

uint32_t build_pool_add(struct build *b, const uint32_t *v, size_t n)
{
	uint32_t at = (uint32_t)b->npool;

	build_pool_reserve(b, n);
	if (n > 0)
		memcpy(b->pool + at, v, n * sizeof *v);
	b->npool += n;
	return at;
}

uint32_t build_hash(const uint32_t *v, size_t n, uint32_t seed)
{
	uint64_t h = seed + UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < n; i++)
		h = (h ^ v[i]) * UINT64_C(0xff51afd7ed558ccd), h ^= h >> 32;
	return (uint32_t)(h ^ h >> 29);
}

void index_init(struct index *ix)
{
	ix->nslots = 64;
	ix->n = 0;
	ix->slot = b_malloc(ix->nslots * sizeof *ix->slot);
	memset(ix->slot, 0xff, ix->nslots * sizeof *ix->slot);
}

void index_release(struct index *ix)
{
	free(ix->slot);
}

uint32_t index_find(const struct build *b, const struct index *ix, uint32_t hash, index_same *same,
		    const void *key, size_t *out_slot)
{
	size_t at = hash;
	uint32_t id;

	for (; (id = ix->slot[at &= ix->nslots - 1]) != POL_NONE; at++)
		if (same(b, id, key))
			return id;
	*out_slot = at;
	return POL_NONE;
}

void index_put(const struct build *b, struct index *ix, size_t slot, uint32_t id, index_hash *hash)
{
	ix->slot[slot] = id;
	if (++ix->n * 2 <= ix->nslots)
		return;
	free(ix->slot);
	ix->nslots *= 4;
	ix->slot = b_malloc(ix->nslots * sizeof *ix->slot);
	memset(ix->slot, 0xff, ix->nslots * sizeof *ix->slot);
	for (uint32_t i = 0; i <= id; i++) {
		size_t at = hash(b, i);

		for (; ix->slot[at &= ix->nslots - 1] != POL_NONE; at++)
			;
		ix->slot[at] = i;
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

size_t sort_unique(uint32_t *v, size_t n)
{
	size_t m = 0, sorted = 1;

	/* Rules are entered in their order: mostly there is nothing to do. */
	while (sorted < n && v[sorted - 1] < v[sorted])
		sorted++;
	if (sorted >= n)
		return n;
	if (n > 16)
		qsort(v, n, sizeof *v, compare);
	else
		for (size_t i = 1; i < n; i++) {
			uint32_t x = v[i];
			size_t j = i;

			for (; j > 0 && v[j - 1] > x; j--)
				v[j] = v[j - 1];
			v[j] = x;
		}
	for (size_t i = 0; i < n; i++)
		if (m == 0 || v[m - 1] != v[i])
			v[m++] = v[i];
	return m;
}

struct wanted {
	const uint32_t *v;
	size_t n;
	uint32_t dflt;
};

static bool loops_same(const struct build *b, uint32_t id, const void *key)
{
	const struct loops *k = &b->loops[id];
	const struct wanted *w = key;

	return k->n == w->n && k->dflt == w->dflt &&
	       !memcmp(b->pool + k->first, w->v, w->n * sizeof *w->v);
}

static uint32_t loops_hash(const struct build *b, uint32_t id)
{
	const struct loops *k = &b->loops[id];

	return build_hash(b->pool + k->first, k->n, k->dflt);
}

static void describe(const struct build *b, struct loops *k, const uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct pol_node *node = &b->nfa->v[v[i]];
		uint8_t behind = b->nfa->v[node->next].kind;

		if (k->opposed == POL_NONE && b->nfa->label[node->group] != k->dflt)
			k->opposed = node->group;
		if (node->kind != POL_N_DIRS && (behind == POL_N_END || behind == POL_N_TAIL))
			k->accept = node->group + 1;
	}
}

/* `v` may lie in the pool. */
uint32_t loops_intern(struct build *b, const uint32_t *v, size_t n, uint32_t dflt)
{
	static const uint32_t none;
	struct wanted w = {n ? v : &none, n, dflt};
	struct loops k = {.n = (uint32_t)n,
			  .dflt = dflt,
			  .opposed = POL_NONE,
			  .after_slash = POL_NONE,
			  .em = {{.state = POL_NONE}, {.state = POL_NONE}}};
	size_t slot;
	uint32_t id;

	b->work += n / 4;
	id = index_find(b, &b->loop_index, build_hash(w.v, n, dflt), loops_same, &w, &slot);
	if (id != POL_NONE)
		return id;
	describe(b, &k, v, n);
	if (n > 0 && v >= b->pool && v < b->pool + b->npool)
		k.first = (uint32_t)(v - b->pool); /* a part of another set: shared */
	else
		k.first = build_pool_add(b, v, n);
	id = (uint32_t)b->nloops;
	b_grow(b->loops, b->nloops, b->loops_cap);
	b->loops[b->nloops++] = k;
	index_put(b, &b->loop_index, slot, id, loops_hash);
	return id;
}

uint32_t loops_from_group(struct build *b, uint32_t id, uint32_t group, uint32_t dflt)
{
	const struct loops *k = &b->loops[id];
	const uint32_t *v = b->pool + k->first;
	size_t low = 0, high = k->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->nfa->v[v[middle]].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 && k->dflt == dflt)
		return id;
	return loops_intern(b, v + low, k->n - low, dflt);
}

static bool has(const uint32_t *v, size_t n, uint32_t x)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && v[low] == x;
}

uint32_t loops_with(struct build *b, uint32_t id, uint32_t *v, size_t n)
{
	const struct loops *k = &b->loops[id];
	uint32_t *all, dflt = k->dflt, result;
	size_t fresh = 0, m;

	for (size_t i = 0; i < n; i++)
		if (!has(b->pool + k->first, k->n, v[i]))
			v[fresh++] = v[i];
	if (fresh == 0)
		return id;
	m = k->n + fresh;
	b->work += m;
	all = b_malloc(m * sizeof *all);
	memcpy(all, b->pool + k->first, k->n * sizeof *all);
	memcpy(all + k->n, v, fresh * sizeof *all);
	m = sort_unique(all, m);
	result = loops_intern(b, all, m, dflt);
	free(all);
	return result;
}

uint32_t loops_after_slash(struct build *b, uint32_t id)
{
	const struct loops *k = &b->loops[id];
	uint32_t *v, n = 0, dflt = k->dflt;

	if (k->after_slash != POL_NONE)
		return k->after_slash;
	v = b_malloc((k->n + 1) * sizeof *v);
	for (uint32_t i = 0; i < k->n; i++)
		if (b->nfa->v[b->pool[k->first + i]].kind != POL_N_STAR)
			v[n++] = b->pool[k->first + i];
	n = loops_intern(b, v, n, dflt);
	free(v);
	b->loops[id].after_slash = n;
	return n;
}

/* Nodes of the emission by symbol, then the ANY ones: a stable counting sort. */
static void emission_sort(struct build *b, struct emission *em)
{
	uint32_t count[257] = {0}, at, total = 0;
	uint8_t bytes[2];

	build_pool_reserve(b, em->n * 2);
	at = (uint32_t)b->npool;
	for (uint32_t i = 0; i < em->n; i++) {
		const struct pol_node *n = &b->nfa->v[b->pool[em->first + i]];

		if (n->kind == POL_N_ANY) {
			em->nanys++;
			continue;
		}
		for (unsigned c = pol_node_bytes(n, bytes); c-- > 0; total++)
			count[b->out->sym[bytes[c]] + 1]++;
	}
	em->anys = at + total;
	b->npool += total + em->nanys;
	em->runs = (uint32_t)b->nruns;
	for (uint32_t s = 0; s < 256; s++) {
		if (count[s + 1] > 0) {
			b_grow(b->runs, b->nruns, b->runs_cap);
			b->runs[b->nruns++] = (struct run){s, at + count[s], count[s + 1]};
			em->nruns++;
		}
		count[s + 1] += count[s];
	}
	for (uint32_t i = 0, anys = 0; i < em->n; i++) {
		uint32_t id = b->pool[em->first + i];
		const struct pol_node *n = &b->nfa->v[id];

		if (n->kind == POL_N_ANY) {
			b->pool[em->anys + anys++] = id;
			continue;
		}
		for (unsigned c = pol_node_bytes(n, bytes); c-- > 0;)
			b->pool[at + count[b->out->sym[bytes[c]]]++] = id;
	}
}

static void emission_build(struct build *b, const struct loops *k, bool after_slash,
			   struct emission *em)
{
	uint32_t *v = b_malloc((k->n + 1) * sizeof *v);

	em->is_built = true;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct pol_node *n = &b->nfa->v[b->pool[k->first + i]];
		uint32_t next = n->next; /* no loop: see loop() in nfa.c */

		/* Inside a name (?:.*[/])? waits for the slash. */
		if (n->kind == POL_N_DIRS && !after_slash)
			continue;
		n = &b->nfa->v[next];
		if (n->to_any < POL_FAR)
			em->is_near_any = true;
		if (n->kind != POL_N_END)
			v[em->n++] = next;
	}
	b->work += k->n;
	em->n = (uint32_t)sort_unique(v, em->n);
	em->first = build_pool_add(b, v, em->n);
	free(v);
	emission_sort(b, em);
}

const struct emission *loops_emission(struct build *b, uint32_t id, bool after_slash)
{
	if (!b->loops[id].em[after_slash].is_built) {
		struct loops k = b->loops[id];

		emission_build(b, &k, after_slash, &k.em[after_slash]);
		b->loops[id] = k;
	}
	return &b->loops[id].em[after_slash];
}

bool emission_has(const struct build *b, const struct emission *em, uint32_t node)
{
	return em->n > 0 && has(b->pool + em->first, em->n, node);
}

const struct run *emission_run(const struct build *b, const struct emission *em, uint32_t sym)
{
	const struct run *v = em->nruns ? b->runs + em->runs : NULL;
	size_t low = 0, high = em->nruns;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v[middle].sym < sym)
			low = middle + 1;
		else
			high = middle;
	}
	return low < em->nruns && v[low].sym == sym ? &v[low] : NULL;
}
