/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_pointer.h - files in which git notes a path: `.git` (prefix "gitdir: "), `commondir` and
 * `gitdir` (prefix ""). Read as git reads them: newlines and carriage returns at the end go, those
 * inside are of the path.
 */
#pragma once

struct b_arena;

enum pol_pointer {
	POL_POINTER_NONE, /* no such file */
	POL_POINTER_READ,
	POL_POINTER_UNREADABLE, /* not a regular file, too large, no path, a NUL in it */
};
/* *out, only with POL_POINTER_READ, is as it is written: perhaps relative. */
enum pol_pointer pol_git_pointer(struct b_arena *, const char *file, const char *prefix,
				 const char **out);
