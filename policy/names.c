#include "policy/names.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/back/floor.h"

#define ASKED_BEFORE 2	  /* lookups that are cheaper than opening, reading and closing */
#define NAMES_MAX    2000 /* a directory of more costs more than the lookups */

struct name {
	const char *name;
	char type; /* of struct pol_fsview */
};

/* One that was looked up. */
struct told {
	struct told *next;
	const char *name;
	size_t len;
	enum pol_name what;
};

struct pol_names_dir {
	struct pol_names_dir *next;
	const char *path;
	size_t len;
	unsigned asked;
	bool is_listed;
	struct told *told;
	struct name *v; /* sorted */
	size_t n, cap;
};

struct listing {
	struct b_arena *arena;
	struct pol_names_dir *dir;
};

static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int collect(void *arg, const char *name, char type)
{
	const struct listing *l = arg;
	struct pol_names_dir *d = l->dir;

	if (d->n == NAMES_MAX)
		return -1;
	b_grow(d->v, d->n, d->cap);
	d->v[d->n++] = (struct name){b_arena_strndup(l->arena, name, strlen(name)), type};
	return 0;
}

/* What cannot be read, or not wholly, stays unlisted. */
static void list(struct b_arena *a, struct pol_names_dir *d)
{
	const struct pol_fsview *fs = pol_fsview_host();
	struct listing l = {a, d};
	struct name *found;

	d->is_listed = fs->list(fs->ctx, d->path, collect, &l) == 0 && d->n < NAMES_MAX;
	found = d->v;
	d->v = NULL;
	if (d->is_listed && d->n) {
		qsort(found, d->n, sizeof *found, by_name);
		d->v = b_arena_alloc(a, d->n * sizeof *d->v);
		memcpy(d->v, found, d->n * sizeof *d->v);
	}
	free(found);
}

static struct pol_names_dir *find(struct pol_names *names, struct b_arena *a, const char *path,
				  size_t len)
{
	struct pol_names_dir *d;

	for (d = names->dirs; d; d = d->next)
		if (d->len == len && !memcmp(d->path, path, len))
			return d;
	d = b_arena_alloc(a, sizeof *d);
	d->path = b_arena_strndup(a, path, len);
	d->len = len;
	d->next = names->dirs;
	names->dirs = d;
	return d;
}

static enum pol_name recall(const struct pol_names_dir *d, const char *name, size_t len)
{
	for (const struct told *t = d->told; t; t = t->next)
		if (t->len == len && !memcmp(t->name, name, len))
			return t->what;
	return POL_NAME_UNKNOWN;
}

void pol_names_tell(struct pol_names *names, struct b_arena *a, const struct pol_names_at *at,
		    const char *name, size_t len, enum pol_name what)
{
	struct pol_names_dir *d = find(names, a, at->dir, at->len);
	struct told *t = b_arena_alloc(a, sizeof *t);

	*t = (struct told){d->told, b_arena_strndup(a, name, len), len, what};
	d->told = t;
}

enum pol_name pol_names_look(struct pol_names *names, struct b_arena *a,
			     const struct pol_names_at *at, const char *name, size_t len)
{
	struct pol_names_dir *d = find(names, a, at->dir, at->len);
	char text[NAME_MAX + 1];
	const struct name key = {.name = text}, *found;

	if (at->may_list && d->asked++ == ASKED_BEFORE)
		list(a, d);
	if (!d->is_listed || len > NAME_MAX)
		return recall(d, name, len);
	memcpy(text, name, len);
	text[len] = '\0';
	found = d->n ? bsearch(&key, d->v, d->n, sizeof *d->v, by_name) : NULL;
	if (!found)
		return POL_NAME_MISSING;
	return found->type == 'l' ? POL_NAME_LINK : POL_NAME_PLAIN;
}
