/*
 * environment.h - the command's environment: ours, with a few names set. Pure.
 *
 *	struct lau_environment env = {0};
 *	lau_environment_set(&env, "TMPDIR", scratch);
 *	lau_environment_preload(&env, shim, getenv("LD_PRELOAD"));
 *	char **envp = lau_environment_build(&env, environ);
 */
#pragma once

#include <stddef.h>

#include "base/mem.h"

struct b_str;

struct lau_environment {
	struct b_arena arena;
	struct lau_env_var {
		const char *name, *value;
	} * vars;
	size_t n, cap;
};
void lau_environment_release(struct lau_environment *);

/* Copies both. A name set twice has its last value. */
void lau_environment_set(struct lau_environment *, const char *name, const char *value);
/* LD_PRELOAD: the shim first, so that it sees calls before they reach anybody, then what was
 * there, in its order; another copy of the shim (a run inside a run) is left out. */
void lau_environment_preload(struct lau_environment *, const char *shim, const char *old);
/* `base` with the changes; the array is malloc'ed, its strings belong to base and the arena. */
char **lau_environment_build(struct lau_environment *, char *const *base);
/* Names and values, one a line, for --dry-run. */
void lau_environment_show(const struct lau_environment *, struct b_str *out);
