/* workspace.h - which directory is the workspace when nobody says (DESIGN §7), homes, git data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct b_err;

/* Home of the invoking user: HOME if absolute, else passwd. NULL when there is none. Arena. */
const char *pol_home(struct b_arena *);
/* Every home the sensitive sets protect: the user's and, when root, all of passwd's. */
const char **pol_homes(struct b_arena *, size_t *out_n);

/* Canonical path of an existing directory given by the user (relative to cwd, `~` allowed). */
int pol_workspace_given(struct b_arena *, const char *text, const char **out, struct b_err *err);
/* Git toplevel of cwd, else cwd; refused when it is "/", the home or above it, or owned by
 * another user (root may use any). B_WORKSPACE names the remedy. */
int pol_workspace_default(struct b_arena *, const char **out, struct b_err *err);
/* A linked worktree's own git directory and the common directory, when `ws` is one and gitfile
 * and back-pointer agree; *out_n 0..2. */
int pol_worktree_dirs(struct b_arena *, const char *ws, const char *out[2], size_t *out_n,
		      struct b_err *err);
