/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - what one run did and the other did not; see views.h. */
#include <string.h>
#include <uthash.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/beside.h"
#include "views/views.h"

/* One thing done: verdict, operation and path. */
struct act {
	UT_hash_handle hh;
	char *text;
	unsigned runs; /* bits: 1 the first, 2 the second */
};

struct acts {
	struct act *table;
	struct b_str text; /* of the event at hand; its room is used again */
	struct act *last;
};

static void release(struct acts *all)
{
	struct act *a = all->table, *next;

	HASH_CLEAR(hh, all->table);
	for (; a; a = next) {
		next = a->hh.next;
		free(a->text);
		free(a);
	}
	b_str_release(&all->text);
}

static struct act *find(struct acts *all)
{
	const struct b_str *t = &all->text;
	struct act *a = all->last;

	/* most calls come in twos and more */
	if (a && a->hh.keylen == t->len && memcmp(a->text, t->s, t->len) == 0)
		return a;
	HASH_FIND(hh, all->table, t->s, t->len, a);
	return a;
}

static void note(struct acts *all, const struct aud_entry *e, unsigned bit)
{
	struct b_str *t = &all->text;
	struct act *a;

	if (!e->has_verdict)
		return;
	b_str_reset(t);
	if (aud_entry_is_denied(e))
		b_str_add(t, "denied ");
	b_str_add(t, e->op);
	b_str_addc(t, ' ');
	view_steady_path(e->path, t);
	a = find(all);
	if (!a) {
		a = b_calloc(1, sizeof *a);
		a->text = b_strndup(t->s, t->len);
		HASH_ADD_KEYPTR(hh, all->table, a->text, t->len, a);
	}
	a->runs |= bit;
	all->last = a;
}

/* One run, read into a table of its own. */
struct side {
	struct view v;
	const struct aud_run *run;
	unsigned bit;
	struct acts acts;
	struct b_err err;
};

static void release_side(struct side *s)
{
	release(&s->acts);
}

static int read_side(void *ctx)
{
	struct side *s = ctx;
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got;

	if (aud_reader_open(&r, s->run, &s->err) < 0)
		return -1;
	while ((got = view_next(&s->v, &r, &s->err)) > 0)
		note(&s->acts, &r.e, s->bit);
	return got;
}

/* Moves what is in `from` into `to`. */
static void join(struct acts *to, struct acts *from)
{
	struct act *a, *next, *same;

	HASH_ITER(hh, from->table, a, next)
	{
		HASH_FIND_BYHASHVALUE(hh, to->table, a->text, a->hh.keylen, a->hh.hashv, same);
		if (same) {
			same->runs |= a->runs;
			continue;
		}
		HASH_DEL(from->table, a);
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, to->table, a->text, a->hh.keylen, a->hh.hashv, a);
	}
}

/* Both logs at the same time. */
static int read_both(struct view *v, struct side *first, struct side *second, struct b_err *err)
{
	struct view_beside b;
	int rc, its;

	view_beside_start(&b, read_side, second);
	rc = read_side(first);
	its = view_beside_join(&b);
	view_take_bad(v, &first->v);
	view_take_bad(v, &second->v);
	if (rc < 0 || its < 0) {
		*err = rc < 0 ? first->err : second->err;
		return -1;
	}
	join(&first->acts, &second->acts);
	return 0;
}

static int by_text(const struct act *a, const struct act *b)
{
	return strcmp(a->text, b->text);
}

int view_diff(struct view *v, struct b_err *err)
{
	b_auto(release_side) struct side first = {.v = *v, .run = v->run, .bit = 1};
	b_auto(release_side) struct side second = {.v = *v, .run = v->other, .bit = 2};
	struct act *a, *next;
	int found = 0;

	if (read_both(v, &first, &second, err) < 0)
		return -1;
	HASH_SORT(first.acts.table, by_text);
	HASH_ITER(hh, first.acts.table, a, next)
	{
		if (a->runs == 3)
			continue;
		found = 1;
		b_str_addf(v->out, "%c ", a->runs == 1 ? '-' : '+');
		view_text(v->out, a->text);
		b_str_addc(v->out, '\n');
		if (view_flush(v, err) < 0)
			return -1;
	}
	return found;
}
