/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - variables of the command: names, values, plans; and secrets taken out of
 * what is shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/document/settings.h"

struct b_arena;
struct b_err;
struct b_str;
struct lau_environment;
struct lau_options;
struct lau_plan;
struct pol_layers;

/*
 * The command's environment: of ours what the policy leaves, with a few names set.
 * Pure.
 *
 *	struct lau_environment env = {0};
 *	lau_environment_judge(&env, POL_ENV_SCRUB, names, n);
 *	lau_environment_users(&env, "NAME=VALUE", &err);		(--setenv)
 *	lau_environment_offer(&env, "TMPDIR", scratch);
 *	lau_environment_preload(&env, shim, lau_environment_get(&env, environ, "LD_PRELOAD"));
 *	char **envp = lau_environment_build(&env, environ);
 */

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

/*
 * Which variables of an environment say what: by their names alone. Pure.
 */

/* What a name is judged for: the columns of the table in envnames.c. */
enum lau_secret_use {
	LAU_SECRET_SHOWN,   /* the value is taken out of what is shown and recorded */
	LAU_SECRET_SCRUB,   /* --env scrub, and scrub_secrets of a policy: the command lacks it */
	LAU_SECRET_CALIBAN, /* what caliban itself takes away by scrub_secrets */
	LAU_SECRET_ORBIT,   /* what Orbit itself takes away from what it starts */
};
bool lau_name_is_secret(const char *name, enum lau_secret_use);
/* Makes programs load or run something, or obey another configuration: the loader (LD_*, DYLD_*),
 * interpreters (NODE_OPTIONS, PYTHONSTARTUP, BASH_ENV ...), git, but for who commits and how it
 * asks. */
bool lau_env_is_hook(const char *name);
/* What a program may expect of any caller: PATH, HOME, who, the language, the terminal. */
bool lau_env_is_usual(const char *name);
/* PATH, HOME, LANG. */
bool lau_env_is_least(const char *name);
/* The whole name, in which each `*` of the pattern stands for any part, empty ones as well. */
bool lau_env_matches(const char *pattern, const char *name);

/*
 * Which variables the command gets: of options and documents to struct
 * lau_environment. Pure.
 */

/* Before anything else is set in *env: --env, --passenv and --setenv with what the user's documents
 * say, and as a judge of its own each layer that says something. `base`: the caller's. B_USAGE. */
int lau_envplan(const struct lau_options *, const struct pol_layers *, char *const *base,
		struct lau_environment *env, struct b_err *err);
/* Into the plan, for those who are told of it: the mode, and the names that the command lacks.
 * Names only. */
void lau_envplan_note(struct lau_environment *, char *const *base, struct lau_plan *);

/* Calls of options; the target is struct lau_options: --passenv and --setenv. B_USAGE. */
int lau_envplan_add_pass(void *target, const char *value, struct b_err *err);
int lau_envplan_add_set(void *target, const char *value, struct b_err *err);

/*
 * What must not be shown: which variables hold secrets, and their values taken out of
 * text that passes by in pieces. Pure.
 *
 *	struct lau_secrets secrets = {0};
 *	lau_secrets_from(&secrets, environ);
 *	struct lau_redact r = {.secrets = &secrets};
 *	while ((n = read(fd, buf, sizeof buf)) > 0)
 *		lau_redact_feed(&r, buf, n, &shown);
 *	lau_redact_end(&r, &shown);
 *
 * A value that is cut in two by the end of a piece is found all the same: what could be the
 * beginning of one is kept back until more has come, so at most the longest value's length. Where
 * values overlap, all of their bytes go.
 */

#define LAU_REDACTED	   "[REDACTED]"	    /* in place of the value of such a name */
#define LAU_REDACTED_VALUE "[REDACTED_ENV]" /* in place of such a value in a text */
#define LAU_SECRET_MIN	   4 /* shorter values are no secrets, and would be found everywhere */

struct lau_secrets {
	struct lau_secret {
		const char *s; /* borrowed */
		size_t len;
	} * v; /* the longest first */
	size_t n, cap;
	bool first[256]; /* bytes that one of them begins with */
};
void lau_secrets_release(struct lau_secrets *);
/* Must the value of "NAME=value" not be shown? */
bool lau_entry_is_secret(const char *entry);
/* The values of variables ("NAME=value") whose names say so; they are borrowed. */
void lau_secrets_from(struct lau_secrets *, char *const *envp);

struct lau_redact {
	const struct lau_secrets *secrets; /* none in it, or NULL: everything passes */
	struct b_str kept;		   /* may be the beginning of a value */
	size_t covered;			   /* bytes of it that belong to a value already told */
};
void lau_redact_release(struct lau_redact *);
/* Appends to *out what can be shown by now. */
void lau_redact_feed(struct lau_redact *, const void *p, size_t n, struct b_str *out);
/* Nothing more comes: the rest. */
void lau_redact_end(struct lau_redact *, struct b_str *out);

/* The message without values of these variables: it may repeat words of the user's. */
void lau_redact_error(struct b_err *, char *const *envp);

/*
 * What is shown of a run's words and texts: without the values of variables whose names
 * say that they are secret (environment.h), of the caller's and of --setenv. Pure.
 */

/* Borrowed from both. `but_paths`: not values that are absolute paths, for lines whose point is a
 * path (XAUTHORITY, SSH_AUTH_SOCK). */
void lau_hide_collect(const struct lau_options *, char *const *vars, bool but_paths,
		      struct lau_secrets *out);
void lau_hide_text(const struct lau_secrets *, const char *text, struct b_str *out);
/* A copy in the arena, NULL at the end. */
char **lau_hide_words(const struct lau_secrets *, char *const *words, struct b_arena *);
/* The entry of `vars` whose value is at `s`, by the longest secret that begins there, and that a
 * shell can name; NULL = none. *out_len: of the value, *out_name_len: of the name. */
const char *lau_hide_named(const struct lau_secrets *, char *const *vars, const char *s,
			   size_t *out_name_len, size_t *out_len);
/* Can a shell name a variable so? */
bool lau_hide_is_shell_name(const char *s, size_t n);
