/*
 * dirs.h - the directories a run needs: found first (which makes the scratch directory alone),
 * made when the policy has proved good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "launcher/scratch.h"
#include "policy/document/layers.h"

struct b_err;
struct lau_options;

struct lau_dirs {
	struct b_arena arena;
	const char **workspaces; /* canonical */
	size_t nworkspaces;
	struct pol_layers layers;   /* the documents: they say which of the rest are wanted */
	struct lau_scratch scratch; /* no path: none wanted */
	char *cache;		    /* build cache of the workspace; NULL = none */
	char *channels;		    /* holds the channels of all runs; NULL = no shim */
	char *locks;		    /* holds the lock of moves; NULL = no place for it */
	char *images;		    /* compiled policies of all runs; NULL = none */
	char *runs;		    /* holds the run directories; NULL = none wanted */
	const char *hidden[3];	    /* of these, what the command may not touch */
	size_t nhidden;
	const struct pol_ruleset *outer; /* of the run that this one is inside of; NULL = none */
};

int lau_dirs_find(const struct lau_options *, struct lau_dirs *out, struct b_err *err);
/* Of a run inside another: what that has is shared (its scratch directory and build cache, where
 * both want one), nothing is made but the channel and the record. */
int lau_dirs_find_inside(const struct lau_options *, const struct lau_dirs *outer,
			 struct lau_dirs *out, struct b_err *err);
int lau_dirs_make(struct lau_dirs *, struct b_err *err);
/* Removes the scratch directory and releases. */
void lau_dirs_release(struct lau_dirs *);
