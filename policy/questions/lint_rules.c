/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_rules.c - rules of a document that do nothing, or not what they look like.
 *
 * Most rules do something, and a path that shows it is found by filling in their wildcards. Only
 * where none of a few such paths does, automata are made: of the paths that the rule decides, and
 * of the list without it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/questions/connect.h"
#include "policy/questions/lint.h"
#include "policy/rules/build.h"

/* A place that cannot be, so that no link of this host makes a second rule of one. */
#define ROOT "/\001workspace"

/* One list of one profile. */
struct list_lint {
	struct pol_lint *lint;
	const struct pol_effective *eff;
	enum sbx_op op;
	const struct pol_list *list;
	const struct sbx_image *image;
	bool *is_dead;	      /* by index: proved never to decide, and told */
	const uint32_t *sums; /* by index: of the origin, so that few need to be compared */
};

/* ---- the document as a ruleset ---- */

struct lowered {
	struct pol_ruleset rules;
	struct sbx_image image;
	void *data;
};

static void lowered_release(struct lowered *w)
{
	pol_ruleset_release(&w->rules);
	free(w->data);
}

static int lower(const struct pol_effective *eff, struct lowered *w, bool with_image,
		 struct b_err *err)
{
	static const struct pol_request none;
	static const char *root = ROOT, *no_dir;
	struct pol_build b = {
		.rs = &w->rules, .rq = &none, .common_dirs = &no_dir, .own_dirs = &no_dir};
	size_t size;

	*w = (struct lowered){.data = NULL};
	pol_ruleset_init(&w->rules);
	w->rules.workspaces = &root;
	w->rules.nworkspaces = 1;
	if (pol_build_profile(&b, eff, err) < 0)
		return -1;
	if (!with_image)
		return 0;
	if (pol_compile(&w->rules, NULL, &w->data, &size, err) < 0)
		return -1;
	B_ASSERT(sbx_image_open(&w->image, w->data, size, false) == SBX_IMAGE_OK);
	return 0;
}

static void place_of(const struct pol_eff_rule *e, struct b_str *out)
{
	b_str_addf(out, "%s:%u:%u", e->pos.file, e->pos.line, e->pos.col);
}

/* A path of the document, for a message. */
static const char *shown(struct pol_lint *l, const char *path)
{
	const char *rest = strncmp(path, ROOT, strlen(ROOT)) == 0 ? path + strlen(ROOT) : path;

	return *rest == '/' ? b_arena_printf(&l->arena, ".%s", rest) : *rest ? rest : ".";
}

/* ---- paths that a rule matches, by filling in ---- */

enum { FILLS = 6 };

/* Way number `fill` to fill the wildcards of a rule: short, odd, deep. */
static void sample(const struct pol_rule *r, unsigned fill, struct b_str *out)
{
	static const struct {
		const char *dirs, *run, *one;
	} fills[FILLS] = {
		{"", "x", "x"},	    {"", "", "q"},	     {"d/", "qzj", "z"},
		{"d/e/", "1", "1"}, {"qzj/kw/", "qzj", "q"}, {"", "qzj.kw", "j"},
	};
	const char *p = r->glob;

	b_str_addn(out, r->base, r->base_len);
	if (r->shape == POL_TREE && fill > 0)
		b_str_addf(out, "/%s%s", fills[fill].dirs, fills[fill].run);
	if (r->shape != POL_GLOB)
		return;
	b_str_addc(out, '/');
	while (*p) {
		if (strncmp(p, "**/", 3) == 0) {
			b_str_add(out, fills[fill].dirs);
			p += 3;
		} else if (*p == '*') {
			b_str_add(out, fills[fill].run);
			p += strspn(p, "*");
		} else if (*p == '?') {
			b_str_add(out, fills[fill].one);
			p++;
		} else {
			b_str_addc(out, *p++);
		}
	}
	while (out->len > 1 && out->s[out->len - 1] == '/')
		out->s[--out->len] = '\0';
}

/* ---- what one effective rule became in the list ---- */

static bool is_of(const struct pol_rule *r, const char *where)
{
	return strcmp(r->origin, where) == 0;
}

static uint32_t sum_of(const char *s)
{
	uint32_t sum = 2166136261u; /* FNV-1a */

	for (; *s; s++)
		sum = (sum ^ (unsigned char)*s) * 16777619u;
	return sum;
}

/* The list without the rule, or (`decided`) the paths that it decides. */
static int verdicts_about(const struct list_lint *l, const char *where, bool decided,
			  struct pol_verdicts *out, struct b_err *err)
{
	b_auto_free struct pol_rule *v = b_calloc(l->list->n + 1, sizeof *v);
	struct pol_list part = {v, 0, l->list->n};

	for (size_t i = 0; i < l->list->n; i++) {
		struct pol_rule r = l->list->v[i];
		bool is_it = is_of(&r, where);

		if (decided ? part.n == 0 && !is_it : is_it || l->is_dead[i])
			continue;
		if (decided)
			r.allow = is_it;
		v[part.n++] = r;
	}
	return pol_verdicts_of(&part, out, err);
}

static bool may_prove(struct list_lint *l)
{
	if (l->lint->work + l->list->n > POL_LINT_WORK) {
		l->lint->unexamined++;
		return false;
	}
	l->lint->work += l->list->n;
	return true;
}

/* May a path be matched against all rules before number `i`? Else the rule is one that is left out.
 */
static bool may_match(struct list_lint *l, size_t i)
{
	if (l->lint->matches + i > POL_LINT_MATCHES) {
		l->lint->unexamined++;
		return false;
	}
	l->lint->matches += i;
	return true;
}

/* What a sample shows of rule i of the list. */
struct shown_by {
	bool decides, matters;
};

static void look(struct list_lint *l, size_t i, struct shown_by *s)
{
	const struct pol_list *list = l->list;

	for (unsigned fill = 0; fill < FILLS && !s->matters; fill++) {
		b_auto(b_str_release) struct b_str path = {0};
		int rule, before;

		sample(&list->v[i], fill, &path);
		rule = sbx_attribute(l->image, l->op, b_str_c(&path), path.len);
		if (rule < 0 || (size_t)rule - l->image->hdr->op[l->op].first_rule != i)
			continue;
		s->decides = true;
		if (!may_match(l, i)) {
			s->matters = true; /* for all we know */
			return;
		}
		before = pol_list_last_match(list, i, path.s, path.len);
		s->matters |=
			before < 0 ? list->v[i].allow : list->v[before].allow != list->v[i].allow;
	}
}

/* ---- findings ---- */

/* Which later rule takes all paths of a rule that never decides, or one of them. */
static void tell_shadowed(struct list_lint *l, const struct pol_eff_rule *e, const char *where,
			  const char *path, size_t len)
{
	int i = pol_list_last_match(l->list, l->list->n, path, len);
	const struct pol_rule *s = i < 0 ? NULL : &l->list->v[i];

	if (s)
		pol_lint_add(l->lint, POL_LINT_SHADOWED, where, e->rule,
			     "%s rule `%s%s` never decides: whatever it matches later rules match, "
			     "as `%s%s` (%s) does %s",
			     sbx_op_name(l->op), e->negated && !e->is_global_deny ? "!" : "",
			     e->rule, s->allow ? "" : "!", s->matched, s->origin,
			     shown(l->lint, path));
}

static int prove_dead(struct list_lint *l, const struct pol_eff_rule *e, const char *where,
		      size_t first, bool *out_dead, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, any = {0};
	struct pol_verdicts v;
	struct pol_side side = {&v.image, SBX_READ};
	int rc;

	if (verdicts_about(l, where, true, &v, err) < 0)
		return -1;
	rc = pol_find_path(&side, 1, POL_WHERE(1), &path, err);
	pol_verdicts_release(&v);
	*out_dead = rc == 0;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (pol_verdicts_matched(&l->list->v[first], &v, err) < 0)
		return -1;
	rc = pol_find_path(&side, 1, POL_WHERE(1), &any, err);
	pol_verdicts_release(&v);
	if (rc < 0)
		return -1;
	if (rc > 0)
		tell_shadowed(l, e, where, b_str_c(&any), any.len);
	else
		pol_lint_add(l->lint, POL_LINT_NEVER, where, e->rule,
			     "%s rule `%s` matches no possible path", sbx_op_name(l->op), e->rule);
	return 0;
}

static int prove_idle(struct list_lint *l, const struct pol_eff_rule *e, const char *where,
		      struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct pol_verdicts v;
	const struct pol_side sides[] = {{l->image, l->op}, {&v.image, SBX_READ}};
	int rc;

	if (verdicts_about(l, where, false, &v, err) < 0)
		return -1;
	rc = pol_find_path(sides, 2, POL_WHERE(1) | POL_WHERE(2), &path, err);
	pol_verdicts_release(&v);
	if (rc == 0)
		pol_lint_add(l->lint, POL_LINT_NO_EFFECT, where, e->rule,
			     "%s rule `%s%s` changes nothing: without it every verdict is the same",
			     sbx_op_name(l->op), e->negated && !e->is_global_deny ? "!" : "",
			     e->rule);
	return rc < 0 ? -1 : 0;
}

/* The same of a global deny, which guards profiles that may come: among the denies alone. */
static int prove_idle_deny(struct list_lint *l, const struct pol_eff_rule *e, const char *where,
			   struct b_err *err)
{
	b_auto_free struct pol_rule *v = b_calloc(l->list->n + 1, sizeof *v);
	struct pol_list all = {v, 1, l->list->n + 1};
	struct list_lint denies = {.lint = l->lint, .op = SBX_READ, .list = &all};
	b_auto_free bool *is_dead = b_calloc(l->list->n + 2, sizeof *is_dead);
	struct pol_verdicts with;
	int rc;

	v[0] = (struct pol_rule){.allow = true,
				 .shape = POL_TREE,
				 .base = "",
				 .matched = "",
				 .origin = "",
				 .layer = l->list->v[0].layer};
	for (size_t i = 0; i < l->list->n; i++)
		if (l->list->v[i].tier == POL_TIER_DENY)
			v[all.n++] = l->list->v[i];
	denies.is_dead = is_dead;
	if (pol_verdicts_of(&all, &with, err) < 0)
		return -1;
	denies.image = &with.image;
	rc = prove_idle(&denies, e, where, err);
	pol_verdicts_release(&with);
	return rc;
}

static int examine(struct list_lint *l, const struct pol_eff_rule *e, struct b_err *err)
{
	b_auto(b_str_release) struct b_str where = {0};
	struct shown_by s = {false, false};
	size_t first = l->list->n;
	bool is_dead = false;
	uint32_t sum;

	place_of(e, &where);
	sum = sum_of(b_str_c(&where));
	for (size_t i = l->list->n; i-- > 0;)
		if (l->sums[i] == sum && is_of(&l->list->v[i], where.s)) {
			first = i;
			if (!s.matters)
				look(l, i, &s);
		}
	if (s.matters || first == l->list->n || !may_prove(l))
		return 0;
	if (!s.decides && prove_dead(l, e, where.s, first, &is_dead, err) < 0)
		return -1;
	for (size_t i = 0; is_dead && i < l->list->n; i++)
		l->is_dead[i] |= is_of(&l->list->v[i], where.s);
	if (is_dead)
		return 0;
	return (e->is_global_deny ? prove_idle_deny : prove_idle)(l, e, where.s, err);
}

/* Without the exception, is the list the same? */
static int examine_exception(struct list_lint *l, size_t i, struct b_err *err)
{
	const struct pol_eff_rule *e = &l->eff->v[l->op][i];
	b_auto(b_str_release) struct b_str where = {0}, path = {0};
	b_auto_free struct pol_eff_rule *v = b_calloc(l->eff->n[l->op], sizeof *v);
	struct pol_effective without = *l->eff;
	struct pol_verdicts verdicts;
	const struct pol_side sides[] = {{l->image, l->op}, {&verdicts.image, SBX_READ}};
	b_auto(lowered_release) struct lowered w = {.data = NULL};
	int rc;

	if (!may_prove(l))
		return 0;
	memcpy(v, l->eff->v[l->op], i * sizeof *v);
	memcpy(v + i, e + 1, (l->eff->n[l->op] - i - 1) * sizeof *v);
	without.v[l->op] = v;
	without.n[l->op]--;
	if (lower(&without, &w, false, err) < 0 ||
	    pol_verdicts_of(&w.rules.op[l->op], &verdicts, err) < 0)
		return -1;
	rc = pol_find_path(sides, 2, POL_WHERE(1) | POL_WHERE(2), &path, err);
	pol_verdicts_release(&verdicts);
	place_of(e, &where);
	if (rc == 0)
		pol_lint_add(l->lint, POL_LINT_NO_EFFECT, where.s, e->rule,
			     "exception `!%s` changes nothing: an exception undoes denials and "
			     "grants nothing, and no profile allows what it opens",
			     e->rule);
	return rc < 0 ? -1 : 0;
}

/* A path that the rule matches, not to be read and free to be changed; by filling in, or by proof
 * that there is none. 1, 0, or -1. */
static int find_changeable(struct list_lint *l, const struct pol_rule *r, struct b_str *path,
			   struct b_err *err)
{
	struct pol_verdicts v = {.data = NULL};
	const struct pol_side sides[] = {
		{l->image, SBX_READ}, {l->image, SBX_MODIFY}, {&v.image, SBX_READ}};
	int rc;

	for (unsigned fill = 0; fill < FILLS; fill++) {
		b_str_reset(path);
		sample(r, fill, path);
		if (pol_rule_matches(r, b_str_c(path), path->len) &&
		    !sbx_decide(l->image, SBX_READ, path->s, path->len) &&
		    sbx_decide(l->image, SBX_MODIFY, path->s, path->len))
			return 1;
	}
	b_str_reset(path);
	if (!may_prove(l))
		return 0;
	if (pol_verdicts_matched(r, &v, err) < 0)
		return -1;
	rc = pol_find_path(sides, 3, POL_WHERE(2 | 4), path, err);
	pol_verdicts_release(&v);
	return rc;
}

/* Reading is denied, changing is not. */
static int examine_deny_read(struct list_lint *l, const struct pol_eff_rule *e, struct b_err *err)
{
	b_auto(b_str_release) struct b_str where = {0}, path = {0};
	struct pol_finding *f;
	int rc = 0;
	uint32_t sum;

	place_of(e, &where);
	sum = sum_of(b_str_c(&where));
	for (size_t i = 0; rc == 0 && i < l->list->n; i++)
		if (l->sums[i] == sum && is_of(&l->list->v[i], where.s))
			rc = find_changeable(l, &l->list->v[i], &path, err);
	if (rc <= 0)
		return rc;
	f = pol_lint_add(l->lint, POL_LINT_DENY_READ, where.s, e->rule,
			 "denyRead rule `%s` does not deny changes: the command may overwrite or "
			 "remove %s: repeat the rule in denyModify if it must not",
			 e->rule, shown(l->lint, path.s));
	f->is_exact = true;
	return 0;
}

static int lint_list(struct list_lint *l, struct b_err *err)
{
	b_auto_free bool *is_dead = b_calloc(l->list->n + 1, sizeof *is_dead);
	b_auto_free uint32_t *sums = b_calloc(l->list->n + 1, sizeof *sums);

	l->is_dead = is_dead;
	for (size_t i = 0; i < l->list->n; i++)
		sums[i] = sum_of(l->list->v[i].origin);
	l->sums = sums;
	for (size_t i = 0; i < l->eff->n[l->op]; i++) {
		const struct pol_eff_rule *e = &l->eff->v[l->op][i];

		if ((e->is_exception ? examine_exception(l, i, err) : examine(l, e, err)) < 0)
			return -1;
		if (l->op == SBX_READ && e->is_global_deny && examine_deny_read(l, e, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- text that looks like a wildcard ---- */

static bool has_pair(const char *s, char open, const char *between, char close)
{
	const char *from = strchr(s, open), *to = from ? strchr(from, close) : NULL;

	if (!to || to == from + 1)
		return false;
	return !*between || memchr(from, *between, (size_t)(to - from));
}

static void lint_texts(struct pol_lint *l, const struct pol_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++) {
		const struct pol_text *t = &texts->v[i];
		b_auto(b_str_release) struct b_str where = {0};
		const char *what = strchr(t->s, '\\')		   ? "a backslash is read as `/`"
				   : has_pair(t->s, '[', "", ']')  ? "`[...]` is literal"
				   : has_pair(t->s, '{', ",", '}') ? "`{...}` is literal"
								   : NULL;

		if (!what)
			continue;
		b_str_addf(&where, "%s:%u:%u", t->pos.file, t->pos.line, t->pos.col);
		pol_lint_add(l, POL_LINT_LITERAL, where.s, t->s,
			     "rule `%s`: %s: only *, ** and ? are wildcards", t->s, what)
			->is_exact = true;
	}
}

/* ---- the document ---- */

static int lint_profile(struct pol_lint *lint, struct pol_doc *doc, const char *name,
			struct b_err *err)
{
	struct pol_effective eff;
	b_auto(lowered_release) struct lowered w = {.data = NULL};

	if (pol_doc_effective(doc, name, &eff, err) < 0 || lower(&eff, &w, true, err) < 0)
		return -1;
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		struct list_lint l = {.lint = lint,
				      .eff = &eff,
				      .op = (enum sbx_op)op,
				      .list = &w.rules.op[op],
				      .image = &w.image};

		if (lint_list(&l, err) < 0)
			return -1;
	}
	return 0;
}

/* How many lists of effective profiles have the rule of this place: a global deny is in each. */
static size_t lists_with(const struct pol_doc *doc, const struct pol_finding *f)
{
	size_t n = 0;
	b_auto(b_str_release) struct b_str where = {0};

	for (size_t i = 0; i < doc->nprofiles; i++) {
		const struct pol_profile *p = &doc->profiles[i];
		const struct pol_texts *lists[] = {&p->read, &p->modify, &doc->deny_read,
						   &doc->deny_modify};

		for (size_t k = 0; k < 4; k++)
			for (size_t t = 0; t < lists[k]->n; t++) {
				const struct pol_pos *pos = &lists[k]->v[t].pos;

				b_str_reset(&where);
				b_str_addf(&where, "%s:%u:%u", pos->file, pos->line, pos->col);
				n += strcmp(b_str_c(&where), f->where) == 0;
			}
	}
	return n;
}

/* A rule that serves one profile is no finding because it does nothing in another. */
static void keep_general(struct pol_lint *l, const struct pol_doc *doc)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].is_exact || l->v[i].seen >= lists_with(doc, &l->v[i]))
			l->v[n++] = l->v[i];
	l->n = n;
}

int pol_lint_document(struct pol_lint *l, struct pol_doc *doc, struct b_err *err)
{
	lint_texts(l, &doc->deny_read);
	lint_texts(l, &doc->deny_modify);
	for (size_t i = 0; i < doc->nprofiles; i++) {
		lint_texts(l, &doc->profiles[i].read);
		lint_texts(l, &doc->profiles[i].modify);
		if (lint_profile(l, doc, doc->profiles[i].name.s, err) < 0)
			return -1;
	}
	keep_general(l, doc);
	return pol_lint_connect(l, doc, err);
}
