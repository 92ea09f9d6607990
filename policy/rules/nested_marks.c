/* SPDX-License-Identifier: Apache-2.0 */
/* nested_marks.c - entries of a document become marks at places of this host: see build.h. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

bool pol_is_at_or_below(const char *path, const char *dir)
{
	return dir[1] == '\0' || sbx_path_under(path, strlen(path), dir, strlen(dir));
}

bool pol_mark_matches(const struct pol_mark *m, const char *path)
{
	size_t n = m->place[1] ? strlen(m->place) : 0;

	if (!pol_is_at_or_below(path, m->place) || path[n] != '/')
		return false;
	return pol_glob_match(m->glob, path + n + 1, strlen(path + n + 1));
}

void pol_marks_add(struct pol_build *b, struct pol_marks *list, struct pol_mark m)
{
	if (list->n == list->cap) {
		struct pol_mark *bigger;

		list->cap = list->cap ? 2 * list->cap : 16;
		bigger = b_arena_alloc(&b->rs->arena, list->cap * sizeof *bigger);
		if (list->n)
			memcpy(bigger, list->v, list->n * sizeof *bigger);
		list->v = bigger;
	}
	for (const char *p = m.place; p[1] && *p; p++)
		m.depth += *p == '/';
	list->v[list->n++] = m;
}

/* ---- one entry ---- */

struct finding {
	struct pol_build *b;
	bool tells;
	struct pol_marks *literals, *patterns;
	const char *first_missing; /* of what is named and not there; NULL = none */
	size_t nmissing;
};

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void place(struct finding *f, struct pol_mark m, const char *at)
{
	m.place = at;
	pol_marks_add(f->b, m.glob || m.is_exact ? f->patterns : f->literals, m);
}

/* What closes, closes where a link leads, and the link. What opens for modifying is left out: who
 * could change what is beside the link would choose what is open in the next run. */
static void place_linked(struct finding *f, const struct pol_mark *m, const char *spelled,
			 const char *real)
{
	struct pol_led led;

	pol_build_lead(f->b, spelled, &led);
	if (m->kind == POL_MARK_CLOSES) {
		place(f, *m, spelled);
		place(f, *m, real);
	} else if (m->kind == POL_MARK_OPENS_READ && !is_link(spelled) &&
		   pol_build_may_follow(f->b, &led)) {
		place(f, *m, led.real);
	} else if (f->tells && !m->is_implied) {
		pol_build_notice(
			f->b,
			"%s passes through a symlink to %s and is left out: name the target itself",
			m->what, real);
	}
}

/* A name with brackets is meant as it is where there is such a file. */
static bool is_meant_literally(const struct finding *f, const struct pol_text *t, const char *dir)
{
	const char *path;

	if (!t->name)
		return false;
	path = pol_components(&f->b->rs->arena, t->name + pol_root_head(t->name));
	return path && is_there(pol_build_join(f->b, dir, path));
}

static void find_at(struct finding *f, const struct pol_text *t, struct pol_mark m, const char *dir)
{
	struct b_arena *a = &f->b->rs->arena;
	const char *path = pol_components(a, t->s + pol_root_head(t->s)), *spelled, *real;
	size_t n = strlen(path);
	bool below;

	if (is_meant_literally(f, t, dir))
		return;
	if (!t->is_literal && !pol_rule_is_subtree(path, &n, &below)) {
		n = pol_glob_literal_prefix(path);
		m.glob = path + n + (n > 0);
	}
	m.is_exact = t->is_exact;
	spelled = n ? pol_build_join(f->b, dir, b_arena_strndup(a, path, n)) : dir;
	real = pol_canonical(a, spelled);
	if (strcmp(real, spelled) != 0) {
		place_linked(f, &m, spelled, real);
	} else if (m.kind == POL_MARK_CLOSES || m.glob || m.is_exact || is_there(real)) {
		place(f, m, real);
	} else if (m.kind == POL_MARK_OPENS_MODIFY && !m.is_implied && !t->only_named) {
		f->nmissing++;
		f->first_missing = f->first_missing ? f->first_missing : m.what;
	}
}

static bool is_led_away(struct finding *f, const char *what, const char *text)
{
	const char *spelled = pol_root_spelled(f->b, text);

	return spelled && pol_build_is_led_away(f->b, what, text, pol_root_head(text), spelled);
}

static void find_text(struct finding *f, const struct pol_text *t, enum pol_mark_kind kind)
{
	struct pol_build *b = f->b;
	struct b_arena *a = &b->rs->arena;
	struct pol_mark m = {.kind = kind,
			     .is_final = t->is_final,
			     .is_implied = t->is_implied,
			     .only_named = t->only_named};
	const char *dir;

	m.what = b_arena_printf(a, "%s:%u:%u: `%s`", t->pos.file, t->pos.line, t->pos.col, t->s);
	m.origin = pol_build_origin(b, &t->pos);
	m.text = t->s;
	if (!pol_root_is_local(t->s)) {
		dir = pol_root_dir(b, t->s, 0);
		if (dir && kind != POL_MARK_CLOSES && is_led_away(f, m.what, t->s))
			return;
		if (dir)
			find_at(f, t, m, dir);
		else if (f->tells)
			pol_build_notice(b, "%s: %.*s has no value here: the rule is left out",
					 m.what, (int)pol_root_head(t->s), t->s);
		return;
	}
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		dir = pol_root_dir(b, t->s, w);
		if (dir)
			find_at(f, t, m, t->up ? pol_build_up(b, dir, t->up) : dir);
	}
}

/* ---- all of them ---- */

/* The root itself: each directory in it, but what the kernel makes, and what an opening covers. */
static void expand_root(struct finding *f, struct pol_mark m)
{
	static const char *const kept[] = {"proc", "dev", "sys", ".", ".."};
	const struct dirent *entry;
	DIR *list = opendir("/");

	while (list && (entry = readdir(list))) {
		const char *child = pol_build_join(f->b, "/", entry->d_name);
		bool is_left = false;

		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			is_left |= strcmp(entry->d_name, kept[i]) == 0;
		child = pol_canonical(&f->b->rs->arena, child);
		for (size_t i = 0; i < f->literals->n; i++) {
			const struct pol_mark *o = &f->literals->v[i];

			is_left |= o->kind == POL_MARK_OPENS_READ &&
				   pol_is_at_or_below(child, o->place);
		}
		if (!is_left && child[1])
			place(f, m, child);
	}
	if (list)
		closedir(list);
}

static void expand_roots(struct finding *f)
{
	size_t n = f->literals->n, kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct pol_mark m = f->literals->v[i];

		if (m.kind != POL_MARK_CLOSES || m.place[1])
			continue;
		m.depth = 0;
		expand_root(f, m);
	}
	for (size_t i = 0; i < f->literals->n; i++) {
		const struct pol_mark *m = &f->literals->v[i];

		if (m->kind != POL_MARK_CLOSES || m->place[1])
			f->literals->v[kept++] = *m;
	}
	f->literals->n = kept;
}

static bool is_reopened(const struct pol_marks *literals, const struct pol_mark *m,
			const char *place)
{
	for (size_t i = 0; i < literals->n; i++) {
		const struct pol_mark *o = &literals->v[i];

		if (o->kind == POL_MARK_OPENS_READ && pol_is_at_or_below(o->place, place) &&
		    pol_is_at_or_below(m->place, o->place))
			return true;
	}
	return false;
}

/* The place at or above the mark that the pattern matches, or NULL. */
static const char *matched_above(struct pol_build *b, const struct pol_mark *pattern,
				 const char *place)
{
	for (size_t n = strlen(place); n > 1; n--) {
		const char *up;

		if (place[n] && place[n] != '/')
			continue;
		up = b_arena_strndup(&b->rs->arena, place, n);
		if (pol_mark_matches(pattern, up))
			return up;
	}
	return NULL;
}

/* Nobody asked for it: a denial counts more. */
static bool is_closed_again(const struct finding *f, const struct pol_mark *m)
{
	for (size_t i = 0; m->is_implied && i < f->literals->n; i++) {
		const struct pol_mark *c = &f->literals->v[i];

		if (c->kind == POL_MARK_CLOSES && pol_is_at_or_below(m->place, c->place) &&
		    !is_reopened(f->literals, m, c->place))
			return true;
	}
	for (size_t i = 0; m->is_implied && i < f->patterns->n; i++) {
		const struct pol_mark *c = &f->patterns->v[i];
		const char *up = c->kind == POL_MARK_CLOSES && c->glob
					 ? matched_above(f->b, c, m->place)
					 : NULL;

		if (up && !is_reopened(f->literals, m, up))
			return true;
	}
	return false;
}

static void drop_implied(struct finding *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->literals->n; i++)
		if (!is_closed_again(f, &f->literals->v[i]))
			f->literals->v[kept++] = f->literals->v[i];
	f->literals->n = kept;
}

static int by_depth(const void *a, const void *b)
{
	const struct pol_mark *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int by_kind(const void *a, const void *b)
{
	const struct pol_mark *x = a, *y = b;

	return (int)x->kind - (int)y->kind;
}

void pol_marks_find(struct pol_build *b, const struct pol_settings *s, bool tells,
		    struct pol_marks *literals, struct pol_marks *patterns)
{
	static const struct {
		enum pol_root_list list;
		enum pol_mark_kind kind;
	} rows[] = {{POL_ROOTS_denyRead, POL_MARK_CLOSES},
		    {POL_ROOTS_allowRead, POL_MARK_OPENS_READ},
		    {POL_ROOTS_openModify, POL_MARK_OPENS_MODIFY}};
	struct finding f = {.b = b, .tells = tells, .literals = literals, .patterns = patterns};

	*literals = *patterns = (struct pol_marks){0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < s->roots[rows[i].list].n; k++)
			find_text(&f, &s->roots[rows[i].list].v[k], rows[i].kind);
	expand_roots(&f);
	drop_implied(&f);
	if (tells && f.nmissing == 1)
		pol_build_notice(b, "%s does not exist and stays closed: create it before the run",
				 f.first_missing);
	else if (tells && f.nmissing)
		pol_build_notice(
			b,
			"%s and %zu more do not exist and stay closed: create them before the run",
			f.first_missing, f.nmissing - 1);
	if (literals->n)
		qsort(literals->v, literals->n, sizeof *literals->v, by_depth);
	if (patterns->n)
		qsort(patterns->v, patterns->n, sizeof *patterns->v, by_kind);
}
