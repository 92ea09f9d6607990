/* SPDX-License-Identifier: Apache-2.0 */
/* obeyed_priv.h - what obeyed.c, projects.c and variables.c share. Private to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/front/tree.h"
#include "policy/document/request.h"

struct pol_build;
struct pol_rule;

enum { ENTRIES_MAX = 10000 }; /* looked at in a directory that a rule opens */

/* A row `reached`, at one place. */
struct reached {
	const char *path;    /* absolute; `*` is any part of a name */
	bool below;	     /* and everything beneath */
	const char *matched; /* as a person writes it */
	const char *by;
	struct pol_pos pos;
	const char *variable; /* of the environment, that names it; else NULL */
};

struct reached_list {
	struct reached *v;
	size_t n;
};

enum { NAMED = 12 /* of those who obey, in a notice */, KINDS_MAX = 96 };

struct found {
	struct pol_opened_kind kinds[KINDS_MAX]; /* by who obeys, in the order of the rows */
	size_t nkinds, n;
};

enum meeting { APART, AROUND, WITHIN }; /* the grant begins above the row, or in it */

/* The rows of a section of the preset `protected`. */
const struct pol_ynode *pol_obeyed_rows(const char *section);
/* Does the row speak of this system? */
bool pol_obeyed_is_here(const struct pol_build *, const struct pol_ynode *row);
/* Adds `text` below `dir` to the list, in the build's arena; the rest is the row's. */
void pol_obeyed_at(struct pol_build *, struct reached_list *, const char *dir, const char *text,
		   const struct reached *row);
enum meeting pol_obeyed_meet(const struct reached *row, const char *base);
bool pol_obeyed_is_there(struct pol_build *, const char *dir, const char *name);
/* gitrepository-layout(5): a repository, or the own directory of a worktree */
bool pol_obeyed_is_git(struct pol_build *, const char *dir);
/* Counts `path` as found, when the grant is what decides there. */
void pol_obeyed_take(struct pol_build *, size_t grant, const char *path, const char *matched,
		     const char *by, const char *origin, struct found *);
/* projects.c: what the grant opens of other projects than the workspaces. */
void pol_obeyed_projects(struct pol_build *, size_t grant, struct found *);

/* variables.c: the row `text` below the directories that variables put in the place of one below
 * the home; is the rule near such a directory?; what variables name themselves, outside of the
 * workspaces. */
void pol_obeyed_moved(struct pol_build *, struct reached_list *, const char *text,
		      const struct reached *row);
struct reached_list pol_obeyed_named(struct pol_build *);

/* obeyed_links.c: the rows at the places where symlinks take their names in homes, and the links on
 * the way. Found once. */
const struct reached_list *pol_obeyed_leads(struct pol_build *);

/* A directory, or what may lead to one. */
struct dirent;
bool pol_obeyed_is_entry(const struct dirent *);
