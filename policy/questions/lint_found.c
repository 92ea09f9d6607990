/* SPDX-License-Identifier: Apache-2.0 */
/* lint_found.c - findings about what is there when a run begins, and what of a document can never
 * work: other names of denied files, openings that stay closed, no place for temporary files. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/questions/hardlinks.h"
#include "policy/questions/lint.h"

#define NAMES_MAX 50000 /* looked at for hard links: a second or two */

/* ---- hard links ---- */

struct links {
	struct pol_lint *lint;
	const struct pol_engine *engine;
};

static void tell_link(void *ctx, const struct pol_linked *found)
{
	const struct links *l = ctx;
	b_auto(b_str_release) struct b_str name = {0};

	pol_engine_shown(l->engine, found->path, &name);
	pol_lint_add(l->lint, POL_LINT_LINKED, found->rule->origin, b_str_c(&name),
		     "%s, which rule `%s` denies to %s, has %lu more name%s (hard links): each is "
		     "judged by itself: find / -xdev -samefile FILE",
		     b_str_c(&name), found->rule->matched, sbx_op_name(found->op), found->others,
		     found->others == 1 ? "" : "s")
		->is_exact = true;
}

/* ---- openings that stay closed ---- */

/* Does nothing that the rule matches come out as allowed? 1, 0 or -1. */
static int is_closed(const struct pol_engine *e, enum sbx_op op, const struct pol_rule *r,
		     struct b_str *example, struct b_err *err)
{
	b_auto(b_str_release) struct b_str open = {0};
	struct pol_verdicts matched;
	const struct pol_side sides[] = {{&matched.image, SBX_READ}, {&e->image, op}};
	int rc;

	if (pol_verdicts_matched(r, &matched, err) < 0)
		return -1;
	rc = pol_find_path(sides, 2, POL_WHERE(1 | 2), &open, err);
	if (rc == 0)
		rc = pol_find_path(sides, 1, POL_WHERE(1), example, err) < 0 ? -1 : 2;
	pol_verdicts_release(&matched);
	return rc < 0 ? -1 : rc == 2 && example->len > 0;
}

/* One text of a document makes several rules: of each link on the way, of each workspace. */
static bool is_first(const struct pol_list *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (list->v[k].allow && strcmp(list->v[k].origin, list->v[i].origin) == 0)
			return false;
	return true;
}

static int lint_opening(struct pol_lint *l, const struct pol_engine *e, enum sbx_op op, size_t i,
			struct b_err *err)
{
	const struct pol_list *list = &e->rules.op[op];
	const struct pol_rule *r = &list->v[i];
	b_auto(b_str_release) struct b_str example = {0};
	struct sbx_verdict v;

	for (size_t k = i; k < list->n; k++) {
		int rc;

		if (!list->v[k].allow || strcmp(list->v[k].origin, r->origin) != 0)
			continue;
		b_str_reset(&example);
		rc = is_closed(e, op, &list->v[k], &example, err);
		if (rc <= 0)
			return rc;
	}
	sbx_explain(&e->image, op, example.s, example.len, &v);
	pol_lint_add(l, POL_LINT_CLOSED, r->origin, r->matched,
		     "rule `%s` opens nothing to %s: `%s` (%s) closes all of it", r->matched,
		     sbx_op_name(op), v.matched, v.origin)
		->is_exact = true;
	return 0;
}

/* Of the document itself: what an option opens is the person's word of this run. */
static bool is_written(const struct pol_doc *doc, const struct pol_rule *r)
{
	for (size_t i = 0; i < doc->files.n; i++) {
		size_t n = strlen(doc->files.v[i].s);

		if (strncmp(r->origin, doc->files.v[i].s, n) == 0 && r->origin[n] == ':' &&
		    strcmp(r->origin + n, ":1:1") != 0)
			return r->layer == POL_LAYER_MAIN;
	}
	return false;
}

static int lint_openings(struct pol_lint *l, const struct pol_doc *doc, const struct pol_engine *e,
			 struct b_err *err)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &e->rules.op[op];

		for (size_t i = 0; i < list->n; i++) {
			const struct pol_rule *r = &list->v[i];

			if (!r->allow || !is_written(doc, r) || !is_first(list, i))
				continue;
			if (l->work >= POL_LINT_WORK) {
				l->unexamined++;
				continue;
			}
			l->work += 50; /* the rule, and the verdicts of all */
			if (lint_opening(l, e, (enum sbx_op)op, i, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- temporary files ---- */

static bool may_make_in(const struct pol_engine *e, const char *dir)
{
	b_auto(b_str_release) struct b_str path = {0};

	if (!dir || *dir != '/')
		return false;
	b_str_addf(&path, "%s/sbx~t", strcmp(dir, "/") == 0 ? "" : dir);
	return sbx_decide(&e->image, SBX_MODIFY, path.s, path.len);
}

static void lint_temporary(struct pol_lint *l, const struct pol_doc *doc,
			   const struct pol_engine *e)
{
	const struct pol_setting_value *said = &doc->settings.value[POL_SET_scratch];
	b_auto(b_str_release) struct b_str where = {0};

	if (e->effect.scratch || may_make_in(e, getenv("TMPDIR")) || may_make_in(e, "/tmp") ||
	    may_make_in(e, "/var/tmp"))
		return;
	if (said->said)
		b_str_addf(&where, "%s:%u:%u", said->pos.file, said->pos.line, said->pos.col);
	else
		b_str_add(&where, e->policy_name);
	pol_lint_add(l, POL_LINT_TEMPORARY, where.s, "",
		     "no place for temporary files: the run has no private one (scratch), and "
		     "$TMPDIR, /tmp and /var/tmp may not be modified")
		->is_exact = true;
}

/* ---- programs of rules on endpoints ---- */

static void tell_program(void *ctx, const struct pol_endpoint *r, const struct pol_program *p)
{
	pol_lint_add(ctx, POL_LINT_PROGRAM, r->origin, r->matched,
		     "rule `%s` is for the program %s, but the command may change that file",
		     r->matched, p->text)
		->is_exact = true;
}

int pol_lint_found(struct pol_lint *l, const struct pol_doc *doc, const struct pol_engine *e,
		   struct b_err *err)
{
	struct links links = {l, e};

	l->is_cut = !pol_hardlinks(e, NAMES_MAX, tell_link, &links);
	lint_temporary(l, doc, e);
	pol_engine_changeable(e, tell_program, l);
	return lint_openings(l, doc, e, err);
}
