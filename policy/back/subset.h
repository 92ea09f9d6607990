/*
 * subset.h - what the subset construction (automaton.c) and its sets of loops (loops.c) share.
 *
 * A state is (loops, where, rest): `loops` is an interned set of loop nodes, which stay until a
 * slash or for ever; what they emit again after each byte or slash is computed once per set, not
 * once per state, so that a thousand patterns below `**` cost a state nothing. `rest` are the
 * remaining nodes, small.
 */
#pragma once

#include "policy/back/automaton.h"
#include "policy/back/nfa.h"

/* Where a state stands. From PENDING on: inside a character, PENDING + how far. */
enum { AT_MIDDLE, AT_SLASH, AT_PART, AT_PENDING };

struct run { /* nodes of an emission that read one symbol */
	uint32_t sym, first, n;
};

/* What a set of loops adds to the nodes of a state, in the middle of a name or after a slash. */
struct emission {
	bool is_built, is_near_any;
	uint32_t first, n;    /* pool: nodes, by id */
	uint32_t runs, nruns; /* by symbol; their nodes lie in the pool too */
	uint32_t anys, nanys; /* pool: ANY nodes */
	uint32_t state;	      /* the state with these loops and no rest, POL_NONE = not yet made */
};

struct loops {
	uint32_t first, n; /* pool: loop nodes by id */
	uint32_t dflt;	   /* answer when nothing live matches */
	uint32_t opposed;  /* lowest group that could change the answer, POL_NONE = none */
	uint32_t accept;   /* in the middle of a name: last group that matches, + 1 */
	uint32_t after_slash;
	struct emission em[2]; /* AT_MIDDLE, AT_SLASH */
};

/* Open addressing, values are indices, POL_NONE = free. */
struct index {
	uint32_t *slot;
	size_t nslots, n;
};

struct key {
	uint32_t loops;
	uint32_t first, n; /* pool: rest, by id. AT_PENDING: states if broken, if completed */
	uint32_t where;
	uint32_t hash;
};

struct step { /* the nodes reached by one symbol, before they are a state */
	uint32_t *rest, *loop;
	size_t nrest, nloop, rest_cap, loop_cap;
	uint32_t accept, latch; /* group + 1, 0 = none */
};

struct symbol {
	uint8_t byte; /* the byte, or one of its bytes */
	bool is_literal;
	uint8_t lead; /* how far a character begun by it is, 0 = begins none */
};

struct build {
	const struct pol_nfa *nfa;
	struct pol_automaton *out;
	struct pol_limits limits;
	bool is_verdict;
	size_t work;
	struct symbol sym[256];
	uint32_t *pool;
	size_t npool, pool_cap;
	struct key *keys; /* by state */
	size_t keys_cap;
	struct loops *loops;
	size_t nloops, loops_cap;
	struct run *runs;
	size_t nruns, runs_cap;
	struct index state_index, loop_index;
	struct step step;
};

uint32_t build_pool_add(struct build *, const uint32_t *v, size_t n);
void build_pool_reserve(struct build *, size_t n);
uint32_t build_hash(const uint32_t *v, size_t n, uint32_t seed);

void index_init(struct index *);
void index_release(struct index *);

/* Interns sorted loop nodes with a default answer. */
uint32_t loops_intern(struct build *, const uint32_t *v, size_t n, uint32_t dflt);
/* The part of the set that lies in groups >= `group`, the answer `dflt` below it. */
uint32_t loops_from_group(struct build *, uint32_t id, uint32_t group, uint32_t dflt);
/* With more loop nodes (any order, repeats allowed). */
uint32_t loops_with(struct build *, uint32_t id, uint32_t *v, size_t n);
uint32_t loops_after_slash(struct build *, uint32_t id);
/* Borrowed until the next call of this family. */
const struct emission *loops_emission(struct build *, uint32_t id, bool after_slash);
bool emission_has(const struct build *, const struct emission *, uint32_t node);
const struct run *emission_run(const struct build *, const struct emission *, uint32_t sym);

/* Slot of the entry for which `same` holds, or a free one to be filled by index_put. */
typedef bool index_same(const struct build *, uint32_t id, const void *key);
uint32_t index_find(const struct build *, const struct index *, uint32_t hash, index_same *same,
		    const void *key, size_t *out_slot);
typedef uint32_t index_hash(const struct build *, uint32_t id);
void index_put(const struct build *, struct index *, size_t slot, uint32_t id, index_hash *hash);

/* Sorts ascending and drops repeats; returns the new length. */
size_t sort_unique(uint32_t *v, size_t n);
