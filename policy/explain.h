/* explain.h - answers for people and programs: which rule, and which mechanism holds it. Pure. */
#pragma once

#include <stdbool.h>

#include "core/op.h"

struct b_str;
struct pol_answer;
struct pol_doc;
struct pol_effective;
struct pol_floor;

/* What carries a verdict on this floor: "landlock", "landlock-carved" (an entry of a carved
 * directory, or what was left out there), "seccomp" (socket paths), "kernel refuses: needs the
 * broker" (the rules allow more than could be granted), "shim only: needs the broker" (a grant is
 * wider than the rules). Static string. `path` canonical absolute. */
const char *pol_explain_floor(const struct pol_floor *, enum sbx_op, const char *path,
			      bool allowed);

/* {op, path, allowed, matched_rule, rule, overrode, floor} on one line; `floor` may be NULL. */
void pol_explain_json(const struct pol_answer *, const char *floor, struct b_str *out);
/* "allowed  read  /x  by `rule` (origin), against `rule` (origin); landlock" on one line. */
void pol_explain_text(const struct pol_answer *, const char *floor, struct b_str *out);

/* The effective profile: its rules and the global denies, as `sbx-policy show --effective`. */
void pol_explain_effective(const struct pol_effective *, struct b_str *out);
