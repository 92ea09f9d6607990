/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - documents written: in another language, and in their usual shape. */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"

struct b_err;
struct b_str;

/*
 * A document in another language (model.h: POL_DIALECTS). Pure.
 *
 *	struct b_str out = {0}, named = {0};
 *	pol_convert(&doc, NULL, POL_DIALECT_srt, &out, &named, &err);
 *	if (named.len) ... each line is a rule that srt cannot say
 *
 * What is written means the same, but for the rules that are named.
 */

/* What documents of other systems say that no verdict shows, for diff: whom the command runs as,
 * rules on the network, variables, what must be there, what is a loss. */
#define POL_SAID_MAX 16
struct pol_other {
	const char *name;
	struct b_str value; /* "none" where it says nothing; positions are left out */
};
/* Always the same names in the same order; *out_n of them. */
void pol_others(const struct pol_doc *, struct pol_other out[POL_SAID_MAX], size_t *out_n);
void pol_others_release(struct pol_other *, size_t n);

/* One profile of the document: `profile`, NULL = its only one. Appends the text, and a line
 * "file:line:col: `rule`: why" for each rule that is left out. B_PROFILE. */
int pol_convert(struct pol_doc *, const char *profile, enum pol_dialect to, struct b_str *out,
		struct b_str *named, struct b_err *err);

/* The document as lists, which is all that the other languages know. Private to
 * convert*.c. */

/* What is allowed, what is denied behind that, what of that may be read all the same. */
#define CV_LISTS(X) X(READ) X(MODIFY) X(NO_READ) X(REOPEN) X(NO_MODIFY) X(ANY_CASE)
enum cv_list {
#define X(name) CV_##name,
	CV_LISTS(X)
#undef X
		CV_COUNT
};

struct cv {
	struct pol_doc *doc;
	enum pol_dialect to;
	/* Texts as of `spec.sandbox`: it and all below it, wildcards unless literal. */
	struct pol_texts list[CV_COUNT];
	bool reads_workspace, modifies_workspace; /* all of it; then no entry says so */
	size_t nwritten;			  /* entries, where there may be only so many */
	struct b_str *out, *named;
};

void cv_name(struct cv *, const struct pol_text *, const char *why);
/* The same of what is no rule. */
void cv_name_key(struct cv *, const struct pol_pos *, const char *what, const char *why);
/* Appends the text in double quotes, as JSON, YAML and TOML all read it. */
void cv_quote(struct b_str *, const char *text);
/* The value of a setting, or `dflt`. */
int cv_setting(const struct cv *, enum pol_setting, int dflt);
bool cv_has(const struct pol_texts *, const char *text);
/* Has it wildcards? */
bool cv_is_wild(const struct pol_text *);

/* convert_connect.c: a list of `connect` or, with `allow` false, of denials, as our own language
 * has it; and as what a language cannot say. */
void cv_put_connects(struct cv *, const char *indent, const char *key, const struct pol_connects *,
		     bool allow);
void cv_name_connects(struct cv *, const struct pol_connects *, const char *why);
/* convert_same.c: the document in its own language. A node as JSON. */
void cv_same(struct cv *);
void cv_put_tree(struct b_str *, const struct pol_ynode *);
void cv_openshell(struct cv *);
void cv_srt(struct cv *);
void cv_caliban(struct cv *);

/*
 * A document in its usual shape: two columns a level, one blank line at most, lists of
 * up to a line kept as they are, comments kept where they stand. Order, spelling and quotes of
 * what is written stay; so does what it means, which is checked. Pure.
 */

#define POL_FORMAT_WIDTH 100 /* columns of a list on one line */

/* Appends to *out. Formatting what was formatted changes nothing. B_POLICY with file:line:col: what
 * pol_yaml_parse() refuses, and what cannot be kept (directives, a block scalar with a number for
 * its indentation, comments in odd places). */
int pol_format(const char *name, const char *text, size_t len, struct b_str *out,
	       struct b_err *err);
