/* convert_priv.h - the document as lists, which is all that the other languages know. Private to
 * convert*.c. */
#pragma once

#include "policy/model.h"
#include "policy/settings.h"

struct b_str;

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

/* convert_same.c: the document in its own language. A node as JSON. */
void cv_same(struct cv *);
void cv_put_tree(struct b_str *, const struct pol_ynode *);
void cv_openshell(struct cv *);
void cv_srt(struct cv *);
void cv_caliban(struct cv *);
