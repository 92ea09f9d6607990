/*
 * absolute.h - rules on absolute paths, from options and from `spec.sandbox`. Internal to policy/.
 */
#pragma once

#include <stdbool.h>

#include "policy/build.h"

struct pol_absolute {
	enum sbx_op op;
	bool allow;
	bool is_exact;	  /* that path alone, whatever characters it has */
	bool is_literal;  /* the path and all below it, whatever characters it has */
	bool folds;	  /* below `dir`, letters of ASCII match in either case */
	bool only_closed; /* only where a set closes the very path: it is open already */
	enum pol_tier tier;
	const char *what;   /* in notices: "--read /x" */
	const char *origin; /* "cli:--read:1", "p.yaml:3:5" */
	const char *lead;   /* how a person writes `dir` before `path`: "/", "~/", "" */
	const char *dir;    /* canonical */
	const char *path;   /* below it, from pol_components(); "" = dir itself */
	enum pol_twin twin;
};

/* Drops empty and "." components; NULL when one is "..". Arena. */
const char *pol_components(struct b_arena *, const char *text);
/* A text without wildcards is a tree. Allowing to modify allows to read, too. Tells what it
 * re-opens of a set. */
void pol_build_absolute(struct pol_build *, const struct pol_absolute *);
/* roots.c: openRead and openModify, which are a part of the profile: a set closes what lies below
 * them, as below a workspace, and pol_build_roots() opens only those again that name what a set
 * closes. */
void pol_build_allows(struct pol_build *, const struct pol_settings *);
/* roots.c: the side roots of presets, which come before the rest. */
void pol_build_preset_roots(struct pol_build *, const struct pol_settings *);
/* roots.c: the rules of a document's `spec.sandbox`: readRoots and sideRoots, then the denies
 * and what they leave open, then sockets. */
/* roots.c: denyModifyAnyCase of them, those of one level, where pol_build_spared() makes a layer of
 * it. */
void pol_build_any_case(struct pol_build *, const struct pol_settings *, size_t level);
/* spared.c: how many directories of any name a rule begins with. */
size_t pol_build_level(const struct pol_text *);
int pol_build_roots(struct pol_build *, const struct pol_settings *, struct b_err *err);
