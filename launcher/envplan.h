/*
 * envplan.h - which variables the command gets: of options and documents to struct
 * lau_environment. Pure.
 */
#pragma once

struct b_err;
struct lau_environment;
struct lau_options;
struct lau_plan;
struct pol_layers;

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
