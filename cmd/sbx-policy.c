/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-policy - asks a policy without running anything: sbx-policy(1). */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/opt.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "launcher/plan/program.h"
#include "policy/document/model.h"

#define O(field) offsetof(struct ask_opts, field)
static const struct b_opt own_table[] = {
#define GROUP "Questions"
	{"json", 0, NULL, B_OPT_FLAG, O(json), .group = GROUP,
	 .help = "why, diff, test, lint, approve: print JSON"},
	{"null", '0', NULL, B_OPT_FLAG, O(from_stdin), .group = GROUP,
	 .help = "why: paths, each ended by a NUL, from standard input"},
	{"all", 0, NULL, B_OPT_FLAG, O(all), .group = GROUP,
	 .help = "why: every rule that matches, in order"},
	{"exe", 0, "PROGRAM", B_OPT_LIST, O(exes), .group = GROUP,
	 .help = "why connect HOST:PORT: the program that connects; repeat for its ancestors"},
	{"on", 0, "linux|macos", B_OPT_ENUM, O(on), "linux|macos", .group = GROUP,
	 .help = "why: on macOS, by the profile that show --plan sbpl prints"},
	{"table", 0, NULL, B_OPT_FLAG, O(table), .group = GROUP,
	 .help = "test: print a line for each test with the deciding rule, instead of TAP"},
	{"write", 0, NULL, B_OPT_FLAG, O(write), .group = GROUP,
	 .help = "fmt: change the files instead of printing them (fmt also takes -w)"},
	{"check", 0, NULL, B_OPT_FLAG, O(check_only), .group = GROUP,
	 .help = "fmt: print only the names of unformatted files"},
	{"output", 'o', "IMAGE", B_OPT_STR, O(output), .group = GROUP,
	 .help = "compile: the file to write"},
	{"to", 0, "orbit|openshell|srt|caliban", B_OPT_ENUM, O(to), "|" POL_DIALECT_NAMES,
	 .group = GROUP, .help = "convert: the language to write"},
	{"mode", 0, "none|accept-edits|auto", B_OPT_ENUM, O(run.mode), "none|accept-edits|auto",
	 .group = GROUP, .help = "approve: the mode that sbx-launch would get"},
	{"allow-command", 0, "PATTERN", B_OPT_LIST, O(listed), .group = GROUP,
	 .help = "approve: also allow these commands, written as in caliban's "
		 "allow_unsandboxed_commands (repeatable)"},
	{"auto-allow", 0, NULL, B_OPT_FLAG, O(auto_allow), .group = GROUP,
	 .help = "approve: allow every command that runs sandboxed (caliban's "
		 "auto_allow_bash_if_sandboxed)"},
	{"plan", 0, "landlock|seccomp|sbpl|bwrap", B_OPT_ENUM, O(plan),
	 "landlock|seccomp|sbpl|bwrap", .group = GROUP,
	 .help = "show: print the rules that the kernel would get"},
	{"sbpl-style", 0, "hardened|orbit", B_OPT_ENUM, O(style), "hardened|orbit", .group = GROUP,
	 .help = "show --plan sbpl: sbx-launch's profile for macOS (default), or Orbit's"},
	{"bwrap-style", 0, "own|caliban", B_OPT_ENUM, O(mounts), "own|caliban", .group = GROUP,
	 .help = "show --plan bwrap: sbx-launch's arguments (default), or those that caliban makes "
		 "from its settings"},
	{"abi", 0, "N", B_OPT_U64, O(abi), .group = GROUP,
	 .help = "show --plan landlock: for a kernel of this Landlock ABI (default: this host's)"},
	{"floor", 0, NULL, B_OPT_FLAG, O(floor), .group = GROUP,
	 .help = "show: which mechanism enforces each rule, and which rules none enforces"},
	{"effective", 0, NULL, B_OPT_FLAG, O(effective), .group = GROUP,
	 .help = "show: the profile with the global denies added"},
	{"completion", 0, B_SHELLS, B_OPT_ENUM, O(completion), B_SHELLS, .group = GROUP,
	 .help = "print completions for this shell"},
	{"help", 'h', NULL, B_OPT_FLAG, O(help), .group = GROUP, .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, O(version), .group = GROUP, .help = "the version"},
#undef GROUP
};
enum { OWN_N = sizeof own_table / sizeof *own_table };

/* ---- check ---- */

static int check(struct ask_opts *o, char const *const *files, size_t n)
{
	struct b_err err;
	int status = YES;

	if (n == 0) {
		b_fail(&err, B_USAGE, 0, "check: no file, expected sbx-policy check FILE...");
		return ask_trouble(&err);
	}
	for (size_t i = 0; i < n; i++) {
		struct pol_doc doc = {0};

		b_auto(b_str_release) struct b_str report = {0};

		if (ask_parse_file(o, files[i], &report, &doc, &err) < 0) {
			status = ask_trouble_all(&report, &err);
		} else {
			ask_notes(&doc);
			if (ask_refused(&doc) && status == YES)
				status = NO;
		}
		pol_doc_release(&doc);
	}
	return status;
}

/* ---- the program ---- */

static const struct verb {
	const char *name;
	const char *synopsis; /* what follows the name */
	int (*run)(struct ask_opts *, char const *const *words, size_t n);
} verbs[] = {
	{"check", "FILE...", check},
	{"why", "[options] read|modify|exec|connect PATH|HOST:PORT...", ask_why},
	{"show", "[options] [NAME | FILE]", ask_show},
	{"list", "", ask_list},
	{"add", "FILE...", ask_add},
	{"presets", "[NAME...]", ask_presets},
	{"trust", "[FILE...]", ask_trust},
	{"distrust", "FILE...", ask_distrust},
	{"diff", "[options] OLD NEW", ask_diff},
	{"test", "[options] [FILE...]", ask_test},
	{"lint", "[options] NAME|FILE...", ask_lint},
	{"fmt", "[-w | --check] FILE...", ask_fmt},
	{"convert", "--to LANGUAGE [--profile NAME] FILE", ask_convert},
	{"approve", "[options] -- COMMAND...", ask_approve},
	{"schema", "[policy | exec-result | fs-call-event | run]", ask_schema},
	{"bundle", "make|check|show [options] FILE...", NULL}, /* sbx-bundle's */
	{"compile", "-o IMAGE [options] [NAME | FILE...]", ask_compile},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int help(const struct b_opt *table, size_t n)
{
	b_auto(b_str_release) struct b_str text = {0};

	for (size_t i = 0; i < VERBS; i++)
		b_str_addf(&text, "sbx-policy %s %s\n", verbs[i].name, verbs[i].synopsis);
	b_str_add(&text,
		  "\n"
		  "Prints what sbx-launch would allow with the same options. Status: 0 valid, all\n"
		  "allowed, equal, passed, or nothing found; 1 the opposite; 2 an error.\n\n");
	b_opt_help(table, n, &text);
	return ask_print(&text, YES);
}

static int complete(const struct b_opt *table, size_t n, enum b_shell shell)
{
	b_auto(b_str_release) struct b_str text = {0};
	const char *names[VERBS + 1] = {NULL};
	const struct b_completion c = {"sbx-policy", table, n, names, false};

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	b_complete(&c, shell, &text);
	return ask_print(&text, YES);
}

static int fail_verb(const char *word)
{
	b_auto(b_str_release) struct b_str known = {0};
	struct b_near near = B_NEAR_INIT;
	struct b_err err;

	for (size_t i = 0; i < VERBS; i++) {
		b_str_addf(&known, "%s%s", i ? ", " : "", verbs[i].name);
		if (word)
			b_near_offer(&near, word, strlen(word), verbs[i].name,
				     strlen(verbs[i].name));
	}
	if (!word)
		b_fail(&err, B_USAGE, 0, "no question, expected one of %s; see --help", known.s);
	else if (near.text)
		b_fail(&err, B_USAGE, 0, "no question `%s`, did you mean `%s`?", word, near.text);
	else
		b_fail(&err, B_USAGE, 0, "no question `%s`, expected one of %s", word, known.s);
	return ask_trouble(&err);
}

static int dispatch(struct ask_opts *o, const struct b_strlist *words)
{
	for (size_t i = 0; words->n > 0 && i < VERBS; i++)
		if (verbs[i].run && strcmp(words->v[0], verbs[i].name) == 0)
			return verbs[i].run(o, words->v + 1, words->n - 1);
	return fail_verb(words->n ? words->v[0] : NULL);
}

/* A program of its own, which alone needs OpenSSL. Returns on failure only. */
static int become_bundle(char **argv)
{
	static char name[] = "sbx-policy bundle";
	b_auto_free char *path = NULL;
	struct b_err err;

	if (lau_bundle_find(&path, &err) < 0)
		return ask_trouble(&err);
	argv[0] = name;
	execv(path, argv);
	b_fail(&err, B_SYSTEM, errno, "%s: %s", path, strerror(errno));
	return ask_trouble(&err);
}

/* fmt asks no policy: there -w is the usual letter of formatters, not a workspace. */
static void give_letter(struct b_opt *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].name, "workspace") == 0)
			table[i].letter = 0;
		else if (strcmp(table[i].name, "write") == 0)
			table[i].letter = 'w';
}

int main(int argc, char **argv)
{
	size_t n = lau_policy_table_n + OWN_N;
	b_auto_free struct b_opt *table =
		lau_options_join(lau_policy_table, lau_policy_table_n, own_table, OWN_N);
	struct ask_opts o = {.plan = PLAN_NONE, .completion = -1};
	b_auto(b_strlist_release) struct b_strlist words = {0};
	struct b_err err;
	int rest, status;

	if (b_fill_stdio() < 0)
		return TROUBLE; /* nowhere to say why */
	if (argc > 1 && strcmp(argv[1], "bundle") == 0)
		return become_bundle(argv + 1);
	if (argc > 1 && strcmp(argv[1], "fmt") == 0)
		give_letter(table, n);
	lau_options_init(&o.run);
	/* Asking writes nothing and needs no place for a log. */
	o.run.dry_run = true;
	o.run.audit_level = SBX_AUDIT_NONE;
	if (b_opt_parse(table, n, argc, argv, &o, &words, &rest, &err) < 0) {
		status = ask_trouble(&err);
	} else if (o.abi > INT_MAX) {
		b_fail(&err, B_USAGE, 0, "--abi: too large");
		status = ask_trouble(&err);
	} else if (o.completion >= 0) {
		status = complete(table, n, (enum b_shell)o.completion);
	} else if (o.help) {
		status = help(table, n);
	} else if (o.version) {
		b_auto(b_str_release) struct b_str text = {0};

		b_str_add(&text, "sbx-policy " SBX_VERSION "\n");
		status = ask_print(&text, YES);
	} else if (lau_policy_settle(&o.run.policy, &err) < 0) {
		status = ask_trouble(&err);
	} else {
		status = dispatch(&o, &words);
	}
	b_strlist_release(&o.listed);
	b_strlist_release(&o.exes);
	lau_options_release(&o.run);
	return status;
}
