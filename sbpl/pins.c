/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.c - denials behind the ordered blocks: what keeps moves and links from laundering.
 *
 * The kernel asks file-write-unlink about the old name and file-write-create about the new one,
 * each alone. So whether a move may change verdicts must be settled at one end:
 *
 *   old end   what may not be read; a directory with something denied (for either operation)
 *             below it, or with nothing below it allowed
 *   new end   a directory below which something is not writable
 *
 * A rule bounds these places by its pattern: the literal directories above it, and the directories
 * that its wildcards pass through. The second kind is unbounded for a leading double star: such a
 * deny is repeated in the other writable trees instead (sbpl_find_widened), so that both ends of
 * a move agree.
 */
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"
#include "base/mem.h"

#define MAX_EXCEPT     300  /* later allows carved out of all pins */
#define MAX_EXCEPT_ALL 1000 /* out of the pin on everything, which cannot do without */

/* A set of filters, as text, without doubles; becomes forms of at most SBPL_MAX_FORM bytes. */
struct filters {
	char **v;
	size_t n, cap;
};

struct pins {
	struct sbpl_emit *e;
	struct filters unlink, link, create;
	struct filters kept, unmade; /* directories for the person: not moved; nor made */
	size_t excepted;
};

static void release(struct filters *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i]);
	free(f->v);
}

static void add(struct filters *f, const struct b_str *text)
{
	b_grow(f->v, f->n, f->cap);
	f->v[f->n++] = b_strdup(b_str_c(text));
}

static bool under(const char *path, size_t len, const struct pol_rule *r)
{
	return sbx_path_under(path, len, r->base, r->base_len);
}

static bool nested(const struct pol_rule *a, const struct pol_rule *b)
{
	return under(a->base, a->base_len, b) || under(b->base, b->base_len, a);
}

/* Everything `r` speaks of is also spoken of by `by`. */
bool sbpl_is_covered(const struct pol_rule *r, const struct pol_rule *by)
{
	if (by->shape == POL_TREE)
		return under(r->base, r->base_len, by);
	return by->shape == POL_EXACT && r->shape == POL_EXACT && r->base_len == by->base_len &&
	       under(r->base, r->base_len, by);
}

/* A later rule decides instead, wherever this one matches. */
static bool is_overruled(const struct pol_list *list, size_t i, const struct pol_rule *r)
{
	for (size_t k = i; k < list->n; k++)
		if (sbpl_is_covered(r, &list->v[k]))
			return true;
	return false;
}

/* May anything be written where the rule speaks, by the main layer? Else no name there can be
 * moved anyway. */
static bool is_writable(const struct sbpl_emit *e, const struct pol_rule *r)
{
	const struct pol_list list = e->writes;
	struct pol_rule region = *r;

	region.shape = r->shape == POL_EXACT ? POL_EXACT : POL_TREE;
	/* Devices are no directories and of no other volume: nothing is moved there. */
	if (sbx_path_under(r->base, r->base_len, "/dev", 4))
		return false;
	for (size_t i = list.n; i-- > 0;) {
		const struct pol_rule *m = &list.v[i];

		if (!m->allow && sbpl_is_covered(&region, m))
			return false;
		if (m->allow &&
		    (r->shape == POL_EXACT && m->shape == POL_EXACT ? sbpl_is_covered(&region, m)
								    : nested(&region, m)))
			return true;
	}
	return false;
}

static bool allows(const struct sbpl_emit *e, enum sbx_op op, const char *path, size_t len)
{
	return sbx_decide(e->img, op, len ? path : "/", len ? len : 1);
}

/* Everything below the base: a tree, or the glob that an exception to a deny is lowered to. */
static bool is_tree(const struct pol_rule *r)
{
	return r->shape == POL_TREE || (r->shape == POL_GLOB && strcmp(r->glob, "**") == 0);
}

/* Does a later tree decide below all that the rule matches? */
static bool is_under_tree(const struct pol_list *list, size_t from, const struct pol_rule *r)
{
	for (size_t k = from; k < list->n; k++)
		if (is_tree(&list->v[k]) && under(r->base, r->base_len, &list->v[k]))
			return true;
	return false;
}

/* May something that allow i matches be allowed while what lies below it is denied, by an earlier
 * rule or by none? (By a later one: that rule pins its own surroundings.) */
static bool is_lone(const struct pol_list *list, size_t i)
{
	const struct pol_rule *r = &list->v[i];
	size_t len = r->shape == POL_GLOB ? strlen(r->glob) : 0;

	if (r->shape == POL_TREE || (len >= 2 && memcmp(r->glob + len - 2, "**", 2) == 0))
		return false;
	if (!is_under_tree(list, 0, r))
		return true;
	for (size_t k = 0; k < i; k++)
		if (!list->v[k].allow && nested(&list->v[k], r) && !is_under_tree(list, k + 1, r))
			return true;
	return false;
}

/* A deny whose pattern begins with two stars: it says the same at every depth of its tree. */
static bool has_leading_stars(const struct pol_rule *r)
{
	return r->shape == POL_GLOB && strncmp(r->glob, "**", 2) == 0;
}

/* Repeating it elsewhere is enough unless a later rule re-opens a part of its own tree. */
static bool can_widen(const struct pol_list *list, size_t i)
{
	for (size_t k = i + 1; k < list->n; k++)
		if (list->v[k].allow && nested(&list->v[k], &list->v[i]))
			return false;
	return true;
}

/* Writable trees: the bases of rules that allow writing below what they match. */
static bool is_tree_of_writes(const struct sbpl_emit *e, const struct pol_list *writes, size_t i)
{
	const struct pol_rule *m = &writes->v[i];

	return m->allow && m->shape != POL_EXACT && is_writable(e, m) && !is_lone(writes, i);
}

static bool is_widened(const struct sbpl_emit *e, const struct sbpl_widened *w)
{
	for (size_t i = 0; i < e->nwidened; i++) {
		const struct sbpl_widened *have = &e->widened[i];

		if (have->op == w->op && have->rule.folds == w->rule.folds &&
		    strcmp(have->rule.glob, w->rule.glob) == 0 &&
		    under(w->rule.base, w->rule.base_len, &have->rule))
			return true;
	}
	return false;
}

static void widen(struct sbpl_emit *e, enum sbx_op op, const struct pol_rule *r)
{
	const struct pol_list writes = e->writes;

	for (size_t i = 0; i < writes.n; i++) {
		const struct pol_rule *m = &writes.v[i];
		struct sbpl_widened w = {op, *r};

		if (under(m->base, m->base_len, r) || !is_tree_of_writes(e, &writes, i))
			continue;
		w.rule.base = m->base;
		w.rule.base_len = m->base_len;
		w.rule.base_is_root = false;
		if (is_widened(e, &w))
			continue;
		b_grow(e->widened, e->nwidened, e->widened_cap);
		e->widened[e->nwidened++] = w;
		sbpl_note(e,
			  "`%s` (%s) is denied for %s under %s/ too: a directory moved there "
			  "carries it along",
			  r->matched, r->origin, sbx_op_name(op), m->base);
	}
}

static void find_widened_in(struct sbpl_emit *e, enum sbx_op op, const struct pol_list *layer)
{
	for (size_t i = 0; i < layer->n; i++)
		if (!layer->v[i].allow && has_leading_stars(&layer->v[i]) && can_widen(layer, i) &&
		    !is_overruled(layer, i + 1, &layer->v[i]) && is_writable(e, &layer->v[i]))
			widen(e, op, &layer->v[i]);
}

void sbpl_find_widened(struct sbpl_emit *e)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &e->rs->op[op];

		for (size_t i = 0; i < list->n; i = pol_layer_end(list, i)) {
			const struct pol_list layer = sbpl_layer_at(list, i);

			find_widened_in(e, (enum sbx_op)op, &layer);
		}
	}
}

/* Can later allow `g` open anything of what `r` denies, where names can be moved? A quick no for
 * single paths; else the bases tell. */
static bool opens_part(const struct sbpl_emit *e, const struct pol_rule *g,
		       const struct pol_rule *r)
{
	if (!g->allow || !nested(g, r))
		return false;
	if (g->shape == POL_EXACT &&
	    !pol_rule_matches(r, g->base_len ? g->base : "/", g->base_len ? g->base_len : 1))
		return false;
	if (r->shape == POL_EXACT &&
	    !pol_rule_matches(g, r->base_len ? r->base : "/", r->base_len ? r->base_len : 1))
		return false;
	return is_writable(e, g);
}

/* (require-all F (require-not G) ...): what the deny still denies behind later allows. Past the
 * budget of the profile the whole of F is pinned: more than the rules deny, never less. */
static int put_rest(struct pins *p, const struct pol_list *list, size_t next,
		    const struct pol_rule *r, struct b_str *out)
{
	b_auto(b_str_release) struct b_str except = {0};
	bool is_all = r->shape == POL_TREE && r->base_len == 0;
	size_t limit = is_all ? MAX_EXCEPT_ALL : MAX_EXCEPT, n = 0;

	for (size_t k = next; k < list->n && p->excepted + n <= limit; k++) {
		if (!opens_part(p->e, &list->v[k], r))
			continue;
		n++;
		b_str_add(&except, " (require-not ");
		sbpl_put_rule_filter(p->e, &except, &list->v[k], false);
		b_str_addc(&except, ')');
	}
	if (p->excepted + n <= limit) {
		p->excepted += is_all ? 0 : n;
	} else if (is_all) {
		return b_fail(p->e->err, B_LIMIT, 0,
			      "%s: more than %zu rules re-open parts of what it denies", r->origin,
			      limit);
	} else if (n > 0) {
		sbpl_note(p->e,
			  "what `%s` (%s) denies cannot be moved or removed where later rules "
			  "re-open it",
			  r->matched, r->origin);
		n = 0;
		b_str_reset(&except);
	}
	if (n > 0)
		b_str_add(out, "(require-all ");
	sbpl_put_rule_filter(p->e, out, r, true);
	b_str_addn(out, b_str_c(&except), except.len);
	if (n > 0)
		b_str_addc(out, ')');
	return 0;
}

/* What may not be read may not get another name. */
static int pin_unreadable(struct pins *p, const struct pol_list *list, size_t next,
			  const struct pol_rule *r)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (put_rest(p, list, next, r, &text) < 0)
		return -1;
	add(&p->unlink, &text);
	add(&p->link, &text);
	return 0;
}

/* What is pinned beyond what is denied is told. */
static void tell(struct pins *p, enum sbx_op op, const char *dir, const char *rest, size_t len)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_addf(&text, "%s%s%.*s", dir, len ? "/" : "", (int)len, rest);
	add(op == SBX_MODIFY ? &p->unmade : &p->kept, &text);
}

/* A directory by its name: it stays, and what is missing is not made, by a link neither. */
static void pin_literal(struct pins *p, enum sbx_op op, const char *path, size_t len)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (len == 0 || !allows(p->e, SBX_MODIFY, path, len))
		return;
	sbpl_put_path(p->e, &text, "literal", path, len);
	tell(p, op, "", path + 1, len - 1);
	add(&p->unlink, &text);
	if (op == SBX_MODIFY)
		add(&p->create, &text);
}

static void pin_above(struct pins *p, enum sbx_op op, const struct pol_rule *r)
{
	for (size_t i = 1; i < r->base_len; i++)
		if (r->base[i] == '/')
			pin_literal(p, op, r->base, i);
	if (r->shape == POL_GLOB)
		pin_literal(p, op, r->base, r->base_len);
}

/* The directories that match the first `len` bytes of the pattern, or, with `deep`, that lie
 * anywhere below. */
static void put_pattern(const struct pins *p, const struct pol_rule *r, size_t len, bool deep,
			struct b_str *out)
{
	b_auto(b_str_release) struct b_str tail = {0};

	sbpl_re_glob(&tail, r->glob, len, false, r->folds || !p->e->o->exact_case);
	if (deep)
		b_str_add(&tail, ".*");
	sbpl_put_regex(p->e, out, r->base, r->base_len, &tail);
}

static void pin_pattern(struct pins *p, const struct pol_rule *r, size_t len, bool deep)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_add(&text, "(require-all (vnode-type DIRECTORY) ");
	put_pattern(p, r, len, deep, &text);
	b_str_addc(&text, ')');
	add(&p->unlink, &text);
}

static bool has_wildcard(const char *s, size_t len)
{
	return memchr(s, '*', len) || memchr(s, '?', len);
}

/* The directories that end at byte `len` of the pattern. False: for writing, making one cannot be
 * denied, because its name may be any. */
static bool pin_prefix(struct pins *p, enum sbx_op op, const struct pol_rule *r, size_t len)
{
	size_t name = len; /* where the last component begins */
	b_auto(b_str_release) struct b_str path = {0};

	while (name > 0 && r->glob[name - 1] != '/')
		name--;
	if (!r->folds && !has_wildcard(r->glob, len)) {
		b_str_addf(&path, "%s/%.*s", r->base, (int)len, r->glob);
		pin_literal(p, op, path.s, path.len);
		return true;
	}
	pin_pattern(p, r, len, false);
	if (op != SBX_MODIFY || has_wildcard(r->glob + name, len - name)) {
		tell(p, SBX_READ, r->base, r->glob, len);
		return op != SBX_MODIFY;
	}
	tell(p, op, r->base, r->glob, len);
	put_pattern(p, r, len, false, &path);
	add(&p->create, &path);
	return true;
}

/* The pattern goes on at any depth behind byte `len`, and is said nowhere else. */
static void pin_below(struct pins *p, const struct pol_rule *r, size_t len)
{
	if (p->e->o->lax_moves) {
		sbpl_note(p->e,
			  "moving a directory from below %s/%.*s may open what `%s` (%s) denies",
			  r->base, (int)len, r->glob, r->matched, r->origin);
		return;
	}
	pin_pattern(p, r, len, true);
	sbpl_note(
		p->e,
		"directories below %s/%.*s cannot be moved or removed: `%s` (%s) would not follow "
		"them",
		r->base, (int)len, r->glob, r->matched, r->origin);
}

/* Every directory that a match of the pattern may lie in. False: as above. */
static bool pin_through(struct pins *p, enum sbx_op op, const struct pol_rule *r, bool widened)
{
	size_t len = strlen(r->glob), i = 0;
	bool closed = true;

	if (len >= 3 && memcmp(r->glob + len - 3, "/**", 3) == 0)
		len -= 3;
	while (i < len) {
		if (len - i >= 2 && memcmp(r->glob + i, "**", 2) == 0) {
			if (i > 0 || !widened) {
				pin_below(p, r, i);
				closed = closed && op != SBX_MODIFY;
			}
			i += 2;
			i += i < len && r->glob[i] == '/';
		} else {
			if (r->glob[i] == '/' && !pin_prefix(p, op, r, i))
				closed = false;
			i++;
		}
	}
	return closed;
}

static int pin_deny(struct pins *p, enum sbx_op op, const struct pol_list *list, size_t i)
{
	const struct pol_rule *r = &list->v[i];
	bool widened = has_leading_stars(r) && can_widen(list, i);

	if (is_overruled(list, i + 1, r))
		return 0;
	pin_above(p, op, r);
	if (!is_writable(p->e, r))
		return 0;
	if (op == SBX_READ && pin_unreadable(p, list, i + 1, r) < 0)
		return -1;
	if (r->shape != POL_GLOB)
		return 0;
	if (!pin_through(p, op, r, widened))
		sbpl_note(p->e, "a directory moved in may carry names that `%s` (%s) denies",
			  r->matched, r->origin);
	return 0;
}

/* An allow of single names: a directory under one of them has nothing allowed in it. */
static void pin_allow(struct pins *p, enum sbx_op op, const struct pol_list *list, size_t i)
{
	const struct pol_rule *r = &list->v[i];
	b_auto(b_str_release) struct b_str text = {0};

	if (!is_writable(p->e, r) || !is_lone(list, i))
		return;
	b_str_add(&text, "(require-all (vnode-type DIRECTORY) ");
	sbpl_put_rule_filter(p->e, &text, r, false);
	b_str_addc(&text, ')');
	tell(p, op, r->base, r->shape == POL_GLOB ? r->glob : "",
	     r->shape == POL_GLOB ? strlen(r->glob) : 0);
	add(&p->unlink, &text);
	if (op == SBX_MODIFY)
		add(&p->create, &text);
}

static int pin_layer(struct pins *p, enum sbx_op op, const struct pol_list *layer)
{
	for (size_t i = 0; i < layer->n; i++)
		if (layer->v[i].allow)
			pin_allow(p, op, layer, i);
		else if (pin_deny(p, op, layer, i) < 0)
			return -1;
	return 0;
}

static int find_pins(struct pins *p)
{
	/* What no rule matches is denied: a deny of everything before the first rule. */
	const struct pol_rule all = {.shape = POL_TREE, .base = "", .origin = "builtin:default"};
	const struct pol_list reads = sbpl_main_layer(&p->e->rs->op[SBX_READ]);

	if (!is_overruled(&reads, 0, &all) && is_writable(p->e, &all) &&
	    pin_unreadable(p, &reads, 0, &all) < 0)
		return -1;
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &p->e->rs->op[op];

		for (size_t i = 0; i < list->n; i = pol_layer_end(list, i)) {
			const struct pol_list layer = sbpl_layer_at(list, i);

			if (pin_layer(p, (enum sbx_op)op, &layer) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < p->e->nwidened; i++) {
		const struct sbpl_widened *w = &p->e->widened[i];
		const struct pol_list none = {0};

		if (w->op == SBX_READ && pin_unreadable(p, &none, 0, &w->rule) < 0)
			return -1;
		pin_through(p, w->op, &w->rule, true);
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int put_filters(struct sbpl_emit *e, const char *op, struct filters *f)
{
	size_t in_form = 0;

	if (f->n == 0)
		return 0;
	qsort(f->v, f->n, sizeof *f->v, by_text);
	for (size_t i = 0; i < f->n; i++) {
		if (i > 0 && strcmp(f->v[i], f->v[i - 1]) == 0)
			continue;
		if (in_form > 0 && in_form + strlen(f->v[i]) > SBPL_MAX_FORM) {
			b_str_add(&e->out, ")\n");
			in_form = 0;
		}
		if (in_form == 0) {
			b_str_addf(&e->out, "(deny %s", op);
			if (sbpl_count_rules(e, 1, "the pins") < 0)
				return -1;
		}
		b_str_addf(&e->out, "\n  %s", f->v[i]);
		in_form += strlen(f->v[i]) + 3;
	}
	b_str_add(&e->out, ")\n");
	return 0;
}

static void note_names(struct sbpl_emit *e, const char *what, struct filters *f)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (f->n == 0)
		return;
	qsort(f->v, f->n, sizeof *f->v, by_text);
	for (size_t i = 0; i < f->n; i++)
		if (i == 0 || strcmp(f->v[i], f->v[i - 1]) != 0)
			b_str_addf(&text, "%s%s", text.len ? ", " : "", f->v[i]);
	sbpl_note(e, "directories that cannot be %s, because what lies in them is denied: %s", what,
		  text.s);
}

int sbpl_put_pins(struct sbpl_emit *e)
{
	struct pins p = {.e = e};
	int rc = find_pins(&p);

	if (p.unlink.n)
		sbpl_put_title(e, "moves and links may not launder: denials only from here on");
	if (rc == 0)
		rc = put_filters(e, "file-write-unlink", &p.unlink);
	if (rc == 0)
		rc = put_filters(e, "file-write-create", &p.create);
	if (rc == 0)
		rc = put_filters(e, "file-link", &p.link);
	note_names(e, "made, moved or removed", &p.unmade);
	note_names(e, "moved or removed", &p.kept);
	release(&p.unmade);
	release(&p.kept);
	release(&p.unlink);
	release(&p.create);
	release(&p.link);
	return rc;
}
