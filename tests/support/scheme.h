/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheme.h - Debian's tinyscheme as an independent judge of a profile's syntax: macOS runs
 * profiles in a fork of it.
 *
 *	struct scheme s = {0};
 *	if (!scheme_installed()) cr_skip_test("tinyscheme is not installed");
 *	scheme_add(&s, &prof); ...
 *	cr_expect_eq(scheme_run(&s), 0);
 *	scheme_release(&s);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct sbpl_profile;

struct scheme {
	struct b_str text;
	size_t *rules; /* of each profile */
	size_t n, cap;
};

bool scheme_installed(void);
void scheme_add(struct scheme *, const struct sbpl_profile *);
/* Runs all that was added; the number of profiles that were not read whole, or not with as many
 * rules as they have. Says on stderr what was wrong. */
size_t scheme_run(struct scheme *);
void scheme_release(struct scheme *);
