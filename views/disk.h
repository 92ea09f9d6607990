/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - what became of the names and files that a run changed, from its events in their order.
 * Pure. A name leads to a thing (a file, a directory); links give one thing several names, renames
 * and exchanges change names alone. So what was written by one name is known by all others.
 *
 *	disk_note(&d, &entry);		each change that was made
 *	disk_settle(&d);
 *	for (n = d.nodes; n; n = n->next) ... n->path, n->thing ...
 *	disk_release(&d);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/str.h"
#define HASH_FUNCTION B_UTHASH
#include <uthash.h>

struct aud_entry;

struct disk_thing {
	UT_hash_handle hh; /* by `was` */
	char *was;	   /* its name before the run; NULL: none that is known */
	bool is_new;	   /* the run made it: known, not guessed */
	bool is_unsure;	   /* the run may have made it, under the name `was` */
	bool is_written;
	bool is_home; /* one of its names is `was` */
	bool is_said; /* for whoever reads this */
	size_t names; /* that it has in the end */
	struct disk_thing *next;
};

struct disk_node {
	UT_hash_handle by_path;
	struct disk_node *parent, *next;
	struct disk_thing *thing; /* NULL: nothing was done to it, or it is gone */
	bool is_gone, is_lost, was_read;
	bool has_below; /* names were looked for below it */
	char *path;	/* in the end; NULL: nothing to say of it */
	bool is_along;	/* its name differs from `was` as that of a directory above does */
	uint32_t key;	/* in `keys`: the parent's address, then the name */
};

/* A change of a path that the record has the beginning of alone. */
struct disk_cut {
	char letter;
	char *path, *path2;
};

/* What is none of the others writes to its path. */
enum disk_act { DISK_WRITES, DISK_REMOVES, DISK_MOVES, DISK_MAKES, DISK_LINKS };

/* A change that waits for those that were made before it and logged after it. */
struct disk_change {
	int64_t ns, seq;
	char *path, *path2; /* one piece of memory, which begins with `path` */
	enum disk_act act;
	bool is_created, is_exchanged, is_replaced, is_cut;
};

struct disk {
	bool is_told; /* a broker says which opens made their file */
	struct b_intern keys;
	struct disk_node **by_key; /* NULL: the node has gone from that name */
	size_t nkeys, keys_cap;
	struct disk_node *paths, *nodes;
	struct disk_thing *before, *things;
	struct disk_cut *cuts;
	struct disk_change *waiting;
	size_t nwaiting, waiting_cap;
	size_t ncuts, cuts_cap, cuts_more, reads;
	struct b_str key; /* scratch */
	struct b_str dir; /* the directory of the path before, with its slash: most are alike */
	struct disk_node *at_dir; /* its node; NULL: not known any more */
};

/* A change that was made (view_is_done()). */
void disk_note(struct disk *, const struct aud_entry *);
/* The name was there: it was read. */
void disk_saw(struct disk *, const char *path);
void disk_settle(struct disk *);
/* After that: who has the name, NULL = nobody that something was done to. */
const struct disk_node *disk_at(const struct disk *, const char *path);
struct disk_thing *disk_before(const struct disk *, const char *path);
void disk_release(struct disk *);
