/*
 * convert.h - a document in another language (model.h: POL_DIALECTS). Pure.
 *
 *	struct b_str out = {0}, named = {0};
 *	pol_convert(&doc, NULL, POL_DIALECT_srt, &out, &named, &err);
 *	if (named.len) ... each line is a rule that srt cannot say
 *
 * What is written means the same, but for the rules that are named.
 */
#pragma once

#include "base/str.h"
#include "policy/model.h"

struct b_err;

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
