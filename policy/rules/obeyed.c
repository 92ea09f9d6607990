/* SPDX-License-Identifier: Apache-2.0 */
/*
 * obeyed.c - grants that reach what outsiders run or obey (the list: presets/protected.yaml).
 *
 * The rows `reached` are closed behind what a preset, or the workspace, opens around them. A name
 * that the user opens explicitly stays open, and a line reports it. A git directory that the user
 * opens stays closed in what git runs and obeys; only a rule that names that very part opens it.
 */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/front/tree.h"
#include "policy/front/presets.h"
#include "policy/rules/build.h"
#include "policy/rules/obeyed_priv.h"
#include "policy/rules/workspace.h"

/* ---- the rows, where they lie on this host ---- */

/* An array of the arena with room for one more; it has room for a power of two from 8 on. */
static void *room(struct b_arena *a, void *v, size_t n, size_t size)
{
	void *bigger;

	if (n && (n < 8 || (n & (n - 1))))
		return v;
	bigger = b_arena_alloc(a, (n ? 2 * n : 8) * size);
	if (n)
		memcpy(bigger, v, n * size);
	return bigger;
}

void pol_obeyed_at(struct pol_build *b, struct reached_list *list, const char *dir,
		   const char *text, const struct reached *row)
{
	struct b_arena *a = &b->rs->arena;
	size_t n = strlen(text);
	struct reached r = *row;

	r.below = n > 3 && strcmp(text + n - 3, "/**") == 0;
	r.path = b_arena_printf(a, "%s/%.*s", dir, (int)(r.below ? n - 3 : n), text);
	list->v = room(a, list->v, list->n, sizeof *list->v);
	list->v[list->n++] = r;
}

static void add_path(struct pol_build *b, struct reached_list *list, const struct pol_ynode *path,
		     const char *by)
{
	struct b_arena *a = &b->rs->arena;
	struct reached row = {
		.matched = b_arena_printf(a, "~/%s", path->s), .by = by, .pos = path->pos};

	for (size_t h = 0; h < b->nhomes; h++)
		pol_obeyed_at(b, list, b->homes[h], path->s, &row);
	pol_obeyed_moved(b, list, path->s, &row);
}

const struct pol_ynode *pol_obeyed_rows(const char *section)
{
	return pol_yaml_get(pol_yaml_get(pol_preset_root(pol_preset_find("protected")), "spec"),
			    section);
}

static const struct pol_ynode *reached_rows(void)
{
	return pol_obeyed_rows("reached");
}

static void add_system(struct pol_build *b, struct reached_list *list, const struct pol_ynode *path,
		       const char *by)
{
	const struct reached row = {.matched = path->s, .by = by, .pos = path->pos};

	pol_obeyed_at(b, list, "", path->s + 1, &row);
}

bool pol_obeyed_is_here(const struct pol_build *b, const struct pol_ynode *row)
{
	const struct pol_ynode *on = pol_yaml_get(row, "on");

	return !on || strcmp(on->s, b->rq->is_on_macos ? "macos" : "linux") == 0;
}

static void add_rows(struct pol_build *b, struct reached_list *list, const struct pol_ynode *rows,
		     void (*add)(struct pol_build *, struct reached_list *,
				 const struct pol_ynode *path, const char *by))
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[i], "paths");

		for (size_t k = 0; k < paths->n && pol_obeyed_is_here(b, rows->v[i]); k++)
			add(b, list, paths->v[k], pol_yaml_get(rows->v[i], "by")->s);
	}
}

static struct reached_list find_rows(struct pol_build *b)
{
	struct reached_list list = {.n = 0};

	add_rows(b, &list, reached_rows(), add_path);
	add_rows(b, &list, pol_obeyed_rows("reachedSystem"), add_system);
	return list;
}

/* ---- does a grant reach a row? ---- */

/* One component, its slash in front. */
static bool is_part(const char *glob, size_t n, const char *name, size_t len)
{
	char part[NAME_MAX + 2];

	if (n == len && memcmp(glob, name, n) == 0)
		return true;
	if (!memchr(glob, '*', n) || n >= sizeof part)
		return false;
	memcpy(part, glob + 1, n - 1);
	part[n - 1] = '\0';
	return pol_glob_match(part, name + 1, len - 1);
}

enum meeting pol_obeyed_meet(const struct reached *row, const char *base)
{
	const char *p = row->path;

	while (*p && *base) {
		size_t n = strcspn(p + 1, "/") + 1, len = strcspn(base + 1, "/") + 1;

		if (!is_part(p, n, base, len))
			return APART;
		p += n;
		base += len;
	}
	if (!*base)
		return *p ? AROUND : WITHIN;
	return row->below ? WITHIN : APART;
}

static enum meeting reaches(const struct pol_rule *grant, const struct reached *row)
{
	enum meeting m = pol_obeyed_meet(row, grant->base);

	if (m != AROUND || grant->shape == POL_TREE)
		return m;
	if (grant->shape == POL_EXACT)
		return APART;
	/* where both have wildcards, perhaps is yes */
	return strstr(grant->glob, "**") || strchr(row->path, '*') ||
			       pol_rule_matches(grant, row->path, strlen(row->path))
		       ? AROUND
		       : APART;
}

static bool is_presets(const struct pol_rule *r)
{
	return b_has_prefix(r->origin, "preset:");
}

static bool is_workspaces(const struct pol_rule *r)
{
	return r->tier == POL_TIER_PROFILE && r->matched[0] != '/' && r->matched[0] != '~' &&
	       r->matched[0] != '$';
}

/* The build cache, wherever the environment has it. */
static bool is_cache(const struct pol_build *b, const struct pol_rule *r)
{
	return b->rq->cache && r->tier == POL_TIER_BASE && strcmp(r->base, b->rq->cache) == 0;
}

/* Where nobody obeys anything: nearly every start has its cache there. */
static bool is_usual_cache(const struct pol_build *b, const struct pol_rule *r)
{
	for (size_t i = 0; i < b->nhomes; i++) {
		size_t n = strlen(b->homes[i]);

		if (r->base_len > n && memcmp(r->base, b->homes[i], n) == 0 &&
		    b_has_prefix(r->base + n, "/.cache/sbx-launch/"))
			return true;
	}
	return false;
}

static bool is_grant(const struct pol_build *b, const struct pol_rule *r)
{
	return r->layer == POL_LAYER_MAIN && r->allow &&
	       (r->tier != POL_TIER_BASE || (is_cache(b, r) && !is_usual_cache(b, r)));
}

/* Not the user's own word. */
static bool is_offered(const struct pol_build *b, const struct pol_rule *r)
{
	return is_presets(r) || is_cache(b, r);
}

/* Does a row begin with the name that the path below a home begins with? */
static bool is_begun(const char *path)
{
	const struct pol_ynode *rows = reached_rows();
	size_t n = strcspn(path, "/");

	for (size_t i = 0; i < rows->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[i], "paths");

		for (size_t k = 0; k < paths->n; k++)
			if (strncmp(paths->v[k]->s, path, n) == 0 &&
			    (paths->v[k]->s[n] == '/' || !paths->v[k]->s[n]))
				return true;
	}
	return false;
}

/* Above a row of the system, or below the part of it that has no wildcard. */
static bool is_near_system(const struct pol_rule *r)
{
	const struct pol_ynode *rows = pol_obeyed_rows("reachedSystem");

	for (size_t i = 0; i < rows->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[i], "paths");

		for (size_t k = 0; k < paths->n; k++) {
			const char *path = paths->v[k]->s;
			size_t n = strcspn(path, "*");

			n -= path[n] && n > 1;
			if (strncmp(path, r->base, n < r->base_len ? n : r->base_len) == 0)
				return true;
		}
	}
	return false;
}

/* Most grants are of places that no row is near. */
static bool is_near(struct pol_build *b, const struct pol_rule *r)
{
	if (is_presets(r) || r->base_len == 0 || is_near_system(r))
		return true;
	for (size_t i = 0; i < b->nhomes; i++) {
		size_t n = strlen(b->homes[i]);

		if (sbx_path_under(b->homes[i], n, r->base, r->base_len) ||
		    (sbx_path_under(r->base, r->base_len, b->homes[i], n) &&
		     is_begun(r->base + n + 1)))
			return true;
	}
	return pol_moves_are_near(b, r);
}

static bool any_near(struct pol_build *b)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];

	for (size_t i = 0; i < list->n; i++)
		if (is_grant(b, &list->v[i]) && is_near(b, &list->v[i]))
			return true;
	return false;
}

/* ---- closed behind what is not the user's own word ---- */

static bool is_to_close(const struct pol_build *b, const struct reached *row)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];
		enum meeting m = APART;

		if (is_grant(b, r) && (is_offered(b, r) || is_workspaces(r)))
			m = reaches(r, row);
		/* who works in his editor's settings has chosen to */
		if (m == AROUND || (m == WITHIN && is_offered(b, r)))
			return true;
	}
	return false;
}

static void close_row(struct pol_build *b, const struct reached *row)
{
	struct b_arena *a = &b->rs->arena;
	size_t prefix = pol_glob_literal_prefix(row->path + 1) + 1;
	struct pol_rule r = {
		.tier = POL_TIER_SET,
		.shape = row->below ? POL_TREE : POL_EXACT,
		.base = row->path,
		.matched = row->matched,
		.origin = b_arena_printf(a, "%s:%u:%u", row->pos.file, row->pos.line, row->pos.col),
		.obeyed_by = row->by,
	};

	if (strchr(row->path, '*')) {
		r.shape = POL_GLOB;
		r.base = b_arena_strndup(a, row->path, prefix);
		r.glob = b_arena_printf(a, "%s%s", row->path + prefix + 1, row->below ? "/**" : "");
	}
	pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_ALWAYS);
}

/* Where a link takes a row to what holds a home or a workspace, closing it would close all. */
static bool holds_all(const struct pol_build *b, const struct reached *row)
{
	size_t n = strlen(row->path);

	for (size_t i = 0; i < b->nhomes + b->rs->nworkspaces; i++) {
		const char *dir = i < b->nhomes ? b->homes[i] : b->rs->workspaces[i - b->nhomes];

		if (sbx_path_under(dir, strlen(dir), row->path, n))
			return true;
	}
	return false;
}

void pol_build_obeyed(struct pol_build *b)
{
	const struct reached_list *leads = pol_obeyed_leads(b);
	struct reached_list rows = {.n = 0};

	if (any_near(b))
		rows = find_rows(b);
	for (size_t i = 0; i < rows.n; i++)
		if (is_to_close(b, &rows.v[i]))
			close_row(b, &rows.v[i]);
	for (size_t i = 0; i < leads->n; i++)
		if (!holds_all(b, &leads->v[i]) && is_to_close(b, &leads->v[i]))
			close_row(b, &leads->v[i]);
}

/* ---- git directories that the user opens ---- */

bool pol_obeyed_is_there(struct pol_build *b, const char *dir, const char *name)
{
	struct stat st;

	return lstat(pol_build_join(b, dir, name), &st) == 0;
}

bool pol_obeyed_is_git(struct pol_build *b, const char *dir)
{
	return pol_obeyed_is_there(b, dir, "HEAD") &&
	       (pol_obeyed_is_there(b, dir, "objects") || pol_obeyed_is_there(b, dir, "commondir"));
}

static int close_git(struct pol_build *b, const char *dir, const struct pol_rule *grant,
		     struct b_err *err)
{
	const char *below = pol_build_join(b, dir, ".git");

	if (pol_obeyed_is_git(b, dir) && pol_build_git_closed(b, dir, grant->tier, err) < 0)
		return -1;
	return pol_obeyed_is_git(b, below) ? pol_build_git_closed(b, below, grant->tier, err) : 0;
}

/* No walk of the tree: those that the workspaces use, and what lies in the directory itself. */
static int close_known(struct pol_build *b, const char *dir, const struct pol_rule *grant,
		       struct b_err *err)
{
	for (size_t w = 0; w < b->rs->nworkspaces; w++) {
		const char *ws = b->rs->workspaces[w];
		const char *const known[] = {pol_git_inside(&b->rs->arena, ws), b->common_dirs[w],
					     ws};

		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (known[i] && strcmp(known[i], dir) != 0 &&
			    sbx_path_under(known[i], strlen(known[i]), dir, strlen(dir)) &&
			    close_git(b, known[i], grant, err) < 0)
				return -1;
	}
	return 0;
}

/* Files do not count: a command can make any number. */
bool pol_obeyed_is_entry(const struct dirent *e)
{
	return (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN || e->d_type == DT_LNK) &&
	       strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int close_entries(struct pol_build *b, const char *dir, const struct pol_rule *grant,
			 struct b_err *err)
{
	DIR *list = opendir(dir);
	const struct dirent *e;
	int rc = 0;

	for (int n = 0; list && rc == 0 && (e = readdir(list));) {
		if (!pol_obeyed_is_entry(e))
			continue;
		if (++n > ENTRIES_MAX)
			rc = b_fail(err, B_LIMIT, 0,
				    "%s: it has more than %d directories, so git directories in it "
				    "stay closed: open single directories instead",
				    dir, ENTRIES_MAX);
		else
			rc = close_git(b, pol_build_join(b, dir, e->d_name), grant, err);
	}
	if (list)
		closedir(list);
	return rc;
}

void pol_build_git_behind(struct pol_build *b, const struct pol_rule *grant)
{
	struct b_err err = {.kind = B_OK};
	const char *dir;

	if (b->at || !b->rq->with_protected || grant->shape != POL_TREE || is_presets(grant) ||
	    (grant->tier != POL_TIER_SIDE && grant->tier != POL_TIER_CLI))
		return;
	dir = pol_canonical(&b->rs->arena, grant->base_len ? grant->base : "/");
	if ((close_git(b, dir, grant, &err) < 0 || close_known(b, dir, grant, &err) < 0 ||
	     close_entries(b, dir, grant, &err) < 0) &&
	    b->late.kind == B_OK)
		b->late = err;
}

/* ---- what stays open is named ---- */

void pol_obeyed_take(struct pol_build *b, size_t grant, const char *path, const char *matched,
		     const char *by, const char *origin, struct found *f)
{
	if (pol_list_decide(&b->rs->op[SBX_MODIFY], path, strlen(path)) != (int)grant)
		return;
	f->n++;
	for (size_t i = 0; i < f->nkinds; i++)
		if (strcmp(f->kinds[i].by, by) == 0) {
			f->kinds[i].n++;
			return;
		}
	if (f->nkinds < KINDS_MAX)
		f->kinds[f->nkinds++] = (struct pol_opened_kind){by, matched, origin, 1};
}

/* One that the rule speaks of: a pattern matches its own text, as in `config.lock*`. */
static const char *a_name_of(struct pol_build *b, const struct pol_rule *r)
{
	return r->shape == POL_GLOB ? b_arena_printf(&b->rs->arena, "%s/%s", r->base, r->glob)
				    : r->base;
}

/* Denials of the list that stand before the grant, or were left out of it. The real place of a
 * name counts where the name itself is not found. */
static void look_at_list(struct pol_build *b, size_t grant, struct found *f)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	const struct pol_rule *g = &list->v[grant];
	size_t before = f->n;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!r->obeyed_by || (r->twin && f->n > before) || r->matched[0] == '~' ||
		    r->matched[0] == '$')
			continue;
		before = f->n;
		if (r->shape == POL_TREE &&
		    sbx_path_under(g->base, g->base_len, r->base, r->base_len))
			pol_obeyed_take(b, grant, g->base, r->matched, r->obeyed_by, r->origin, f);
		else if (pol_rule_matches(g, r->base, r->base_len))
			pol_obeyed_take(b, grant, a_name_of(b, r), r->matched, r->obeyed_by,
					r->origin, f);
	}
}

static void look_at_rows(struct pol_build *b, size_t grant, const struct reached_list *rows,
			 struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];
	struct b_arena *a = &b->rs->arena;

	for (size_t i = 0; i < rows->n; i++) {
		const struct reached *row = &rows->v[i];
		enum meeting m = reaches(g, row);

		if (m == APART || (m == AROUND && is_workspaces(g)))
			continue;
		pol_obeyed_take(b, grant, m == WITHIN ? g->base : row->path, row->matched, row->by,
				row->variable ? b_arena_printf(a, "$%s", row->variable)
					      : b_arena_printf(a, "%s:%u:%u", row->pos.file,
							       row->pos.line, row->pos.col),
				f);
	}
}

/* Those that no row speaks of. */
static void look_at_named(struct pol_build *b, size_t grant, const struct reached_list *named,
			  const struct reached_list *rows, struct found *f)
{
	for (size_t i = 0; i < named->n; i++) {
		struct reached_list one = {&named->v[i], 1};
		bool is_known = false;

		for (size_t k = 0; k < rows->n && !is_known; k++)
			is_known = pol_obeyed_meet(&rows->v[k], one.v->path) == WITHIN;
		if (!is_known)
			look_at_rows(b, grant, &one, f);
	}
}

/* "shells; claude; and others" */
static const char *names_of(struct b_arena *a, const struct found *f, size_t most)
{
	const char *text = f->kinds[0].by;

	for (size_t i = 1; i < f->nkinds && i < most; i++)
		text = b_arena_printf(a, "%s; %s", text, f->kinds[i].by);
	return f->nkinds > most ? b_arena_printf(a, "%s; and others", text) : text;
}

static const char *say(struct b_arena *a, const struct found *f, size_t most)
{
	const struct pol_opened_kind *first = &f->kinds[0];
	const char *opens = b_arena_printf(a, "opens `%s`, run or obeyed outside by %s (%s)",
					   first->matched, first->by, first->origin);

	if (f->n == 1)
		return opens;
	return b_arena_printf(a, "%s, and %zu more%s%s", opens, f->n - 1,
			      f->nkinds > 1 ? " of: " : " of that kind",
			      f->nkinds > 1 ? names_of(a, f, most) : "");
}

static void tell(struct pol_build *b, const struct pol_rule *g, const struct found *f)
{
	struct b_arena *a = &b->rs->arena;
	const char *what = g->tier == POL_TIER_CLI ? "--modify" : g->origin;
	struct pol_opened_kind *kinds = b_arena_alloc(a, f->nkinds * sizeof *kinds);

	memcpy(kinds, f->kinds, f->nkinds * sizeof *kinds);
	b->opened = room(a, b->opened, b->nopened, sizeof *b->opened);
	b->opened[b->nopened++] = (struct pol_opened){
		.origin = g->origin,
		.matched = g->matched,
		.text = say(a, f, KINDS_MAX),
		.line = b_arena_printf(a, "%s `%s` %s", what, g->matched, say(a, f, NAMED)),
		.kinds = kinds,
		.nkinds = f->nkinds};
	pol_build_notice(b, "%s", b->opened[b->nopened - 1].line);
}

/* What is asked for at most once for all grants. */
struct looked {
	struct reached_list rows, named;
};

/* All that one spelling of a grant opens. */
static void look_at(struct pol_build *b, size_t grant, struct looked *once, struct found *f)
{
	const struct pol_rule *g = &b->rs->op[SBX_MODIFY].v[grant];

	if (!is_offered(b, g) && is_near(b, g)) {
		if (!once->rows.n)
			once->rows = find_rows(b);
		look_at_rows(b, grant, &once->rows, f);
	}
	if (!is_offered(b, g))
		look_at_named(b, grant, pol_obeyed_leads(b), &once->rows, f);
	if (!is_offered(b, g) && !is_workspaces(g)) {
		look_at_list(b, grant, f);
		pol_obeyed_projects(b, grant, f);
	}
	if (!is_workspaces(g)) {
		if (!once->named.n)
			once->named = pol_obeyed_named(b);
		look_at_named(b, grant, &once->named, &once->rows, f);
	}
}

void pol_build_opened(struct pol_build *b)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	struct looked once = {.rows = {.n = 0}};

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *g = &list->v[i];
		struct found f = {.n = 0};

		if (!is_grant(b, g) || g->twin || b_has_prefix(g->origin, "builtin:worktree"))
			continue;
		look_at(b, i, &once, &f);
		/* by its real path; what is found by both is one rule's, and said once */
		if (i + 1 < list->n && g[1].twin && !g[1].saves && is_grant(b, &g[1]))
			look_at(b, i + 1, &once, &f);
		if (f.n)
			tell(b, g, &f);
	}
}
