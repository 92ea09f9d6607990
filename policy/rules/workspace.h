/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - what the host says about places: canonical paths, homes, the workspace when
 * the user names none, a linked worktree's git data. Reads only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

struct pol_names;

/* Absolute path with every symlink resolved and "." and ".." taken as the kernel does, as far as
 * it exists; what does not exist is kept as spelled. Links of /proc itself (self, thread-self,
 * and those below a process) are not followed: they mean something else to the command. Arena. */
const char *pol_canonical(struct b_arena *, const char *path);
/* The same, but B_USAGE for a path that the kernel cannot follow either (more than 40 links, or
 * longer than PATH_MAX), where the others keep it as spelled. */
const char *pol_canonical_strict(struct b_arena *, const char *path, struct b_err *err);
/* The same of an absolute path, with each symlink on the way shown before it is followed, by its
 * canonical name. NULL: `each` answered false, or the kernel cannot follow either. Arena. */
typedef bool pol_link_fn(void *arg, const char *link, size_t len);
const char *pol_canonical_links(struct b_arena *, const char *path, pol_link_fn *each, void *arg);
/* The same of `path` below a directory that is known to be canonical: walks the rest only, with
 * `names` (NULL = none) to remember what is in the directories that it passes; those below "/" are
 * not listed. */
const char *pol_canonical_below(struct b_arena *, const char *dir, const char *path,
				struct pol_names *names);
/* Is it certain that nothing can be found there? */
bool pol_is_missing_below(struct b_arena *, const char *dir, const char *path,
			  struct pol_names *names);

/* Home of the invoking user: HOME if absolute, else passwd. NULL when there is none. Canonical,
 * like all that follows. Arena. */
const char *pol_home(struct b_arena *);
/* The same with links as they are. */
const char *pol_home_spelled(struct b_arena *);
/* $XDG_CONFIG_HOME/sbx-launch, else ~/.config/sbx-launch, which need not exist; NULL: no home.
 * Arena. */
const char *pol_config_dir(struct b_arena *);
/* The invoking user's, by HOME and by passwd: 0 to 2 of them, "/" left out. Arena. */
const char **pol_own_homes(struct b_arena *, size_t *out_n);
/* Every home the sensitive sets protect: the user's by HOME and by passwd and, when root, those
 * of passwd's people and of system accounts that own their home and have hidden entries or a snap
 * there. "/" and system directories are not homes. No duplicates. Arena. */
const char **pol_homes(struct b_arena *, size_t *out_n);

/* Whether a directory has a hidden entry or a snap's, or the caller may not list it. */
bool pol_home_may_hold_secrets(const char *home);

/* Absolute, links as they are: what the user names relative to the current directory, or with `~`.
 * NULL: no home directory. Arena. */
const char *pol_given_path(struct b_arena *, const char *text);
/* Canonical path of an existing directory given by the user (relative to cwd, `~` allowed), led by
 * no planted link. */
int pol_workspace_given(struct b_arena *, const char *text, const char **out, struct b_err *err);
/* Refuses `text`, taken as by pol_given_path(), when it passes through a symlink that lies in the
 * current directory or in a project, and leads out of it: an earlier run could have planted that
 * (docs/adr/003). Links in homes, and above them, are the user's. `what` is the option. 0, or -1
 * with `kind` and the remedy. */
int pol_refuse_led(const char *what, const char *text, enum b_kind kind, struct b_err *err);
/* Git toplevel of cwd, else cwd; refused when it is "/", the home or above it, or owned by
 * another user (root may use any, but a `.git` must belong to the directory's owner). B_WORKSPACE
 * names the remedy. */
int pol_workspace_default(struct b_arena *, const char **out, struct b_err *err);
/* The directories above the default workspace that may have been one: a run there could have made
 * this directory the workspace of the next run. Denials of the documents there still apply
 * (layers.h). Homes and directories above them are not among them. Returns how many; nearest first.
 */
#define POL_ABOVE_MAX 8
size_t pol_workspace_above(struct b_arena *, const char *ws, const char *out[POL_ABOVE_MAX]);
/* Canonical path of a file or directory given by the user (relative to cwd, `~` allowed). B_USAGE
 * when there is none. */
int pol_file_given(struct b_arena *, const char *text, const char **out, struct b_err *err);
/* Is every symlink on the way to `path` in a directory that only root can change? */
bool pol_links_are_roots(struct b_arena *, const char *path);
bool pol_only_root_changes(const char *dir);
/*
 * Does a link in this directory belong to the host, and not to a run that had some of it open? One
 * in a home does, where the owner puts ~/.cache elsewhere, but none below it; outside of homes
 * those that root alone can change. `dir` and homes are canonical; the caller knows the workspaces.
 */
bool pol_link_is_hosts(const char *dir, const char *const *homes, size_t nhomes);
/* Where a path leads that the environment names: through links of the host alone, or into a
 * workspace. NULL: *out_link may be an earlier run's. Arena. */
const char *pol_hosts_place(struct b_arena *, const char *spelled, const char *const *workspaces,
			    size_t n, const char **out_link);
/* The repository that holds `dir`, all canonical, NULL where there is none or where it is not
 * ours: toplevel, its git directory, the one it shares with other worktrees. A gitfile counts only
 * with its back-pointer, as below. */
struct pol_git {
	const char *toplevel, *dir, *common;
};
void pol_git_find(struct b_arena *, const char *dir, struct pol_git *out);
/* A linked worktree's own git directory and the common directory, when `ws` is one and gitfile
 * and back-pointer agree; *out_n is 0 or 2. Anything else is not a linked worktree. */
void pol_worktree_dirs(struct b_arena *, const char *ws, const char *out[2], size_t *out_n);
/* The git directory of `ws` if that is not ws/.git: the one that a gitfile there names, else `ws`
 * itself if it is a bare repository; NULL: neither. Canonical. The call does not check whether it
 * is valid. */
const char *pol_git_inside(struct b_arena *, const char *ws);
/* Is it the origin of a rule that closes a repository which git enters by itself, because that is
 * there at the start? An earlier run may have made it. */
bool pol_git_is_entered(const char *origin);

/*
 * Names in directories that many rules ask about, looked up once. A preset asks for eighty names
 * in every home: two listings, of a home and of its .config, cost less than eighty look-ups. For
 * other directories (/etc) each answer is stored.
 *
 *	struct pol_names names = {0};
 *	const struct pol_names_at at = {.dir = "/home/u", .len = 7, .may_list = true};
 *	switch (pol_names_look(&names, &ruleset->arena, &at, ".ssh", 4)) {
 *	case POL_NAME_UNKNOWN:
 *		... lookup ...
 *		pol_names_tell(&names, &ruleset->arena, &at, ".ssh", 4, POL_NAME_PLAIN);
 *
 * It is a picture of one moment, as a walk by single lookups is one of several.
 */

enum pol_name {
	POL_NAME_UNKNOWN, /* look yourself: asked too seldom, not listable, or too many names */
	POL_NAME_MISSING,
	POL_NAME_PLAIN, /* no symlink */
	POL_NAME_LINK
};

/* Zeroed: nothing is known. All that is kept is in the arena, always the same. */
struct pol_names {
	struct pol_names_dir *dirs;
};

/* A directory, "" = the root. `may_list`: many names will be asked of it. */
struct pol_names_at {
	const char *dir;
	size_t len;
	bool may_list;
};

enum pol_name pol_names_look(struct pol_names *, struct b_arena *, const struct pol_names_at *,
			     const char *name, size_t len);
/* Stores the answer of a look-up. */
void pol_names_tell(struct pol_names *, struct b_arena *, const struct pol_names_at *,
		    const char *name, size_t len, enum pol_name);
