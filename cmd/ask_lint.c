/* ask_lint.c - sbx-policy lint: what in a valid document is probably not meant. */
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/documents.h"
#include "policy/engine.h"
#include "policy/lint.h"
#include "policy/model.h"

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
	b_auto(pol_lint_release) struct pol_lint lint = {0};
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
