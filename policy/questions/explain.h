/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - answers for people and programs: which rule decides, what a change allows, what
 * tests expect. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/decide.h"
#include "core/image.h"
#include "policy/document/model.h"

struct b_err;
struct b_json;
struct b_str;
struct pol_answer;
struct pol_doc;
struct pol_effective;
struct pol_engine;
struct pol_floor;

/* Answers for people and programs: which rule, and which mechanism holds it. Pure. */

/*
 * The mechanism that enforces a verdict on this floor, as a static string; `path` is canonical
 * and absolute:
 *
 *  landlock				the kernel alone
 *  landlock-carved			the same, by an entry of a carved directory, or without one
 *  landlock, but names can be listed	denied, and Landlock's right to list reaches it
 *  seccomp				socket paths, without a broker
 *  broker				the broker performs or refuses it
 *  broker, for witnessed programs	made after the start in a carved directory: static programs
 *					are refused by the kernel
 *  file permissions			denied, and closed to this user by the owner: left to that
 *  kernel refuses: needs the broker	allowed by the policy, and no right could be granted
 *  shim only: needs the broker		a grant is wider than the rules (--best-effort)
 */
const char *pol_explain_floor(const struct pol_floor *, enum sbx_op, const char *path,
			      bool allowed);

/* {op, path, allowed, matched_rule, rule, overrode, floor} on one line; `floor` may be NULL. With
 * an engine also `matches`: [{matched_rule, rule, allow, tier, decides}], in order. */
void pol_explain_json(const struct pol_answer *, const char *floor, const struct pol_engine *,
		      struct b_str *out);
/* "allowed  read  /x  by `rule` (origin), against `rule` (origin); landlock" on one line. */
void pol_explain_text(const struct pol_answer *, const char *floor, struct b_str *out);

/* A line for each rule that matches, the one that decides marked by `>`. */
void pol_explain_matches(const struct pol_answer *, const struct pol_engine *, struct b_str *out);

/* The effective profile: its rules and the global denies, as `sbx-policy show --effective`. */
void pol_explain_effective(const struct pol_effective *, struct b_str *out);

/*
 * Expected answers of a policy: the list `tests` of a document, or a file with such a list. This
 * reads them; `sbx-policy test` asks the engine.
 *
 *	tests:
 *	  - {op: read, path: src/x.c, allowed: true}
 *	  - {op: modify, path: a.env, allowed: false, matched_rule: "*.env", profile: writer}
 *	  - {op: connect, path: "db.example.org:5432", exe: /usr/bin/psql, allowed: true}
 */

#define POL_MAX_TESTS 20000

struct pol_test {
	struct pol_pos pos;
	enum sbx_op op;
	const char *path;
	bool has_allowed, allowed;
	const char *matched; /* matched_rule, NULL = any */
	const char *rule;    /* where it stands, NULL = anywhere */
	const char *profile; /* NULL = the one of the question */
	const char *exe; /* of an endpoint: the program that asks; NULL = one that no rule names */
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

/*
 * The differences between two policies. The automata decide: if none is found, there is none. Pure.
 */

/*
 * The shortest path found for each pair of rules that decide a path differently. Each rule that is
 * in only one of the lists, or at another place in it, has at least one if it decides any path
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
