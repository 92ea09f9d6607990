/* sbx-policy - asks a policy without running anything: sbx-policy(1). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "launcher/dirs.h"
#include "launcher/host.h"
#include "launcher/options.h"
#include "launcher/plan.h"
#include "policy/back/seccomp.h"
#include "policy/engine.h"
#include "policy/explain.h"
#include "policy/front/orbit.h"
#include "policy/load.h"
#include "policy/model.h"
#include "policy/presets.h"
#include "sbpl/sbpl.h"

static const char me[] = "sbx-policy";

enum { YES = 0, NO = 1, TROUBLE = 2 }; /* grep's grammar, DESIGN §7 */

#define MAX_STDIN (64u << 20) /* bytes of paths */

enum plan { PLAN_LANDLOCK, PLAN_SECCOMP, PLAN_SBPL, PLAN_NONE };

struct opts {
	struct lau_options run; /* first: the rows of lau_policy_table count from the start */
	bool json, from_stdin, floor, effective, help, version;
	int plan;     /* enum plan */
	uint64_t abi; /* of Landlock, 0 = this host's */
	int style;    /* enum sbpl_style */
};

#define O(field) offsetof(struct opts, field)
static const struct b_opt own_table[] = {
#define GROUP "Questions"
	{"json", 0, NULL, B_OPT_FLAG, O(json), .group = GROUP,
	 .help = "why: one JSON object a line"},
	{"null", '0', NULL, B_OPT_FLAG, O(from_stdin), .group = GROUP,
	 .help = "why: paths, each ended by a NUL, from standard input"},
	{"plan", 0, "landlock|seccomp|sbpl", B_OPT_ENUM, O(plan), "landlock|seccomp|sbpl",
	 .group = GROUP, .help = "show: the kernel's rules as they would be applied"},
	{"sbpl-style", 0, "hardened|orbit", B_OPT_ENUM, O(style), "hardened|orbit", .group = GROUP,
	 .help = "show --plan sbpl: our profile for macOS (default), or the one Orbit would make"},
	{"abi", 0, "N", B_OPT_U64, O(abi), .group = GROUP,
	 .help = "show --plan landlock: for a kernel of this Landlock ABI (default: this host's)"},
	{"floor", 0, NULL, B_OPT_FLAG, O(floor), .group = GROUP,
	 .help = "show: which mechanism carries what, and what none does"},
	{"effective", 0, NULL, B_OPT_FLAG, O(effective), .group = GROUP,
	 .help = "show: the profile with the global denies, as the document means it"},
	{"help", 'h', NULL, B_OPT_FLAG, O(help), .group = GROUP, .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, O(version), .group = GROUP, .help = "the version"},
#undef GROUP
};
enum { OWN_N = sizeof own_table / sizeof *own_table };

static const char usage[] =
	"sbx-policy check FILE...\n"
	"sbx-policy why [options] read|modify|exec|connect PATH...\n"
	"sbx-policy show [options] [FILE]\n"
	"\n"
	"Asks what sbx-launch would allow with the same options. check says nothing about a valid\n"
	"policy. Status: 0 valid, or all allowed; 1 something denied; 2 trouble.\n";

static int trouble(const struct b_err *err)
{
	(void)b_report(me, err);
	return TROUBLE;
}

static int print(const struct b_str *text, int status)
{
	struct b_err err;

	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) == 0)
		return status;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return trouble(&err);
}

/* ---- check ---- */

static int parse_file(const char *file, struct pol_doc *doc, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (pol_policy_read(file, &text, err) < 0)
		return -1;
	return pol_orbit_parse(file, b_str_c(&text), text.len, doc, err);
}

static int check(struct opts *o, char const *const *files, size_t n)
{
	struct b_err err;
	int status = YES;

	(void)o;
	if (n == 0) {
		b_fail(&err, B_USAGE, 0, "check: no file, expected sbx-policy check FILE...");
		return trouble(&err);
	}
	for (size_t i = 0; i < n; i++) {
		struct pol_doc doc = {0};

		if (parse_file(files[i], &doc, &err) < 0)
			status = trouble(&err);
		pol_doc_release(&doc);
	}
	return status;
}

/* ---- what sbx-launch would make of the options ---- */

struct asked {
	struct lau_dirs dirs;
	struct lau_plan plan;
};

/* Also after a failure *a is to be released. */
static int ask(const struct opts *o, struct asked *a, struct b_err *err)
{
	struct lau_host host;

	memset(&a->plan, 0, sizeof a->plan);
	lau_host_quick(&host);
	if (o->abi)
		host.landlock_abi = (int)o->abi;
	if (lau_dirs_find(&o->run, &a->dirs, err) < 0 ||
	    lau_plan_policy(&o->run, &host, &a->dirs, &a->plan, err) < 0)
		return -1;
	return lau_plan_floor(&o->run, &host, &a->plan, err);
}

static void asked_release(struct asked *a)
{
	lau_plan_release(&a->plan);
	lau_dirs_release(&a->dirs);
}

static void say_notices(const struct pol_engine *e)
{
	for (size_t i = 0; i < e->nnotices; i++) {
		b_auto(b_str_release) struct b_str line = {0};

		b_str_addf(&line, "%s: note: ", me);
		b_str_add_visible(&line, e->notices[i], strlen(e->notices[i]));
		b_str_addc(&line, '\n');
		(void)b_write_all(STDERR_FILENO, b_str_c(&line), line.len);
	}
}

/* ---- why ---- */

static int find_op(const char *word, enum sbx_op *out, struct b_err *err)
{
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		if (strcmp(word, sbx_op_name((enum sbx_op)op)) != 0)
			continue;
		*out = (enum sbx_op)op;
		return 0;
	}
	return b_fail(err, B_USAGE, 0,
		      "why: no operation `%s`, expected one of read, modify, exec, connect", word);
}

static int why_one(const struct opts *o, struct asked *a, enum sbx_op op, const char *path,
		   bool *all_allowed, struct b_str *out, struct b_err *err)
{
	struct pol_answer answer;
	const char *floor;

	if (pol_engine_check(a->plan.engine, op, path, &answer, err) < 0)
		return -1;
	floor = pol_explain_floor(&a->plan.floor, op, answer.real, answer.allowed);
	if (o->json)
		pol_explain_json(&answer, floor, out);
	else
		pol_explain_text(&answer, floor, out);
	*all_allowed &= answer.allowed;
	return 0;
}

/* Paths from standard input: each ended by a NUL, the last may lack it. */
static int why_stdin(const struct opts *o, struct asked *a, enum sbx_op op, bool *all_allowed,
		     struct b_str *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str in = {0};
	const char *p, *end;

	for (;;) {
		ssize_t n = b_read_full(STDIN_FILENO, b_str_room(&in, 65536), 65536);

		if (n < 0)
			return b_fail(err, B_SYSTEM, errno, "standard input: %s", strerror(errno));
		b_str_advance(&in, (size_t)n);
		if (in.len > MAX_STDIN)
			return b_fail(err, B_LIMIT, 0, "standard input: more than %u bytes",
				      MAX_STDIN);
		if (n < 65536)
			break;
	}
	for (p = in.s, end = in.s + in.len; p < end; p += strlen(p) + 1)
		if (why_one(o, a, op, p, all_allowed, out, err) < 0)
			return -1;
	return 0;
}

static int why_all(const struct opts *o, enum sbx_op op, char const *const *paths, size_t n)
{
	b_auto(asked_release) struct asked a;
	b_auto(b_str_release) struct b_str out = {0};
	bool all_allowed = true;
	struct b_err err;

	if (ask(o, &a, &err) < 0)
		return trouble(&err);
	say_notices(a.plan.engine);
	for (size_t i = 0; i < n; i++)
		if (why_one(o, &a, op, paths[i], &all_allowed, &out, &err) < 0)
			return trouble(&err);
	if (o->from_stdin && why_stdin(o, &a, op, &all_allowed, &out, &err) < 0)
		return trouble(&err);
	return print(&out, all_allowed ? YES : NO);
}

static int why(struct opts *o, char const *const *words, size_t n)
{
	enum sbx_op op = SBX_OP_COUNT;
	struct b_err err;

	if (n == 0 || (n == 1 && !o->from_stdin)) {
		b_fail(&err, B_USAGE, 0, "why: expected sbx-policy why [options] OP PATH...");
		return trouble(&err);
	}
	if (find_op(words[0], &op, &err) < 0)
		return trouble(&err);
	return why_all(o, op, words + 1, n - 1);
}

/* ---- show ---- */

static int show_effective(const struct opts *o, struct b_str *out, struct b_err *err)
{
	const struct b_strlist *files = &o->run.policy.policies;
	const struct pol_preset *builtin = pol_preset_find("default");
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	struct pol_effective eff;
	const char *name = o->run.policy.profile;

	if (files->n > 1)
		return b_fail(err, B_USAGE, 0, "%zu policies given, expected at most one",
			      files->n);
	if (files->n > 0 ? parse_file(files->v[0], &doc, err) < 0
			 : pol_orbit_parse("builtin:default", builtin->text, builtin->len, &doc,
					   err) < 0)
		return -1;
	for (size_t i = 0; i < (name ? 1 : doc.nprofiles); i++) {
		if (pol_doc_effective(&doc, name ? name : doc.profiles[i].name.s, &eff, err) < 0)
			return -1;
		pol_explain_effective(&eff, out);
	}
	return 0;
}

static int show_sbpl(const struct opts *o, const struct asked *a, struct b_str *out,
		     struct b_err *err)
{
	static const enum sbpl_net nets[] = {
		[POL_NET_NONE] = SBPL_NET_NONE,
		[POL_NET_LOOPBACK] = SBPL_NET_LOOPBACK,
		[POL_NET_HOST] = SBPL_NET_HOST,
	};
	const struct pol_engine *engine = a->plan.engine;
	struct sbpl_opts opts = sbpl_opts_default();
	struct sbpl_profile prof;

	opts.style = (enum sbpl_style)o->style;
	opts.net = nets[o->run.policy.network];
	opts.orbit = (struct sbpl_orbit_env){
		.home = getenv("HOME"),
		.codex_home = getenv("CODEX_HOME"),
		.claude_config_dir = getenv("CLAUDE_CONFIG_DIR"),
		.grok_home = getenv("GROK_HOME"),
	};
	if (sbpl_compile(&engine->rules, &engine->image, &opts, &prof, err) < 0)
		return -1;
	sbpl_profile_show(&prof, out);
	sbpl_profile_release(&prof);
	return 0;
}

static int show_plan(const struct opts *o, struct asked *a, struct b_str *out, struct b_err *err)
{
	switch ((enum plan)o->plan) {
	case PLAN_LANDLOCK:
		lau_plan_kernel(&a->plan);
		if (a->plan.landlock_abi > 0)
			pol_ll_show(&a->plan.landlock, out);
		else
			b_str_add(out, "this host has no Landlock: --abi N shows another's plan\n");
		break;
	case PLAN_SECCOMP:
		pol_sc_show(a->plan.seccomp_flags, out);
		break;
	case PLAN_SBPL:
		return show_sbpl(o, a, out, err);
	case PLAN_NONE:
		break;
	}
	return 0;
}

/* What a run would do: its floor, a plan of the kernel's, or the ruleset. */
static int show_run(const struct opts *o, struct b_str *out, struct b_err *err)
{
	b_auto(asked_release) struct asked a;

	if (ask(o, &a, err) < 0)
		return -1;
	say_notices(a.plan.engine);
	if (o->floor)
		pol_floor_show(&a.plan.floor, out);
	if (o->plan != PLAN_NONE)
		return show_plan(o, &a, out, err);
	if (!o->floor)
		pol_engine_show(a.plan.engine, out);
	return 0;
}

static int show(struct opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	for (size_t i = 0; i < n; i++)
		b_strlist_add(&o->run.policy.policies, words[i]);
	if (o->effective && show_effective(o, &out, &err) < 0)
		return trouble(&err);
	if ((!o->effective || o->floor || o->plan != PLAN_NONE) && show_run(o, &out, &err) < 0)
		return trouble(&err);
	return print(&out, YES);
}

/* ---- the program ---- */

static const struct verb {
	const char *name;
	int (*run)(struct opts *, char const *const *words, size_t n);
} verbs[] = {
	{"check", check},
	{"why", why},
	{"show", show},
};

static int help(const struct b_opt *table, size_t n)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_add(&text, usage);
	b_opt_help(table, n, &text);
	return print(&text, YES);
}

static int dispatch(struct opts *o, const struct b_strlist *words)
{
	struct b_err err;

	for (size_t i = 0; words->n > 0 && i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(words->v[0], verbs[i].name) == 0)
			return verbs[i].run(o, words->v + 1, words->n - 1);
	if (words->n == 0)
		b_fail(&err, B_USAGE, 0, "no question, expected check, why or show; see --help");
	else
		b_fail(&err, B_USAGE, 0, "no question `%s`, expected check, why or show",
		       words->v[0]);
	return trouble(&err);
}

int main(int argc, char **argv)
{
	size_t n = lau_policy_table_n + OWN_N;
	b_auto_free struct b_opt *table =
		lau_options_join(lau_policy_table, lau_policy_table_n, own_table, OWN_N);
	struct opts o = {.plan = PLAN_NONE};
	b_auto(b_strlist_release) struct b_strlist words = {0};
	struct b_err err;
	int rest, status;

	lau_options_init(&o.run);
	/* Asking writes nothing and needs no place for a log. */
	o.run.dry_run = true;
	o.run.audit_level = SBX_AUDIT_NONE;
	if (b_opt_parse(table, n, argc, argv, &o, &words, &rest, &err) < 0) {
		status = trouble(&err);
	} else if (o.abi > INT_MAX) {
		b_fail(&err, B_USAGE, 0, "--abi: too large");
		status = trouble(&err);
	} else if (o.help) {
		status = help(table, n);
	} else if (o.version) {
		b_auto(b_str_release) struct b_str text = {0};

		b_str_add(&text, "sbx-policy " SBX_VERSION "\n");
		status = print(&text, YES);
	} else {
		status = dispatch(&o, &words);
	}
	lau_options_release(&o.run);
	return status;
}
