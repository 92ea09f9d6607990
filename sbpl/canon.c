/* SPDX-License-Identifier: Apache-2.0 */
/* canon.c - the resolved and normalised form of a path, which is what Seatbelt compares
 * filters with. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"
#include "sbpl/unicode_table.h"

/* Filters are compared with the resolved path and are not resolved themselves: a rule
 * on /tmp would be dead, a dead deny open. */

static const struct {
	const char *from, *to;
} links[] = {
	{"/tmp", "/private/tmp"},
	{"/var", "/private/var"},
	{"/etc", "/private/etc"},
	{"/home", "/System/Volumes/Data/home"},
};

/* NULL: as it is. */
static const char *resolve(struct b_arena *a, const char *path, size_t len)
{
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		size_t n = strlen(links[i].from);

		if (sbx_path_under(path, len, links[i].from, n))
			return b_arena_printf(a, "%s%.*s", links[i].to, (int)(len - n), path + n);
	}
	return NULL;
}

const char *sbpl_canonical_path(struct b_arena *a, const char *path)
{
	const char *real = resolve(a, path, strlen(path));

	return real ? real : path;
}

/* The base, and of a glob its literal directories, too: "" with "tmp/x*" is /tmp with "x*". */
static bool resolve_rule(struct b_arena *a, struct pol_rule *r)
{
	size_t prefix = r->shape == POL_GLOB && !r->folds ? pol_glob_literal_prefix(r->glob) : 0;
	const char *path = r->base, *real;

	if (prefix > 0 && r->glob[prefix])
		path = b_arena_printf(a, "%s/%.*s", r->base, (int)prefix, r->glob);
	real = resolve(a, path, strlen(path));
	if (!real)
		return false;
	if (path != r->base) {
		r->glob += prefix + 1;
		r->base_is_root = false;
	}
	r->base = real;
	r->base_len = strlen(real);
	return true;
}

static bool is_ascii(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] >= 0x80)
			return false;
	return true;
}

/* A name may be on the disk in either of Unicode's forms, and the filter compares bytes: a deny is
 * said in both. Of an allow, what is not matched stays closed. */
static bool add_spelling(struct pol_ruleset *out, enum sbx_op op, const struct pol_rule *r,
			 bool composed)
{
	b_auto(b_str_release) struct b_str base = {0}, glob = {0};
	struct pol_rule twin = *r;

	if (!b_normalise(r->base, r->base_len, composed, &base) ||
	    (r->glob && !b_normalise(r->glob, strlen(r->glob), composed, &glob)))
		return false;
	if (strcmp(b_str_c(&base), r->base) == 0 && (!r->glob || strcmp(glob.s, r->glob) == 0))
		return false;
	twin.base = b_str_c(&base);
	twin.base_len = base.len;
	twin.glob = r->glob ? glob.s : NULL;
	pol_ruleset_add(out, op, &twin);
	return true;
}

static bool add_spellings(struct pol_ruleset *out, enum sbx_op op, const struct pol_rule *r)
{
	bool added = false;

	if (is_ascii(r->base, r->base_len) && (!r->glob || is_ascii(r->glob, strlen(r->glob))))
		return false; /* one form is the other */
	for (int composed = 0; composed < 2 && !r->allow; composed++)
		added |= add_spelling(out, op, r, composed);
	return added;
}

/* The first rules speak of everything ("nothing outside", "reads are broad") or are those of the
 * base about devices; what the system needs comes right behind them, where all others may take it
 * back. */
static bool is_ahead(const struct pol_rule *r)
{
	return (r->shape == POL_TREE && r->base_len == 0) ||
	       (r->tier == POL_TIER_BASE && sbx_path_under(r->base, r->base_len, "/dev", 4));
}

struct insert {
	struct pol_ruleset *rs;
	enum sbx_op op;
	uint8_t layer;
};

static void insert_one(void *ctx, unsigned ops, const struct pol_rule *r)
{
	const struct insert *in = ctx;

	if (ops >> in->op & 1)
		pol_ruleset_add(in->rs, in->op, r)->layer = in->layer;
}

/* Where the rules of the groups belong in a list; past its end when they are in it already. */
static size_t find_place(const struct pol_list *list, size_t first, size_t end)
{
	size_t i = first;

	for (size_t k = 0; k < list->n; k++)
		if (sbpl_is_group_rule(&list->v[k]))
			return list->n + 1;
	while (i < end && is_ahead(&list->v[i]))
		i++;
	return i;
}

bool sbpl_canonical(const struct pol_ruleset *rs, unsigned groups, struct pol_ruleset *out)
{
	struct b_arena scratch = {0};
	bool changed = false;

	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &rs->op[op], main = sbpl_main_layer(list);
		size_t first = main.n ? (size_t)(main.v - list->v) : 0;
		size_t place = find_place(list, first, first + main.n);
		struct insert in = {out, (enum sbx_op)op,
				    main.n ? main.v[0].layer : POL_LAYER_MAIN};

		for (size_t i = 0; i <= list->n; i++) {
			struct pol_rule r;

			/* Without a list of its own nothing is to be executed or connected to. */
			if (i == place && groups && (list->n || op <= SBX_MODIFY)) {
				sbpl_groups_rules(groups, insert_one, &in);
				changed = true;
			}
			if (i == list->n)
				break;
			r = list->v[i];
			/* Theirs are of the links themselves. */
			changed |= !sbpl_is_group_rule(&r) && resolve_rule(&scratch, &r);
			pol_ruleset_add(out, (enum sbx_op)op, &r);
			changed |= add_spellings(out, (enum sbx_op)op, &r);
		}
	}
	b_arena_release(&scratch);
	return changed;
}

/* Unicode Standard Annex 15, chapter 3.12 for Hangul. */

#define N(table) (sizeof(table) / sizeof *(table))

enum { S = 0xac00, L = 0x1100, V = 0x1161, T = 0x11a7, NL = 19, NV = 21, NT = 28 };
#define IS_IN(c, first, n) ((c) >= (first) && (c) < (first) + (uint32_t)(n))

#define CODE(x)	 ((x)&0x1fffff)
#define CLASS(x) ((x) >> 24)

struct codes {
	uint32_t *v; /* the class above the code */
	size_t n, cap;
};

static unsigned class_of(uint32_t c)
{
	for (size_t i = 0; i < N(classes) && c >= classes[i][0]; i++)
		if (c <= classes[i][1])
			return classes[i][2];
	return 0;
}

static void add(struct codes *t, uint32_t c)
{
	b_grow(t->v, t->n, t->cap);
	t->v[t->n++] = c | class_of(c) << 24;
}

static int by_code(const void *key, const void *row)
{
	uint32_t c = *(const uint32_t *)key, other = *(const uint32_t *)row;

	return c < other ? -1 : c > other;
}

/* What follows a first part is never taken apart further: the depth is that of the table, 4. */
static void decompose(struct codes *t, uint32_t c)
{
	const uint32_t *row;

	if (IS_IN(c, S, NL * NV * NT)) {
		uint32_t i = c - S;

		add(t, L + i / (NV * NT));
		add(t, V + i % (NV * NT) / NT);
		if (i % NT)
			add(t, T + i % NT);
		return;
	}
	row = bsearch(&c, pairs, N(pairs), sizeof *pairs, by_code);
	if (!row) {
		add(t, c);
		return;
	}
	decompose(t, row[1]);
	if (row[2])
		decompose(t, row[2]);
}

/* Marks behind one base stand in the order of their classes. */
static void reorder(struct codes *t)
{
	for (size_t i = 1; i < t->n; i++) {
		uint32_t c = t->v[i];
		size_t at = i;

		for (; CLASS(c) && at > 0 && CLASS(t->v[at - 1]) > CLASS(c); at--)
			t->v[at] = t->v[at - 1];
		t->v[at] = c;
	}
}

/* 0: these two have no common form. */
static uint32_t pair(uint32_t a, uint32_t b)
{
	if (IS_IN(a, L, NL) && IS_IN(b, V, NV))
		return S + ((a - L) * NV + (b - V)) * NT;
	if (IS_IN(a, S, NL * NV * NT) && (a - S) % NT == 0 && IS_IN(b, T + 1, NT - 1))
		return a + (b - T);
	for (size_t i = 0; i < N(pairs); i++)
		if (pairs[i][1] == a && pairs[i][2] == b)
			return bsearch(pairs[i], excluded, N(excluded), sizeof *excluded, by_code)
				       ? 0
				       : pairs[i][0];
	return 0;
}

static void compose(struct codes *t)
{
	size_t n = 0, base = SIZE_MAX;
	unsigned before = 0; /* class of the last mark that stayed behind `base` */

	for (size_t i = 0; i < t->n; i++) {
		uint32_t c = t->v[i], both;
		unsigned k = CLASS(c);

		/* A mark of the same class in between keeps them apart, and so does a base. */
		if (base != SIZE_MAX && (base + 1 == n || (before < k && before > 0)) &&
		    (both = pair(CODE(t->v[base]), CODE(c)))) {
			t->v[base] = both;
			continue;
		}
		if (k == 0)
			base = n;
		before = k;
		t->v[n++] = c;
	}
	t->n = n;
}

static void put(struct b_str *out, uint32_t c)
{
	if (c >= 0x10000) {
		b_str_addc(out, (char)(0xf0 | c >> 18));
		b_str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		b_str_addc(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		b_str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else if (c >= 0x80)
		b_str_addc(out, (char)(0xc0 | c >> 6));
	b_str_addc(out, (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c));
}

static void release(struct codes *t)
{
	free(t->v);
}

bool b_normalise(const char *s, size_t len, bool composed, struct b_str *out)
{
	b_auto(release) struct codes t = {0};
	const unsigned char *p = (const unsigned char *)s, *end = p + len;

	while (p < end) {
		unsigned n = b_utf8_len(p, (size_t)(end - p));

		if (n == 0)
			return false;
		decompose(&t, b_utf8_decode(p, n));
		p += n;
	}
	reorder(&t);
	if (composed)
		compose(&t);
	for (size_t i = 0; i < t.n; i++)
		put(out, CODE(t.v[i]));
	return true;
}
