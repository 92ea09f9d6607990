/* SPDX-License-Identifier: Apache-2.0 */
/* hardlinks.h - files that the rules of a policy deny and that have further names: each name is
 * judged by itself, and one that was made before the run may be open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/decide.h"

struct pol_engine;
struct pol_rule;

struct pol_linked {
	const char *path;
	unsigned long others; /* further names, wherever they are */
	enum sbx_op op;	      /* what is denied of it: reading, else changing */
	const struct pol_rule *rule;
};

/* Calls each() for such files as are there, each once an operation and rule; what it is given ends
 * with the call. Looks at `max` names of the directories that rules deny or begin at, follows no
 * symlink, enters no other file system. False: there are more names. */
bool pol_hardlinks(const struct pol_engine *, size_t max,
		   void (*each)(void *ctx, const struct pol_linked *), void *ctx);
