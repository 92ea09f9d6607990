/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - see spool.h. */
#include "ship/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/entry.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/row.h"

enum { CHUNK = 64 << 10 }; /* of rows that are handed on at once */

struct ship_spool *ship_spool_new(const char *root, const char *id, const char *name,
				  const char *host, struct b_err *err)
{
	struct ship_spool *s = b_calloc(1, sizeof *s);
	struct b_str dir = {0};

	b_str_addf(&dir, "%s/%s", root, id);
	s->dir = b_str_take(&dir);
	s->r.l.fd = -1;
	memcpy(s->id, id, strlen(id) + 1);
	if (ship_state_load(s->dir, name, &s->state, err) < 0 ||
	    (!s->state.is_done && aud_run_load(root, id, &s->run, err) < 0)) {
		ship_spool_free(s);
		return NULL;
	}
	if (host && !*s->state.host)
		memcpy(s->state.host, host, strlen(host) + 1);
	s->planned_before = s->state.planned;
	s->state.planned = 0;
	return s;
}

void ship_spool_free(struct ship_spool *s)
{
	if (!s)
		return;
	aud_reader_release(&s->r);
	aud_run_release(&s->run);
	free(s->dir);
	free(s);
}

void ship_spool_look(struct ship_spool *s, const char *root)
{
	s->run.live = aud_run_is_live(root, s->id);
	s->is_open_end = s->run.live || s->run.alone.is_alone;
}

/* ---- reading ---- */

static void name_host(struct ship_spool *s, const struct aud_entry *e)
{
	struct ship_state *st = &s->state;

	if (*st->host)
		return;
	if (e && strcmp(e->kind, "run") == 0 && *e->host && strlen(e->host) < sizeof st->host)
		memcpy(st->host, e->host, strlen(e->host) + 1);
	else if (gethostname(st->host, sizeof st->host - 1) < 0 || !*st->host)
		memcpy(st->host, "unknown", sizeof "unknown");
}

/* As aud_reader_next(), but what was read of a line that is being written is read again with its
 * end, and the end of the file may move. */
static int next_line(struct ship_spool *s, struct b_err *err)
{
	struct aud_lines *l = &s->r.l;
	int got = aud_reader_next(&s->r, err);

	if (got != AUD_READ_END || !l->buf)
		return got;
	if (s->r.line.torn && s->run.live) {
		l->start = l->end - s->r.line.len;
		l->number--;
	}
	s->r.line = (struct aud_line){0};
	l->eof = false;
	return got;
}

/* Past what was acknowledged, for what lines leave to those before them. */
static int begin(struct ship_spool *s, struct b_err *err)
{
	int got = AUD_READ_EVENT;

	if (s->is_reading && s->r.l.buf)
		return 0;
	aud_reader_release(&s->r);
	if (aud_reader_open(&s->r, &s->run, err) < 0)
		return -1;
	s->is_reading = true;
	while (s->r.l.buf && s->r.l.number < s->state.lines && got > 0)
		got = next_line(s, err);
	return got < 0 ? -1 : 0;
}

static bool is_full(const struct ship_spool *s, const struct ship_part *p)
{
	if (s->planned_before > p->before.lines)
		return s->state.lines >= s->planned_before;
	return p->rows >= SHIP_PART_ROWS || s->state.bytes - p->before.bytes >= SHIP_PART_BYTES;
}

static void add_row(struct ship_spool *s, int got, struct ship_row_of *of, struct b_str *out)
{
	const struct aud_line *line = &s->r.line;
	uint64_t no = s->r.l.number;

	name_host(s, got == AUD_READ_EVENT ? &s->r.e : NULL);
	of->host = s->state.host;
	if (!of->batch)
		of->batch = no;
	if (got == AUD_READ_EVENT)
		ship_row_event(of, no, line, &s->r.e, out);
	else
		ship_row_unreadable(of, no, line, out);
	s->state.lines = no;
	s->state.rows++;
	s->state.bytes += line->len + 1;
}

int ship_spool_next(struct ship_spool *s, ship_put *put, void *arg, struct ship_part *out,
		    struct b_err *err)
{
	b_auto(b_str_release) struct b_str rows = {0};
	struct ship_row_of of = {.run_id = s->id};
	struct ship_part p = {.before = s->state};
	int got = AUD_READ_EVENT;

	if (begin(s, err) < 0)
		return -1;
	while (!is_full(s, &p) && (got = next_line(s, err)) > 0) {
		add_row(s, got, &of, &rows);
		p.rows++;
		if (rows.len >= CHUNK && put(arg, &rows, err) < 0)
			return -1;
	}
	if (got < 0 || (rows.len && put(arg, &rows, err) < 0))
		return -1;
	if (!p.rows)
		return 0;
	p.is_planned = got == AUD_READ_END && s->is_open_end;
	p.after = s->state;
	memcpy(p.before.host, s->state.host, sizeof p.before.host);
	p.before.planned = s->state.lines;
	if (s->state.lines >= s->planned_before)
		s->planned_before = 0;
	*out = p;
	return 1;
}
