/* explain.h - answers for people and programs: which rule, and which mechanism holds it. Pure. */
#pragma once

#include <stdbool.h>

#include "core/image.h"

struct b_str;
struct pol_answer;
struct pol_doc;
struct pol_effective;
struct pol_engine;
struct pol_floor;

/*
 * What carries a verdict on this floor, as a static string; `path` canonical absolute:
 *
 *  landlock				the kernel alone
 *  landlock-carved			it, by an entry of a carved directory or what was left out there
 *  landlock, but names can be listed	denied, and Landlock's right to list reaches it
 *  seccomp				socket paths, without a broker
 *  broker				performed or refused by it
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
