/* shimpath.h - where the shim lies, and what else this program is made of. */
#pragma once

#include <stddef.h>

struct b_arena;
struct b_err;

/* Beside this program (a build tree), else where `make install` puts it. malloc'ed. B_SHIM when
 * there is none, or its path cannot stand in LD_PRELOAD. */
int lau_shim_find(char **out, struct b_err *err);

/* When the program that runs lies in one of the workspaces: the canonical paths, in the arena, of
 * our programs there, the shim last. How many. Elsewhere only --modify could open them. */
#define LAU_OWN_MAX 4
size_t lau_own_files(struct b_arena *, const char *const *workspaces, size_t nworkspaces,
		     const char *out[LAU_OWN_MAX]);
