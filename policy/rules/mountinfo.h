/* SPDX-License-Identifier: Apache-2.0 */
/* mountinfo.h - the mounts of this process, as the kernel lists them (Linux; elsewhere none). */
#pragma once

#include <stddef.h>

struct b_arena;

struct pol_mounted {
	unsigned major, minor; /* of the file system, which subvolumes of one share */
	const char *root;      /* this of it is mounted, "/" = all */
	const char *at;	       /* here */
};
/* In the order in which they hide each other, in the arena. Their number; 0 where there is no
 * list. */
size_t pol_mountinfo(struct b_arena *, struct pol_mounted **out);
/* The one that `path` lies in, or NULL. */
const struct pol_mounted *pol_mounted_at(const struct pol_mounted *, size_t n, const char *path);
/* What lies behind `dir` in `path`, "" or "/x", when it is `dir` or below; else NULL. */
const char *pol_mounted_behind(const char *path, const char *dir);
