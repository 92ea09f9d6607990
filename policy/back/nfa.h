/*
 * nfa.h - rules as chains of nodes, shared by suffix within a group. Private to policy/back/.
 *
 * A group is a run of consecutive rules of one answer (a verdict, or one rule where rules are to
 * be told apart). Node ids grow with the group: sorted by id is sorted by group. What a chain
 * accepts for ever ends in POL_N_LATCH: from there no rule of its group or before it counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pol_rule;

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
#define POL_FAR 4 /* more than a token may hold after its first byte */

struct pol_nfa {
	struct pol_node *v;
	size_t n, cap;
	uint32_t *starts; /* first nodes of the chains */
	size_t nstarts, starts_cap;
	uint32_t *label; /* by group */
	size_t ngroups, label_cap;
	bool is_verdict; /* two answers, 0 and 1, only they count; else groups are told apart */
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
