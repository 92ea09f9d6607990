/* SPDX-License-Identifier: Apache-2.0 */
/* tail.c - the end of a log, and the log as it is; see views.h. */
#include <string.h>
#include <time.h>

#include "audit/rundir.h"
#include "audit/show.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

enum { LAST_MAX = 100000, POLL_MS = 200 };

struct ring {
	struct b_str *v;
	size_t n, next;
};

static void release(struct ring *r)
{
	size_t i;

	for (i = 0; r->v && i < r->n; i++)
		b_str_release(&r->v[i]);
	free(r->v);
}

static void add_event(const struct view *v, struct aud_reader *r, struct b_str *out)
{
	if (v->json) {
		b_str_addn(out, r->line.s, r->line.len);
		b_str_addc(out, '\n');
	} else {
		aud_show_entry(&r->e, v->colour, out);
	}
}

/* What has been read of a line that is being written is read again with its end. */
static void rewind_torn(struct aud_lines *l, const struct aud_line *line)
{
	if (line->torn) {
		l->start = l->end - line->len;
		l->number--;
	}
	l->eof = false;
}

static int follow(struct view *v, struct aud_reader *r, struct b_err *err)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	bool is_live = true;
	int got;

	while (is_live) {
		if (v->out->len && v->write(v->out, err) < 0)
			return -1;
		nanosleep(&pause, NULL);
		is_live = aud_run_is_live(v->root, v->run->id); /* before the last look */
		rewind_torn(&r->l, &r->line);
		r->line = (struct aud_line){0};
		while ((got = view_next(v, r, err)) > 0)
			add_event(v, r, v->out);
		if (got < 0)
			return -1;
	}
	return 0;
}

int view_tail(struct view *v, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	b_auto(release) struct ring last = {.n = v->last < LAST_MAX ? v->last : LAST_MAX};
	int got, found = 0;
	size_t i;

	last.v = b_calloc(last.n + 1, sizeof *last.v);
	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0) {
		found = 1;
		if (!last.n)
			continue;
		b_str_reset(&last.v[last.next]);
		add_event(v, &r, &last.v[last.next]);
		last.next = (last.next + 1) % last.n;
	}
	if (got < 0)
		return -1;
	for (i = 0; i < last.n; i++) {
		const struct b_str *s = &last.v[(last.next + i) % last.n];

		if (s->len)
			b_str_addn(v->out, s->s, s->len);
	}
	if (v->follow && v->run->live && follow(v, &r, err) < 0)
		return -1;
	return found;
}

int view_cat(struct view *v, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	struct aud_line line;
	int got;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while (r.l.buf && (got = aud_lines_next(&r.l, &line, err)) > 0) {
		b_str_addn(v->out, line.s, line.len);
		if (!line.torn)
			b_str_addc(v->out, '\n');
		if (view_flush(v, err) < 0)
			return -1;
	}
	return !r.l.buf ? 0 : got < 0 ? -1 : r.l.number > 0;
}
