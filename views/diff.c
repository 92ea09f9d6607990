/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - what one run did and the other did not; see views.h. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/beside.h"
#include "views/views.h"

/* What was done: verdict, operation and path, as a text; and which runs did it. */
struct acts {
	struct b_intern texts;
	unsigned char *runs; /* of each text; bits: 1 the first, 2 the second */
	size_t nruns, runs_cap;
	struct b_str text; /* of the event at hand; its room is used again */
};

static void release(struct acts *all)
{
	b_intern_release(&all->texts);
	free(all->runs);
	b_str_release(&all->text);
}

static void note_text(struct acts *all, const char *text, size_t len, unsigned runs)
{
	uint32_t n = b_intern(&all->texts, text, len);

	if (n == all->nruns) { /* a text that was not there before */
		b_grow(all->runs, all->nruns, all->runs_cap);
		all->runs[all->nruns++] = 0;
	}
	all->runs[n] |= (unsigned char)runs;
}

static void note(struct acts *all, const struct aud_entry *e, unsigned bit)
{
	struct b_str *t = &all->text;

	if (!e->has_verdict)
		return;
	b_str_reset(t);
	if (aud_entry_is_denied(e))
		b_str_add(t, "denied ");
	b_str_add(t, e->op);
	b_str_addc(t, ' ');
	view_steady_path(e->path, t);
	if (*e->request) {
		b_str_addc(t, ' ');
		b_str_add(t, e->request);
	}
	note_text(all, t->s, t->len, bit);
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

static void join(struct acts *to, const struct acts *from)
{
	for (uint32_t i = 0; i < from->texts.n; i++)
		note_text(to, b_interned(&from->texts, i), b_interned_len(&from->texts, i),
			  from->runs[i]);
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

struct difference {
	const char *text;
	char sign;
};

static int by_text(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int show(struct view *v, const struct acts *all, struct b_err *err)
{
	b_auto_free struct difference *list = b_calloc(all->nruns, sizeof *list);
	size_t i, n = 0;

	for (i = 0; i < all->nruns; i++)
		if (all->runs[i] != 3)
			list[n++] = (struct difference){b_interned(&all->texts, (uint32_t)i),
							all->runs[i] == 1 ? '-' : '+'};
	qsort(list, n, sizeof *list, by_text);
	for (i = 0; i < n; i++) {
		b_str_addf(v->out, "%c ", list[i].sign);
		view_text(v->out, list[i].text);
		b_str_addc(v->out, '\n');
		if (view_flush(v, err) < 0)
			return -1;
	}
	return n > 0;
}

int view_diff(struct view *v, struct b_err *err)
{
	b_auto(release_side) struct side first = {.v = *v, .run = v->run, .bit = 1};
	b_auto(release_side) struct side second = {.v = *v, .run = v->other, .bit = 2};

	if (read_both(v, &first, &second, err) < 0)
		return -1;
	return show(v, &first.acts, err);
}
