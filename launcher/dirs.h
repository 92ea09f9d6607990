/*
 * dirs.h - the directories a run needs: found first (which writes nothing), made when the
 * policy has proved good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct b_err;
struct lau_options;

struct lau_dirs {
	struct b_arena arena;
	const char **workspaces; /* canonical */
	size_t nworkspaces;
	char *scratch;	       /* private, of this run; a fresh name */
	char *cache;	       /* build cache of the workspace; NULL = none */
	char *channels;	       /* holds the channels of all runs; NULL = no shim */
	char *runs;	       /* holds the run directories; NULL = none wanted */
	const char *hidden[2]; /* of these, what the command may not touch */
	size_t nhidden;
	bool scratch_made;
};

int lau_dirs_find(const struct lau_options *, struct lau_dirs *out, struct b_err *err);
int lau_dirs_make(struct lau_dirs *, struct b_err *err);
/* Removes the scratch directory and releases. */
void lau_dirs_release(struct lau_dirs *);
