/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_repos.h - which repositories a git that is started somewhere may find, and the submodules
 * that it enters from there: as git looks for them (gitrepository-layout(5)), rather too often.
 * A command can plant all of this: `.git` as a directory, a file or a link, a bare repository,
 * `commondir`, the index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_arena;

#define LAU_REPOS_MAX 128

struct lau_repo {
	const char *top;	  /* its work tree */
	const char *dir, *common; /* where its own files and its configuration are */
	bool is_unread;		  /* a file that leads there cannot be read: where is not known */
};

/* From the directory up to the root. LAU_REPOS_MAX: perhaps there are more. */
size_t lau_repos_find(struct b_arena *, const char *from, struct lau_repo out[LAU_REPOS_MAX]);
/* The one whose `.git` lies in the directory. */
bool lau_repo_at(struct b_arena *, const char *top, struct lau_repo *out);
/* What its index calls a submodule, relative to its work tree. False: the index cannot be read
 * whole, or is larger than what is left to read. *out is the arena's. */
bool lau_repo_submodules(struct b_arena *, const struct lau_repo *, size_t *left,
			 const char *const **out, size_t *out_n);
