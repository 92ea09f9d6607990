/* SPDX-License-Identifier: Apache-2.0 */
/*
 * obeyed_links.c - where symlinks take the names of the rows `reached`.
 *
 * `~/.bashrc` may be a link into a directory of dotfiles: a program that obeys the name obeys what
 * lies there, so each such place is a row of its own, and so is each link on the way, which leads
 * elsewhere once it is replaced. Names are looked up in the listings of their directories that the
 * sets have asked for: a home without links costs no call but for those.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/rules/build.h"
#include "policy/rules/obeyed_priv.h"
#include "policy/rules/workspace.h"

/* A name that is a link, and where it leads. Each is followed once, however many rows pass it. */
struct led {
	struct led *next;
	const char *name, *real;
};

struct leading {
	struct pol_build *b;
	struct reached_list *list;
	struct led *known;
	const struct reached *row; /* what is said of the places */
	bool may_list;		   /* the directories of the row are asked for many names */
};

static void add_place(const struct leading *l, const char *path, const char *rest)
{
	pol_obeyed_at(l->b, l->list, "", b_arena_printf(&l->b->rs->arena, "%s%s", path + 1, rest),
		      l->row);
}

static bool add_link(void *arg, const char *link, size_t len)
{
	const struct leading *l = arg;

	add_place(l, b_arena_strndup(&l->b->rs->arena, link, len), "");
	return true;
}

/* The name in a canonical directory, followed where it is a link; NULL: nothing can be there. */
static const char *follow(struct leading *l, const char *dir, const char *name, size_t len)
{
	const struct pol_names_at at = {dir, strlen(dir), l->may_list};
	struct b_arena *a = &l->b->rs->arena;
	enum pol_name what = pol_names_look(&l->b->names, a, &at, name, len);
	const char *path = pol_build_join(l->b, dir, b_arena_strndup(a, name, len)), *real;
	struct led *led;

	if (what == POL_NAME_MISSING)
		return NULL;
	if (what == POL_NAME_PLAIN)
		return path;
	for (led = l->known; led; led = led->next)
		if (strcmp(led->name, path) == 0)
			return led->real;
	if (what == POL_NAME_UNKNOWN) {
		ssize_t n = readlink(path, &(char){0}, 1);

		what = n >= 0 ? POL_NAME_LINK : errno == EINVAL ? POL_NAME_PLAIN : POL_NAME_MISSING;
		pol_names_tell(&l->b->names, a, &at, name, len, what);
		if (what != POL_NAME_LINK)
			return what == POL_NAME_PLAIN ? path : NULL;
	}
	real = pol_canonical_links(a, path, add_link, l);
	led = b_arena_alloc(a, sizeof *led);
	*led = (struct led){l->known, path, real && real[1] ? real : NULL};
	l->known = led;
	return led->real;
}

/* As far as the row has no wildcard, and is there. */
static void add_row(struct leading *l, const char *dir, const char *text)
{
	struct b_arena *a = &l->b->rs->arena;
	const char *rest = text;
	bool is_led = false;

	while (*rest) {
		size_t n = strcspn(rest, "/");
		const char *next = memchr(rest, '*', n) ? NULL : follow(l, dir, rest, n);

		if (!next)
			break;
		is_led |= strcmp(next, pol_build_join(l->b, dir, b_arena_strndup(a, rest, n))) != 0;
		dir = next;
		rest += n + (rest[n] == '/');
	}
	if (is_led)
		add_place(l, dir, *rest ? b_arena_printf(a, "/%s", rest) : "");
}

/* Is there such a name in the home at all? */
static bool may_lead(struct pol_build *b, const char *home, const char *text)
{
	const struct pol_names_at at = {home, strlen(home), true};

	return pol_names_look(&b->names, &b->rs->arena, &at, text, strcspn(text, "/")) !=
	       POL_NAME_MISSING;
}

enum { MANY = 5 }; /* lookups that cost as much as to list a directory */

static bool are_many(const struct pol_ynode *paths, const char *text)
{
	size_t len = strcspn(text, "/"), n = 0;

	for (size_t i = 0; i < paths->n; i++)
		n += strncmp(paths->v[i]->s, text, len) == 0 && paths->v[i]->s[len] == '/';
	return n > MANY;
}

static void add_rows(struct leading *l, const char *home, const struct pol_ynode *row)
{
	const struct pol_ynode *paths = pol_yaml_get(row, "paths");

	for (size_t k = 0; k < paths->n; k++) {
		const char *text = paths->v[k]->s;
		struct reached r = {.by = pol_yaml_get(row, "by")->s, .pos = paths->v[k]->pos};

		if (!may_lead(l->b, home, text))
			continue;
		r.matched = b_arena_printf(&l->b->rs->arena, "~/%s", text);
		l->row = &r;
		l->may_list = are_many(paths, text);
		add_row(l, home, text);
	}
}

const struct reached_list *pol_obeyed_leads(struct pol_build *b)
{
	const struct pol_ynode *rows = pol_obeyed_rows("reached");
	struct leading l = {.b = b};

	if (b->leads)
		return b->leads;
	l.list = b->leads = b_arena_alloc(&b->rs->arena, sizeof *b->leads);
	*b->leads = (struct reached_list){.n = 0};
	for (size_t h = 0; h < b->nhomes; h++) {
		size_t n = pol_obeyed_is_there(b, b->homes[h], ".") ? rows->n : 0;

		for (size_t i = 0; i < n; i++)
			if (pol_obeyed_is_here(b, rows->v[i]))
				add_rows(&l, b->homes[h], rows->v[i]);
	}
	return b->leads;
}
