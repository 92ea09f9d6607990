/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past.h - what the images of one run have in common when its rules on endpoints change while it
 * lasts: a number of a rule means the same in all of them, so that an event of an earlier image is
 * named right by a later one; and so does the bit of a program, which the broker has noted.
 *
 *	struct pol_past past = {0};
 *	if (pol_past_begin(&past, &first->net, &err) < 0) ...	as pol_compile() numbers them
 *	if (pol_past_add(&past, &other->net, &at, &err) < 0) ...
 *	opts.past = &past;
 *	opts.past_at = at;
 *	pol_compile(other, &opts, ...);
 *	pol_past_release(&past);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"

struct b_err;
struct pol_endpoints;
struct pol_program;

#define POL_PAST_MAX 65536u /* rules on endpoints and requests, of all images of a run */

struct pol_past_rule {
	const char *matched, *origin;
	bool allow;
};

struct pol_past {
	struct b_arena arena;
	struct pol_past_rule *v; /* rules on endpoints, then those on their requests; of each set */
	size_t n, cap;
	struct pol_past_set {
		uint32_t at, n;
	} * sets;
	size_t nsets, sets_cap;
	const struct pol_program *program[SBX_PROGRAMS_MAX]; /* those of the first image */
	size_t nprograms;
};

/* The rules of the run's first image, borrowed. B_LIMIT: too many programs. */
int pol_past_begin(struct pol_past *, const struct pol_endpoints *, struct b_err *err);
/* Rules that are to hold from now on, copied: *out_at is the number of the first, the same again
 * where they held before. B_POLICY: a program that the first image does not name, with the rule's
 * place in front. B_LIMIT. */
int pol_past_add(struct pol_past *, const struct pol_endpoints *, uint32_t *out_at,
		 struct b_err *err);
/* The bit of a program; -1: the first image does not name it. By its text: the file is the one that
 * it was at the start. */
int pol_past_program(const struct pol_past *, const struct pol_program *);
void pol_past_release(struct pol_past *);
