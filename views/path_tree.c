/* SPDX-License-Identifier: Apache-2.0 */
/* path_tree.c - see path_tree.h. */
#include "views/path_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define HASH_FUNCTION B_UTHASH
#include <uthash.h>

#include "audit/entry.h"
#include "base/json.h"
#include "base/mem.h"
#include "views/views.h"

/* Held, written, deep; paths that are summed up before they have a place in the tree. */
enum { NODES_MAX = 200000, NODES_SHOWN = 10000, DEPTH_MAX = 64, WHOLE_MAX = 200000 };

struct view_node {
	UT_hash_handle hh;
	struct view_node *child, *next; /* the last child, the sibling before it */
	struct view_sums sums;
	size_t len;
	char key[]; /* the parent's address, then the name */
};

enum { PARENT = sizeof(struct view_node *) };

static struct view_node *child_of(struct view_paths *t, struct view_node *parent, const char *name,
				  size_t len)
{
	struct view_node *n, **list = parent ? &parent->child : &t->top;

	b_str_reset(&t->key);
	b_str_addn(&t->key, (const char *)&parent, PARENT);
	b_str_addn(&t->key, name, len);
	HASH_FIND(hh, t->nodes, t->key.s, t->key.len, n);
	if (n || HASH_COUNT(t->nodes) >= NODES_MAX)
		return n;
	n = b_calloc(1, sizeof *n + t->key.len);
	n->len = len;
	n->next = *list;
	*list = n;
	memcpy(n->key, t->key.s, t->key.len);
	HASH_ADD_KEYPTR(hh, t->nodes, n->key, t->key.len, n);
	return n;
}

static void tally(struct view_sums *s, const struct view_sums *more)
{
	s->calls += more->calls;
	s->denied += more->denied;
	s->changed += more->changed;
}

/* At the path, and at each directory above it. */
static void place(struct view_paths *t, const char *path, const struct view_sums *sums)
{
	struct view_node *at = NULL;
	const char *p = path;
	unsigned depth;

	tally(&t->sums, sums);
	for (depth = 0; *p && depth < DEPTH_MAX; depth++) {
		size_t n = strcspn(p, "/"), len = n + (p == path && !n); /* the root is a name */

		at = child_of(t, at, p, len);
		if (!at)
			return;
		tally(&at->sums, sums);
		p += n + (p[n] == '/');
	}
}

/* The sums of the path alone; NULL: there are too many. */
static struct view_sums *whole_of(struct view_paths *t, const char *path)
{
	size_t len = strlen(path), n;

	n = t->whole.n < WHOLE_MAX ? b_intern(&t->whole, path, len)
				   : b_intern_find(&t->whole, path, len);
	if (n == B_INTERN_NONE)
		return NULL;
	if (n == t->neach) { /* a path that was not there before */
		b_grow(t->of_each, t->neach, t->each_cap);
		t->of_each[t->neach++] = (struct view_sums){0};
	}
	return &t->of_each[n];
}

void view_paths_add(struct view_paths *t, const struct aud_entry *e)
{
	struct view_sums one = {.calls = (uint64_t)e->count,
				.denied = aud_entry_is_denied(e) ? (uint64_t)e->count : 0,
				.changed = view_is_done(e)};
	struct view_sums *whole;

	if (!*e->path || !*e->op)
		return;
	whole = whole_of(t, e->path);
	if (whole)
		tally(whole, &one);
	else
		place(t, e->path, &one);
}

static void place_all(struct view_paths *t)
{
	for (uint32_t i = 0; i < t->whole.n; i++)
		place(t, b_interned(&t->whole, i), &t->of_each[i]);
	b_intern_release(&t->whole);
}

/* Never less above than below. */
static uint64_t weight(const struct view_node *n)
{
	return n->sums.denied << 32 | (n->sums.calls < UINT32_MAX ? n->sums.calls : UINT32_MAX);
}

static int falling(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* What is heavier than `limit` is written, and of what weighs as much so many. */
struct room {
	uint64_t limit;
	size_t equal;
};

static struct room room_of(const struct view_paths *t)
{
	size_t n = HASH_COUNT(t->nodes), i = 0;
	b_auto_free uint64_t *all = b_calloc(n + 1, sizeof *all);
	struct room r = {0, 0};
	struct view_node *one, *next;

	HASH_ITER(hh, t->nodes, one, next)
	all[i++] = weight(one);
	if (n <= NODES_SHOWN)
		return r;
	qsort(all, n, sizeof *all, falling);
	r.limit = all[NODES_SHOWN];
	for (i = NODES_SHOWN; i > 0 && all[i - 1] == r.limit; i--)
		r.equal++;
	return r;
}

static void add_sums(struct b_json *j, const struct view_sums *s)
{
	b_json_u64(j, s->calls);
	b_json_u64(j, s->denied);
	b_json_u64(j, s->changed);
}

/* Not deeper than DEPTH_MAX. */
static void add_names(struct b_json *j, const struct view_node *list, uint64_t calls,
		      struct room *room)
{
	const struct view_node *n;

	b_json_open(j, '[');
	for (n = list; n; n = n->next) {
		bool is_equal = weight(n) == room->limit;

		if (weight(n) < room->limit || (is_equal && !room->equal))
			continue;
		room->equal -= is_equal;
		calls -= n->sums.calls;
		b_json_open(j, '[');
		b_json_strn(j, n->key + PARENT, n->len);
		add_sums(j, &n->sums);
		if (n->child)
			add_names(j, n->child, n->sums.calls, room);
		b_json_close(j, ']');
	}
	b_json_close(j, ']');
	b_json_u64(j, calls);
}

void view_paths_json(struct view_paths *t, struct b_str *out)
{
	struct b_json j = {.out = out};
	struct room room;

	place_all(t);
	room = room_of(t);
	b_json_open(&j, '[');
	add_sums(&j, &t->sums);
	add_names(&j, t->top, t->sums.calls, &room);
	b_json_close(&j, ']');
}

void view_paths_release(struct view_paths *t)
{
	struct view_node *n = t->nodes, *next;

	HASH_CLEAR(hh, t->nodes);
	for (; n; n = next) {
		next = n->hh.next;
		free(n);
	}
	b_str_release(&t->key);
	b_intern_release(&t->whole);
	free(t->of_each);
}
