/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - a run as one page for a browser; see views.h. The page (page.html) has the data as
 * JSON, in which no byte can end the script, and shows them as text only. It is bounded: what would
 * be too much for a browser is summed up here, and what was left out is said. */
#include <inttypes.h>
#include <string.h>

#include "audit/show.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/stamp.h"
#include "views/feed.h"
#include "views/part.h"
#include "views/path_tree.h"
#include "views/views.h"

static const char page[] =
#include "page.inc"
	;
static const char mark[] = "@DATA@";

/* The events that are there one by one: the first of each kind. */
enum { REFUSED, CHANGED, OTHER, CLASSES };
static const uint64_t events_max[CLASSES] = {5000, 10000, 5000};

struct events {
	struct b_intern texts; /* one that many events have is there once */
	struct view_paths paths;
	struct b_str rows;
	uint64_t all, here[CLASSES];
	int64_t base;
};

static uint32_t number_of(struct events *ev, const char *text)
{
	return b_intern(&ev->texts, text, strlen(text));
}

static void release_events(struct events *ev)
{
	b_intern_release(&ev->texts);
	view_paths_release(&ev->paths);
	b_str_release(&ev->rows);
}

static void add_event(struct events *ev, const struct aud_entry *e)
{
	bool is_denied = aud_entry_is_denied(e);
	int which = is_denied ? REFUSED : view_is_done(e) ? CHANGED : OTHER;
	int64_t us;
	size_t i;

	ev->all++;
	view_paths_add(&ev->paths, e);
	if (ev->here[which] == events_max[which])
		return;
	ev->here[which]++;
	us = sbx_stamp_ns(e->ts) / 1000;
	if (!ev->base)
		ev->base = us / 1000;
	us -= ev->base * 1000;
	if (us < 0) /* a clock may go back */
		us = 0;
	const uint64_t row[] = {
		(uint64_t)e->seq,
		(uint64_t)us,
		number_of(ev, e->kind),
		number_of(ev, e->op),
		number_of(ev, e->path),
		number_of(ev, e->path2),
		is_denied,
		number_of(ev, e->rule),
		number_of(ev, e->call),
		(uint64_t)e->pid,
		number_of(ev, e->exe),
		(uint64_t)e->count,
		(uint64_t)e->err,
	};

	for (i = 0; i < sizeof row / sizeof *row; i++) {
		if (ev->rows.len)
			b_str_addc(&ev->rows, ',');
		b_str_add_u64(&ev->rows, row[i]);
	}
}

/* Of each tab: how much there is, how much of it the page has, and which. */
static void add_note(struct b_json *notes, const char *tab, uint64_t all, uint64_t here,
		     const char *which)
{
	b_json_key(notes, tab);
	b_json_open(notes, '[');
	b_json_u64(notes, all);
	b_json_u64(notes, here);
	b_json_str(notes, which);
	b_json_close(notes, ']');
}

static void put_events(struct events *ev, struct b_str *out, struct b_json *notes)
{
	struct b_json j = {.out = out};

	b_str_addf(out, ",\"base\":%" PRId64 ",\"strings\":[", ev->base);
	for (uint32_t i = 0; i < ev->texts.n; i++)
		b_json_str(&j, b_interned(&ev->texts, i));
	b_str_add(out, "],\"events\":[");
	b_str_addn(out, b_str_c(&ev->rows), ev->rows.len);
	b_str_add(out, "],\"paths\":");
	view_paths_json(&ev->paths, out);
	add_note(notes, "Events", ev->all, ev->here[REFUSED] + ev->here[CHANGED] + ev->here[OTHER],
		 "the first 5,000 refused, 10,000 that changed something, 5,000 others; sbx-audit "
		 "show has all");
}

/* Views whose lines are in the page, as an array. */
static const struct part {
	const char *key, *tab, *which;
	const struct view_part *view;
	uint64_t max;
} parts[] = {
	{"changes", "Changes", "the first by name; sbx-audit changes has all", &view_part_changes,
	 20000},
	{"denials", "Denials", "new ones first, then the most frequent; sbx-audit denials has all",
	 &view_part_denials, 2000},
	{"processes", "Processes", "the first to begin; sbx-audit tree has all", &view_part_tree,
	 3000},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* The lines of a view, made of what the feed brings. */
struct lines {
	struct view v;
	const struct view_part *view;
	void *gathered;
	struct b_str text;
	struct b_err err;
};

static int lines_begin(void *ctx, const struct aud_reader *r)
{
	struct lines *l = ctx;

	l->gathered = l->view->open(&l->v, r, &l->err);
	return l->gathered ? 0 : -1;
}

static void lines_take(void *ctx, const struct view_line *list, size_t n)
{
	struct lines *l = ctx;

	for (size_t i = 0; i < n; i++)
		if (!list[i].why)
			l->view->add(l->gathered, &list[i].e);
}

static int lines_end(void *ctx)
{
	struct lines *l = ctx;

	return l->view->show(l->gathered, &l->v, &l->err);
}

static void release_lines(struct lines *l)
{
	if (l->gathered)
		l->view->close(l->gathered);
	b_str_release(&l->text);
}

static void put_part(struct lines *l, const struct part *p, struct b_str *out, struct b_json *notes)
{
	struct b_str *lines = &l->text;
	uint64_t all = 0;
	size_t i, end = 0;

	for (i = 0; i < lines->len; i++) {
		if (lines->s[i] != '\n')
			continue;
		lines->s[i] = ',';
		if (all++ < p->max)
			end = i;
	}
	b_str_addf(out, ",\"%s\":[", p->key);
	b_str_addn(out, b_str_c(lines), end);
	b_str_addc(out, ']');
	add_note(notes, p->tab, all, all < p->max ? all : p->max, p->which);
}

typedef void show_fn(const struct aud_run *, struct b_str *out);

static void add_shown(struct b_json *j, const char *key, show_fn *fn, const struct aud_run *run)
{
	b_auto(b_str_release) struct b_str text = {0};

	fn(run, &text);
	b_json_key(j, key);
	b_json_str(j, b_str_c(&text));
}

/* Whether the chain holds, and how the run went. */
struct trust {
	const struct view *v;
	struct aud_check *check;
	bool is_unknown; /* it cannot be checked */
	struct aud_verify verified;
	struct aud_tally *tally;
	struct b_str summary;
};

static int check_begin(void *ctx, const struct aud_reader *r)
{
	struct trust *t = ctx;

	(void)r;
	t->check = aud_check_new(t->v->root, t->v->run);
	return 0;
}

static void check_take(void *ctx, const struct view_line *list, size_t n)
{
	struct trust *t = ctx;
	struct b_err ignored;

	for (size_t i = 0; i < n && !t->is_unknown; i++)
		if (aud_check_line(t->check, &list[i].line, &list[i].e, list[i].why, list[i].number,
				   &ignored) < 0)
			t->is_unknown = true;
}

static int check_end(void *ctx)
{
	struct trust *t = ctx;

	aud_check_end(t->check, &t->verified);
	return 0;
}

static void put_trust(const struct trust *t, struct b_json *j)
{
	b_auto(b_str_release) struct b_str text = {0};
	const struct aud_verify *r = &t->verified;
	bool whole = !t->is_unknown && !r->broken_line && !r->is_unchained && r->has_final &&
		     r->final_matches;
	int64_t lost = aud_run_int(t->v->run, "counts.lost", 0);

	if (whole && !lost)
		b_str_addf(&text, "The record is whole: %" PRIu64 " lines hold together.",
			   r->lines);
	else if (whole)
		b_str_addf(&text, "The chain holds, but %" PRId64 " events are missing.", lost);
	else if (r->broken_line)
		b_str_addf(&text, "The record was changed: line %" PRIu64 ": %s.", r->broken_line,
			   r->why);
	else
		b_str_add(&text, "Whether the record is whole is not known.");
	b_json_key(j, "trust");
	b_json_str(j, text.s);
	b_json_key(j, "whole");
	b_json_bool(j, whole && !lost);
}

static int tally_begin(void *ctx, const struct aud_reader *r)
{
	struct trust *t = ctx;

	(void)r;
	t->tally = aud_tally_new(t->v->run);
	return 0;
}

static void tally_take(void *ctx, const struct view_line *list, size_t n)
{
	struct trust *t = ctx;

	for (size_t i = 0; i < n; i++)
		aud_tally_line(t->tally, list[i].why ? NULL : &list[i].e, list[i].number);
}

static int tally_end(void *ctx)
{
	struct trust *t = ctx;

	aud_tally_show(t->tally, false, &t->summary);
	return 0;
}

/* "label     text", one a line, as the summary has them. */
static void put_summary(struct trust *t, struct b_json *j)
{
	enum { LABEL = 10 };
	char *line, *rest;

	b_json_key(j, "summary");
	b_json_open(j, '[');
	for (line = strtok_r(t->summary.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t n = strcspn(line, " ");

		if (n == 0 || n >= LABEL || strlen(line) <= LABEL)
			continue; /* denials have a page of their own */
		b_json_open(j, '[');
		b_json_strn(j, line, n);
		b_json_str(j, line + LABEL);
		b_json_close(j, ']');
	}
	b_json_close(j, ']');
}

/* JSON has this byte in strings alone, where it may be written so. */
static void add_safely(struct b_str *out, const struct b_str *json)
{
	const char *p = json->s, *end = json->s + json->len, *at;

	for (; (at = memchr(p, '<', (size_t)(end - p))); p = at + 1) {
		b_str_addn(out, p, (size_t)(at - p));
		b_str_add(out, "\\u003c");
	}
	b_str_addn(out, p, (size_t)(end - p));
}

static void events_take(void *ctx, const struct view_line *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!list[i].why)
			add_event(ctx, &list[i].e);
}

static int events_end(void *ctx)
{
	(void)ctx;
	return 0;
}

struct making {
	struct trust trust;
	struct events events;
	struct lines part[PARTS];
};

/* Most of the time is reading: the log is read once, and each of these takes from it. */
static int gather(struct making *m, struct view *v, struct b_err *err)
{
	struct view_taker takers[PARTS + 3] = {
		[PARTS] = {check_begin, check_take, check_end, &m->trust, 0},
		[PARTS + 1] = {tally_begin, tally_take, tally_end, &m->trust, 0},
		[PARTS + 2] = {NULL, events_take, events_end, &m->events, 0},
	};
	size_t i;

	m->trust.v = v;
	number_of(&m->events, "");
	for (i = 0; i < PARTS; i++) {
		m->part[i].v = *v;
		m->part[i].v.out = &m->part[i].text;
		m->part[i].v.json = true;
		m->part[i].view = parts[i].view;
		takers[i] = (struct view_taker){lines_begin, lines_take, lines_end, &m->part[i], 0};
	}
	if (view_feed(v, takers, sizeof takers / sizeof *takers, err) < 0)
		return -1;
	for (i = 0; i < PARTS; i++)
		if (takers[i].result < 0) {
			*err = m->part[i].err;
			return -1;
		}
	return 0;
}

static void release_making(struct making *m)
{
	aud_check_free(m->trust.check);
	aud_tally_free(m->trust.tally);
	b_str_release(&m->trust.summary);
	for (size_t i = 0; i < PARTS; i++)
		release_lines(&m->part[i]);
	release_events(&m->events);
}

static void put_parts(struct making *m, struct b_str *data)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_json notes = {.out = &text};

	b_json_open(&notes, '{');
	for (size_t i = 0; i < PARTS; i++)
		put_part(&m->part[i], &parts[i], data, &notes);
	put_events(&m->events, data, &notes);
	b_json_close(&notes, '}');
	b_str_addf(data, ",\"notes\":%s", text.s);
}

static void put_data(struct making *m, const struct aud_run *run, struct b_str *data)
{
	struct b_json j = {.out = data};

	b_json_open(&j, '{');
	b_json_key(&j, "run");
	b_json_str(&j, run->id);
	add_shown(&j, "command", aud_show_command, run);
	add_shown(&j, "end", aud_show_end, run);
	add_shown(&j, "when", aud_show_when, run);
	put_trust(&m->trust, &j);
	put_summary(&m->trust, &j);
	put_parts(m, data);
	b_json_close(&j, '}');
}

int view_report(struct view *v, struct b_err *err)
{
	b_auto(release_making) struct making m = {.events = {.all = 0}};
	b_auto(b_str_release) struct b_str data = {0};
	const char *at = strstr(page, mark);

	if (gather(&m, v, err) < 0)
		return -1;
	put_data(&m, v->run, &data);
	b_str_addn(v->out, page, (size_t)(at - page));
	add_safely(v->out, &data);
	b_str_add(v->out, at + sizeof mark - 1);
	return 1;
}
