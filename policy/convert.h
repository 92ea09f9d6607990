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

#include "policy/model.h"

struct b_err;
struct b_str;

/* One profile of the document: `profile`, NULL = its only one. Appends the text, and a line
 * "file:line:col: `rule`: why" for each rule that is left out. B_PROFILE. */
int pol_convert(struct pol_doc *, const char *profile, enum pol_dialect to, struct b_str *out,
		struct b_str *named, struct b_err *err);
