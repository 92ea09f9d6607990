/* SPDX-License-Identifier: Apache-2.0 */
/* ask_test.c - sbx-policy test: a policy against what is expected of it. */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/questions/connect.h"
#include "policy/questions/explain.h"
#include "policy/document/documents.h"
#include "policy/engine.h"
#include "policy/document/model.h"

/* The engine of the last profile asked for: tests of one profile usually stand together. */
struct bench {
	const struct ask_opts *o;
	struct asked asked;
	bool is_ready;
	const char *profile; /* NULL = the only one */
	size_t ran, failed;
	struct b_str *out;
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int use_profile(struct bench *b, const char *profile, struct b_err *err)
{
	struct ask_opts o = *b->o;

	if (b->is_ready && same(b->profile, profile))
		return 0;
	if (b->is_ready)
		asked_release(&b->asked);
	b->is_ready = true;
	b->profile = profile;
	o.run.policy.profile = profile;
	return ask_policy(&o, &b->asked, err);
}

/* A test goes with its file, however that is named: the end of the path suffices. */
static bool is_place(const char *origin, const char *rule)
{
	size_t n = strlen(origin), end;

	while (strncmp(rule, "./", 2) == 0)
		rule += 2;
	end = strlen(rule);
	return end <= n && strcmp(origin + n - end, rule) == 0 &&
	       (end == n || origin[n - end - 1] == '/');
}

static bool holds(const struct pol_test *t, const struct pol_answer *a)
{
	return (!t->has_allowed || t->allowed == a->allowed) &&
	       (!t->matched || strcmp(t->matched, a->matched) == 0) &&
	       (!t->rule || is_place(a->origin, t->rule));
}

static void add_expected(const struct pol_test *t, struct b_str *out)
{
	if (t->has_allowed)
		b_str_add(out, t->allowed ? "allowed" : "denied");
	if (t->matched) {
		b_str_add(out, t->has_allowed ? " by " : "by ");
		b_str_add_visible(out, t->matched, strlen(t->matched));
	}
	if (t->rule) {
		b_str_add(out, " at ");
		b_str_add_visible(out, t->rule, strlen(t->rule));
	}
}

static void add_found(const struct pol_answer *a, struct b_str *out)
{
	b_str_addf(out, "%s by ", a->allowed ? "allowed" : "denied");
	b_str_add_visible(out, a->matched, strlen(a->matched));
	b_str_add(out, " (");
	b_str_add_visible(out, a->origin, strlen(a->origin));
	b_str_addc(out, ')');
}

static void tell_tap(const struct bench *b, const struct pol_test *t, const struct pol_answer *a,
		     bool ok)
{
	b_str_addf(b->out, "%sok %zu - %s ", ok ? "" : "not ", b->ran, sbx_op_name(t->op));
	/* A `#` would begin a directive. */
	for (const char *p = t->path; *p; p++)
		if (*p == '#' || *p == '\\')
			b_str_addf(b->out, "\\%c", *p);
		else
			b_str_add_visible(b->out, p, 1);
	b_str_add(b->out, ": ");
	add_expected(t, b->out);
	b_str_addc(b->out, '\n');
	if (ok)
		return;
	b_str_add(b->out, "# ");
	b_str_add_visible(b->out, t->pos.file, strlen(t->pos.file));
	b_str_addf(b->out, ":%u:%u: ", t->pos.line, t->pos.col);
	add_found(a, b->out);
	b_str_addc(b->out, '\n');
}

static void tell_table(const struct bench *b, const struct pol_test *t, const struct pol_answer *a,
		       bool ok)
{
	b_str_addf(b->out, "%-5s  %-7s  ", ok ? "ok" : "FAIL", sbx_op_name(t->op));
	b_str_add_visible(b->out, t->path, strlen(t->path));
	b_str_add(b->out, "  ");
	add_found(a, b->out);
	if (!ok) {
		b_str_add(b->out, ", expected ");
		add_expected(t, b->out);
		b_str_addf(b->out, " (line %u)", t->pos.line);
	}
	b_str_addc(b->out, '\n');
}

static void tell_json(const struct bench *b, const struct pol_test *t, const struct pol_answer *a,
		      bool ok)
{
	struct b_json j = {.out = b->out};

	b_json_open(&j, '{');
	b_json_key(&j, "ok");
	b_json_bool(&j, ok);
	b_json_key(&j, "line");
	b_json_u64(&j, t->pos.line);
	b_json_key(&j, "op");
	b_json_str(&j, sbx_op_name(t->op));
	b_json_bytes(&j, "path", t->path, strlen(t->path));
	b_json_key(&j, "allowed");
	b_json_bool(&j, a->allowed);
	b_json_bytes(&j, "matched_rule", a->matched, strlen(a->matched));
	b_json_bytes(&j, "rule", a->origin, strlen(a->origin));
	b_json_close(&j, '}');
	b_str_addc(b->out, '\n');
}

static int check_endpoint(struct pol_engine *e, const struct pol_test *t, struct pol_answer *a,
			  struct b_err *err)
{
	struct sbx_exe exe;
	struct pol_who who = {&exe, 0};
	struct pol_connect_answer found;

	if (t->exe) {
		exe = pol_connect_exe(&e->rules.arena, t->exe);
		who.n = 1;
	}
	if (pol_connect_check(e, &e->rules.arena, t->path, &who, &found, err) < 0)
		return -1;
	*a = (struct pol_answer){.op = t->op,
				 .allowed = found.a.allowed,
				 .path = found.asked,
				 .matched = found.matched,
				 .origin = found.origin};
	return 0;
}

/* A relative path in a document is text, cleaned up as rules are. */
static int check(struct bench *b, const struct pol_test *t, struct pol_answer *a, struct b_err *err)
{
	struct pol_engine *e = b->asked.plan.engine;
	const char *path = t->path;

	if (t->op == SBX_CONNECT && !pol_is_socket_path(path))
		return check_endpoint(e, t, a, err);
	if (path[0] != '/') {
		path = pol_path_normalise(&e->rules.arena, path, err);
		if (!path)
			return -1;
	}
	return pol_engine_check(e, t->op, *path ? path : ".", a, err);
}

static int run_one(struct bench *b, const struct pol_test *t, struct b_err *err)
{
	struct pol_answer a;
	bool ok;

	if (use_profile(b, t->profile ? t->profile : b->o->run.policy.profile, err) < 0 ||
	    check(b, t, &a, err) < 0)
		return b_wrap(err, "%s:%u:%u", t->pos.file, t->pos.line, t->pos.col);
	ok = holds(t, &a);
	b->ran++;
	b->failed += !ok;
	(b->o->json ? tell_json : b->o->table ? tell_table : tell_tap)(b, t, &a, ok);
	return 0;
}

static int run_file(struct bench *b, const char *file, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_tests tests;
	int rc = 0;

	if (pol_policy_read(file, &text, err) < 0 ||
	    pol_tests_parse(file, b_str_c(&text), text.len, &tests, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < tests.n; i++)
		rc = run_one(b, &tests.v[i], err);
	/* The name of a profile lies in what is released now. */
	if (b->is_ready)
		asked_release(&b->asked);
	b->is_ready = false;
	pol_tests_release(&tests);
	return rc;
}

/* Tests of the documents, and of the files named behind `test`. */
static int run_all(struct bench *b, char const *const *words, size_t n, struct b_err *err)
{
	const struct b_strlist *texts = &b->o->run.policy.policies;
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	const char *name;

	if (texts->n > 0 &&
	    pol_documents_load(texts->v, texts->n, (enum pol_dialect)b->o->run.policy.dialect, &doc,
			       &name, err) < 0)
		return -1;
	/* Only Orbit's have tests inside. */
	for (size_t i = 0; i < doc.files.n && !pol_doc_is_foreign(&doc); i++)
		if (run_file(b, doc.files.v[i].s, err) < 0)
			return -1;
	for (size_t i = 0; i < n; i++)
		if (run_file(b, words[i], err) < 0)
			return -1;
	if (b->ran == 0)
		return b_fail(
			err, B_USAGE, 0,
			"test: no tests: add `tests` to the document, or name a file of tests");
	return 0;
}

int ask_test(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct bench b = {.o = o, .out = &out};
	struct b_err err;

	/* sbx-policy test FILE: of that document. */
	if (o->run.policy.policies.n == 0 && n == 1) {
		b_strlist_add(&o->run.policy.policies, words[0]);
		n = 0;
	}
	if (run_all(&b, words, n, &err) < 0) {
		(void)ask_print(&out, NO);
		return ask_trouble(&err);
	}
	if (!o->json && !o->table)
		b_str_addf(&out, "1..%zu\n", b.ran);
	else if (o->table)
		b_str_addf(&out, "%zu tests, %zu failed\n", b.ran, b.failed);
	return ask_print(&out, b.failed ? NO : YES);
}
