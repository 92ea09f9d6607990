/* SPDX-License-Identifier: Apache-2.0 */
/* minimise.c - see automata.h. */
#include "policy/compile/automata.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define OPEN (UINT32_MAX - 1) /* not settled yet: the component is still being visited */

#define REFINE_BUDGET (4u << 20) /* states looked at again, in one cycle */

/*
 * A row is compared by a sum over symbols, weight(symbol) * value(class of the target): linear,
 * so that a row over a base is the base's sum plus one difference for each edge. Sums only find
 * candidates: rows that are merged are compared.
 */
struct work {
	const struct pol_automaton *a;
	struct pol_classes *out;
	uint64_t weight[256], total;
	uint64_t *sum;	   /* by state, for the classes of now */
	uint32_t *settled; /* by state, OPEN until its component is done */
	uint32_t classes_cap;
	/* Classes by sum. */
	uint32_t *slot;
	uint64_t *slot_sum;
	size_t nslots, nused;
	/* Tarjan's algorithm. */
	uint32_t *order, *low, *stack, norder, nstack;
	struct frame *frames;
	size_t nframes, frames_cap;
};

struct frame {
	uint32_t state, edge; /* next edge to look at; 0 base, 1 dflt, 2.. edges */
};

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint32_t class_at(const struct work *w, uint32_t state, uint32_t sym)
{
	return w->out->of[pol_automaton_next(w->a, state, sym)];
}

static uint64_t row_sum(const struct work *w, uint32_t state)
{
	const struct pol_state *s = &w->a->states[state];
	const struct pol_edge *e = w->a->edges + s->first;
	uint64_t sum, dflt = 0;

	if (s->base == POL_NONE) {
		dflt = mix(w->out->of[s->dflt]);
		sum = w->total * dflt;
	} else {
		sum = w->sum[s->base];
	}
	for (uint32_t i = 0; i < s->nedges; i++) {
		uint64_t old = s->base == POL_NONE ? dflt : mix(class_at(w, s->base, e[i].sym));

		sum += w->weight[e[i].sym] * (mix(w->out->of[e[i].to]) - old);
	}
	return sum;
}

static bool rows_equal(const struct work *w, uint32_t x, uint32_t y)
{
	const struct pol_state *s = &w->a->states[x], *t = &w->a->states[y];
	const struct pol_edge *e = w->a->edges + s->first, *f = w->a->edges + t->first;
	uint32_t i = 0;

	/* Mostly the same edges over the same base. */
	if (s->base == t->base && s->base != POL_NONE && s->nedges == t->nedges) {
		while (i < s->nedges && e[i].sym == f[i].sym &&
		       w->out->of[e[i].to] == w->out->of[f[i].to])
			i++;
		if (i == s->nedges)
			return true;
	}
	for (uint32_t sym = 0; sym < w->a->nsyms; sym++)
		if (class_at(w, x, sym) != class_at(w, y, sym))
			return false;
	return true;
}

static void slots_clear(struct work *w, size_t want)
{
	while (w->nslots < want * 2)
		w->nslots *= 2;
	w->slot = b_realloc(w->slot, w->nslots, sizeof *w->slot);
	w->slot_sum = b_realloc(w->slot_sum, w->nslots, sizeof *w->slot_sum);
	memset(w->slot, 0xff, w->nslots * sizeof *w->slot);
	w->nused = 0;
}

static uint32_t new_class(struct work *w, uint32_t member)
{
	b_grow(w->out->v, w->out->n, w->classes_cap);
	w->out->v[w->out->n] = (struct pol_class){member, w->settled[member]};
	return w->out->n++;
}

/* The properties of a state by itself, without its moves. */
static uint64_t face(const struct work *w, uint32_t state)
{
	const struct pol_state *s = &w->a->states[state];
	return mix(((uint64_t)s->label << 1 | s->is_slash) ^ (uint64_t)w->settled[state] << 33) +
	       mix(~(uint64_t)s->latch);
}

static bool faces_equal(const struct work *w, uint32_t x, uint32_t y)
{
	const struct pol_state *s = &w->a->states[x], *t = &w->a->states[y];
	return s->label == t->label && s->latch == t->latch && s->is_slash == t->is_slash &&
	       w->settled[x] == w->settled[y];
}

/* Settled states need no row: their own properties are enough. */
static bool same_class(const struct work *w, uint32_t x, uint32_t y)
{
	return faces_equal(w, x, y) && (w->settled[x] != POL_MIXED || rows_equal(w, x, y));
}

static void grow_slots(struct work *w)
{
	uint32_t *slot = w->slot;
	uint64_t *sum = w->slot_sum;
	size_t n = w->nslots;

	w->slot = NULL, w->slot_sum = NULL;
	slots_clear(w, n);
	for (size_t i = 0; i < n; i++) {
		size_t at = sum[i];

		if (slot[i] == POL_NONE)
			continue;
		for (; w->slot[at &= w->nslots - 1] != POL_NONE; at++)
			;
		w->slot[at] = slot[i], w->slot_sum[at] = sum[i];
		w->nused++;
	}
	free(slot);
	free(sum);
}

/* What the class of a state is looked up by; the sum of its row is known. */
static uint64_t class_key(const struct work *w, uint32_t state)
{
	return face(w, state) + (w->settled[state] == POL_MIXED ? w->sum[state] : 0);
}

static void put_class(struct work *w, size_t at, uint64_t key, uint32_t class)
{
	w->slot[at] = class;
	w->slot_sum[at] = key;
	if (++w->nused * 2 > w->nslots)
		grow_slots(w);
}

/* A state all of whose targets have their class already joins its like. */
static void classify(struct work *w, uint32_t state)
{
	uint64_t key = class_key(w, state);
	size_t at = key;

	for (; w->slot[at &= w->nslots - 1] != POL_NONE; at++)
		if (w->slot_sum[at] == key && same_class(w, w->out->v[w->slot[at]].member, state)) {
			w->out->of[state] = w->slot[at];
			return;
		}
	w->out->of[state] = new_class(w, state);
	put_class(w, at, key, w->out->of[state]);
}

/* States that come later may be like one of a cycle. */
static void publish(struct work *w, uint32_t class)
{
	uint64_t key = class_key(w, w->out->v[class].member);
	size_t at = key;

	while (w->slot[at &= w->nslots - 1] != POL_NONE)
		at++;
	put_class(w, at, key, class);
}

/* Combines `label` with the label that was common so far. */
static uint32_t meet(uint32_t common, uint32_t label)
{
	if (label == OPEN || common == label)
		return common;
	return common == OPEN ? label : POL_MIXED;
}

static uint32_t meet_target(const struct work *w, uint32_t common, uint32_t to)
{
	const struct pol_state *t = &w->a->states[to];
	if (t->latch != 0)
		return POL_MIXED;
	if (!t->is_slash)
		common = meet(common, t->label);
	return meet(common, w->settled[to]);
}

/* The single answer of all continuations of `state`. States of the same cycle that are still open
 * do not count. A base counts with its whole row: at worst a settled state is taken for a mixed
 * one. */
static uint32_t settle(const struct work *w, uint32_t state)
{
	const struct pol_state *s = &w->a->states[state];
	const struct pol_edge *e = w->a->edges + s->first;
	uint32_t common = OPEN;

	common = s->base == POL_NONE ? meet_target(w, common, s->dflt)
				     : meet(common, w->settled[s->base]);
	for (uint32_t i = 0; i < s->nedges; i++)
		if (!s->is_slash || e[i].sym != w->a->slash) /* a second slash is not a path */
			common = meet_target(w, common, e[i].to);
	return common;
}

/* Bases first: the others' sums build on theirs. */
static void sum_all(struct work *w, const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (w->a->states[v[i]].base == POL_NONE)
			w->sum[v[i]] = row_sum(w, v[i]);
	for (uint32_t i = 0; i < n; i++)
		if (w->a->states[v[i]].base != POL_NONE)
			w->sum[v[i]] = row_sum(w, v[i]);
}

struct refinement {
	const uint32_t *v;
	uint32_t n;
	uint64_t *key;	/* by slot */
	uint32_t *slot; /* class */
	size_t nslots;
	uint32_t *next; /* by member: its class to be */
};

/* Members by key; the number of classes. */
static uint32_t group_by(struct work *w, struct refinement *r, bool by_row)
{
	uint32_t first = w->out->n, n = 0;

	memset(r->slot, 0xff, r->nslots * sizeof *r->slot);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t s = r->v[i];
		uint64_t key = by_row ? mix(w->out->of[s]) + w->sum[s] : face(w, s);
		size_t at = mix(key);

		for (; r->slot[at &= r->nslots - 1] != POL_NONE; at++)
			if (r->key[at] == key)
				break;
		if (r->slot[at] == POL_NONE)
			r->key[at] = key, r->slot[at] = first + n++;
		r->next[i] = r->slot[at];
	}
	for (uint32_t i = 0; i < r->n; i++)
		w->out->of[r->v[i]] = r->next[i];
	return n;
}

static bool is_sound(const struct work *w, const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t member = w->out->v[w->out->of[v[i]]].member;

		if (!faces_equal(w, member, v[i]) || !rows_equal(w, member, v[i]))
			return false;
	}
	return true;
}

/* Moore's algorithm within one cycle, the classes of all it leads to being known. */
static void refine(struct work *w, const uint32_t *v, uint32_t n)
{
	struct refinement r = {.v = v, .n = n, .nslots = 16};
	uint32_t before = 0, now, first = w->out->n;
	size_t looked_at = 0;

	while (r.nslots < (size_t)n * 2)
		r.nslots *= 2;
	r.key = b_malloc(r.nslots * sizeof *r.key);
	r.slot = b_malloc(r.nslots * sizeof *r.slot);
	r.next = b_malloc(n * sizeof *r.next);
	now = group_by(w, &r, false);
	for (; now > before && looked_at <= REFINE_BUDGET; looked_at += n) {
		before = now;
		sum_all(w, v, n);
		now = group_by(w, &r, true);
	}
	if (now == before)
		for (uint32_t i = 0; i < n; i++)
			if (w->out->of[v[i]] == w->out->n)
				new_class(w, v[i]);
	if (now != before || !is_sound(w, v, n)) {
		w->out->n = first;
		for (uint32_t i = 0; i < n; i++)
			w->out->of[v[i]] = new_class(w, v[i]);
	}
	free(r.key);
	free(r.slot);
	free(r.next);
}

static bool loops_on_itself(const struct work *w, uint32_t state)
{
	const struct pol_state *s = &w->a->states[state];
	const struct pol_edge *e = w->a->edges + s->first;

	for (uint32_t i = 0; i < s->nedges; i++)
		if (e[i].to == state)
			return true;
	return s->base == POL_NONE && s->dflt == state;
}

/* A strongly connected component, all it leads to being done. */
static void component(struct work *w, const uint32_t *v, uint32_t n)
{
	bool is_cycle = n > 1 || loops_on_itself(w, v[0]);
	uint32_t common = OPEN, first = w->out->n;

	for (uint32_t i = 0; i < n; i++)
		common = common == POL_MIXED ? common : meet(common, settle(w, v[i]));
	for (uint32_t i = 0; i < n; i++)
		w->settled[v[i]] = common;
	if (!is_cycle) {
		w->sum[v[0]] = row_sum(w, v[0]);
		classify(w, v[0]);
		return;
	}
	if (common != POL_MIXED) {
		for (uint32_t i = 0; i < n; i++)
			classify(w, v[i]);
		sum_all(w, v, n);
		return;
	}
	refine(w, v, n);
	sum_all(w, v, n);
	for (; first < w->out->n; first++)
		publish(w, first);
}

static void open_state(struct work *w, uint32_t state)
{
	w->order[state] = w->low[state] = ++w->norder;
	w->stack[w->nstack++] = state;
	b_grow(w->frames, w->nframes, w->frames_cap);
	w->frames[w->nframes++] = (struct frame){state, 0};
}

static uint32_t successor(const struct work *w, uint32_t state, uint32_t edge)
{
	const struct pol_state *s = &w->a->states[state];

	if (edge == 0)
		return s->base != POL_NONE ? s->base : s->dflt;
	return edge <= s->nedges ? w->a->edges[s->first + edge - 1].to : POL_NONE;
}

static void close_state(struct work *w, uint32_t state)
{
	uint32_t at = w->nstack;

	if (w->low[state] != w->order[state])
		return;
	while (w->stack[--at] != state)
		;
	component(w, w->stack + at, w->nstack - at);
	w->nstack = at;
}

/* Tarjan's algorithm, the recursion on a list of frames. */
static void visit(struct work *w, uint32_t root)
{
	open_state(w, root);
	while (w->nframes > 0) {
		struct frame *f = &w->frames[w->nframes - 1];
		uint32_t state = f->state, to = successor(w, state, f->edge++);

		if (to == POL_NONE) {
			w->nframes--;
			close_state(w, state);
			if (w->nframes > 0) {
				uint32_t parent = w->frames[w->nframes - 1].state;

				if (w->low[state] < w->low[parent])
					w->low[parent] = w->low[state];
			}
		} else if (w->order[to] == 0) {
			open_state(w, to);
		} else if (w->settled[to] == OPEN && w->order[to] < w->low[state]) {
			w->low[state] = w->order[to];
		}
	}
}

void pol_minimise(const struct pol_automaton *a, struct pol_classes *out)
{
	struct work w = {.a = a, .out = out, .nslots = 256};

	*out = (struct pol_classes){.of = b_malloc(a->nstates * sizeof *out->of)};
	w.sum = b_malloc(a->nstates * sizeof *w.sum);
	w.settled = b_malloc(a->nstates * sizeof *w.settled);
	w.order = b_calloc(a->nstates, sizeof *w.order);
	w.low = b_malloc(a->nstates * sizeof *w.low);
	w.stack = b_malloc(a->nstates * sizeof *w.stack);
	memset(out->of, 0xff, a->nstates * sizeof *out->of);
	for (size_t i = 0; i < a->nstates; i++)
		w.settled[i] = OPEN;
	for (uint32_t s = 0; s < a->nsyms; s++)
		w.total += w.weight[s] = mix(s) | 1;
	slots_clear(&w, w.nslots);
	visit(&w, a->start);
	free(w.sum);
	free(w.settled);
	free(w.order);
	free(w.low);
	free(w.stack);
	free(w.frames);
	free(w.slot);
	free(w.slot_sum);
}

void pol_classes_release(struct pol_classes *c)
{
	free(c->of);
	free(c->v);
	*c = (struct pol_classes){0};
}
