/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_marks.h - what git says of names in a workspace, asked once for all of them.
 *
 *	b_auto(git_marks_release) struct git_marks m = {0};
 *	git_marks_ask(&m, "/ws", names, n);
 *	... git_mark_of(&m, "src/a.c")		"tracked", "ignored", "untracked"; NULL: no git here
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct git_marks {
	bool is_there;		       /* git has answered */
	struct b_str tracked, ignored; /* names, each ended by a NUL */
	const char **v;		       /* of both, sorted; the ignored ones behind ntracked */
	size_t ntracked, nignored;
};

/* `names` are relative to `root`. Runs git(1) where root has a .git: two questions that write
 * nothing, and run nothing whatever the repository is configured to (pol_approve_settings). Where
 * git does not answer there are no marks. */
void git_marks_ask(struct git_marks *, const char *root, const char *const *names, size_t n);
const char *git_mark_of(const struct git_marks *, const char *name);
void git_marks_release(struct git_marks *);
