/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_tree.h - the paths of a run as a tree with sums, for the page. Bounded, whatever a run does:
 * what has no place in it counts at the directory it lies in.
 *
 *	struct view_paths p = {.nodes = NULL};
 *	view_paths_add(&p, &entry);	(each event)
 *	view_paths_json(&p, &out);
 *	view_paths_release(&p);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/str.h"

struct aud_entry;

struct view_sums {
	uint64_t calls, denied, changed;
};

struct view_paths {
	struct b_intern whole; /* paths, each with its own sums, which the end puts in the tree */
	struct view_sums *of_each; /* by their numbers */
	size_t neach, each_cap;
	struct view_node *nodes; /* uthash, by parent and name */
	struct view_node *top;	 /* of those without a parent the last; they are linked */
	struct view_sums sums;
	struct b_str key; /* scratch */
};

void view_paths_add(struct view_paths *, const struct aud_entry *);
/* [calls, denied, changed, names, calls of what is left out]; a name is [name, calls, denied,
 * changed, names, left out], the last two absent where nothing is below. What was denied comes
 * first into the bounded tree, then what was called most. */
void view_paths_json(struct view_paths *, struct b_str *out);
void view_paths_release(struct view_paths *);
