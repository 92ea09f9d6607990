/* SPDX-License-Identifier: Apache-2.0 */
/* nfa.c - see automata.h. */
#include "policy/compile/automata.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/compile/ruleset.h"

#define NO_NODE UINT32_MAX

void pol_nfa_init(struct pol_nfa *nfa, bool is_verdict)
{
	*nfa = (struct pol_nfa){.is_verdict = is_verdict, .nslots = 256};
	nfa->slots = b_malloc(nfa->nslots * sizeof *nfa->slots);
	memset(nfa->slots, 0xff, nfa->nslots * sizeof *nfa->slots);
}

void pol_nfa_release(struct pol_nfa *nfa)
{
	free(nfa->v);
	free(nfa->starts);
	free(nfa->label);
	free(nfa->slots);
	*nfa = (struct pol_nfa){0};
}

void pol_nfa_group(struct pol_nfa *nfa, uint32_t label)
{
	b_grow(nfa->label, nfa->ngroups, nfa->label_cap);
	nfa->label[nfa->ngroups++] = label;
}

static size_t node_hash(uint32_t group, uint32_t next, uint8_t kind, uint8_t byte)
{
	uint64_t h = (uint64_t)next << 32 ^ (uint64_t)group << 12 ^ (uint64_t)kind << 8 ^ byte;

	h = (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h ^ h >> 32);
}

static void rehash(struct pol_nfa *nfa)
{
	uint32_t *old = nfa->slots;
	size_t nold = nfa->nslots;

	nfa->nslots *= 4;
	nfa->slots = b_malloc(nfa->nslots * sizeof *nfa->slots);
	memset(nfa->slots, 0xff, nfa->nslots * sizeof *nfa->slots);
	for (size_t i = 0; i < nold; i++) {
		const struct pol_node *n;
		size_t at;

		if (old[i] == NO_NODE)
			continue;
		n = &nfa->v[old[i]];
		at = node_hash(n->group, n->next, n->kind, n->byte);
		for (; nfa->slots[at &= nfa->nslots - 1] != NO_NODE; at++)
			;
		nfa->slots[at] = old[i];
	}
	free(old);
}

static uint8_t distance_to_any(const struct pol_nfa *nfa, uint8_t kind, uint8_t byte, uint32_t next)
{
	uint8_t d;

	if (kind == POL_N_ANY)
		return 0;
	if (kind == POL_N_END || kind == POL_N_LATCH || kind == POL_N_TAIL || kind == POL_N_PEND)
		return POL_FAR;
	d = nfa->v[next].to_any;
	if (kind != POL_N_BYTE && kind != POL_N_FOLD)
		return d;
	return byte < 0x80 || d >= POL_FAR ? POL_FAR : (uint8_t)(d + 1);
}

static uint32_t append(struct pol_nfa *nfa, uint8_t kind, uint8_t byte, uint32_t next,
		       uint32_t rule)
{
	uint32_t group = (uint32_t)nfa->ngroups - 1;

	b_grow(nfa->v, nfa->n, nfa->cap);
	nfa->v[nfa->n] = (struct pol_node){next, group, rule,
					   kind, byte,	distance_to_any(nfa, kind, byte, next)};
	return (uint32_t)nfa->n++;
}

/* The node of this content in the current group, made when there is none. */
static uint32_t node(struct pol_nfa *nfa, uint8_t kind, uint8_t byte, uint32_t next, uint32_t rule)
{
	uint32_t group = (uint32_t)nfa->ngroups - 1, id;
	size_t at = node_hash(group, next, kind, byte);

	for (; (id = nfa->slots[at &= nfa->nslots - 1]) != NO_NODE; at++) {
		const struct pol_node *n = &nfa->v[id];

		if (n->next == next && n->kind == kind && n->byte == byte && n->group == group)
			return id;
	}
	id = nfa->slots[at] = append(nfa, kind, byte, next, rule);
	if (++nfa->nused * 2 > nfa->nslots)
		rehash(nfa);
	return id;
}

/*
 * Loops in front of loops fold: X = (?:.*[/])?[^/]* matches every string, as .* does, so that
 * `**` + "/" + `*.env` becomes .*\.env and needs no new set of loops in each directory.
 */
static uint32_t loop(struct pol_nfa *nfa, uint8_t kind, uint32_t next, uint32_t rule)
{
	uint8_t follower = nfa->v[next].kind;

	if (follower == POL_N_LATCH || follower == POL_N_DSTAR)
		return next;
	if (kind == POL_N_DSTAR && (follower == POL_N_END || follower == POL_N_TAIL)) {
		if (nfa->may_latch)
			return node(nfa, POL_N_LATCH, 0, NO_NODE, rule);
		return node(nfa, POL_N_DSTAR, 0, node(nfa, POL_N_END, 0, NO_NODE, rule), rule);
	}
	if (follower == kind)
		return next;
	if (kind == POL_N_DSTAR && (follower == POL_N_STAR || follower == POL_N_DIRS))
		return loop(nfa, POL_N_DSTAR, nfa->v[next].next, rule);
	if (kind == POL_N_DIRS && follower == POL_N_STAR)
		return loop(nfa, POL_N_DSTAR, nfa->v[next].next, rule);
	return node(nfa, kind, 0, next, rule);
}

static uint32_t any(struct pol_nfa *nfa, uint32_t next, uint32_t rule)
{
	size_t before = nfa->n;
	uint32_t id = node(nfa, POL_N_ANY, 0, next, rule);

	nfa->has_any = true;
	if (nfa->n > before) /* just made: its companion gets the next number */
		node(nfa, POL_N_PEND, 0, id, rule);
	return id;
}

static uint32_t literal(struct pol_nfa *nfa, const char *s, size_t len, uint32_t next,
			uint32_t rule)
{
	while (len-- > 0) {
		nfa->literal[(unsigned char)s[len]] = true;
		next = node(nfa, POL_N_BYTE, (uint8_t)s[len], next, rule);
	}
	return next;
}

/* One byte of a pattern; a letter in either case where the rule asks for that. */
static uint32_t one(struct pol_nfa *nfa, char c, uint32_t next, uint32_t rule)
{
	char small = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;

	if (!nfa->folds || small < 'a' || small > 'z')
		return literal(nfa, &c, 1, next, rule);
	nfa->literal[(unsigned char)small] = true;
	nfa->literal[(unsigned char)(small - 'a' + 'A')] = true;
	return node(nfa, POL_N_FOLD, (uint8_t)small, next, rule);
}

/* Pieces are found left to right and linked right to left: `kinds` holds one mark for each byte of
 * the pattern, 0 inside a piece. */
static uint32_t pieces(struct pol_nfa *nfa, const char *p, size_t len, uint32_t next, uint32_t rule)
{
	uint8_t *kinds = b_calloc(len + 1, 1);

	for (size_t i = 0; i < len;) {
		bool two = len - i >= 2 && p[i] == '*' && p[i + 1] == '*';
		bool three = two && len - i >= 3 && p[i + 2] == '/';

		kinds[i] = three	 ? POL_N_DIRS
			   : two	 ? POL_N_DSTAR
			   : p[i] == '*' ? POL_N_STAR
			   : p[i] == '?' ? POL_N_ANY
					 : POL_N_BYTE;
		i += three ? 3 : two ? 2 : 1;
	}
	for (size_t i = len; i-- > 0;) {
		if (kinds[i] == POL_N_BYTE)
			next = one(nfa, p[i], next, rule);
		else if (kinds[i] == POL_N_ANY)
			next = any(nfa, next, rule);
		else if (kinds[i] != 0)
			next = loop(nfa, kinds[i], next, rule);
	}
	free(kinds);
	return next;
}

static uint32_t glob_chain(struct pol_nfa *nfa, const char *glob, uint32_t rule)
{
	size_t len = strlen(glob);
	uint32_t end = node(nfa, POL_N_END, 0, NO_NODE, rule);

	if (len == 1 && glob[0] == '.')
		return end;
	if (len == 3 && !memcmp(glob, "/**", 3))
		return node(nfa, POL_N_LATCH, 0, NO_NODE, rule);
	if (len < 3 || memcmp(glob + len - 3, "/**", 3) != 0)
		return pieces(nfa, glob, len, end, rule);
	return pieces(nfa, glob, len - 3, node(nfa, POL_N_TAIL, '/', NO_NODE, rule), rule);
}

/* As literal(), for the directories of a path: hardly two rules have them in common together
 * with all that follows, so only the last component is looked up. */
static uint32_t path(struct pol_nfa *nfa, const char *s, size_t len, uint32_t next, uint32_t rule)
{
	size_t dir = len;

	while (dir > 0 && s[dir - 1] != '/')
		dir--;
	next = literal(nfa, s + dir, len - dir, next, rule);
	while (dir-- > 0) {
		nfa->literal[(unsigned char)s[dir]] = true;
		next = append(nfa, POL_N_BYTE, (uint8_t)s[dir], next, rule);
	}
	return next;
}

static void start(struct pol_nfa *nfa, const struct pol_rule *r, uint32_t next, uint32_t rule)
{
	b_grow(nfa->starts, nfa->nstarts, nfa->starts_cap);
	nfa->starts[nfa->nstarts++] = path(nfa, r->base, r->base_len, next, rule);
}

void pol_nfa_add(struct pol_nfa *nfa, const struct pol_rule *r, uint32_t rule)
{
	bool covers_base =
		r->shape != POL_GLOB || (r->base_is_root && pol_glob_match(r->glob, "", 0));
	uint32_t below;

	/* Where states forget latches, a latch must not hang on an ANY inside a character that
	 * may yet break off: such a rule keeps its last loop instead. */
	nfa->may_latch = nfa->is_verdict || r->shape != POL_GLOB || !strchr(r->glob, '?');
	nfa->folds = r->folds;
	if (r->shape == POL_TREE) {
		start(nfa, r, node(nfa, POL_N_TAIL, '/', NO_NODE, rule), rule);
		return;
	}
	if (r->shape == POL_GLOB) {
		below = glob_chain(nfa, r->glob, rule);
		if (nfa->v[below].kind == POL_N_LATCH && covers_base) {
			start(nfa, r, node(nfa, POL_N_TAIL, '/', NO_NODE, rule), rule);
			return;
		}
		start(nfa, r, literal(nfa, "/", 1, below, rule), rule);
	}
	if (covers_base)
		start(nfa, r, node(nfa, POL_N_END, 0, NO_NODE, rule), rule);
}
