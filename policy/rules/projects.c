/* SPDX-License-Identifier: Apache-2.0 */
/* projects.c - grants that reach what outsiders run or obey of a project beside the workspace: the
 * rows `workspace` of presets/protected.yaml, below another directory. */
#include <dirent.h>
#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/rules/build.h"
#include "policy/rules/obeyed_priv.h"

static void take_row(struct pol_build *b, size_t grant, const char *dir, const char *at,
		     const struct pol_ynode *path, const char *by, struct found *f)
{
	struct b_arena *a = &b->rs->arena;

	pol_obeyed_take(
		b, grant, at, b_arena_printf(a, "%s/%s", dir, path->s), by,
		b_arena_printf(a, "%s:%u:%u", path->pos.file, path->pos.line, path->pos.col), f);
}

/* Rows of a workspace, below another directory: the one that is the grant's own base (`within`), or
 * all that are there, or could be made in a repository. */
static void look_at_project(struct pol_build *b, size_t grant, const char *dir, bool within,
			    struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];
	const struct pol_ynode *rows = pol_obeyed_rows("workspace");
	struct reached_list list = {.n = 0};
	enum meeting m;
	bool is_open, is_repository = !within && pol_obeyed_is_there(b, dir, ".git");

	for (size_t i = 0; i < rows->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[i], "paths");
		const char *by = pol_yaml_get(rows->v[i], "by")->s;

		for (size_t k = 0; k < paths->n; k++) {
			const char *text = paths->v[k]->s;
			const char *first =
				b_arena_strndup(&b->rs->arena, text, strcspn(text, "/"));

			list.n = 0;
			pol_obeyed_at(b, &list, dir, text, &(struct reached){.by = by});
			m = within ? pol_obeyed_meet(&list.v[0], g->base) : AROUND;
			is_open = within ? m == WITHIN || (m == AROUND && g->shape == POL_TREE)
					 : is_repository || pol_obeyed_is_there(b, dir, first);
			/* a `.git` moves only where what is in it may; one that a rule names is
			 * closed in what git runs (obeyed.c) */
			if (is_open && strcmp(text, ".git") != 0 &&
			    !(within && strcmp(first, ".git") == 0))
				take_row(b, grant, dir, m == WITHIN ? g->base : list.v[0].path,
					 paths->v[k], by, f);
		}
	}
}

/* The workspaces' own are in the protected set, or closed behind the rule (obeyed.c). */
static bool is_workspaces_git(struct pol_build *b, const char *dir)
{
	for (size_t w = 0; w < b->rs->nworkspaces; w++) {
		const char *const known[] = {pol_build_join(b, b->rs->workspaces[w], ".git"),
					     b->common_dirs[w], b->inside_dirs[w], b->own_dirs[w]};

		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (known[i] &&
			    sbx_path_under(dir, strlen(dir), known[i], strlen(known[i])))
				return true;
	}
	return false;
}

/* What git runs and obeys in a git directory: the rows `gitInside`. */
static void look_at_git(struct pol_build *b, size_t grant, const char *dir, struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];
	const struct pol_ynode *rows = pol_obeyed_rows("gitInside");
	struct reached_list list = {.n = 0};

	if (!pol_obeyed_is_git(b, dir) || is_workspaces_git(b, dir))
		return;
	for (size_t i = 0; i < rows->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[i], "paths");
		const char *by = pol_yaml_get(rows->v[i], "by")->s;

		for (size_t k = 0; k < paths->n; k++) {
			enum meeting m;

			list.n = 0;
			pol_obeyed_at(b, &list, dir, paths->v[k]->s, &(struct reached){.by = by});
			m = pol_obeyed_meet(&list.v[0], g->base);
			/* what a pattern is of is closed where it is (sets.c) */
			if (m == WITHIN || (m == AROUND && g->shape == POL_TREE &&
					    !strchr(list.v[0].path + strlen(dir), '*')))
				take_row(b, grant, dir, m == WITHIN ? g->base : list.v[0].path,
					 paths->v[k], by, f);
		}
	}
}

/* Who activates a virtual environment of Python's runs what is in it, and so does what it starts.
 */
static void look_at_venv(struct pol_build *b, size_t grant, const char *dir, struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];
	bool is_inside = sbx_path_under(g->base, g->base_len, dir, strlen(dir));
	const char *rest = is_inside ? g->base + strlen(dir) : "";

	if (*rest && strncmp(rest, "/bin", 4) != 0 && strncmp(rest, "/lib", 4) != 0 &&
	    strcmp(rest, "/pyvenv.cfg") != 0)
		return; /* a home may have a ~/bin/activate */
	if (!pol_obeyed_is_there(b, dir, "pyvenv.cfg") &&
	    !pol_obeyed_is_there(b, dir, "bin/activate"))
		return;
	for (size_t w = 0; w < b->rs->nworkspaces; w++)
		if (sbx_path_under(dir, strlen(dir), b->rs->workspaces[w],
				   strlen(b->rs->workspaces[w])))
			return;
	pol_obeyed_take(b, grant, is_inside ? g->base : pol_build_join(b, dir, "bin/activate"),
			b_arena_printf(&b->rs->arena, "%s/**", dir),
			"python's virtual environments", "builtin:venv", f);
}

/* Homes and workspaces have their own rows. */
static bool has_own_rows(const struct pol_build *b, const char *dir)
{
	for (size_t i = 0; i < b->nhomes; i++)
		if (strcmp(b->homes[i], dir) == 0)
			return true;
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		if (strcmp(b->rs->workspaces[i], dir) == 0)
			return true;
	return false;
}

static void look_below(struct pol_build *b, size_t grant, const char *dir, struct found *f)
{
	DIR *list = opendir(dir);
	const struct dirent *e;

	for (int n = 0; list && n < ENTRIES_MAX && (e = readdir(list));) {
		const char *sub;

		if (!pol_obeyed_is_entry(e))
			continue;
		n++;
		sub = pol_build_join(b, dir, e->d_name);
		look_at_git(b, grant, sub, f);
		look_at_venv(b, grant, sub, f);
		if (!has_own_rows(b, sub) && pol_obeyed_is_there(b, sub, ".git"))
			look_at_project(b, grant, sub, false, f);
	}
	if (list)
		closedir(list);
}

/* No walk of the tree: the directory that is opened, what lies in it, and where it lies. */
void pol_obeyed_projects(struct pol_build *b, size_t grant, struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];
	struct b_arena *a = &b->rs->arena;
	size_t before = f->n;

	for (const char *at = g->base; (at = strchr(at + 1, '/'));) {
		const char *dir = b_arena_strndup(a, g->base, (size_t)(at - g->base));

		if (at[1] == '.' && !has_own_rows(b, dir))
			look_at_project(b, grant, dir, true, f);
		if (f->n == before)
			look_at_git(b, grant, dir, f);
		if (f->n == before)
			look_at_venv(b, grant, dir, f);
	}
	if (f->n == before)
		look_at_git(b, grant, g->base, f);
	if (f->n == before && g->shape == POL_TREE && g->base_len)
		look_at_venv(b, grant, g->base, f);
	if (g->shape != POL_TREE || g->base_len == 0)
		return;
	if (!has_own_rows(b, g->base))
		look_at_project(b, grant, g->base, false, f);
	look_below(b, grant, g->base, f);
}
