/*
 * product.c - see product.h.
 *
 * The states are the pairs that are met, of classes of the minimised automata: where one of the
 * two is settled, as a layer mostly is outside of what it speaks of, there is one pair for each
 * state of the other, so that the product of a large policy and a small one is little larger than
 * their sum.
 */
#include "policy/back/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/back/automaton.h"
#include "policy/back/minimise.h"

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
