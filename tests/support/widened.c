/* SPDX-License-Identifier: Apache-2.0 */
/* widened OPERATION PATH N WORD... ARGUMENT...: what N words more open of a run with these
 * arguments of sbx-launch, for tests/remedies: {"at": where the words go, in front of the command;
 * "workspace"; "settings": is a setting of the run another one; "allowed": the operation on the
 * path, with the words (-1: no such question); "differences": of all verdicts, as sbx-policy diff
 * has them}. Status 2: one of the two is no command line, or has no policy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"
#include "launcher/run/dirs.h"
#include "policy/engine.h"
#include "policy/questions/explain.h"

struct side {
	struct lau_options options;
	struct lau_dirs dirs;
	struct lau_plan plan;
};

static int plan_of(int argc, char **argv, struct side *s, struct b_err *err)
{
	struct lau_host host;

	lau_options_init(&s->options);
	if (lau_options_parse(argc, argv, &s->options, err) < 0)
		return -1;
	lau_host_quick(&host);
	if (lau_dirs_find(&s->options, &s->dirs, err) < 0)
		return -1;
	return lau_plan_policy(&s->options, &host, &s->dirs, &s->plan, err);
}

/* Where words go that the command is not to get. */
static int command_at(const struct side *s, char **argv)
{
	int at = s->options.own_argc;

	return at > 1 && strcmp(argv[at - 1], "--") == 0 ? at - 1 : at;
}

static bool is_same_run(const struct side *a, const struct side *b)
{
	const struct pol_effect *x = &a->plan.engine->effect, *y = &b->plan.engine->effect;

	return x->network == y->network && x->unix_ == y->unix_ && x->env == y->env &&
	       x->lax == y->lax && a->options.allow == b->options.allow;
}

/* The arguments with `n` words put in at `at`. */
static char **argv_with(int argc, char **argv, int at, int n, char **words)
{
	char **out = calloc((size_t)(argc + n) + 1, sizeof *out);

	if (!out)
		exit(2);
	memcpy(out, argv, (size_t)at * sizeof *out);
	memcpy(out + at, words, (size_t)n * sizeof *out);
	memcpy(out + at + n, argv + at, (size_t)(argc - at) * sizeof *out);
	return out;
}

/* The verdict on the path (-1: there is no such question). */
static int verdict(const struct side *s, const char *op, const char *path, struct b_err *err)
{
	struct pol_answer answer;

	for (int i = 0; path[0] == '/' && i < SBX_OP_COUNT; i++)
		if (strcmp(op, sbx_op_name((enum sbx_op)i)) == 0)
			return pol_engine_check(s->plan.engine, (enum sbx_op)i, path, &answer,
						err) == 0 &&
			       answer.allowed;
	return -1;
}

static void show(const struct side *before, const struct side *after, int at, int allowed,
		 const struct pol_differences *found, struct b_str *text)
{
	struct b_json out = {.out = text};

	b_json_open(&out, '{');
	b_json_key(&out, "at");
	b_json_i64(&out, at);
	b_json_key(&out, "workspace");
	b_json_str(&out, before->dirs.nworkspaces ? before->dirs.workspaces[0] : "");
	b_json_key(&out, "settings");
	b_json_bool(&out, !is_same_run(before, after));
	b_json_key(&out, "allowed");
	b_json_i64(&out, allowed);
	b_json_key(&out, "differences");
	pol_differences_json(found, after->plan.engine, &out);
	b_json_close(&out, '}');
	b_str_addc(text, '\n');
}

int main(int argc, char **argv)
{
	static struct side before = {.dirs.scratch = {.base = -1, .lock = -1}},
			   after = {.dirs.scratch = {.base = -1, .lock = -1}};
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_differences found;
	struct b_err err;
	int at, n = argc > 5 ? atoi(argv[3]) : 0;
	char **words = argv + 4, **own = argv + 3 + n; /* whose first stands for the program */

	if (n < 1 || n > argc - 4)
		return 2;
	argc -= 3 + n;
	if (plan_of(argc, own, &before, &err) < 0)
		return b_report("widened", &err), 2;
	at = command_at(&before, own);
	if (plan_of(argc + n, argv_with(argc, own, at, n, words), &after, &err) < 0 ||
	    pol_differences_find(before.plan.engine, after.plan.engine, &found, &err) < 0)
		return b_report("widened", &err), 2;
	show(&before, &after, at - 1, verdict(&after, argv[1], argv[2], &err), &found, &text);
	return b_write_all(STDOUT_FILENO, text.s, text.len) == 0 ? 0 : 2;
}
