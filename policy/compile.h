/*
 * compile.h - ruleset -> image. Pure: values to bytes.
 *
 * Fails (B_LIMIT, naming the rule's origin) when the automata would pass the limits below.
 * Equal rulesets give equal bytes.
 */
#pragma once

#include <stddef.h>

#include "core/image.h"

struct b_err;
struct pol_ruleset;

#define POL_MAX_STATES (1u << 18) /* of one automaton, before minimisation */

struct pol_alias {
	const char *from, *to;
};

struct pol_compile_opts {
	const struct pol_alias *aliases;
	size_t naliases;
	bool deny_on_error;
	bool folds; /* with folded denials, for file systems that fold names */
};

/* *out_data is malloc'ed, *out_size bytes; `opts` may be NULL. */
int pol_compile(const struct pol_ruleset *, const struct pol_compile_opts *opts, void **out_data,
		size_t *out_size, struct b_err *err);
