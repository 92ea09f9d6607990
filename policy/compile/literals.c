/* SPDX-License-Identifier: Apache-2.0 */
/* literals.c - rules that are plain paths as a hash table, and the denials asked where names
 * fold. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/fold.h"
#include "policy/compile/automata.h"
#include "policy/compile/ruleset.h"

/* Rules that are paths, as a hash table: most rules of most policies. To tell them
 * apart an automaton would need a state for each of their bytes. */

static enum pol_literal joined(const struct pol_rule *r, size_t glob_len, bool is_tree,
			       struct b_str *out)
{
	b_str_addn(out, r->base, r->base_len);
	b_str_addc(out, '/');
	b_str_addn(out, r->glob, glob_len);
	return is_tree ? POL_LITERAL_TREE : POL_LITERAL_EXACT;
}

enum pol_literal pol_rule_literal(const struct pol_rule *r, struct b_str *out)
{
	size_t len = r->shape == POL_GLOB ? strlen(r->glob) : 0;
	bool is_base = r->shape != POL_GLOB || !strcmp(r->glob, ".");

	if (r->shape == POL_GLOB && !strcmp(r->glob, "**") && r->base_is_root) {
		b_str_addn(out, r->base, r->base_len);
		return POL_LITERAL_TREE;
	}
	if (is_base && r->shape == POL_GLOB && !r->base_is_root)
		return POL_LITERAL_NOTHING;
	if (is_base) {
		b_str_addn(out, r->base, r->base_len);
		return r->shape == POL_TREE ? POL_LITERAL_TREE : POL_LITERAL_EXACT;
	}
	if (len == 0) /* the empty glob: the base or nothing */
		return POL_LITERAL_NO;
	if (r->folds)
		return POL_LITERAL_NO;
	if (pol_glob_is_literal(r->glob))
		return joined(r, len, false, out);
	if (len > 3 && !memcmp(r->glob + len - 3, "/**", 3) && strcspn(r->glob, "*?") == len - 2)
		return joined(r, len - 3, true, out);
	return POL_LITERAL_NO;
}

struct table {
	struct sbx_image_literal *v;
	uint32_t n, seed;
};

/* The place of a path; NULL when all that a reader would look at is taken. */
static struct sbx_image_literal *place(const struct table *t, const char *texts, const char *path,
				       size_t len)
{
	uint64_t h = sbx_literal_start(t->seed);
	uint32_t slot;

	for (size_t i = 0; i < len; i++)
		h = sbx_literal_step(h, (unsigned char)path[i]);
	slot = sbx_literal_slot(h);
	for (int i = 0; i < SBX_LITERAL_PROBES; i++) {
		struct sbx_image_literal *l = &t->v[slot++ & (t->n - 1)];

		if ((l->exact == 0 && l->tree == 0) ||
		    (l->path.len == len && !memcmp(texts + l->path.off, path, len)))
			return l;
	}
	return NULL;
}

struct literal {
	enum pol_literal kind;
	uint32_t off, len; /* in `texts` */
};

/* false: too many paths met in one place. */
static bool fill(const struct table *t, const struct literal *rules, size_t n, const char *texts)
{
	memset(t->v, 0, t->n * sizeof *t->v);
	for (size_t i = 0; i < n; i++) {
		const struct literal *r = &rules[i];
		struct sbx_image_literal *l;

		if (r->kind != POL_LITERAL_EXACT && r->kind != POL_LITERAL_TREE)
			continue;
		l = place(t, texts, texts + r->off, r->len);
		if (!l)
			return false;
		if (l->exact == 0 && l->tree == 0)
			l->path = (struct sbx_image_str){r->off, r->len};
		*(r->kind == POL_LITERAL_TREE ? &l->tree : &l->exact) = (uint32_t)i + 1;
	}
	return true;
}

/* Half full at most; where that is not enough, wider, and with another seed. */
static void arrange(struct table *t, const struct literal *rules, size_t n, const char *texts)
{
	uint32_t least = 4;

	while (least < n * 2)
		least *= 2;
	for (t->n = least;; t->seed++, t->n = t->n < least * 8 ? t->n * 2 : t->n) {
		t->v = b_realloc(t->v, t->n, sizeof *t->v);
		if (fill(t, rules, n, texts))
			return;
	}
}

void pol_write_literals(struct pol_writer *w, const struct pol_list *list,
			struct sbx_image_layer *op)
{
	b_auto_free struct literal *rules = b_calloc(list->n + 1, sizeof *rules);
	b_auto(b_str_release) struct b_str texts = {0};
	struct table t = {0};
	size_t n = 0;

	b_str_addc(&texts, '\0'); /* what free slots point at */
	for (size_t i = 0; i < list->n; i++) {
		rules[i].off = (uint32_t)texts.len;
		rules[i].kind = pol_rule_literal(&list->v[i], &texts);
		rules[i].len = (uint32_t)texts.len - rules[i].off;
		b_str_addc(&texts, '\0');
		n += rules[i].kind != POL_LITERAL_NO;
	}
	if (n == 0) {
		op->literals = pol_writer_append(w, NULL, 0);
		return;
	}
	arrange(&t, rules, list->n, texts.s);
	n = pol_writer_append(w, texts.s, texts.len);
	for (uint32_t i = 0; i < t.n; i++)
		t.v[i].path.off += (uint32_t)n;
	op->literals = pol_writer_append(w, t.v, t.n * sizeof *t.v);
	op->nliterals = t.n;
	op->seed = t.seed;
	free(t.v);
}

/*
 * The rules of a layer that deny, by their folded text, for core/fold.h.
 *
 * Paths become a hash table, in which every directory above one says what is denied below it;
 * patterns become automata as others do. A `?` stands for one character, and a character may be
 * folded to none or to three: it becomes every number of them, or `*` where that would be many
 * patterns.
 */

#define VARIANTS_MAX 16 /* of one pattern */

struct work {
	struct b_arena arena;
	struct sbx_image_name *names;
	size_t nnames, names_cap;
	struct pol_list patterns;
	uint32_t *label; /* by pattern */
	size_t label_cap;
	uint32_t wide;
};

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = sbx_literal_start(0);

	for (size_t i = 0; i < len; i++)
		h = sbx_literal_step(h, (unsigned char)text[i]);
	return h;
}

static void add_name(struct work *k, const struct sbx_image_name *name)
{
	b_grow(k->names, k->nnames, k->names_cap);
	k->names[k->nnames++] = *name;
}

static const char *folded(struct work *k, const char *text, unsigned flags, size_t *out_len)
{
	size_t len = strlen(text), size = SBX_FOLD_MAX * len + 1;
	char *out = b_arena_alloc(&k->arena, size);

	*out_len = sbx_fold_text(out, size, text, len, flags);
	B_ASSERT(*out_len != SIZE_MAX);
	return out;
}

static void add_path(struct work *k, const char *path, unsigned flags, bool is_tree, uint32_t label)
{
	size_t len;
	const char *text = folded(k, path, flags, &len);

	/* Nothing is added to what everything matches: what is allowed all the same, a later rule
	 * allows. */
	if (len == 0 && is_tree)
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '/')
			add_name(k, &(struct sbx_image_name){.hash = hash_of(text, i),
							     .reach = label});
	add_name(k, &(struct sbx_image_name){.hash = hash_of(text, len),
					     .exact = is_tree ? 0 : label,
					     .tree = is_tree ? label : 0,
					     .reach = label});
}

/* `r` is folded. A pattern that is none any more, having lost what was, is a path. */
static void add_pattern(struct work *k, const struct pol_rule *r, uint32_t label)
{
	b_auto(b_str_release) struct b_str path = {0};
	enum pol_literal literal = pol_rule_literal(r, &path);

	if (*r->glob == '\0' || literal == POL_LITERAL_NOTHING)
		return;
	if (literal != POL_LITERAL_NO) {
		add_path(k, b_str_c(&path), 0, literal == POL_LITERAL_TREE, label);
		return;
	}
	if (k->patterns.n == k->label_cap) {
		k->label_cap = k->label_cap ? 2 * k->label_cap : 32;
		k->label = b_realloc(k->label, k->label_cap, sizeof *k->label);
	}
	k->label[k->patterns.n] = label;
	b_grow(k->patterns.v, k->patterns.n, k->patterns.cap);
	k->patterns.v[k->patterns.n++] = *r;
}

/* In how many ways the runs of `?` can be as long as they may be. */
static size_t count_variants(const char *glob)
{
	size_t n = 1;

	for (glob += strcspn(glob, "?"); *glob && n <= VARIANTS_MAX; glob += strcspn(glob, "?")) {
		size_t run = strspn(glob, "?");

		n *= SBX_FOLD_MAX * run + 1;
		glob += run;
	}
	return n;
}

/* The pattern with its runs of `?` as long as `variant` says, or as `*`. */
static void spell(const char *glob, size_t variant, bool as_star, struct b_str *out)
{
	while (*glob) {
		size_t plain = strcspn(glob, "?"), run = strspn(glob + plain, "?");
		size_t ways = SBX_FOLD_MAX * run + 1;

		b_str_addn(out, glob, plain);
		glob += plain + run;
		/* never a second star: that would cross slashes */
		if (run && as_star && (!out->len || out->s[out->len - 1] != '*') && *glob != '*')
			b_str_addc(out, '*');
		for (size_t i = 0; run && !as_star && i < variant % ways; i++)
			b_str_addc(out, '?');
		variant /= ways;
	}
}

static void add_glob(struct work *k, const struct pol_rule *r, unsigned flags, uint32_t label)
{
	struct pol_rule to = *r;
	size_t len, n;
	const char *glob = folded(k, r->glob, flags, &len);
	bool as_star;

	to.base = folded(k, r->base, flags, &to.base_len);
	to.folds = false;
	n = count_variants(glob);
	as_star = n > VARIANTS_MAX;
	for (size_t i = 0; i < (as_star ? 1 : n); i++) {
		b_auto(b_str_release) struct b_str spelled = {0};

		spell(glob, i, as_star, &spelled);
		to.glob = b_arena_strndup(&k->arena, b_str_c(&spelled), spelled.len);
		add_pattern(k, &to, label);
	}
}

static bool is_ascii(const char *s)
{
	while (s && *s && (unsigned char)*s < 0x80)
		s++;
	return !s || !*s;
}

static bool ends_in_tail(const char *text)
{
	struct sbx_fold f;

	sbx_fold_start(&f, text, strlen(text), 0);
	while (sbx_fold_next(&f) >= 0)
		;
	return f.has_tail;
}

static bool has_tail(const struct pol_rule *r)
{
	return ends_in_tail(r->base) || (r->glob && ends_in_tail(r->glob));
}

static void add_rule(struct work *k, const struct pol_rule *r, uint32_t label)
{
	b_auto(b_str_release) struct b_str path = {0};
	enum pol_literal literal = pol_rule_literal(r, &path);

	if (literal == POL_LITERAL_NOTHING)
		return;
	/* once more without dots and blanks at the ends of names, where it has some */
	for (unsigned flags = 0; flags <= (has_tail(r) ? SBX_FOLD_TRIMS : 0); flags++)
		if (literal == POL_LITERAL_NO)
			add_glob(k, r, flags, label);
		else
			add_path(k, b_str_c(&path), flags, literal == POL_LITERAL_TREE, label);
	if (!is_ascii(r->base) || !is_ascii(r->glob))
		k->wide = label;
}

static int by_hash(const void *a, const void *b)
{
	const struct sbx_image_name *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* One entry for each hash. */
static void merge_names(struct work *k)
{
	size_t n = 0;

	if (k->nnames)
		qsort(k->names, k->nnames, sizeof *k->names, by_hash);
	for (size_t i = 0; i < k->nnames; i++) {
		const struct sbx_image_name *from = &k->names[i];
		struct sbx_image_name *to = n ? &k->names[n - 1] : NULL;

		if (!to || to->hash != from->hash) {
			k->names[n++] = *from;
			continue;
		}
		to->exact = later(to->exact, from->exact);
		to->tree = later(to->tree, from->tree);
		to->reach = later(to->reach, from->reach);
	}
	k->nnames = n;
}

static void write_names(struct pol_writer *w, struct work *k, struct sbx_image_layer *out)
{
	b_auto_free struct sbx_image_name *table = NULL;
	uint32_t n = 4;

	merge_names(k);
	while (n < 2 * k->nnames)
		n *= 2;
	if (k->nnames == 0)
		n = 0;
	table = b_calloc(n + 1u, sizeof *table);
	for (size_t i = 0; i < k->nnames; i++) {
		uint32_t slot = sbx_literal_slot(k->names[i].hash);

		while (table[slot & (n - 1)].reach)
			slot++;
		table[slot & (n - 1)] = k->names[i];
	}
	out->folded.names = pol_writer_append(w, table, n * sizeof *table);
	out->folded.nnames = n;
}

int pol_write_folded(struct pol_writer *w, const struct pol_list *list, struct sbx_image_layer *out,
		     struct b_err *err)
{
	struct work k = {0};
	int rc;

	for (size_t i = 0; i < list->n; i++)
		if (!list->v[i].allow)
			add_rule(&k, &list->v[i], (uint32_t)i + 1);
	write_names(w, &k, out);
	out->folded.wide = k.wide;
	rc = pol_write_folded_groups(w, &k.patterns, k.label, out, err);
	free(k.names);
	free(k.label);
	free(k.patterns.v);
	b_arena_release(&k.arena);
	return rc;
}
