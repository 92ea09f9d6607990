/*
 * vars.h - what the rules of `spec.sandbox` may begin with: `/`, `~`, or a variable that names a
 * directory of this host, such as `${XDG_CACHE_HOME}/npm`.
 *
 * A variable stands at the beginning only, so that what it holds is never read as a pattern.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_arena;
struct b_err;
struct pol_build;
struct pol_text;

/* Could the text be such a rule? B_POLICY with its place: no absolute beginning, an unknown
 * variable, `..`, an empty text. */
int pol_root_check(const struct pol_text *, const char *key, struct b_err *err);

/* How many of the text's bytes are its beginning. */
size_t pol_root_head(const char *text);
/* Does it name another directory in each workspace (${WORKSPACE}, ${GIT_DIR} ...)? */
bool pol_root_is_local(const char *text);
/* The canonical directory that it begins with, for workspace w; NULL: this host or workspace has
 * none. Arena of the ruleset. */
const char *pol_root_dir(struct pol_build *, const char *text, size_t w);
/* The canonical directory that a variable of the environment names, or its place below the home
 * when the environment says nothing of it; NULL: neither, or no such variable. */
const char *pol_var_dir(struct b_arena *, const char *name);
