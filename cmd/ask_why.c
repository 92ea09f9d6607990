/* ask_why.c - sbx-policy why: what is allowed, by which rule, held by what. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/engine.h"
#include "policy/explain.h"

#define MAX_STDIN (64u << 20) /* bytes of paths */

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

/* A path that cannot be judged is trouble; the others are answered all the same. */
struct answers {
	struct b_str text;
	bool some_denied, trouble;
};

static void add_exception(void *ctx, const char *what, unsigned line, const char *text)
{
	b_str_addf(ctx, "  but       %s: line %u: %s\n", what, line, text);
}

static void add_json_exception(void *ctx, const char *what, unsigned line, const char *text)
{
	(void)line, (void)text;
	b_json_str(ctx, what);
}

/* What the profile for macOS says, and the line that decides. */
static void why_macos(const struct ask_opts *o, struct asked *a, const struct pol_answer *answer,
		      struct answers *to)
{
	struct b_str *out = &to->text;
	struct b_json j = {.out = out};
	const char *text;
	unsigned line;
	bool allowed = ask_macos_allows(a->macos, answer->op, answer->real, &line, &text);

	to->some_denied |= !allowed;
	if (!o->json) {
		b_str_addf(out, "%s %s ", allowed ? "allowed" : "denied", sbx_op_name(answer->op));
		b_str_add_visible(out, answer->path, strlen(answer->path));
		b_str_addf(out, "\n  on macos  line %u: %s\n", line, text);
		if (allowed && answer->op == SBX_MODIFY)
			ask_macos_exceptions(a->macos, answer->real, add_exception, out);
		return;
	}
	b_json_open(&j, '{');
	b_json_key(&j, "op");
	b_json_str(&j, sbx_op_name(answer->op));
	b_json_bytes(&j, "path", answer->path, strlen(answer->path));
	b_json_key(&j, "on");
	b_json_str(&j, "macos");
	b_json_key(&j, "allowed");
	b_json_bool(&j, allowed);
	b_json_key(&j, "line");
	b_json_u64(&j, line);
	b_json_key(&j, "clause");
	b_json_str(&j, text);
	b_json_key(&j, "but");
	b_json_open(&j, '[');
	if (allowed && answer->op == SBX_MODIFY)
		ask_macos_exceptions(a->macos, answer->real, add_json_exception, &j);
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void why_one(const struct ask_opts *o, struct asked *a, enum sbx_op op, const char *path,
		    struct answers *to)
{
	struct pol_answer answer;
	const char *floor;
	struct b_err err;

	if (pol_engine_check(a->plan.engine, op, path, &answer, &err) < 0) {
		(void)ask_trouble(&err);
		to->trouble = true;
		return;
	}
	if (o->on == ON_MACOS) {
		why_macos(o, a, &answer, to);
		return;
	}
	floor = pol_explain_floor(&a->plan.floor, op, answer.real, answer.allowed);
	if (o->json)
		pol_explain_json(&answer, floor, o->all ? a->plan.engine : NULL, &to->text);
	else
		pol_explain_text(&answer, floor, &to->text);
	if (o->all && !o->json)
		pol_explain_matches(&answer, a->plan.engine, &to->text);
	to->some_denied |= !answer.allowed;
}

/* Paths from standard input: each ended by a NUL, the last may lack it. */
static int why_stdin(const struct ask_opts *o, struct asked *a, enum sbx_op op, struct answers *to,
		     struct b_err *err)
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
		why_one(o, a, op, p, to);
	return 0;
}

static int why_all(const struct ask_opts *o, enum sbx_op op, char const *const *paths, size_t n)
{
	b_auto(asked_release) struct asked a;
	struct answers to = {0};
	struct b_err err;
	int status;

	if (ask_run(o, &a, &err) < 0)
		return ask_trouble(&err);
	if (o->on == ON_MACOS && ask_macos_new(o, &a, &a.macos, &err) < 0)
		return ask_trouble(&err);
	ask_notices(a.plan.engine);
	for (size_t i = 0; i < n; i++)
		why_one(o, &a, op, paths[i], &to);
	if (o->from_stdin && why_stdin(o, &a, op, &to, &err) < 0) {
		(void)ask_trouble(&err);
		to.trouble = true;
	}
	status = ask_print(&to.text, to.trouble ? TROUBLE : to.some_denied ? NO : YES);
	b_str_release(&to.text);
	return status;
}

int ask_why(struct ask_opts *o, char const *const *words, size_t n)
{
	enum sbx_op op = SBX_OP_COUNT;
	struct b_err err;

	if (n == 0 || (n == 1 && !o->from_stdin)) {
		b_fail(&err, B_USAGE, 0, "why: expected sbx-policy why [options] OP PATH...");
		return ask_trouble(&err);
	}
	if (find_op(words[0], &op, &err) < 0)
		return ask_trouble(&err);
	return why_all(o, op, words + 1, n - 1);
}
