/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - what one run did and the other did not; see views.h. */
#include <string.h>
#include <uthash.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

/* One thing done: verdict, operation and path. */
struct act {
	UT_hash_handle hh;
	char *text;
	unsigned runs; /* bits: 1 the first, 2 the second */
};

static void release(struct act **table)
{
	struct act *a = *table, *next;

	HASH_CLEAR(hh, *table);
	for (; a; a = next) {
		next = a->hh.next;
		free(a->text);
		free(a);
	}
}

static void note(struct act **table, const struct aud_entry *e, unsigned bit)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct act *a;

	if (!e->has_verdict)
		return;
	b_str_addf(&text, "%s", aud_entry_is_denied(e) ? "denied " : "");
	view_text(&text, e->op);
	b_str_addc(&text, ' ');
	view_steady_path(e->path, &text);
	HASH_FIND_STR(*table, text.s, a);
	if (!a) {
		a = b_calloc(1, sizeof *a);
		a->text = b_str_take(&text);
		HASH_ADD_KEYPTR(hh, *table, a->text, strlen(a->text), a);
	}
	a->runs |= bit;
}

static int read_run(struct view *v, const struct aud_run *run, unsigned bit, struct act **table,
		    struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got;

	if (aud_reader_open(&r, run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0)
		note(table, &r.e, bit);
	return got;
}

static int by_text(const struct act *a, const struct act *b)
{
	return strcmp(a->text, b->text);
}

int view_diff(struct view *v, struct b_err *err)
{
	b_auto(release) struct act *table = NULL;
	struct act *a, *next;
	int found = 0;

	if (read_run(v, v->run, 1, &table, err) < 0 || read_run(v, v->other, 2, &table, err) < 0)
		return -1;
	HASH_SORT(table, by_text);
	HASH_ITER(hh, table, a, next)
	{
		if (a->runs == 3)
			continue;
		found = 1;
		b_str_addf(v->out, "%c ", a->runs == 1 ? '-' : '+');
		b_str_add(v->out, a->text);
		b_str_addc(v->out, '\n');
		if (view_flush(v, err) < 0)
			return -1;
	}
	return found;
}
