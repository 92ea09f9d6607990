/* SPDX-License-Identifier: Apache-2.0 */
/* audit_verbs.c - see audit_verbs.h. */
#include "cmd/audit_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/places.h"
#include "audit/read_log.h"
#include "audit/collect_priv.h"
#include "audit/pack.h"
#include "audit/rundir.h"
#include "audit/read_run.h"
#include "audit/schema.h"
#include "audit/show.h"
#include "base/opt.h"
#include "cmd/pager.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"
#include "policy/rules/workspace.h"

static const char me[] = "sbx-audit";

int audit_fail(const struct b_err *err)
{
	b_report(me, err);
	return TROUBLE;
}

/* A reader that went away (head, less) is no trouble of ours. */
int audit_put(const struct b_str *text, struct b_err *err)
{
	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) < 0 && errno != EPIPE)
		return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return 0;
}

static bool want_colour(void)
{
	const char *no = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */

	return pager_is_terminal() && !(no && *no);
}

static int load_run(const struct audit_options *o, const char *root, struct aud_run *out,
		    struct b_err *err)
{
	char id[AUD_ID_MAX];

	if (o->words.n > 1)
		return b_fail(err, B_USAGE, 0, "one run at a time: `%s`", o->words.v[1]);
	if (aud_run_find(root, o->words.n ? o->words.v[0] : "last", id, err) < 0)
		return -1;
	return aud_run_load(root, id, out, err);
}

int audit_summary(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0)
		return audit_fail(&err);
	if (aud_summary(&run, want_colour(), &text, &err) < 0 || audit_put(&text, &err) < 0)
		return audit_fail(&err);
	return FOUND;
}

int audit_runs(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	int status = NOTHING;
	struct b_err err;
	char **names;
	size_t n, i;

	if (o->words.n) {
		b_fail(&err, B_USAGE, 0, "runs takes no `%s`", o->words.v[0]);
		return audit_fail(&err);
	}
	if (aud_runs_list(root, &names, &n, &err) < 0)
		return audit_fail(&err);
	for (i = 0; i < n; i++) {
		b_auto(aud_run_release) struct aud_run run = {0};

		if (aud_run_load(root, names[i], &run, &err) < 0) {
			status = audit_fail(&err);
			continue;
		}
		if (o->json)
			aud_show_run_json(&run, &text);
		else
			aud_show_run_row(&run, &text);
		status = status == NOTHING ? FOUND : status;
	}
	aud_runs_free(names, n);
	return audit_put(&text, &err) < 0 ? audit_fail(&err) : status;
}

/* Writes what waits, and empties it. */
static int put_and_reset(struct b_str *text, struct b_err *err)
{
	int rc = audit_put(text, err);

	b_str_reset(text);
	return rc;
}

static struct view view_of(const struct audit_options *o, const char *root,
			   const struct aud_run *run, struct b_str *text)
{
	return (struct view){.run = run,
			     .root = root,
			     .json = o->json,
			     .colour = want_colour(),
			     .follow = o->follow,
			     .last = o->lines,
			     .out = text,
			     .write = put_and_reset};
}

/* What is left, and the lines that were no events. */
static int view_end(struct view *v, int found, struct b_err *err)
{
	if (found < 0 || audit_put(v->out, err) < 0)
		return audit_fail(err);
	if (!v->bad)
		return found ? FOUND : NOTHING;
	b_fail(err, B_FORMAT, 0, "%s:%llu: %s: skipped, and %llu more such lines",
	       v->run ? v->run->log : "", (unsigned long long)v->first_bad, v->why,
	       (unsigned long long)v->bad - 1);
	return audit_fail(err);
}

typedef int view_fn(struct view *, struct b_err *);

static int do_view(const struct audit_options *o, const char *root, view_fn *fn)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct view v = view_of(o, root, &run, &text);
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0)
		return audit_fail(&err);
	return view_end(&v, fn(&v, &err), &err);
}

#define VIEW(name)                                                                                 \
	int audit_##name(const struct audit_options *o, const char *root)                          \
	{                                                                                          \
		return do_view(o, root, view_##name);                                              \
	}
VIEW(denials)
VIEW(changes)
VIEW(tree)
VIEW(stats)
VIEW(tail)
VIEW(cat)

/* The first word is the expression. */
int audit_grep(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct view v = view_of(o, root, &run, &text);
	char id[AUD_ID_MAX];
	struct b_err err;

	if (!o->words.n || o->words.n > 2) {
		b_fail(&err, B_USAGE, 0, "grep: expected sbx-audit grep EXPR [RUN]");
		return audit_fail(&err);
	}
	v.expression = o->words.v[0];
	if (aud_run_find(root, o->words.n > 1 ? o->words.v[1] : "last", id, &err) < 0 ||
	    aud_run_load(root, id, &run, &err) < 0)
		return audit_fail(&err);
	return view_end(&v, view_grep(&v, &err), &err);
}

int audit_calls(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct view v = view_of(o, root, NULL, &text);
	struct b_err err;

	v.expression = o->words.n ? o->words.v[0] : NULL;
	return view_end(&v, view_calls(&v, &err), &err);
}

int audit_diff(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	b_auto(aud_run_release) struct aud_run other = {0};
	struct view v = view_of(o, root, &run, &text);
	char id[AUD_ID_MAX], id2[AUD_ID_MAX];
	struct b_err err;

	if (o->words.n != 2) {
		b_fail(&err, B_USAGE, 0, "diff: takes two runs");
		return audit_fail(&err);
	}
	if (aud_run_find(root, o->words.v[0], id, &err) < 0 ||
	    aud_run_find(root, o->words.v[1], id2, &err) < 0 ||
	    aud_run_load(root, id, &run, &err) < 0 || aud_run_load(root, id2, &other, &err) < 0)
		return audit_fail(&err);
	v.other = &other;
	return view_end(&v, view_diff(&v, &err), &err);
}

/* To --output, or to standard output. */
static int put_output(const struct audit_options *o, const struct b_str *text, struct b_err *err)
{
	if (o->output && pol_refuse_led("--output", o->output, B_USAGE, err) < 0)
		return -1;
	if (o->output)
		return b_replace_file(o->output, NULL, b_str_c(text), text->len, err);
	return audit_put(text, err);
}

static int keep(struct b_str *text, struct b_err *err)
{
	(void)text;
	(void)err;
	return 0; /* all of it is written at the end */
}

int audit_learn(const struct audit_options *o, const char *root)
{
	static const char *const last[] = {"last"};
	const char *const *words = o->words.n ? o->words.v : last;
	size_t n = o->words.n ? o->words.n : 1, i;
	b_auto_free struct aud_run *runs = b_calloc(n, sizeof *runs);
	b_auto(b_str_release) struct b_str text = {0};
	struct view v = view_of(o, root, NULL, &text);
	struct view_learn how = {runs, 0, o->from};
	int found = -1;
	char id[AUD_ID_MAX];
	struct b_err err;

	v.write = keep;
	for (; how.n < n; how.n++)
		if (aud_run_find(root, words[how.n], id, &err) < 0 ||
		    aud_run_load(root, id, &runs[how.n], &err) < 0)
			break;
	if (how.n == n)
		found = o->from ? view_tighten(&v, &how, &err) : view_learn(&v, &how, &err);
	if (found >= 0 && put_output(o, &text, &err) < 0)
		found = -1;
	b_str_reset(&text);
	found = view_end(&v, found, &err);
	for (i = 0; i < how.n; i++)
		aud_run_release(&runs[i]);
	return found;
}

int audit_report(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct view v = view_of(o, root, &run, &text);
	struct b_err err;
	int found;

	if (load_run(o, root, &run, &err) < 0)
		return audit_fail(&err);
	v.write = keep;
	found = view_report(&v, &err);
	if (found >= 0 && put_output(o, &text, &err) < 0)
		found = -1;
	b_str_reset(&text);
	return view_end(&v, found, &err);
}

/* Runs that go on are left alone: their logs are being written. */
static int pack_all(const char *root, uint64_t above)
{
	int status = FOUND;
	struct b_err err;
	char **names;
	size_t n, i;

	if (aud_runs_list(root, &names, &n, &err) < 0)
		return audit_fail(&err);
	for (i = 0; i < n; i++) {
		b_auto(b_str_release) struct b_str dir = {0};
		b_auto(aud_run_release) struct aud_run run = {0};

		b_str_addf(&dir, "%s/%s", root, names[i]);
		/* nothing is done to what cannot be read: it may be of a newer version */
		if (aud_run_load(root, names[i], &run, &err) < 0 || run.live ||
		    run.alone.is_alone || run.is_shared)
			continue;
		if (aud_log_pack(dir.s, above, &err) < 0)
			status = audit_fail(&err);
	}
	aud_runs_free(names, n);
	return status;
}

int audit_prune(const struct audit_options *o, const char *root)
{
	struct b_err err;

	if (o->words.n) {
		b_fail(&err, B_USAGE, 0, "prune takes no `%s`", o->words.v[0]);
		return audit_fail(&err);
	}
	aud_rundir_retain_to(root, o->keep_runs, o->keep_bytes);
	aud_left_prune();
	return pack_all(root, o->compress_above);
}

static int show_lines(struct view *v, const struct aud_filter *filter)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got, found = 0;
	struct b_err err;

	if (aud_reader_open(&r, v->run, &err) < 0)
		return audit_fail(&err);
	while ((got = view_next(v, &r, &err)) > 0) {
		if (!aud_filter_match(filter, &r.e))
			continue;
		found = 1;
		if (v->json) {
			b_str_addn(v->out, r.line.s, r.line.len);
			b_str_addc(v->out, '\n');
		} else {
			aud_show_entry(&r.e, v->colour, v->out);
		}
		if (view_flush(v, &err) < 0)
			return audit_fail(&err);
	}
	return view_end(v, got < 0 ? -1 : found, &err);
}

int audit_show(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct view v = view_of(o, root, &run, &text);
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0)
		return audit_fail(&err);
	struct aud_filter filter = {
		.op = o->op,
		.verdict = o->verdict,
		.globs = o->globs.v,
		.nglobs = o->globs.n,
		.pid = o->has_pid ? (int64_t)o->pid : -1,
		.kind = o->kind,
		.workspaces = run.workspaces,
		.nworkspaces = run.nworkspaces,
	};
	if (!o->format)
		return show_lines(&v, &filter);
	return view_end(&v, view_export(&v, (enum view_format)o->format, &filter, &err), &err);
}

static void add_broken(const struct aud_run *run, const struct aud_verify *v, struct b_str *out)
{
	b_str_addf(out, "%s: broken at line %llu: %s", run->id, (unsigned long long)v->broken_line,
		   v->why);
	if (v->broken_more)
		b_str_addf(out, "; and at %llu more places", (unsigned long long)v->broken_more);
	b_str_addc(out, '\n');
}

/* Whom the chain answers, and whom it does not. */
static void add_worth(const char *root, const struct aud_verify *v, struct b_str *out)
{
	if (v->is_keyless)
		b_str_add(out, "a chain of version 1 has no key: a program that can write the log "
			       "can forge all of it\n");
	else if (!v->is_unchained)
		b_str_addf(out,
			   "programs of the run cannot forge such lines, and a copy of the log is "
			   "not enough to forge them\n"
			   "a program that can read %s/.key can forge them: only an anchor shows "
			   "that (--anchor-command, --anchor-fd)\n",
			   root);
}

int audit_verify(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	const char *extent = "; how many there were is not recorded";
	struct aud_verify v;
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0 || aud_verify(root, &run, &v, &err) < 0)
		return audit_fail(&err);
	if (v.has_final)
		extent = aud_run_int(&run, "counts.lost", 0)
				 ? ", and are all that were written: events were lost"
				 : ", and are all";
	if (v.is_unchained)
		b_str_addf(&text,
			   "%s: %llu lines, not chained: in preload-only mode each program writes "
			   "its own\n",
			   run.id, (unsigned long long)v.lines);
	else if (v.broken_line)
		add_broken(&run, &v, &text);
	else if (v.has_final && !v.final_matches)
		b_str_addf(&text,
			   "%s: %llu lines hold together, but the run ended with another: %s\n",
			   run.id, (unsigned long long)v.lines, aud_run_str(&run, "final_hash"));
	else
		b_str_addf(&text, "%s: %llu lines hold together%s; last %s\n", run.id,
			   (unsigned long long)v.lines, extent, v.hash);
	if (!v.broken_line && (!v.has_final || v.final_matches))
		add_worth(root, &v, &text);
	if (audit_put(&text, &err) < 0)
		return audit_fail(&err);
	return v.is_unchained || v.broken_line || (v.has_final && !v.final_matches) ? NOTHING
										    : FOUND;
}

int audit_schema(const struct audit_options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	(void)o;
	(void)root;
	aud_schema_json(&text);
	return audit_put(&text, &err) < 0 ? audit_fail(&err) : FOUND;
}
