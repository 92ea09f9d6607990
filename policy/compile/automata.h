/* SPDX-License-Identifier: Apache-2.0 */
/* automata.h - nondeterministic and deterministic automata on the way to an image. Private to
 * policy/compile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/image.h"

struct b_err;
struct pol_automaton;
struct pol_classes;
struct pol_list;
struct pol_nfa;
struct pol_rule;

/*
 * Groups of rules as one deterministic automaton over symbols. Private to
 * policy/back/. Pure.
 *
 * A state answers for the bytes read so far: label of the last group that matches, 0 when none
 * does. If groups must be distinguished, states do not remember which groups have matched for ever
 * (they would multiply). A state that is entered when a group latches says so, and the walker
 * remembers. Rows are sparse: a state's move on a symbol is its own edge, else the edge or default
 * of its base, else its default.
 *
 * Only canonical paths are judged: after a slash a state answers nothing, a second slash leads
 * to the state that answers 0 for ever.
 */

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

/* The cost: steps of `limits.work`, and, if a limit was passed, the rule (pol_node.rule) that
 * caused most of them. */
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

/*
 * Rules as chains of nodes, shared by suffix within a group. Private to policy/back/.
 *
 * A group is a run of consecutive rules of one answer (a verdict, or one rule where rules must be
 * distinguished). Node ids grow with the group: sorted by id is sorted by group. A chain that
 * accepts for ever ends in POL_N_LATCH: from there no rule of its group or before it counts.
 */

enum pol_node_kind {
	POL_N_END,   /* accepts */
	POL_N_LATCH, /* accepts here and for ever */
	POL_N_BYTE,  /* one byte */
	POL_N_FOLD,  /* one letter of ASCII, `byte` being the small one */
	POL_N_TAIL,  /* accepts; a slash latches: (?:/.*)?$ */
	POL_N_ANY,   /* one token but '/'; the node behind it is its POL_N_PEND */
	POL_N_PEND,  /* an ANY inside a token that is not complete */
	POL_N_STAR,  /* loops: [^/]* */
	POL_N_DSTAR, /* .* */
	POL_N_DIRS   /* (?:.*[/])? */
};

struct pol_node {
	uint32_t next;
	uint32_t group;
	uint32_t rule; /* the first rule that needed it */
	uint8_t kind;  /* enum pol_node_kind */
	uint8_t byte;
	uint8_t to_any; /* bytes >= 0x80 that may come before an ANY; POL_FAR = none is near */
};
#define POL_FAR 4 /* more than the bytes that a token may have after its first */

struct pol_nfa {
	struct pol_node *v;
	size_t n, cap;
	uint32_t *starts; /* first nodes of the chains */
	size_t nstarts, starts_cap;
	uint32_t *label; /* by group */
	size_t ngroups, label_cap;
	bool is_verdict; /* two answers, 0 and 1, only they count; else groups are distinguished */
	bool may_latch;	 /* the rule being added */
	bool folds;	 /* its glob matches letters in either case */
	bool has_any;
	bool literal[256]; /* bytes that occur */
	/* Hash-consing within the last group. */
	uint32_t *slots;
	size_t nslots, nused;
};

void pol_nfa_init(struct pol_nfa *, bool is_verdict);
void pol_nfa_release(struct pol_nfa *);
/* The rules added from here on form a group with this answer. */
void pol_nfa_group(struct pol_nfa *, uint32_t label);
/* `rule` is a number of the caller's, given back in pol_node.rule. */
void pol_nfa_add(struct pol_nfa *, const struct pol_rule *, uint32_t rule);

/* The bytes that lead on from a node that is none of ANY: one, or both cases of a letter. */
static inline unsigned pol_node_bytes(const struct pol_node *n, uint8_t out[2])
{
	out[0] = n->byte;
	out[1] = (uint8_t)(n->byte - 'a' + 'A');
	return n->kind == POL_N_FOLD ? 2 : 1;
}

static inline bool pol_node_is_loop(const struct pol_node *n)
{
	return n->kind >= POL_N_STAR;
}

/*
 * Shared by the subset construction (automaton.c) and its sets of loops (loops.c).
 *
 * A state is (loops, where, rest): `loops` is an interned set of loop nodes, which stay until a
 * slash or for ever; what they emit again after each byte or slash is computed once per set, not
 * once per state, so that a thousand patterns below `**` cost a state nothing. `rest` are the
 * remaining nodes, small.
 */

/* The position of a state in a character: PENDING + n, after n of its bytes. */
enum { AT_MIDDLE, AT_SLASH, AT_PART, AT_PENDING };

struct run { /* nodes of an emission that read one symbol */
	uint32_t sym, first, n;
};

/* The nodes that a set of loops adds to a state, in the middle of a name or after a slash. */
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

/*
 * A minimised automaton as the table that is walked: numbered, over byte classes.
 * Private to policy/back/. Pure; equal automata give equal tables.
 */

struct pol_dense {
	uint32_t start, nstates, nsettled; /* see struct sbx_dfa */
	uint32_t nclasses, shift, width, scaled;
	uint8_t byte_class[256];
	void *table;	 /* (nstates << shift) entries of `width` bytes */
	uint32_t *label; /* by state; of a settled state: the label of what follows */
	uint32_t *latch;
	uint32_t *settled; /* the label of every continuation, or POL_MIXED */
	uint8_t *is_slash;
};

void pol_dense_build(struct pol_dense *, const struct pol_automaton *, const struct pol_classes *);
void pol_dense_release(struct pol_dense *);

/*
 * Classes of states that answer alike whatever follows. Private to policy/back/.
 * Pure.
 *
 * States outside cycles, and within one cycle, fall into the coarsest classes there are. Two
 * cycles that are copies of each other, which the construction hardly ever makes, stay two.
 * A cycle so deep that refinement would pass its budget is kept as it is.
 */

#define POL_MIXED UINT32_MAX /* what follows decides */

struct pol_class {
	uint32_t member;  /* a state of the class */
	uint32_t settled; /* the label of every continuation, or POL_MIXED */
};

struct pol_classes {
	uint32_t *of; /* by state; POL_NONE where the start does not lead */
	struct pol_class *v;
	uint32_t n;
};

void pol_minimise(const struct pol_automaton *, struct pol_classes *out);
void pol_classes_release(struct pol_classes *);

/* Two verdict automata as one that allows what both allow. Private to policy/back/. */

/* The two must read slashes alike, as all made by pol_automaton_build() do. 0, or -1 when the
 * product has more than `limit` states. */
int pol_product(const struct pol_automaton *a, const struct pol_automaton *b, size_t limit,
		struct pol_automaton *out);

/*
 * The bytes of an image while they are written. Private to policy/back/.
 */

struct pol_writer {
	struct b_str out;
	size_t work; /* steps that its automata took so far, all together */
};

/* Appends n bytes (zeros when p is NULL) at the next multiple of 8; returns their offset. */
uint32_t pol_writer_append(struct pol_writer *, const void *p, size_t n);
/* Appends text (NULL = "") and its NUL. */
struct sbx_image_str pol_writer_text(struct pol_writer *, const char *s);

/* The verdict automaton of a list; B_LIMIT names the rule to blame. */
int pol_write_verdict(struct pol_writer *, const struct pol_list *, struct sbx_dfa *out,
		      struct b_err *);
/* Whether a rule is just one path, or one path and all below it. */
enum pol_literal { POL_LITERAL_NO, POL_LITERAL_EXACT, POL_LITERAL_TREE, POL_LITERAL_NOTHING };
/* *out_path: appended to, where the answer is EXACT or TREE. */
enum pol_literal pol_rule_literal(const struct pol_rule *, struct b_str *out_path);
/* The table of the literal rules of a list: op->literals, nliterals, seed. */
void pol_write_literals(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *op);
/* The attribution automata of the other rules of a list: op->groups and op->ngroups. */
int pol_write_groups(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *op,
		     struct b_err *);
/* literals.c: the rules that deny once more, by their folded text: out->folded. */
int pol_write_folded(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *out,
		     struct b_err *);
/* The attribution automata of folded patterns, `label` by pattern: out->folded.groups. */
int pol_write_folded_groups(struct pol_writer *, const struct pol_list *, const uint32_t *label,
			    struct sbx_image_layer *out, struct b_err *);
