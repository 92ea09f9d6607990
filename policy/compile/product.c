/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - automata that must both allow as one, and its tables by classes of bytes. */
#include "policy/compile/automata.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * The states are the pairs that are met, of classes of the minimised automata: where one of the
 * two is settled, as a layer mostly is outside of what it speaks of, there is one pair for each
 * state of the other, so that the product of a large policy and a small one is little larger than
 * their sum.
 */

struct side {
	const struct pol_automaton *a;
	struct pol_classes c;
	uint8_t sym[256]; /* by symbol of the product */
};

struct work {
	struct side side[2];
	struct pol_automaton *out;
	struct {
		uint32_t class[2];
	} * pairs; /* by state of the product */
	size_t pairs_cap;
	uint32_t *slots; /* states by pair */
	size_t nslots;
	size_t limit;
};

static uint32_t hash(const uint32_t class[2])
{
	uint64_t h = ((uint64_t) class[0] << 32 | class[1]) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

static uint32_t *find_slot(const struct work *w, const uint32_t class[2])
{
	size_t at = hash(class);

	for (;; at++) {
		uint32_t *slot = &w->slots[at &= w->nslots - 1];

		if (*slot == POL_NONE || !memcmp(w->pairs[*slot].class, class, sizeof *w->pairs))
			return slot;
	}
}

static void grow_slots(struct work *w)
{
	w->nslots *= 2;
	w->slots = b_realloc(w->slots, w->nslots, sizeof *w->slots);
	memset(w->slots, 0xff, w->nslots * sizeof *w->slots);
	for (size_t i = 0; i < w->out->nstates; i++)
		*find_slot(w, w->pairs[i].class) = (uint32_t)i;
}

static const struct pol_state *member(const struct side *s, uint32_t class)
{
	return &s->a->states[s->c.v[class].member];
}

/* The state of a pair. */
static uint32_t intern(struct work *w, const uint32_t class[2])
{
	const struct pol_state *a = member(&w->side[0], class[0]);
	const struct pol_state *b = member(&w->side[1], class[1]);
	struct pol_automaton *out = w->out;
	uint32_t *slot = find_slot(w, class);

	if (*slot != POL_NONE)
		return *slot;
	*slot = (uint32_t)out->nstates;
	if (out->nstates == w->pairs_cap)
		w->pairs = b_realloc(w->pairs, w->pairs_cap = w->pairs_cap ? 2 * w->pairs_cap : 256,
				     sizeof *w->pairs);
	memcpy(w->pairs[out->nstates].class, class, sizeof *w->pairs);
	b_grow(out->states, out->nstates, out->states_cap);
	out->states[out->nstates++] = (struct pol_state){
		.label = a->label && b->label,
		.base = POL_NONE,
		.is_slash = a->is_slash || b->is_slash,
	};
	if (out->nstates * 2 > w->nslots)
		grow_slots(w);
	return (uint32_t)out->nstates - 1;
}

static uint32_t next(struct work *w, uint32_t state, uint32_t sym)
{
	uint32_t class[2];

	for (int i = 0; i < 2; i++) {
		const struct side *s = &w->side[i];
		uint32_t from = s->c.v[w->pairs[state].class[i]].member;

		class[i] = s->c.of[pol_automaton_next(s->a, from, s->sym[sym])];
	}
	return intern(w, class);
}

static void expand(struct work *w, uint32_t state)
{
	struct pol_automaton *out = w->out;
	uint32_t dflt = next(w, state, 0);

	out->states[state].dflt = dflt;
	out->states[state].first = (uint32_t)out->nedges;
	for (uint32_t sym = 1; sym < out->nsyms; sym++) {
		uint32_t to = next(w, state, sym);

		if (to == dflt)
			continue;
		b_grow(out->edges, out->nedges, out->edges_cap);
		out->edges[out->nedges++] = (struct pol_edge){sym, to};
		out->states[state].nedges++;
	}
}

/* Bytes that both treat alike are one symbol; 0 stays what no pattern names. */
static void name_symbols(struct work *w)
{
	struct pol_automaton *out = w->out;

	out->nsyms = 1;
	w->side[0].sym[0] = w->side[1].sym[0] = 0;
	for (unsigned c = 0; c < 256; c++) {
		uint8_t x = w->side[0].a->sym[c], y = w->side[1].a->sym[c];
		uint32_t sym = 0;

		while (sym < out->nsyms && (w->side[0].sym[sym] != x || w->side[1].sym[sym] != y))
			sym++;
		if (sym == out->nsyms) {
			w->side[0].sym[sym] = x;
			w->side[1].sym[sym] = y;
			out->nsyms++;
		}
		out->sym[c] = (uint8_t)sym;
	}
	out->slash = out->sym['/'];
}

int pol_product(const struct pol_automaton *a, const struct pol_automaton *b, size_t limit,
		struct pol_automaton *out)
{
	struct work w = {.side = {{.a = a}, {.a = b}}, .out = out, .nslots = 512, .limit = limit};
	uint32_t start[2];

	*out = (struct pol_automaton){0};
	for (int i = 0; i < 2; i++) {
		pol_minimise(w.side[i].a, &w.side[i].c);
		start[i] = w.side[i].c.of[w.side[i].a->start];
	}
	name_symbols(&w);
	w.slots = b_malloc(w.nslots * sizeof *w.slots);
	memset(w.slots, 0xff, w.nslots * sizeof *w.slots);
	out->start = intern(&w, start);
	for (uint32_t i = 0; i < out->nstates && out->nstates <= w.limit; i++)
		expand(&w, i);
	for (int i = 0; i < 2; i++)
		pol_classes_release(&w.side[i].c);
	free(w.pairs);
	free(w.slots);
	if (out->nstates <= limit)
		return 0;
	pol_automaton_release(out);
	return -1;
}

/* ---- dense tables ---- */

struct dense_work {
	const struct pol_automaton *a;
	const struct pol_classes *c;
	struct pol_dense *out;
	uint32_t *number;   /* by class, POL_NONE = not met */
	uint32_t *order, n; /* classes by number */
	uint32_t *base_row; /* by state: place in `rows`, POL_NONE = none */
	uint32_t *rows;	    /* rows of bases, numbers by byte class */
	size_t nrows, rows_cap;
	uint32_t *bases, nbases; /* states that are bases, in the order they were met */
	uint8_t sym_class[256];
	uint32_t rep[256]; /* a symbol of each byte class */
};

static const struct pol_state *dense_member(const struct dense_work *w, uint32_t class)
{
	return &w->a->states[w->c->v[class].member];
}

static bool is_settled(const struct dense_work *w, uint32_t class)
{
	const struct pol_state *s = dense_member(w, class);
	uint32_t settled = w->c->v[class].settled;

	return settled != POL_MIXED && (s->is_slash || s->label == settled);
}

static void meet_class(struct dense_work *w, uint32_t state)
{
	uint32_t class = w->c->of[state];

	if (w->number[class] != POL_NONE)
		return;
	w->number[class] = w->n;
	w->order[w->n++] = class;
}

static void meet_edges(struct dense_work *w, const struct pol_state *s)
{
	for (uint32_t i = 0; i < s->nedges; i++)
		meet_class(w, w->a->edges[s->first + i].to);
}

/* Breadth first from the start; then settled classes are moved to the front. */
static void number_classes(struct dense_work *w)
{
	uint32_t *sorted, n = 0;

	meet_class(w, w->a->start);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t state = w->c->v[w->order[i]].member;
		const struct pol_state *s = &w->a->states[state];

		meet_edges(w, s);
		if (s->base != POL_NONE)
			state = s->base;
		if (w->base_row[state] != POL_NONE)
			continue;
		w->base_row[state] = w->nbases;
		w->bases[w->nbases++] = state;
		meet_class(w, w->a->states[state].dflt);
		meet_edges(w, &w->a->states[state]);
	}
	sorted = b_malloc(w->n * sizeof *sorted);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < w->n; i++)
			if (is_settled(w, w->order[i]) == (pass == 0))
				sorted[n++] = w->order[i];
		if (pass == 0)
			w->out->nsettled = n;
	}
	memcpy(w->order, sorted, n * sizeof *sorted);
	free(sorted);
	for (uint32_t i = 0; i < n; i++)
		w->number[w->order[i]] = i;
}

static uint32_t number_of(const struct dense_work *w, uint32_t state)
{
	return w->number[w->c->of[state]];
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return (x ^ x >> 29) * UINT64_C(0xd6e8feb86659fd93);
}

/* Do all rows treat the symbols of each byte class alike? Only edges can tell them apart. */
static bool classes_hold(const struct dense_work *w, uint32_t state)
{
	const struct pol_state *s = &w->a->states[state];

	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct pol_edge *e = &w->a->edges[s->first + i];
		uint8_t class = w->sym_class[e->sym];

		for (uint32_t sym = 0; sym < w->a->nsyms; sym++)
			if (sym != e->sym && w->sym_class[sym] == class &&
			    number_of(w, pol_automaton_next(w->a, state, sym)) !=
				    number_of(w, e->to))
				return false;
	}
	return true;
}

/* Sums of columns, up to what all columns share: each state's difference from its base, and
 * each base's from its default, once for all who stand on it. */
static void sum_columns(const struct dense_work *w, uint64_t *sum)
{
	uint64_t *weight = b_calloc(w->nbases + 1, sizeof *weight);

	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t state = w->c->v[w->order[i]].member;
		const struct pol_state *s = &w->a->states[state];
		const struct pol_edge *e = w->a->edges + s->first;

		weight[w->base_row[s->base == POL_NONE ? state : s->base]] += mix(i);
		for (uint32_t j = 0; s->base != POL_NONE && j < s->nedges; j++) {
			uint32_t old = pol_automaton_next(w->a, s->base, e[j].sym);

			sum[e[j].sym] +=
				mix(i) * (mix(number_of(w, e[j].to)) - mix(number_of(w, old)));
		}
	}
	for (uint32_t i = 0; i < w->nbases; i++) {
		const struct pol_state *s = &w->a->states[w->bases[i]];
		const struct pol_edge *e = w->a->edges + s->first;

		for (uint32_t j = 0; j < s->nedges; j++)
			sum[e[j].sym] += weight[i] *
					 (mix(number_of(w, e[j].to)) - mix(number_of(w, s->dflt)));
	}
	free(weight);
}

/* Symbols that no state tells apart share a class: sums find them, comparing proves them. */
static void merge_symbols(struct dense_work *w)
{
	uint64_t sum[256] = {0};
	uint32_t n = 0;
	bool holds = true;

	sum_columns(w, sum);
	for (uint32_t sym = 0; sym < w->a->nsyms; sym++) {
		uint32_t c = 0;

		while (c < n && sum[w->rep[c]] != sum[sym])
			c++;
		if (c == n)
			w->rep[n++] = sym;
		w->sym_class[sym] = (uint8_t)c;
	}
	for (uint32_t i = 0; n < w->a->nsyms && holds && i < w->n; i++)
		holds = classes_hold(w, w->c->v[w->order[i]].member);
	for (uint32_t i = 0; n < w->a->nsyms && holds && i < w->nbases; i++)
		holds = classes_hold(w, w->bases[i]);
	for (uint32_t sym = 0; !holds && sym < w->a->nsyms; sym++)
		w->sym_class[sym] = (uint8_t)sym, w->rep[sym] = sym;
	w->out->nclasses = holds ? n : w->a->nsyms;
	for (unsigned c = 0; c < 256; c++)
		w->out->byte_class[c] = w->sym_class[w->a->sym[c]];
}

static void fill_base_rows(struct dense_work *w)
{
	w->rows = b_malloc(((size_t)w->nbases * w->out->nclasses + 1) * sizeof *w->rows);
	for (uint32_t i = 0; i < w->nbases; i++) {
		const struct pol_state *s = &w->a->states[w->bases[i]];
		uint32_t *row = w->rows + (size_t)i * w->out->nclasses;

		for (uint32_t c = 0; c < w->out->nclasses; c++)
			row[c] = number_of(w, s->dflt);
		for (uint32_t j = 0; j < s->nedges; j++) {
			const struct pol_edge *e = &w->a->edges[s->first + j];

			row[w->sym_class[e->sym]] = number_of(w, e->to);
		}
	}
}

static void put(const struct dense_work *w, uint32_t state, uint32_t class, uint32_t to)
{
	size_t at = ((size_t)state << w->out->shift) + class;

	to <<= w->out->scaled;
	if (w->out->width == 2)
		((uint16_t *)w->out->table)[at] = (uint16_t)to;
	else
		((uint32_t *)w->out->table)[at] = to;
}

static void fill_row(const struct dense_work *w, uint32_t number)
{
	uint32_t state = w->c->v[w->order[number]].member;
	const struct pol_state *s = &w->a->states[state];
	const uint32_t *row = w->rows + (size_t)w->base_row[s->base == POL_NONE ? state : s->base] *
						w->out->nclasses;

	for (uint32_t c = 0; c < w->out->nclasses; c++)
		put(w, number, c, row[c]);
	for (uint32_t i = 0; s->base != POL_NONE && i < s->nedges; i++) {
		const struct pol_edge *e = &w->a->edges[s->first + i];

		put(w, number, w->sym_class[e->sym], number_of(w, e->to));
	}
}

static void fill(struct dense_work *w)
{
	struct pol_dense *d = w->out;

	d->nstates = w->n;
	d->start = number_of(w, w->a->start);
	d->width = w->n <= 0x10000 ? 2 : 4;
	while (1u << d->shift < d->nclasses)
		d->shift++; /* As far as it goes: two bytes rather than speed, tables live in
			       everybody's cache. */
	while (d->scaled < d->shift && (uint64_t)w->n << (d->scaled + 1) <= 1ull << 8 * d->width)
		d->scaled++;
	d->table = b_calloc((size_t)d->nstates << d->shift, d->width);
	d->label = b_malloc(d->nstates * sizeof *d->label);
	d->latch = b_malloc(d->nstates * sizeof *d->latch);
	d->settled = b_malloc(d->nstates * sizeof *d->settled);
	d->is_slash = b_malloc(d->nstates);
	for (uint32_t i = 0; i < d->nstates; i++) {
		const struct pol_state *s = dense_member(w, w->order[i]);

		fill_row(w, i);
		d->settled[i] = w->c->v[w->order[i]].settled;
		d->is_slash[i] = s->is_slash;
		d->latch[i] = s->latch;
		d->label[i] = i < d->nsettled ? d->settled[i] : s->label;
	}
}

void pol_dense_build(struct pol_dense *out, const struct pol_automaton *a,
		     const struct pol_classes *c)
{
	struct dense_work w = {.a = a, .c = c, .out = out};

	*out = (struct pol_dense){0};
	w.number = b_malloc(c->n * sizeof *w.number);
	w.order = b_malloc(c->n * sizeof *w.order);
	w.base_row = b_malloc(a->nstates * sizeof *w.base_row);
	w.bases = b_malloc(a->nstates * sizeof *w.bases);
	memset(w.number, 0xff, c->n * sizeof *w.number);
	memset(w.base_row, 0xff, a->nstates * sizeof *w.base_row);
	number_classes(&w);
	merge_symbols(&w);
	fill_base_rows(&w);
	fill(&w);
	free(w.number);
	free(w.order);
	free(w.base_row);
	free(w.bases);
	free(w.rows);
}

void pol_dense_release(struct pol_dense *d)
{
	free(d->table);
	free(d->label);
	free(d->latch);
	free(d->settled);
	free(d->is_slash);
	*d = (struct pol_dense){0};
}
