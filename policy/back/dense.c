#include "policy/back/dense.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/back/automaton.h"
#include "policy/back/minimise.h"

struct work {
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

static const struct pol_state *member(const struct work *w, uint32_t class)
{
	return &w->a->states[w->c->v[class].member];
}

static bool is_settled(const struct work *w, uint32_t class)
{
	const struct pol_state *s = member(w, class);
	uint32_t settled = w->c->v[class].settled;

	return settled != POL_MIXED && (s->is_slash || s->label == settled);
}

static void meet_class(struct work *w, uint32_t state)
{
	uint32_t class = w->c->of[state];

	if (w->number[class] != POL_NONE)
		return;
	w->number[class] = w->n;
	w->order[w->n++] = class;
}

static void meet_edges(struct work *w, const struct pol_state *s)
{
	for (uint32_t i = 0; i < s->nedges; i++)
		meet_class(w, w->a->edges[s->first + i].to);
}

/* Breadth first from the start; then settled classes are moved to the front. */
static void number_classes(struct work *w)
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

static uint32_t number_of(const struct work *w, uint32_t state)
{
	return w->number[w->c->of[state]];
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return (x ^ x >> 29) * UINT64_C(0xd6e8feb86659fd93);
}

/* Do all rows treat the symbols of each byte class alike? Only edges can tell them apart. */
static bool classes_hold(const struct work *w, uint32_t state)
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
static void sum_columns(const struct work *w, uint64_t *sum)
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
static void merge_symbols(struct work *w)
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

static void fill_base_rows(struct work *w)
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

static void put(const struct work *w, uint32_t state, uint32_t class, uint32_t to)
{
	size_t at = ((size_t)state << w->out->shift) + class;

	to <<= w->out->scaled;
	if (w->out->width == 2)
		((uint16_t *)w->out->table)[at] = (uint16_t)to;
	else
		((uint32_t *)w->out->table)[at] = to;
}

static void fill_row(const struct work *w, uint32_t number)
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

static void fill(struct work *w)
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
		const struct pol_state *s = member(w, w->order[i]);

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
	struct work w = {.a = a, .c = c, .out = out};

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
