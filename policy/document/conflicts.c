/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conflicts.c - no document's denial is undone by another document, nor by a preset.
 *
 * What `spec.sandbox` opens stands behind the denials of the document it is written in. Where
 * several documents are merged, or presets put under one, it would stand behind all: that is
 * refused, where there is a path that shows it.
 */
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/rules/build.h"

/* Is the rule of this document? Origins are "FILE:LINE:COL". */
static bool is_from(const struct pol_rule *r, const char *file)
{
	size_t n = strlen(file);

	return strncmp(r->origin, file, n) == 0 && r->origin[n] == ':' &&
	       r->origin[n + 1 + strspn(r->origin + n + 1, "0123456789:")] == '\0';
}

static bool is_denial_of(const struct pol_rule *r, const char *file)
{
	return r->layer == POL_LAYER_MAIN && r->tier == POL_TIER_DENY && is_from(r, file);
}

/* Of `spec.sandbox`: rules of profiles are relative. */
static bool is_root(const struct pol_rule *r)
{
	return r->matched[0] == '/' || r->matched[0] == '~' || strncmp(r->matched, "${", 2) == 0;
}

/* Something that another document's settings, or a preset's, open. */
static bool is_root_of_another(const struct pol_build *b, const struct pol_rule *r,
			       const char *file)
{
	const struct pol_texts *files = &b->layers->main.files;
	bool is_documents = strncmp(r->origin, "preset:", 7) == 0;

	if (!r->allow || !is_root(r) || r->layer != POL_LAYER_MAIN || is_from(r, file) ||
	    (r->tier != POL_TIER_SIDE && r->tier != POL_TIER_PROFILE))
		return false;
	for (size_t i = 0; i < files->n && !is_documents; i++)
		is_documents = is_from(r, files->v[i].s);
	return is_documents;
}

static bool may_meet(const struct pol_rule *a, const struct pol_rule *b)
{
	return sbx_path_under(a->base, a->base_len, b->base, b->base_len) ||
	       sbx_path_under(b->base, b->base_len, a->base, a->base_len) || !a->base_len ||
	       !b->base_len;
}

/* Mostly they speak of other places, and nothing needs to be proved. */
static bool may_undo(const struct pol_build *b, const struct pol_list *list, const char *file)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!is_root_of_another(b, &list->v[i], file))
			continue;
		for (size_t d = 0; d < i; d++)
			if (!list->v[d].allow && is_denial_of(&list->v[d], file) &&
			    may_meet(&list->v[d], &list->v[i]))
				return true;
	}
	return false;
}

static int fail(const struct pol_list *list, const char *file, const char *path, size_t len,
		struct b_err *err)
{
	int root = pol_list_last_match(list, list->n, path, len), deny = root;
	b_auto(b_str_release) struct b_str shown = {0};

	while (--deny > 0 &&
	       !(is_denial_of(&list->v[deny], file) && pol_rule_matches(&list->v[deny], path, len)))
		continue;
	b_str_add_visible(&shown, path, len);
	return b_fail(err, B_POLICY, 0,
		      "%s: `%s` opens %s, which `%s` (%s) denies: a document cannot undo a denial "
		      "of another: open less, or write the rule in the document that denies",
		      list->v[root].origin, list->v[root].matched, b_str_c(&shown),
		      list->v[deny].matched, list->v[deny].origin);
}

/* Two lists of verdicts: what others' roots decide, and what the document alone denies. */
static int check(const struct pol_build *b, const struct pol_list *all, const char *file,
		 struct b_err *err)
{
	b_auto_free struct pol_rule *v = b_calloc(2 * all->n + 1, sizeof *v);
	struct pol_list opened = {v, 0, all->n}, denied = {v + all->n, 0, all->n};
	struct pol_verdicts of[2] = {{.data = NULL}, {.data = NULL}};
	const struct pol_side sides[] = {{&of[0].image, SBX_READ}, {&of[1].image, SBX_READ}};
	b_auto(b_str_release) struct b_str path = {0};
	int rc;

	for (size_t i = 0; i < all->n; i++) {
		struct pol_rule r = all->v[i];

		if (r.layer != POL_LAYER_MAIN)
			continue;
		opened.v[opened.n] = r;
		opened.v[opened.n++].allow = is_root_of_another(b, &r, file);
		/* An exception takes back: the profile's rules once more, behind the denials. */
		if (!is_denial_of(&r, file) && (r.tier != POL_TIER_PROFILE || is_root(&r)))
			continue;
		denied.v[denied.n] = r;
		denied.v[denied.n++].allow = !r.allow;
	}
	rc = pol_verdicts_of(&opened, &of[0], err);
	if (rc == 0)
		rc = pol_verdicts_of(&denied, &of[1], err);
	if (rc == 0)
		rc = pol_find_path(sides, 2, POL_WHERE(3), &path, err);
	pol_verdicts_release(&of[0]);
	pol_verdicts_release(&of[1]);
	if (rc <= 0)
		return rc;
	return fail(&opened, file, path.s, path.len, err);
}

int pol_build_check_undone(const struct pol_build *b, struct b_err *err)
{
	const struct pol_texts *files = &b->layers->main.files;

	for (size_t i = 0; i < files->n; i++)
		for (int op = SBX_READ; op <= SBX_MODIFY; op++)
			if (may_undo(b, &b->rs->op[op], files->v[i].s) &&
			    check(b, &b->rs->op[op], files->v[i].s, err) < 0)
				return -1;
	return 0;
}
