/* SPDX-License-Identifier: Apache-2.0 */
/* fsview.h - the file system as planners see it: so that plans are pure and golden-tested. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pol_fsview {
	void *ctx;
	/* Calls each(arg, name, type) per entry, type 'd' directory, 'f' other, 'l' symlink; a
	 * non-zero result ends it. 0, or -1 when the directory is missing or unreadable. */
	int (*list)(void *ctx, const char *dir, int (*each)(void *arg, const char *name, char type),
		    void *arg);
	/* 'd', 'f', 'l' or 0 when it does not exist. */
	char (*type)(void *ctx, const char *path);
	/* Where the symlink leads, as it is written: length, or -1. NULL = nobody asks. */
	int (*link)(void *ctx, const char *path, char *out, size_t size);
	/*
	 * Is it out of our reach whatever the policy says, and will it be? NULL = never. True of an
	 * object of root's that we may neither read nor enter or execute, and of one that is not
	 * there, where only root can make, move and replace, all the way up. The command gains no
	 * rights (no_new_privs). What remains is an administrator who opens it to everybody while
	 * a run lasts: that run may read it then.
	 */
	bool (*is_closed)(void *ctx, const char *path);
	/* May a directory that leads to the path fold names? NULL = none does. */
	bool (*folds)(void *ctx, const char *path);
};
/* The real one, for whoever we are now: nothing is closed to root. */
const struct pol_fsview *pol_fsview_host(void);
/* As the run of these rules has it: the host's, but for a /tmp of its own. Borrows the rules. */
struct pol_ruleset;
struct pol_fsview pol_fsview_of(struct pol_ruleset *);
#define POL_OWN_TMP "/tmp"
bool pol_is_in_tmp(const char *path);

/*
 * Does this host tell names apart by their bytes? Asks, and never tries: nothing is
 * made or changed to find out.
 */

/*
 * SBX_FOLDS_* of the directories that a canonical path leads through, what does not exist left out.
 * Where a directory cannot be asked: all. With `deep` also of those that may lie below: a file
 * system whose directories differ counts as one that folds. Opens files, allocates nothing.
 */
unsigned pol_path_folds(const char *path, size_t len, bool deep);

/* May some mounted file system fold names, or some directory of one? True where nothing says. Takes
 * one pass over the mounts. */
bool pol_host_may_fold(void);

/* Each mount that may fold names, but those whose directories would have to be asked one by one.
 * `at` is its mount point. -1: the mounts cannot be read. */
int pol_each_folding_mount(void (*each)(void *ctx, const char *at, const char *type), void *ctx);

/* The name of the directory's file system where nothing can tell whether it folds names ("fuse",
 * "9p"); NULL: it is known. */
const char *pol_dir_unknown(const char *dir);
