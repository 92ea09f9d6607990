/*
 * automaton.h - groups of rules as one deterministic automaton over symbols. Private to
 * policy/back/. Pure.
 *
 * A state answers for the bytes read so far: label of the last group that matches, 0 when none
 * does. When groups are to be told apart, states do not remember what has matched for ever (they
 * would multiply): a state that is entered when a group latches says so, the walker remembers. Rows
 * are sparse: what a state does on a symbol is its own edge, else the edge or default of its base,
 * else its default.
 *
 * Only canonical paths are judged: after a slash a state answers nothing, a second slash leads
 * to the state that answers 0 for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pol_nfa;

#define POL_NONE UINT32_MAX

struct pol_edge {
	uint32_t sym, to;
};

struct pol_state {
	uint32_t label;
	uint32_t latch; /* label of the last group that matches from here on; 0 = none, or forgotten
			 */
	uint32_t base;	/* a state without base of its own, or POL_NONE */
	uint32_t dflt;	/* where base is POL_NONE */
	uint32_t first, nedges; /* edges, by symbol */
	bool is_slash;
	bool is_part; /* scaffolding of the construction: no row, never a target */
};

struct pol_automaton {
	struct pol_state *states;
	size_t nstates, states_cap;
	struct pol_edge *edges;
	size_t nedges, edges_cap;
	uint32_t start;
	uint8_t sym[256];      /* byte -> symbol */
	uint32_t nsyms, slash; /* symbol 0: bytes no pattern names; slash: of '/' */
};

struct pol_limits {
	size_t states; /* states and, roughly, elementary steps: both decide the same way anywhere
			*/
	size_t work;
};

/* What it took: steps of `limits.work`, and of what passed a limit the rule (pol_node.rule) that
 * most of them were for. */
struct pol_cost {
	size_t work;
	uint32_t rule;
};

/* 0; or -1 when a limit was passed. *out_cost is set in any case. */
int pol_automaton_build(struct pol_automaton *, const struct pol_nfa *, const struct pol_limits *,
			struct pol_cost *out_cost);
void pol_automaton_release(struct pol_automaton *);

/* Where `state` goes on `sym`. */
uint32_t pol_automaton_next(const struct pol_automaton *, uint32_t state, uint32_t sym);
