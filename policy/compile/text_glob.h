/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_glob.h - patterns on texts, as OpenShell writes them, made into what core/text_glob.h walks:
 * `*` and `?` within a component, `**` as a whole one for any number, `[ab]`, `[!a-z]`, `{a,b}`,
 * `\x`. Two stars behind `/repos/` do not match `/repos`; beside other characters they are one.
 *
 *	struct pol_globs g = {0};
 *
 *	if (pol_globs_add(&g, "/repos/{a,b}/v?", POL_GLOB_PATH, &err) < 0) ...
 *	pol_globs_match(&g, 0, g.n, text, len)
 *	pol_globs_release(&g);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text_glob.h"

struct b_err;

#define POL_GLOB_ALTERNATIVES 256 /* that the braces of one pattern make */

/* Which texts: what parts their components, and how they are spelt. */
enum pol_glob_text {
	POL_GLOB_PATH,	/* of a request, as core/target.h reads it: '/'; the pattern's characters
			   are escaped alike */
	POL_GLOB_PLAIN, /* '/' */
	POL_GLOB_DOTS,	/* '.': hosts and queries of OpenShell */
	POL_GLOB_TEXT,	/* one component: a star is any text */
};

/* One pattern without braces, in the arrays below. */
struct pol_glob {
	uint32_t first_op, nops;
	uint32_t first_range, nranges;
	uint32_t separator;
};

struct pol_globs {
	struct pol_glob *v;
	size_t n, cap;
	uint32_t *op;
	size_t nops, ops_cap;
	struct sbx_glob_range *range;
	size_t nranges, ranges_cap;
};

/* The error in the pattern ("has unclosed '['"); NULL = none. */
const char *pol_glob_check(const char *pattern);
/* Appends what the braces of the pattern make, one or more. B_POLICY. */
int pol_globs_add(struct pol_globs *, const char *pattern, enum pol_glob_text, struct b_err *err);
/* Borrowed until the next is added. */
struct sbx_glob pol_globs_get(const struct pol_globs *, size_t i);
/* Does one of n patterns match? */
bool pol_globs_match(const struct pol_globs *, size_t first, size_t n, const char *text,
		     size_t len);
void pol_globs_release(struct pol_globs *);
