/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-audit - inspects what runs did: sbx-audit(1). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/read_log.h"
#include "audit/collect_priv.h"
#include "audit/rundir.h"
#include "audit/read_run.h"
#include "audit/show.h"
#include "base/opt.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

/* grep's grammar */
enum { FOUND, NOTHING, TROUBLE };

static const char me[] = "sbx-audit";

struct options {
	bool json, help, version;
	int op, verdict; /* -1 = any */
	struct b_strlist globs;
	uint64_t pid;
	bool has_pid;
	const char *kind;
	struct b_strlist words;
	int completion; /* enum b_shell, -1 = none */
};

static int set_pid(void *target, const char *value, struct b_err *err)
{
	struct options *o = target;
	unsigned long long pid;

	if (b_parse_u64(value, UINT32_MAX, &pid) < 0)
		return b_fail(err, B_USAGE, 0, "`%s` is no process id", value);
	o->pid = pid;
	o->has_pid = true;
	return 0;
}

static int set_kind(void *target, const char *value, struct b_err *err)
{
	struct options *o = target;
	struct b_str all = {0};
	int k;

	for (k = 0; k < AUD_KIND_COUNT; k++) {
		if (strcmp(value, aud_kind_name((enum aud_kind)k)) == 0) {
			o->kind = value;
			b_str_release(&all);
			return 0;
		}
		b_str_addf(&all, "%s%s", k ? ", " : "", aud_kind_name((enum aud_kind)k));
	}
	b_fail(err, B_USAGE, 0, "`%s` is no kind of event: %s", value, all.s);
	b_str_release(&all);
	return -1;
}

#define AT(field) .offset = offsetof(struct options, field)

/* The order of `--op` is that of enum sbx_op, of `--verdict` that of enum aud_verdict_filter. */
static const struct b_opt table[] = {
	{"json", 0, NULL, B_OPT_FLAG, AT(json), .help = "the recorded JSON lines, as they are"},
	{"op", 0, "OP", B_OPT_ENUM, AT(op), .values = "read|modify|exec|connect",
	 .group = "Filters of show", .help = "only this operation: read, modify, exec or connect"},
	{"verdict", 0, "VERDICT", B_OPT_ENUM, AT(verdict), .values = "allowed|denied",
	 .group = "Filters of show", .help = "only what was allowed, or denied"},
	{"path", 0, "GLOB", B_OPT_LIST, AT(globs), .group = "Filters of show",
	 .help = "only these paths, in the glob language of rules: relative to the workspace, or "
		 "absolute; `**` at the beginning means both; repeatable"},
	{"pid", 0, "N", B_OPT_CALL, .call = set_pid, .group = "Filters of show",
	 .help = "only this process"},
	{"kind", 0, "KIND", B_OPT_CALL, .call = set_kind, .group = "Filters of show",
	 .help = "only lines of this kind: result, denied, query, exec, hello, unwitnessed, loss, "
		 "gap"},
	{"completion", 0, B_SHELLS, B_OPT_ENUM, AT(completion), B_SHELLS,
	 .help = "print completions for this shell"},
	{"help", 'h', NULL, B_OPT_FLAG, AT(help), .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, AT(version), .help = "the version"},
};

static const char usage[] =
	"usage: sbx-audit [RUN]                        summary of a run\n"
	"       sbx-audit runs [--json]                the recorded runs, oldest first\n"
	"       sbx-audit show [--json] [FILTERS] [RUN]   its events\n"
	"       sbx-audit verify [RUN]                 does the chain of its log hold?\n"
	"\n"
	"RUN is an id, a unique beginning of one, or `last` (which no RUN means too).\n";

static const char examples[] =
	"\nExamples:\n"
	"  sbx-audit                                  what did the last run do?\n"
	"  sbx-audit show --verdict denied            what was refused, and by which rule?\n"
	"  sbx-audit show --op modify --path 'src/**' 20261127T23\n"
	"  sbx-audit show --json --path '**/.ssh/**'  | jq .\n"
	"\nExit status: 0 found, the chain holds; 1 nothing found, it is broken\nor there is none; "
	"2 trouble.\n";

static int fail(const struct b_err *err)
{
	b_report(me, err);
	return TROUBLE;
}

/* A reader that went away (head, less) is no trouble of ours. */
static int put(const struct b_str *text, struct b_err *err)
{
	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) < 0 && errno != EPIPE)
		return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return 0;
}

static bool want_colour(void)
{
	const char *no = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */

	return isatty(STDOUT_FILENO) && !(no && *no);
}

static int load_run(const struct options *o, const char *root, struct aud_run *out,
		    struct b_err *err)
{
	char id[AUD_ID_MAX];

	if (o->words.n > 1)
		return b_fail(err, B_USAGE, 0, "one run at a time: `%s`", o->words.v[1]);
	if (aud_run_find(root, o->words.n ? o->words.v[0] : "last", id, err) < 0)
		return -1;
	return aud_run_load(root, id, out, err);
}

static int do_summary(const struct options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0)
		return fail(&err);
	if (aud_summary(&run, want_colour(), &text, &err) < 0 || put(&text, &err) < 0)
		return fail(&err);
	return FOUND;
}

static int do_runs(const struct options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	int status = NOTHING;
	struct b_err err;
	char **names;
	size_t n, i;

	if (o->words.n) {
		b_fail(&err, B_USAGE, 0, "runs takes no `%s`", o->words.v[0]);
		return fail(&err);
	}
	if (aud_runs_list(root, &names, &n, &err) < 0)
		return fail(&err);
	for (i = 0; i < n; i++) {
		b_auto(aud_run_release) struct aud_run run = {0};

		if (aud_run_load(root, names[i], &run, &err) < 0) {
			status = fail(&err);
			continue;
		}
		if (o->json)
			aud_show_run_json(&run, &text);
		else
			aud_show_run_row(&run, &text);
		status = status == NOTHING ? FOUND : status;
	}
	aud_runs_free(names, n);
	return put(&text, &err) < 0 ? fail(&err) : status;
}

static int bad_line(const struct aud_lines *l, const char *why)
{
	struct b_err err;

	b_fail(&err, B_FORMAT, 0, "%s:%llu: %s: passed over", l->path,
	       (unsigned long long)l->number, why);
	return fail(&err);
}

static void add_match(const struct options *o, const struct aud_line *line,
		      const struct aud_entry *e, bool colour, struct b_str *out)
{
	if (o->json) {
		b_str_addn(out, line->s, line->len);
		b_str_addc(out, '\n');
	} else {
		aud_show_entry(e, colour, out);
	}
}

static int show_lines(const struct options *o, const struct aud_run *run,
		      const struct aud_filter *filter, struct aud_lines *l)
{
	b_auto(b_str_release) struct b_str text = {0};
	bool colour = want_colour();
	int status = NOTHING, got;
	struct aud_line line;
	struct aud_entry e;
	struct b_err err;
	const char *why;

	while ((got = aud_lines_next(l, &line, &err)) > 0) {
		if (line.torn && run->live)
			break; /* being written */
		if (aud_entry_parse(&line, &e, &why) < 0) {
			status = bad_line(l, why);
			continue;
		}
		if (aud_filter_match(filter, &e)) {
			status = status == NOTHING ? FOUND : status;
			add_match(o, &line, &e, colour, &text);
		}
		aud_entry_release(&e);
		if (text.len > 1 << 16) {
			if (put(&text, &err) < 0)
				return fail(&err);
			b_str_reset(&text);
		}
	}
	return got < 0 || put(&text, &err) < 0 ? fail(&err) : status;
}

static int do_show(const struct options *o, const char *root)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	b_auto(aud_lines_release) struct aud_lines l = {.fd = -1};
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0 || aud_lines_open(&l, run.log, &err) < 0)
		return fail(&err);
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
	return show_lines(o, &run, &filter, &l);
}

static int do_verify(const struct options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(aud_run_release) struct aud_run run = {0};
	struct aud_verify v;
	struct b_err err;

	if (load_run(o, root, &run, &err) < 0 || aud_verify(&run, &v, &err) < 0)
		return fail(&err);
	if (v.is_unchained)
		b_str_addf(&text,
			   "%s: %llu lines, not chained: in preload-only mode each program writes "
			   "its own\n",
			   run.id, (unsigned long long)v.lines);
	else if (v.broken_line)
		b_str_addf(&text, "%s: broken at line %llu: %s\n", run.id,
			   (unsigned long long)v.broken_line, v.why);
	else if (v.has_final && !v.final_matches)
		b_str_addf(&text,
			   "%s: %llu lines hold together, but the run ended with another: %s\n",
			   run.id, (unsigned long long)v.lines, aud_run_str(&run, "final_hash"));
	else
		b_str_addf(&text, "%s: %llu lines hold together%s; last %s\n", run.id,
			   (unsigned long long)v.lines,
			   v.has_final ? ", and are all" : "; how many there were is not recorded",
			   v.hash);
	if (put(&text, &err) < 0)
		return fail(&err);
	return v.is_unchained || v.broken_line || (v.has_final && !v.final_matches) ? NOTHING
										    : FOUND;
}

static const struct {
	const char *name;
	int (*run)(const struct options *, const char *root);
	bool filters; /* takes the filters of show */
	bool json;
} verbs[] = {
	{"", do_summary, false, false},
	{"runs", do_runs, false, true},
	{"show", do_show, true, true},
	{"verify", do_verify, false, false},
};

static int complete(enum b_shell shell)
{
	static const char *const names[] = {"runs", "show", "verify", NULL};
	static const struct b_completion c = {"sbx-audit", table, sizeof table / sizeof *table,
					      names, false};
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	b_complete(&c, shell, &text);
	return put(&text, &err) < 0 ? fail(&err) : FOUND;
}

static int help(bool version)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	if (version) {
		b_str_add(&text, "sbx-audit " SBX_VERSION "\n");
	} else {
		b_str_add(&text, usage);
		b_opt_help(table, sizeof table / sizeof *table, &text);
		b_str_add(&text, examples);
	}
	return put(&text, &err) < 0 ? fail(&err) : FOUND;
}

/* A filter that would be passed over in silence is refused. */
static int check_verb(size_t verb, const struct options *o, struct b_err *err)
{
	bool filtered = o->op >= 0 || o->verdict >= 0 || o->globs.n || o->has_pid || o->kind;

	if (filtered && !verbs[verb].filters)
		return b_fail(err, B_USAGE, 0, "filters go with `sbx-audit show`");
	if (o->json && !verbs[verb].json)
		return b_fail(err, B_USAGE, 0, "--json goes with `show` and `runs`");
	return 0;
}

static int run_verb(size_t verb, const struct options *o)
{
	b_auto_free char *root = NULL;
	struct b_err err;

	if (check_verb(verb, o, &err) < 0)
		return fail(&err);
	root = aud_runs_root(&err);
	return root ? verbs[verb].run(o, root) : fail(&err);
}

int main(int argc, char **argv)
{
	struct options o = {.op = -1, .verdict = -1, .completion = -1};
	struct b_err err;
	size_t verb = 0, i;
	int rest, status;

	if (b_fill_stdio() < 0)
		return 2; /* nowhere to say why */
	for (i = 1; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			verb = i;
	argc -= verb != 0;
	argv += verb != 0;
	if (b_opt_parse(table, sizeof table / sizeof *table, argc, argv, &o, &o.words, &rest,
			&err) < 0)
		status = fail(&err);
	else if (o.completion >= 0)
		status = complete((enum b_shell)o.completion);
	else if (o.help || o.version)
		status = help(!o.help);
	else
		status = run_verb(verb, &o);
	b_strlist_release(&o.globs);
	b_strlist_release(&o.words);
	return status;
}
