/*
 * gitconfig.h - git's files of configuration (git-config(1), Syntax), read as text: git itself
 * would have to be run for it, in a repository that nobody vouches for.
 */
#pragma once

struct b_arena;

/* One setting with a value, of `[section "..."]`, section and key as they are written. The texts
 * live until it returns, `file` as long as the arena. */
typedef void pol_gitconfig_take(void *ctx, const char *file, const char *section, const char *key,
				const char *value);

/* All of the file, and of those it includes, whatever the condition; a file that is not there is
 * empty. What cannot be read, is too much or too deep, or has another form, is left out from there
 * on: then a file of which something is, in the arena or `file` itself. NULL: nothing is. */
const char *pol_gitconfig_read(struct b_arena *, const char *file, pol_gitconfig_take *, void *ctx);
/* A path in a value: "~/" is the home, what is relative lies in `dir`. In the arena. */
const char *pol_gitconfig_path(struct b_arena *, const char *dir, const char *value);
/* The same with the links that are on it. In the arena, or `value`. */
const char *pol_gitconfig_spelled(struct b_arena *, const char *dir, const char *value);
/* The directory that the file is in. In the arena. */
const char *pol_gitconfig_dir(struct b_arena *, const char *file);
