/*
 * environment.h - the command's environment: of ours what the policy leaves, with a few names set.
 * Pure.
 *
 *	struct lau_environment env = {0};
 *	lau_environment_judge(&env, POL_ENV_SCRUB, names, n);
 *	lau_environment_users(&env, "NAME=VALUE", &err);		(--setenv)
 *	lau_environment_offer(&env, "TMPDIR", scratch);
 *	lau_environment_preload(&env, shim, lau_environment_get(&env, environ, "LD_PRELOAD"));
 *	char **envp = lau_environment_build(&env, environ);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "policy/document/settings.h"

struct b_err;
struct b_str;

/* A name that passes whatever the mode says; with `*` for any part of it unless it is literal. */
struct lau_env_name {
	const char *name;
	bool is_literal;
};

struct lau_environment {
	struct b_arena arena;
	struct lau_env_var {
		const char *name, *value;
		bool is_users; /* by --setenv */
	} * vars;
	size_t n, cap;
	/* All must let a variable of ours pass: one speaks for the user, each layer for itself. */
	struct lau_env_judge {
		enum pol_env mode;
		const struct lau_env_name *names; /* borrowed */
		size_t nnames;
	} * judges;
	size_t njudges, judges_cap;
	struct lau_env_judge denied; /* these do not pass, whatever the mode; --setenv gives them */
};
void lau_environment_release(struct lau_environment *);

void lau_environment_judge(struct lau_environment *, enum pol_env mode,
			   const struct lau_env_name *names, size_t n);
/* Names that nobody lets pass; borrowed. */
void lau_environment_deny(struct lau_environment *, const struct lau_env_name *names, size_t n);
/* Copies both. A name set twice has its last value. */
void lau_environment_set(struct lau_environment *, const char *name, const char *value);
/* The same, unless the user has set it. */
void lau_environment_offer(struct lau_environment *, const char *name, const char *value);
/* "NAME=VALUE" of the user's. B_USAGE. */
int lau_environment_users(struct lau_environment *, const char *entry, struct b_err *err);
/* LD_PRELOAD: the shim first, so that it sees calls before they reach anybody, then what was
 * there, in its order; another copy of the shim (a run inside a run) is left out. */
void lau_environment_preload(struct lau_environment *, const char *shim, const char *old);
/* What the command will have of that name, NULL = nothing. */
const char *lau_environment_get(const struct lau_environment *, char *const *base,
				const char *name);
/* `base` less what a judge takes away, with the changes; the array is malloc'ed, its strings belong
 * to base and the arena. */
char **lau_environment_build(struct lau_environment *, char *const *base);
/* Names in `base` that the command will not have; an array that ends in NULL, both in the arena. */
const char **lau_environment_removed(struct lau_environment *, char *const *base, size_t *out_n);
/* The strictest of the judges. */
enum pol_env lau_environment_mode(const struct lau_environment *);
/* Names and values, one a line, for --dry-run. */
void lau_environment_show(const struct lau_environment *, struct b_str *out);
