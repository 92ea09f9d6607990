/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - see report.h. */
#include "audit/show.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "audit/preload_log.h"
#include "audit/read_log.h"
#include "audit/collect_priv.h"
#include "audit/rundir.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { GROUPS_MAX = 20000, GROUPS_SHOWN = 20 };

/* Denials of one operation on one path by one rule. */
struct group {
	UT_hash_handle hh;
	char *key; /* the text shown: also what makes two denials the same */
	uint64_t count;
	bool did_happen; /* a process did what the policy denies */
};

struct aud_tally {
	const struct aud_run *run;
	struct group *groups; /* uthash */
	struct group *unseen; /* what ran without the shim, or would have; what it cannot see */
	uint64_t beyond;      /* denials in no group: too many */
	uint64_t lines, bad_lines, first_bad;
	uint64_t denied;
	int64_t lost;
	struct aud_recount recount; /* of a run that has no counts */
};

/* false = in no group: too many. */
static bool add_to(struct group **groups, const struct b_str *key, const struct aud_entry *e,
		   bool did_happen)
{
	struct group *g;

	HASH_FIND(hh, *groups, key->s, key->len, g);
	if (!g && HASH_COUNT(*groups) >= GROUPS_MAX)
		return false;
	if (!g) {
		g = b_calloc(1, sizeof *g);
		g->key = b_strdup(key->s);
		HASH_ADD_KEYPTR(hh, *groups, g->key, key->len, g);
	}
	g->count += (uint64_t)e->count;
	g->did_happen |= did_happen;
	return true;
}

static void add_denial(struct aud_tally *t, const struct aud_entry *e)
{
	b_auto(b_str_release) struct b_str key = {0};

	t->denied += (uint64_t)e->count;
	aud_show_refused(e, &key);
	b_str_add(&key, "  rule ");
	b_str_add_visible(&key, e->matched_rule, strlen(e->matched_rule));
	b_str_add(&key, " (");
	b_str_add_visible(&key, e->rule, strlen(e->rule));
	b_str_addc(&key, ')');
	if (!add_to(&t->groups, &key, e, strcmp(e->kind, aud_kind_name(AUD_DENIED)) != 0))
		t->beyond += (uint64_t)e->count;
}

/* That no floor stands below a preload-only run is among its losses already. */
static void add_unseen(struct aud_tally *t, const struct aud_entry *e)
{
	bool is_loss = strcmp(e->kind, aud_kind_name(AUD_LOSS)) == 0;
	b_auto(b_str_release) struct b_str key = {0};
	const char *why = is_loss ? e->reason : e->image;

	if ((!is_loss && strcmp(e->kind, aud_kind_name(AUD_UNWITNESSED)) != 0) ||
	    strcmp(why, sbx_loss_name(SBX_LOSS_NO_FLOOR)) == 0)
		return;
	b_str_add_visible(&key, why, strlen(why));
	b_str_addc(&key, ' ');
	b_str_add_visible(&key, e->path, strlen(e->path));
	(void)add_to(&t->unseen, &key, e, false);
}

struct aud_tally *aud_tally_new(const struct aud_run *run)
{
	struct aud_tally *t = b_calloc(1, sizeof *t);

	t->run = run;
	aud_recount_init(&t->recount);
	return t;
}

void aud_tally_line(struct aud_tally *t, const struct aud_entry *e, uint64_t number)
{
	t->lines++;
	if (!e) {
		if (!t->bad_lines++)
			t->first_bad = number;
		return;
	}
	if (aud_entry_is_denied(e))
		add_denial(t, e);
	add_unseen(t, e);
	if (t->run->alone.is_alone)
		aud_recount_add(&t->recount, e);
	t->lost += e->lost;
}

static int read_log(const struct aud_run *run, struct aud_tally *t, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got;

	if (aud_reader_open(&r, run, err) < 0)
		return -1;
	while ((got = aud_reader_next(&r, err)) > 0)
		aud_tally_line(t, got == AUD_READ_BAD ? NULL : &r.e, r.l.number);
	return got;
}

static void free_groups(struct group *groups)
{
	struct group *g = groups, *next;

	HASH_CLEAR(hh, groups); /* the table; the elements stay linked */
	for (; g; g = next) {
		next = g->hh.next;
		free(g->key);
		free(g);
	}
}

void aud_tally_free(struct aud_tally *t)
{
	if (!t)
		return;
	free_groups(t->groups);
	free_groups(t->unseen);
	aud_recount_release(&t->recount);
	free(t);
}

static void add_row(struct b_str *out, const char *label, const char *value)
{
	b_str_addf(out, "%-10s", label);
	b_str_add_visible(out, value, strlen(value));
	b_str_addc(out, '\n');
}

static void add_list(struct b_str *out, const char *label, const json_t *list, const char *none)
{
	b_auto(b_str_release) struct b_str s = {0};
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (i)
			b_str_add(&s, ", ");
		b_str_add(&s, json_is_string(v) ? json_string_value(v) : "?");
	}
	add_row(out, label, s.len ? s.s : none);
}

static void add_head(const struct aud_run *r, struct b_str *out)
{
	static const struct {
		const char *label;
		void (*text)(const struct aud_run *, struct b_str *out);
	} rows[] = {
		{"started", aud_show_when}, {"command", aud_show_command}, {"ended", aud_show_end}};
	const char *policy = aud_run_str(r, "policy"), *profile = aud_run_str(r, "profile");
	const char *parent = aud_run_str(r, "parent_run_id");
	const char *context = aud_run_str(r, "context");
	int64_t inside = aud_run_int(r, "runs_inside", 0);
	char text[200];
	size_t i;

	add_row(out, "run", r->id);
	if (parent)
		add_row(out, "inside", parent);
	if (context)
		add_row(out, "context", context);
	if (inside > 0) {
		snprintf(text, sizeof text,
			 "%lld runs inside; the file " AUD_INSIDE
			 "%s lies in the directory of each",
			 (long long)inside, r->id);
		add_row(out, "holds", text);
	}
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_str_addf(out, "%-10s", rows[i].label);
		rows[i].text(r, out);
		b_str_addc(out, '\n');
	}
	b_str_addf(out, "%-10s", "policy");
	b_str_add_visible(out, policy ? policy : "?", strlen(policy ? policy : "?"));
	if (profile) {
		b_str_add(out, ", profile ");
		b_str_add_visible(out, profile, strlen(profile));
	}
	b_str_addc(out, '\n');
	add_list(out, "floor", aud_run_get(r, "floor"), "none");
	add_list(out, "losses", aud_run_get(r, "losses"), "none");
}

/* What programs of a preload-only environment wrote so far, and what they counted. */
static void add_recount(const struct aud_run *r, const struct aud_tally *t, struct b_str *out)
{
	const struct aud_counts *k = &t->recount.counts;

	b_str_addf(out,
		   "%-10s%" PRIu64 " so far: %" PRIu64 " read, %" PRIu64 " modify, %" PRIu64
		   " exec, %" PRIu64 " connect; %" PRIu64 " denied\n",
		   "events", k->events, k->reads, k->modifies, k->execs, k->connects, k->denied);
	b_str_addf(out, "%-10s%" PRIu64 " events lost, %" PRIu64 " failures inside shims\n",
		   "missing", r->alone.lost, r->alone.internal);
	b_str_addf(out, "%-10s", "coverage");
	aud_show_recount(k, out);
	b_str_addc(out, '\n');
}

/* While the run lives, run.json has no counts yet: the lines of the log stand in. */
static void add_counts(const struct aud_run *r, const struct aud_tally *t, struct b_str *out)
{
	bool ended = aud_run_int(r, "exit.status", -1) >= 0;

	if (ended)
		b_str_addf(out,
			   "%-10s%" PRId64 ": %" PRId64 " read, %" PRId64 " modify, %" PRId64
			   " exec, %" PRId64 " connect; %" PRId64 " denied\n",
			   "events", aud_run_int(r, "counts.events", 0),
			   aud_run_int(r, "counts.reads", 0), aud_run_int(r, "counts.modifies", 0),
			   aud_run_int(r, "counts.execs", 0), aud_run_int(r, "counts.connects", 0),
			   aud_run_int(r, "counts.denied", 0));
	else
		b_str_addf(out, "%-10s%" PRIu64 " lines so far, %" PRIu64 " denied\n", "events",
			   t->lines, t->denied);
	b_str_addf(out,
		   "%-10s%" PRId64 " events lost, %" PRId64 " corrupt, %" PRId64
		   " failures inside shims\n",
		   "missing", ended ? aud_run_int(r, "counts.lost", 0) : t->lost,
		   aud_run_int(r, "counts.corrupt", 0) + aud_run_int(r, "counts.abandoned", 0),
		   aud_run_int(r, "counts.internal", 0));
	if (aud_run_int(r, "counts.damaged", 0))
		b_str_addf(out,
			   "%-10sthe ring was damaged (%" PRId64 " pages): a process of the run "
			   "took them away\n",
			   "", aud_run_int(r, "counts.damaged", 0));
	if (!ended)
		return;
	b_str_addf(out, "%-10s", "coverage");
	aud_show_coverage(r, out);
	b_str_addc(out, '\n');
	aud_show_complete(r, out);
}

static int by_count(const struct group *a, const struct group *b)
{
	return (a->count < b->count) - (a->count > b->count);
}

static void add_unseen_groups(struct aud_tally *t, struct b_str *out)
{
	unsigned shown = 0, n = HASH_COUNT(t->unseen);
	struct group *g, *next;

	if (!n)
		return;
	HASH_SORT(t->unseen, by_count);
	b_str_add(out, "unseen\n");
	HASH_ITER(hh, t->unseen, g, next)
	{
		if (shown++ == GROUPS_SHOWN)
			break;
		b_str_addf(out, "  %s  x%" PRIu64 "\n", g->key, g->count);
	}
	if (n > GROUPS_SHOWN)
		b_str_addf(out, "  and %u more: sbx-audit show --kind unwitnessed, --kind loss\n",
			   n - GROUPS_SHOWN);
}

/* A read that it refuses to getent(1) passes neither the broker nor a call that the shim takes; nor
 * does a signal to a process outside of the run. */
#define LANDLOCKS "refusals by Landlock inside the C library, and signals, are not seen"
static bool has_landlock(const struct aud_run *r)
{
	const json_t *floor = aud_run_get(r, "floor");
	json_t *v;
	size_t i;

	json_array_foreach(floor, i, v)
	{
		const char *text = json_string_value(v);

		if (text && b_has_prefix(text, "landlock"))
			return true;
	}
	return false;
}

static void add_groups(struct aud_tally *t, bool colour, struct b_str *out)
{
	unsigned shown = 0, n = HASH_COUNT(t->groups);
	const char *on = colour ? "\033[31m" : "", *off = colour ? "\033[0m" : "";
	struct group *g, *next;

	if (!n) {
		b_str_addf(out, "%-10snone seen%s\n", "denied",
			   has_landlock(t->run) ? "; " LANDLOCKS : "");
		return;
	}
	HASH_SORT(t->groups, by_count);
	b_str_add(out, "denied\n");
	HASH_ITER(hh, t->groups, g, next)
	{
		if (shown++ == GROUPS_SHOWN)
			break;
		b_str_addf(out, "  %s%s%s  x%" PRIu64 "%s\n", on, g->key, off, g->count,
			   g->did_happen ? "  but a process reported success" : "");
	}
	if (n > GROUPS_SHOWN || t->beyond)
		b_str_addf(out, "  and %" PRIu64 " more: sbx-audit show --verdict denied\n",
			   t->beyond + (n > GROUPS_SHOWN ? n - GROUPS_SHOWN : 0));
	if (has_landlock(t->run))
		b_str_add(out, "  " LANDLOCKS "\n");
}

void aud_tally_show(struct aud_tally *t, bool colour, struct b_str *out)
{
	const struct aud_run *r = t->run;

	add_head(r, out);
	if (r->alone.is_alone)
		add_recount(r, t, out);
	else
		add_counts(r, t, out);
	if (t->bad_lines)
		b_str_addf(out,
			   "%-10s%" PRIu64
			   " lines of the log are not events, the first is %s:%" PRIu64 "\n",
			   "corrupt", t->bad_lines, r->log, t->first_bad);
	add_unseen_groups(t, out);
	add_groups(t, colour, out);
}

int aud_summary(const struct aud_run *r, bool colour, struct b_str *out, struct b_err *err)
{
	struct aud_tally *t = aud_tally_new(r);
	int rc = read_log(r, t, err);

	if (rc == 0)
		aud_tally_show(t, colour, out);
	aud_tally_free(t);
	return rc;
}
