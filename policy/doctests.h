/*
 * doctests.h - what a policy is expected to say: the list `tests` of a document, or a file that is
 * such a list. Read only; `sbx-policy test` asks the engine.
 *
 *	tests:
 *	  - {op: read, path: src/x.c, allowed: true}
 *	  - {op: modify, path: a.env, allowed: false, matched_rule: "*.env", profile: writer}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/image.h"
#include "policy/model.h"

struct b_err;

#define POL_MAX_TESTS 20000

struct pol_test {
	struct pol_pos pos;
	enum sbx_op op;
	const char *path;
	bool has_allowed, allowed;
	const char *matched; /* matched_rule, NULL = any */
	const char *rule;    /* where it stands, NULL = anywhere */
	const char *profile; /* NULL = the one of the question */
};

struct pol_tests {
	struct b_arena arena;
	struct pol_test *v;
	size_t n;
};

/* `name` is how messages call the text. A mapping without the key `tests` has none. B_POLICY with
 * file:line:col. */
int pol_tests_parse(const char *name, const char *text, size_t len, struct pol_tests *out,
		    struct b_err *err);
void pol_tests_release(struct pol_tests *);
