/*
 * dirs.h - the directories a run needs: found first (which makes the scratch directory alone),
 * made when the policy has proved good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "launcher/scratch.h"
#include "policy/layers.h"

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
	char *images;		    /* compiled policies of all runs; NULL = none */
	char *runs;		    /* holds the run directories; NULL = none wanted */
	const char *hidden[2];	    /* of these, what the command may not touch */
	size_t nhidden;
};

int lau_dirs_find(const struct lau_options *, struct lau_dirs *out, struct b_err *err);
int lau_dirs_make(struct lau_dirs *, struct b_err *err);
/* Removes the scratch directory and releases. */
void lau_dirs_release(struct lau_dirs *);
