/*
 * difference.h - what a second policy allows or denies that a first one does not. Decided on the
 * automata: no difference found is a proof that there is none. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/decide.h"

struct b_err;
struct b_json;
struct b_str;
struct pol_engine;

/*
 * Of each pair of rules that decide a path differently, the shortest path found. Each rule that
 * stands in one of the lists only, or elsewhere in it, has at least one when it decides any
 * (among the first POL_MAX_EXAMINED such rules).
 */
struct pol_difference {
	enum sbx_op op;
	bool is_allowed; /* by the second */
	const char *path;
	struct sbx_verdict before, after;
};

#define POL_MAX_EXAMINED    1000
#define POL_MAX_DIFFERENCES 10000

struct pol_differences {
	struct b_arena arena;
	struct pol_difference *v;
	size_t n, cap;
};

/* -1: B_LIMIT. The engines must outlive *out. */
int pol_differences_find(const struct pol_engine *before, const struct pol_engine *after,
			 struct pol_differences *out, struct b_err *err);
void pol_differences_release(struct pol_differences *);

/* A line each: "+ modify  ./a  by rule `b` (origin), before by ..." */
void pol_differences_text(const struct pol_differences *, const struct pol_engine *after,
			  struct b_str *out);
/* An array of {op, path, change, before: {matched_rule, rule}, after: {...}}. */
void pol_differences_json(const struct pol_differences *, const struct pol_engine *after,
			  struct b_json *out);
