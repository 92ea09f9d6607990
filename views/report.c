/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - a run as one page for a browser; see views.h. The page (page.html) has the data as
 * JSON, in which no byte can end the script, and shows them as text only. It is bounded: what would
 * be too much for a browser is summed up here, and what was left out is said. */
#include <inttypes.h>
#include <string.h>
#include <uthash.h>

#include "audit/show.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/beside.h"
#include "views/path_tree.h"
#include "views/views.h"

static const char page[] =
#include "page.inc"
	;
static const char mark[] = "@DATA@";

/* A text that many events have is there once. */
struct word {
	UT_hash_handle hh;
	char *text;
	uint32_t number;
};

struct words {
	struct word *table, *last; /* in the order of their numbers */
	uint32_t n;
};

static uint32_t number_of(struct words *w, const char *text)
{
	struct word *one;

	HASH_FIND_STR(w->table, text, one);
	if (one)
		return one->number;
	one = b_calloc(1, sizeof *one);
	one->text = b_strdup(text);
	one->number = w->n++;
	HASH_ADD_KEYPTR(hh, w->table, one->text, strlen(one->text), one);
	return one->number;
}

static void release(struct words *w)
{
	struct word *one = w->table, *next;

	HASH_CLEAR(hh, w->table);
	for (; one; one = next) {
		next = one->hh.next;
		free(one->text);
		free(one);
	}
}

/* The events that are there one by one: the first of each kind. */
enum { REFUSED, CHANGED, OTHER, CLASSES };
static const uint64_t events_max[CLASSES] = {5000, 10000, 5000};

struct events {
	struct words w;
	struct view_paths paths;
	struct b_str rows;
	uint64_t all, here[CLASSES];
	int64_t base;
};

static void release_events(struct events *ev)
{
	release(&ev->w);
	view_paths_release(&ev->paths);
	b_str_release(&ev->rows);
}

static void add_event(struct events *ev, const struct aud_entry *e)
{
	bool is_denied = aud_entry_is_denied(e);
	int which = is_denied ? REFUSED : view_is_done(e) ? CHANGED : OTHER;
	struct words *w = &ev->w;
	int64_t us;
	size_t i;

	ev->all++;
	view_paths_add(&ev->paths, e);
	if (ev->here[which] == events_max[which])
		return;
	ev->here[which]++;
	us = view_time(e->ts) / 1000;
	if (!ev->base)
		ev->base = us / 1000;
	us -= ev->base * 1000;
	if (us < 0) /* a clock may go back */
		us = 0;
	const uint64_t row[] = {
		(uint64_t)e->seq,    (uint64_t)us,	    number_of(w, e->kind),
		number_of(w, e->op), number_of(w, e->path), number_of(w, e->path2),
		is_denied,	     number_of(w, e->rule), number_of(w, e->call),
		(uint64_t)e->pid,    number_of(w, e->exe),  (uint64_t)e->count,
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

static int read_events(struct view *v, struct events *ev, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got;

	number_of(&ev->w, "");
	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0)
		add_event(ev, &r.e);
	return got;
}

static void put_events(struct events *ev, struct b_str *out, struct b_json *notes)
{
	struct b_json j = {.out = out};
	struct word *one, *next;

	b_str_addf(out, ",\"base\":%" PRId64 ",\"strings\":[", ev->base);
	HASH_ITER(hh, ev->w.table, one, next)
	b_json_str(&j, one->text);
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
	int (*fn)(struct view *, struct b_err *);
	uint64_t max;
} parts[] = {
	{"changes", "Changes", "the first by name; sbx-audit changes has all", view_changes, 20000},
	{"denials", "Denials", "new ones first, then the most frequent; sbx-audit denials has all",
	 view_denials, 2000},
	{"processes", "Processes", "the first to begin; sbx-audit tree has all", view_tree, 3000},
};

/* What is made beside the events: the lines of a view, or another text of the page. */
struct beside {
	struct view v;
	int (*fn)(struct view *, struct b_err *);
	struct b_str text;
	struct aud_verify verified;
	struct b_err err;
	struct view_beside thread;
};

static int make_beside(void *ctx)
{
	struct beside *b = ctx;

	return b->fn(&b->v, &b->err);
}

static void start(struct beside *b, const struct view *v, int (*fn)(struct view *, struct b_err *))
{
	*b = (struct beside){.v = *v, .fn = fn};
	b->v.out = &b->text;
	b->v.json = true;
	view_beside_start(&b->thread, make_beside, b);
}

static void put_part(struct beside *b, const struct part *p, struct b_str *out,
		     struct b_json *notes)
{
	struct b_str *lines = &b->text;
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

static int verify(struct view *v, struct b_err *err)
{
	struct beside *b = (struct beside *)v; /* its first member */

	return aud_verify(v->root, v->run, &b->verified, err);
}

static void put_trust(struct beside *b, struct b_json *j)
{
	b_auto(b_str_release) struct b_str text = {0};
	const struct aud_verify *r = &b->verified;
	bool whole = view_beside_join(&b->thread) == 0 && !r->broken_line && !r->is_unchained &&
		     r->has_final && r->final_matches;
	int64_t lost = aud_run_int(b->v.run, "counts.lost", 0);

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

static int summary(struct view *v, struct b_err *err)
{
	return aud_summary(v->run, false, v->out, err);
}

/* "label     text", one a line, as the summary has them. */
static void put_summary(struct beside *b, struct b_json *j)
{
	enum { LABEL = 10 };
	char *line, *rest;

	b_json_key(j, "summary");
	b_json_open(j, '[');
	for (line = strtok_r(b->text.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
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

enum { PARTS = sizeof parts / sizeof *parts };

/* Each reads the log by itself, and most of the time is reading. */
struct making {
	struct beside trust, summary, part[PARTS];
	struct events events;
};

static void begin(struct making *m, const struct view *v)
{
	start(&m->trust, v, verify);
	start(&m->summary, v, summary);
	for (size_t i = 0; i < PARTS; i++)
		start(&m->part[i], v, parts[i].fn);
}

static int end_beside(struct beside *b, struct b_err *err)
{
	int rc = view_beside_join(&b->thread);

	if (rc < 0)
		*err = b->err;
	return rc;
}

/* What the page needs; whether the chain holds, and why it may not, it says itself. */
static int end(struct making *m, struct b_err *err)
{
	int rc = end_beside(&m->summary, err);

	for (size_t i = 0; i < PARTS; i++)
		if (end_beside(&m->part[i], err) < 0)
			rc = -1;
	return rc < 0 ? -1 : 0;
}

static void release_making(struct making *m)
{
	b_str_release(&m->trust.text);
	b_str_release(&m->summary.text);
	for (size_t i = 0; i < PARTS; i++)
		b_str_release(&m->part[i].text);
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
	put_summary(&m->summary, &j);
	put_parts(m, data);
	b_json_close(&j, '}');
}

int view_report(struct view *v, struct b_err *err)
{
	b_auto(release_making) struct making m = {.events = {.all = 0}};
	b_auto(b_str_release) struct b_str data = {0};
	const char *at = strstr(page, mark);
	struct b_err other = {.sys = 0};
	int rc;

	begin(&m, v);
	rc = read_events(v, &m.events, err);
	if (end(&m, rc < 0 ? &other : err) < 0 || rc < 0) {
		(void)view_beside_join(&m.trust.thread);
		return -1;
	}
	put_data(&m, v->run, &data);
	b_str_addn(v->out, page, (size_t)(at - page));
	add_safely(v->out, &data);
	b_str_add(v->out, at + sizeof mark - 1);
	return 1;
}
