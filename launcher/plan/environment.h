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
 * The command's environment: the launcher's variables that the policy lets pass, with a few names
 * set. Pure.
 *
 *	struct lau_environment env = {0};
 *	lau_environment_judge(&env, POL_ENV_SCRUB, names, n);
 *	lau_environment_users(&env, "NAME=VALUE", &err);		(--setenv)
 *	lau_environment_offer(&env, "TMPDIR", scratch);
 *	lau_environment_preload(&env, shim, lau_environment_get(&env, environ, "LD_PRELOAD"));
 *	char **envp = lau_environment_build(&env, environ);
 */

/* A name that passes whatever the mode is; `*` matches any part unless the name is literal. */
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
	/* Every judge must let a variable pass: one for the user, one for each layer. */
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
/* Names that never pass; borrowed. */
void lau_environment_deny(struct lau_environment *, const struct lau_env_name *names, size_t n);
/* Copies both. A name set twice has its last value. */
void lau_environment_set(struct lau_environment *, const char *name, const char *value);
/* The same, unless the user has set it. */
void lau_environment_offer(struct lau_environment *, const char *name, const char *value);
/* Sets the user's "NAME=VALUE" (--setenv). 0, or -1 with B_USAGE. */
int lau_environment_users(struct lau_environment *, const char *entry, struct b_err *err);
/* Sets LD_PRELOAD: the shim first, so that it sees each call before other libraries, then the old
 * value in its order. Leaves out another copy of the shim (a run inside a run). */
void lau_environment_preload(struct lau_environment *, const char *shim, const char *old);
/* The value that the command will get for this name, NULL = none. Borrowed. */
const char *lau_environment_get(const struct lau_environment *, char *const *base,
				const char *name);
/* `base` without the variables that a judge removes, and with the changes. The caller frees the
 * array; its strings belong to `base` and the arena. */
char **lau_environment_build(struct lau_environment *, char *const *base);
/* Names in `base` that the command will not get: an array that ends in NULL. The arena owns both.
 */
const char **lau_environment_removed(struct lau_environment *, char *const *base, size_t *out_n);
/* The strictest of the judges. */
enum pol_env lau_environment_mode(const struct lau_environment *);
/* Names and values, one a line, for --dry-run. */
void lau_environment_show(const struct lau_environment *, struct b_str *out);

/*
 * The kinds of variables, by their names alone. Pure.
 */

/* The purposes for which a name is judged: the columns of the table in envnames.c. */
enum lau_secret_use {
	LAU_SECRET_SHOWN, /* output and record do not show the value */
	LAU_SECRET_SCRUB, /* --env scrub, and scrub_secrets of a policy: the command does not get it
			   */
	LAU_SECRET_CALIBAN, /* caliban itself removes it by scrub_secrets */
	LAU_SECRET_ORBIT,   /* Orbit itself removes it from the programs that it starts */
};
bool lau_name_is_secret(const char *name, enum lau_secret_use);
/* True if the variable makes programs load or run a file, or obey another configuration: the loader
 * (LD_*, DYLD_*), interpreters (NODE_OPTIONS, PYTHONSTARTUP, BASH_ENV ...), and git's, except
 * author, committer and prompts. */
bool lau_env_is_hook(const char *name);
/* True if every program may expect it: PATH, HOME, the user's name, the language, the terminal. */
bool lau_env_is_usual(const char *name);
/* PATH, HOME, LANG. */
bool lau_env_is_least(const char *name);
/* True if the pattern matches the whole name; each `*` matches any part, also an empty one. */
bool lau_env_matches(const char *pattern, const char *name);

/*
 * The variables that the command gets: from options and documents to struct lau_environment. Pure.
 */

/* Call it before anything else is set in *env. Applies --env, --passenv and --setenv with the
 * settings of the user's documents, and adds a judge for each layer with a setting. `base`: the
 * caller's environment. 0, or -1 with B_USAGE. */
int lau_envplan(const struct lau_options *, const struct pol_layers *, char *const *base,
		struct lau_environment *env, struct b_err *err);
/* Puts into the plan, for record and output, the mode and the names that the command does not get.
 * Names only, no values. */
void lau_envplan_note(struct lau_environment *, char *const *base, struct lau_plan *);

/* Calls of options; the target is struct lau_options: --passenv and --setenv. B_USAGE. */
int lau_envplan_add_pass(void *target, const char *value, struct b_err *err);
int lau_envplan_add_set(void *target, const char *value, struct b_err *err);

/*
 * Redaction: finds the variables with secrets, and removes their values from text that comes in
 * pieces. Pure.
 *
 *	struct lau_secrets secrets = {0};
 *	lau_secrets_from(&secrets, environ);
 *	struct lau_redact r = {.secrets = &secrets};
 *	while ((n = read(fd, buf, sizeof buf)) > 0)
 *		lau_redact_feed(&r, buf, n, &shown);
 *	lau_redact_end(&r, &shown);
 *
 * A value that spans two pieces is found as well: bytes that could be the beginning of one are
 * held back until more has come, at most the longest value's length. Where values overlap, all of
 * their bytes are removed.
 */

#define LAU_REDACTED	   "[REDACTED]"	    /* in place of the value of such a name */
#define LAU_REDACTED_VALUE "[REDACTED_ENV]" /* in place of such a value in a text */
#define LAU_SECRET_MIN	   4 /* a shorter value would match everywhere, and is not a secret */

struct lau_secrets {
	struct lau_secret {
		const char *s; /* borrowed */
		size_t len;
	} * v; /* the longest first */
	size_t n, cap;
	bool first[256]; /* bytes that one of them begins with */
};
void lau_secrets_release(struct lau_secrets *);
/* Whether the value of "NAME=value" must not be shown. */
bool lau_entry_is_secret(const char *entry);
/* Collects the values of variables ("NAME=value") with secret names. They are borrowed. */
void lau_secrets_from(struct lau_secrets *, char *const *envp);

struct lau_redact {
	const struct lau_secrets *secrets; /* none in it, or NULL: everything passes */
	struct b_str kept;		   /* may be the beginning of a value */
	size_t covered;			   /* bytes of it that belong to a value already replaced */
};
void lau_redact_release(struct lau_redact *);
/* Appends to *out the bytes that can be shown by now. */
void lau_redact_feed(struct lau_redact *, const void *p, size_t n, struct b_str *out);
/* The text is complete: appends the rest. */
void lau_redact_end(struct lau_redact *, struct b_str *out);

/* Removes the values of these variables from the message, which may repeat the user's words. */
void lau_redact_error(struct b_err *, char *const *envp);

/*
 * A run's words and texts as they are shown: without the values of variables with secret names, the
 * caller's and those of --setenv. Pure.
 */

/* Collects the values, borrowed from both. `but_paths`: except absolute paths, for lines that are
 * about a path (XAUTHORITY, SSH_AUTH_SOCK). */
void lau_hide_collect(const struct lau_options *, char *const *vars, bool but_paths,
		      struct lau_secrets *out);
void lau_hide_text(const struct lau_secrets *, const char *text, struct b_str *out);
/* A word of a command line, behind the word `before` (or ""): also without what looks like a secret
 * (secret_shapes.h). */
void lau_hide_word(const struct lau_secrets *, const char *before, const char *word,
		   struct b_str *out);
/* A copy in the arena, NULL at the end; each as a word of a command line. */
char **lau_hide_words(const struct lau_secrets *, char *const *words, struct b_arena *);
/* The entry of `vars` whose value is at `s`, by the longest secret that begins there, and that a
 * shell can name; NULL = none. *out_len: of the value, *out_name_len: of the name. */
const char *lau_hide_named(const struct lau_secrets *, char *const *vars, const char *s,
			   size_t *out_name_len, size_t *out_len);
/* Can a shell name a variable so? */
bool lau_hide_is_shell_name(const char *s, size_t n);
