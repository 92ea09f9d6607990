/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-audit - inspects what runs did: sbx-audit(1). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/read_log.h"
#include "audit/collect_priv.h"
#include "audit/pack.h"
#include "audit/rundir.h"
#include "audit/read_run.h"
#include "audit/schema.h"
#include "audit/show.h"
#include "base/opt.h"
#include "cmd/audit_verbs.h"
#include "cmd/pager.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/plan/program.h"
#include "views/views.h"

static int set_pid(void *target, const char *value, struct b_err *err)
{
	struct audit_options *o = target;
	unsigned long long pid;

	if (b_parse_u64(value, UINT32_MAX, &pid) < 0)
		return b_fail(err, B_USAGE, 0, "`%s` is not a process id", value);
	o->pid = pid;
	o->has_pid = true;
	return 0;
}

static int set_kind(void *target, const char *value, struct b_err *err)
{
	struct audit_options *o = target;
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
	b_fail(err, B_USAGE, 0, "`%s` is not a kind of event: expected one of %s", value, all.s);
	b_str_release(&all);
	return -1;
}

#define AT(field) .offset = offsetof(struct audit_options, field)

/* A row without `where` goes with every word. PAGED: its answers may be long. */
enum { SHOW = 1, JSON = 2, FORMAT = 4, TAIL = 8, PRUNE = 16, OUTPUT = 32, PAGED = 64, FROM = 128 };

/* The order of `--op` is that of enum sbx_op, of `--verdict` that of enum aud_verdict_filter. */
static const struct b_opt table[] = {
	{"json", 0, NULL, B_OPT_FLAG, AT(json), .where = JSON,
	 .help = "JSON lines; show, grep and tail print the recorded lines unchanged"},
	{"format", 0, "FORMAT", B_OPT_ENUM, AT(format), VIEW_FORMATS, .where = FORMAT,
	 .help = "show: whole lines (jsonl), OCSF 1.8 (ocsf), Orbit's request and result pairs "
		 "(orbit), a trace for Perfetto (chrome-trace), srt's violation store (srt), or "
		 "OpenShell's lines (openshell)"},
	{"lines", 'n', "N", B_OPT_U64, AT(lines), .where = TAIL,
	 .help = "tail: print this many lines (default 20)"},
	{"follow", 'f', NULL, B_OPT_FLAG, AT(follow), .where = TAIL,
	 .help = "tail: print new lines until the run ends"},
	{"keep-runs", 0, "N", B_OPT_U64, AT(keep_runs), .where = PRUNE,
	 .help = "prune: keep this many runs, the newest (default 200)"},
	{"keep-bytes", 0, "N", B_OPT_U64, AT(keep_bytes), .where = PRUNE,
	 .help = "prune: disk space that the records may use (default 1 GiB)"},
	{"op", 0, "OP", B_OPT_ENUM, AT(op), .values = "read|modify|exec|connect", .where = SHOW,
	 .group = "Filters of show", .help = "only this operation: read, modify, exec or connect"},
	{"verdict", 0, "VERDICT", B_OPT_ENUM, AT(verdict), .values = "allowed|denied",
	 .where = SHOW, .group = "Filters of show", .help = "only what was allowed, or denied"},
	{"path", 0, "GLOB", B_OPT_LIST, AT(globs), .where = SHOW, .group = "Filters of show",
	 .help = "only these paths, in the glob language of rules: relative to the workspace, or "
		 "absolute; `**` at the beginning means both; repeatable"},
	{"pid", 0, "N", B_OPT_CALL, .call = set_pid, .where = SHOW, .group = "Filters of show",
	 .help = "only this process"},
	{"kind", 0, "KIND", B_OPT_CALL, .call = set_kind, .where = SHOW, .group = "Filters of show",
	 .help = "only lines of this kind: result, denied, query, exec, hello, unwitnessed, loss, "
		 "gap, run, exit"},
	{"compress-above", 0, "N", B_OPT_U64, AT(compress_above), .where = PRUNE,
	 .help = "prune: compress finished logs larger than N bytes (default 16 MiB)"},
	{"output", 'o', "FILE", B_OPT_STR, AT(output), .where = OUTPUT,
	 .help = "learn, report: write to FILE instead of to standard output"},
	{"from", 0, "POLICY", B_OPT_STR, AT(from), .where = FROM,
	 .help = "learn: print this policy without the grants that the runs did not use"},
	{"completion", 0, B_SHELLS, B_OPT_ENUM, AT(completion), B_SHELLS,
	 .help = "print completions for this shell"},
	{"help", 'h', NULL, B_OPT_FLAG, AT(help), .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, AT(version), .help = "the version"},
};

static const char usage[] =
	"usage: sbx-audit [summary] [RUN]       how it went, on one screen\n"
	"       sbx-audit runs                  the recorded runs, oldest first\n"
	"       sbx-audit changes [RUN]         what is different on the disk\n"
	"       sbx-audit denials [RUN]         what was refused, and the option that opens it\n"
	"       sbx-audit tree [RUN]            who started whom, and what each did\n"
	"       sbx-audit calls [TEXT]          runs by session and tool call\n"
	"       sbx-audit show [FILTERS] [RUN]  events, also in other formats\n"
	"       sbx-audit grep EXPR [RUN]       events that match an expression\n"
	"       sbx-audit tail [-f] [RUN]       the last events, and new ones\n"
	"       sbx-audit diff RUN RUN          what one did and the other did not\n"
	"       sbx-audit stats [RUN]           counts of events\n"
	"       sbx-audit cat [RUN]             the log, unchanged\n"
	"       sbx-audit learn RUN...          a policy that allows the same work\n"
	"       sbx-audit report [RUN]          one page for a browser\n"
	"       sbx-audit verify [RUN]          is the log unchanged and complete?\n"
	"       sbx-audit ship --to URL         the record of all runs to a server (see --help "
	"there)\n"
	"       sbx-audit prune                 removes old runs, compresses large logs\n"
	"       sbx-audit schema                the JSON Schema of a line of a log\n\n"
	"RUN is an id, a unique beginning of one, or `last` (the default).\n"
	"EXPR: FIELD=VALUE, FIELD~GLOB, FIELD=~REGEX, <, >, joined by and, or, not, ( ).\n";

static const char examples[] =
	"\nExamples:\n"
	"  sbx-audit                                  what did the last run do?\n"
	"  sbx-audit denials                          what was refused, and what opens it?\n"
	"  sbx-audit grep \"op=modify and path~'**/*.lock' and not allowed\"\n"
	"  sbx-audit show --op modify --path 'src/**' 20261127T23\n"
	"  sbx-audit show --json --path '**/.ssh/**'  | jq .\n"
	"\nExit status: 0 found, the chain holds; 1 nothing found, it is broken\nor there is none; "
	"2 trouble.\n";

static const struct {
	const char *name;
	int (*run)(const struct audit_options *, const char *root);
	unsigned where; /* the options it takes */
} verbs[] = {
	{"", audit_summary, PAGED},
	{"summary", audit_summary, PAGED},
	{"runs", audit_runs, JSON | PAGED},
	{"changes", audit_changes, JSON | PAGED},
	{"denials", audit_denials, JSON | PAGED},
	{"tree", audit_tree, JSON | PAGED},
	{"calls", audit_calls, JSON | PAGED},
	{"show", audit_show, SHOW | JSON | FORMAT | PAGED},
	{"grep", audit_grep, JSON | PAGED},
	{"tail", audit_tail, JSON | TAIL | PAGED},
	{"diff", audit_diff, PAGED},
	{"stats", audit_stats, JSON | PAGED},
	{"cat", audit_cat, 0},
	{"learn", audit_learn, OUTPUT | FROM},
	{"report", audit_report, OUTPUT},
	{"verify", audit_verify, 0},
	{"ship", NULL, 0}, /* sbx-ship's, with options of its own */
	{"prune", audit_prune, PRUNE},
	{"schema", audit_schema, PAGED},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int complete(enum b_shell shell)
{
	const char *names[VERBS] = {NULL};
	const struct b_completion c = {"sbx-audit", table, sizeof table / sizeof *table, names,
				       false};
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	for (size_t i = 1; i < VERBS; i++)
		names[i - 1] = verbs[i].name;
	b_complete(&c, shell, &text);
	return audit_put(&text, &err) < 0 ? audit_fail(&err) : FOUND;
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
	return audit_put(&text, &err) < 0 ? audit_fail(&err) : FOUND;
}

/* An option that would be passed over in silence is refused. */
static int check_verb(size_t verb, const struct audit_options *o, struct b_err *err)
{
	bool filtered = o->op >= 0 || o->verdict >= 0 || o->globs.n || o->has_pid || o->kind;
	const struct {
		bool given;
		unsigned where;
		const char *text;
	} rows[] = {
		{filtered, SHOW, "filters go with `sbx-audit show`"},
		{o->json, JSON, "--json: not supported here"},
		{o->format, FORMAT, "--format goes with `sbx-audit show`"},
		{o->follow || o->lines != LINES, TAIL,
		 "--lines and --follow go with `sbx-audit tail`"},
		{o->keep_runs != AUD_KEEP_RUNS || o->keep_bytes != AUD_KEEP_BYTES ||
			 o->compress_above != AUD_PACK_ABOVE,
		 PRUNE, "--keep-runs, --keep-bytes, --compress-above go with `sbx-audit prune`"},
		{o->output, OUTPUT, "--output goes with `learn` and `report`"},
		{o->from, FROM, "--from goes with `learn`"},
		{o->json && o->format, 0, "--json and --format: one of the two"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && !(verbs[verb].where & rows[i].where))
			return b_fail(err, B_USAGE, 0, "%s", rows[i].text);
	return 0;
}

/* A program of its own, so that nothing else here needs what it needs. Returns on failure only. */
static int audit_ship(char **argv)
{
	static char name[] = "sbx-audit ship";
	b_auto_free char *path = NULL;
	struct b_err err;

	if (lau_ship_find(&path, &err) < 0)
		return audit_fail(&err);
	argv[0] = name;
	execv(path, argv);
	b_fail(&err, B_SYSTEM, errno, "%s: %s", path, strerror(errno));
	return audit_fail(&err);
}

static int run_verb(size_t verb, const struct audit_options *o)
{
	b_auto_free char *root = NULL;
	struct b_err err;
	int status;

	if (check_verb(verb, o, &err) < 0)
		return audit_fail(&err);
	root = aud_runs_root(&err);
	if (!root)
		return audit_fail(&err);
	if (verbs[verb].where & PAGED && !o->follow)
		pager_start();
	status = verbs[verb].run(o, root);
	pager_end();
	return status;
}

int main(int argc, char **argv)
{
	struct audit_options o = {.op = -1,
				  .verdict = -1,
				  .completion = -1,
				  .lines = LINES,
				  .keep_runs = AUD_KEEP_RUNS,
				  .keep_bytes = AUD_KEEP_BYTES,
				  .compress_above = AUD_PACK_ABOVE};
	struct b_err err;
	size_t verb = 0, i;
	int rest, status;

	if (b_fill_stdio() < 0)
		return 2; /* nowhere to say why */
	for (i = 1; argc > 1 && i < VERBS; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			verb = i;
	argc -= verb != 0;
	argv += verb != 0;
	if (verb && !verbs[verb].run)
		return audit_ship(argv);
	if (b_opt_parse(table, sizeof table / sizeof *table, argc, argv, &o, &o.words, &rest,
			&err) < 0)
		status = audit_fail(&err);
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
