/*
 * compare.h - questions about all paths at once: is there one that these automata judge so? The
 * answer is a proof or a shortest example. Pure.
 *
 *	const struct pol_side sides[] = {{&old->image, SBX_READ}, {&new->image, SBX_READ}};
 *	struct b_str path = {0};
 *	rc = pol_find_path(sides, 2, POL_WHERE(0b01), &path, &err);	old allows, new denies
 *
 * Only canonical paths count: those that a call can be judged at.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/image.h"

struct b_err;
struct b_str;
struct pol_list;
struct pol_rule;

/* The verdicts of one operation of an image. */
struct pol_side {
	const struct sbx_image *image;
	enum sbx_op op;
};

#define POL_MAX_SIDES	 4
#define POL_MAX_PRODUCTS (1u << 21) /* states of all automata together; beyond: B_LIMIT */

/* Which verdicts are looked for: bit n stands for the verdicts n, whose bit i is side i's. */
#define POL_WHERE(verdicts) ((uint16_t)(1u << (verdicts)))

/* 1: *out_path is appended the shortest such path; 0: there is none; -1: B_LIMIT. */
int pol_find_path(const struct pol_side *, size_t n, uint16_t where, struct b_str *out_path,
		  struct b_err *err);

/* The same, of every state of the automata that has such paths the shortest one, shortest first,
 * until `each` gives other than 0; -1 when the limit was met before. */
typedef int pol_each_path(void *arg, const char *path, size_t len);
int pol_each_state(const struct pol_side *, size_t n, uint16_t where, pol_each_path *each,
		   void *arg, struct b_err *err);

/* Verdicts of a list of rules alone, as the operation SBX_READ of an image. */
struct pol_verdicts {
	struct sbx_image image;
	void *data;
};
int pol_verdicts_of(const struct pol_list *, struct pol_verdicts *out, struct b_err *err);
/* The paths that rule `i` of the list decides: it matches, and none behind it does. */
int pol_verdicts_decided(const struct pol_list *, size_t i, struct pol_verdicts *out,
			 struct b_err *err);
/* The paths that the rule matches. */
int pol_verdicts_matched(const struct pol_rule *, struct pol_verdicts *out, struct b_err *err);
void pol_verdicts_release(struct pol_verdicts *);
