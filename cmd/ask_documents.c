/* SPDX-License-Identifier: Apache-2.0 */
/* ask_documents.c - sbx-policy lint, fmt, schema, convert, compile and approve: what is asked
 * of a document alone. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "launcher/options/approve.h"
#include "policy/bundle.h"
#include "policy/questions/convert.h"
#include "policy/document/documents.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"
#include "policy/questions/lint.h"
#include "policy/document/model.h"
#include "policy/schema.h"

/* Sbx-policy lint: what in a valid document is probably not meant. */

static int lint_profiles(struct ask_opts *o, struct pol_doc *doc, struct pol_lint *lint,
			 struct b_err *err)
{
	const char *asked = o->run.policy.profile;

	for (size_t i = 0; i < (asked ? 1 : doc->nprofiles); i++) {
		b_auto(asked_release) struct asked a;
		struct ask_opts one = *o;

		one.run.policy.profile = asked ? asked : doc->profiles[i].name.s;
		if (ask_run(&one, &a, err) < 0 ||
		    pol_lint_host(lint, doc, a.plan.engine, &a.plan.floor, err) < 0)
			return -1;
	}
	return 0;
}

/* The findings of one document. */
static int lint_file(struct ask_opts *o, const char *file, struct b_str *out, size_t *found,
		     struct b_err *err)
{
	struct pol_doc doc = {0};
	const char *name;
	b_auto(pol_lint_release) struct pol_lint lint = {.is_public_suffix = ask_is_public_suffix};
	int rc;

	o->run.policy.policies.n = 0;
	b_strlist_add(&o->run.policy.policies, file);
	if (pol_documents_load(&file, 1, (enum pol_dialect)o->run.policy.dialect, &doc, &name,
			       err) < 0)
		return -1;
	ask_notes(&doc);
	rc = pol_lint_document(&lint, &doc, err);
	if (rc == 0)
		rc = lint_profiles(o, &doc, &lint, err);
	pol_doc_release(&doc);
	if (rc < 0)
		return -1;
	*found += lint.n;
	(o->json ? pol_lint_json : pol_lint_text)(&lint, out);
	if (lint.unexamined > 0 && !o->json)
		b_str_addf(out, "%s: %zu rules were not examined: too many for proofs\n", file,
			   lint.unexamined);
	if (lint.is_cut && !o->json)
		b_str_addf(
			out,
			"%s: too many denied files: not all of them were checked for hard links\n",
			file);
	return 0;
}

int ask_lint(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_strlist_release) struct b_strlist files = {0};
	struct b_err err;
	size_t found = 0;

	for (size_t i = 0; i < o->run.policy.policies.n; i++)
		b_strlist_add(&files, o->run.policy.policies.v[i]);
	for (size_t i = 0; i < n; i++)
		b_strlist_add(&files, words[i]);
	if (files.n == 0) {
		b_fail(&err, B_USAGE, 0, "lint: no file, expected sbx-policy lint FILE...");
		return ask_trouble(&err);
	}
	for (size_t i = 0; i < files.n; i++)
		if (lint_file(o, files.v[i], &out, &found, &err) < 0) {
			(void)ask_print(&out, NO);
			return ask_trouble(&err);
		}
	return ask_print(&out, found ? NO : YES);
}

/* Sbx-policy fmt: documents in their usual shape; schema: what they may contain. */

static int read_stdin(struct b_str *out, struct b_err *err)
{
	ssize_t n = b_read_full(STDIN_FILENO, b_str_room(out, POL_MAX_FILE + 1), POL_MAX_FILE + 1);

	if (n < 0)
		return b_fail(err, B_SYSTEM, errno, "standard input: %s", strerror(errno));
	if (n > (ssize_t)POL_MAX_FILE)
		return b_fail(err, B_LIMIT, 0, "standard input: larger than %u bytes",
			      POL_MAX_FILE);
	b_str_advance(out, (size_t)n);
	return 0;
}

/* In place of the file, with its mode. */
static int replace(const char *file, const struct b_str *text, struct b_err *err)
{
	struct stat st;
	unsigned mode;

	if (stat(file, &st) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", file, strerror(errno));
	mode = st.st_mode & 07777;
	return b_replace_file(file, &mode, b_str_c(text), text->len, err);
}

static int format_file(const struct ask_opts *o, const char *file, bool *all_same,
		       struct b_str *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str before = {0}, after = {0};
	bool is_stdin = strcmp(file, "-") == 0, is_same;
	enum pol_dialect dialect;

	if ((is_stdin ? read_stdin(&before, err) : b_read_file(file, POL_MAX_FILE, &before, err)) <
	    0)
		return -1;
	dialect = pol_front_guess(b_str_c(&before), before.len);
	if (dialect != POL_DIALECT_auto)
		return b_fail(err, B_USAGE, 0, "%s: a document of %s, expected YAML",
			      is_stdin ? "standard input" : file, pol_dialect_name(dialect));
	if (pol_format(is_stdin ? "standard input" : file, b_str_c(&before), before.len, &after,
		       err) < 0)
		return -1;
	is_same = before.len == after.len && memcmp(before.s, after.s, after.len) == 0;
	if (o->check_only && !is_same) {
		*all_same = false;
		b_str_add_visible(out, file, strlen(file));
		b_str_add(out, ": not formatted\n");
	}
	if (o->check_only)
		return 0;
	if (o->write && !is_stdin)
		return is_same ? 0 : replace(file, &after, err);
	b_str_addn(out, b_str_c(&after), after.len);
	return 0;
}

int ask_fmt(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	bool all_same = true;
	struct b_err err;

	if (n == 0 || (n > 1 && !o->write && !o->check_only)) {
		b_fail(&err, B_USAGE, 0,
		       "fmt: expected sbx-policy fmt FILE, or -w or --check and files");
		return ask_trouble(&err);
	}
	for (size_t i = 0; i < n; i++)
		if (format_file(o, words[i], &all_same, &out, &err) < 0) {
			(void)ask_print(&out, NO);
			return ask_trouble(&err);
		}
	return ask_print(&out, all_same ? YES : NO);
}

int ask_schema(struct ask_opts *o, char const *const *words, size_t n)
{
	const char *name = n > 0 ? words[0] : "policy";
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	(void)o;
	for (size_t i = 0; n <= 1 && i < pol_nschemas; i++) {
		if (strcmp(pol_schemas[i].name, name) == 0) {
			b_str_add(&out, pol_schemas[i].text);
			return ask_print(&out, YES);
		}
	}
	b_fail(&err, B_USAGE, 0,
	       "schema: expected sbx-policy schema [policy | exec-result | fs-call-event | run]");
	return ask_trouble(&err);
}

/* Sbx-policy convert: a document in another language. */

static int convert(const struct ask_opts *o, const char *file, struct b_str *out,
		   struct b_str *named, struct b_err *err)
{
	const struct lau_policy_opts *p = &o->run.policy;
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	const char *name;

	if (pol_documents_load(&file, 1, (enum pol_dialect)p->dialect, &doc, &name, err) < 0)
		return -1;
	return pol_convert(&doc, p->profile, (enum pol_dialect)o->to, out, named, err);
}

int ask_convert(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0}, named = {0};
	struct b_err err;
	size_t len;

	if (n != 1 || o->to == POL_DIALECT_auto || o->run.policy.policies.n > 0) {
		b_fail(&err, B_USAGE, 0,
		       "convert: expected sbx-policy convert --to orbit|openshell|srt|caliban "
		       "FILE");
		return ask_trouble(&err);
	}
	if (convert(o, words[0], &out, &named, &err) < 0)
		return ask_trouble(&err);
	for (const char *line = b_str_c(&named); *line; line += len + 1) {
		b_auto(b_str_release) struct b_str text = {0};

		len = strcspn(line, "\n");
		b_str_addf(&text, "sbx-policy: %s cannot express: ",
			   pol_dialect_name((enum pol_dialect)o->to));
		b_str_add_visible(&text, line, len);
		b_str_addc(&text, '\n');
		(void)b_write_all(STDERR_FILENO, text.s, text.len);
	}
	return ask_print(&out, named.len ? NO : YES);
}

/* Sbx-policy compile: a policy in one file, for sbx-launch --image. */

static int compile(struct ask_opts *o, struct b_err *err)
{
	b_auto(b_str_release) struct b_str file = {0};
	b_auto(asked_release) struct asked a = ASKED_NONE;
	struct pol_request rq;

	if (o->run.policy.presets.n)
		return b_fail(
			err, B_USAGE, 0,
			"compile: an image does not store --preset: name it in sandbox.presets");
	/* It is a document in use of the runs to come: the rules compiled are theirs. */
	o->run.policy.also_used = o->output;
	if (ask_policy(o, &a, err) < 0)
		return -1;
	ask_notices(a.plan.engine);
	lau_policy_request(&o->run.policy, &rq);
	if (pol_refuse_led("--output", o->output, B_USAGE, err) < 0)
		return -1;
	if (pol_bundle_write(&rq, a.plan.engine, &file, err) < 0)
		return -1;
	return b_replace_file(o->output, NULL, b_str_c(&file), file.len, err);
}

int ask_compile(struct ask_opts *o, char const *const *words, size_t n)
{
	struct b_err err;

	for (size_t i = 0; i < n; i++)
		b_strlist_add(&o->run.policy.policies, words[i]);
	if (!o->output || o->run.policy.image) {
		b_fail(&err, B_USAGE, 0,
		       "compile: expected sbx-policy compile -o IMAGE [options] [NAME | FILE...]");
		return ask_trouble(&err);
	}
	return compile(o, &err) < 0 ? ask_trouble(&err) : YES;
}

/* Sbx-policy approve: may a harness run this command without asking? */

/* What the policy promises and this host lacks: strict refuses to run, and a lax policy runs
 * without. Inside a run the outer one holds whatever the inner one lacks. */
static const char *lacking(const struct lau_plan *p)
{
	for (size_t i = 0; i < p->nlosses; i++)
		if (p->losses[i].fatal && p->losses[i].text != lau_inside_text)
			return p->losses[i].text;
	return NULL;
}

/* The option, where the document is of a language that has no such flag; caliban's says it itself.
 */
static bool auto_allows(const struct ask_opts *o, const struct asked *a)
{
	const struct pol_foreign *f = &a->dirs.layers.main.foreign;

	return f->dialect == POL_DIALECT_caliban ? f->auto_allows : o->auto_allow;
}

/* What runs sandboxed is known once the floor is planned. */
static int ask_leave(struct ask_opts *o, struct asked *a, struct lau_leave *leave,
		     struct b_err *err)
{
	if (ask_policy(o, a, err) < 0)
		return -1;
	leave->sandboxed = auto_allows(o, a);
	if (!leave->sandboxed)
		return 0;
	asked_release(a);
	if (ask_run(o, a, err) < 0)
		return -1;
	leave->bare = lacking(&a->plan);
	return 0;
}

int ask_approve(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(asked_release) struct asked a = ASKED_NONE;
	b_auto(b_str_release) struct b_str why = {0}, out = {0};
	struct lau_leave leave = {.listed = o->listed.v, .nlisted = o->listed.n};
	enum lau_approval answer;
	struct b_err err;

	if (n == 0) {
		b_fail(&err, B_USAGE, 0,
		       "approve: expected sbx-policy approve [options] -- COMMAND...");
		return ask_trouble(&err);
	}
	if (ask_leave(o, &a, &leave, &err) < 0)
		return ask_trouble(&err);
	b_auto_free const char **argv = b_calloc(n + 1, sizeof *argv);
	for (size_t i = 0; i < n; i++)
		argv[i] = words[i];
	answer = lau_approve(a.plan.engine, o->run.mode, &leave, argv, &why);
	if (o->json)
		lau_approval_json(answer, b_str_c(&why), argv, &out);
	else
		b_str_addf(&out, "%s: %s\n", lau_approval_name(answer), b_str_c(&why));
	return ask_print(&out, answer == LAU_ALLOW ? YES : NO);
}
