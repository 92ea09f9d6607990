/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - what is asked of two names at once: moves, links, and names that a file system folds.
 * Private to launcher/linux/broker.
 *
 * A run has several documents that must all allow: its own, the host's, the projects', and those
 * of the runs that it is inside of. An access asks their product. A comparison asks each of them
 * alone. Otherwise the author of one document could deny two names, and thus make them equal in
 * the product, although another document protects only one of them.
 *
 *	struct br_pair p = br_pair_of(from, to);
 *	if (!br_each_image(c, br_moves_freely, &p)) ...		one of them objects
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/image.h"

struct br_call;
struct br_end;

struct br_pair {
	const char *from; /* of a link: the link itself */
	size_t from_len;
	const char *to; /* where it leads */
	size_t to_len;
	bool is_file;	     /* of a link: what it leads to, for good */
	unsigned what;	     /* SBX_MOVES_* */
	enum sbx_op against; /* of what objects to a move */
};
struct br_pair br_pair_of(const struct br_end *from, const struct br_end *to);

/* The one image of a comparison, with its place among all (tree.c keeps states of each). */
struct br_image {
	const struct sbx_image *img;
	size_t number;
};
/* br_allowed() by this image alone. */
bool br_image_allows(struct br_image, enum sbx_op, const char *path, size_t len);
size_t br_image_count(const struct br_call *);
struct br_image br_image_at(const struct br_call *, size_t number);

/* Has one of them rules for file systems that fold names? */
bool br_any_folds(const struct br_call *);

/* Does it hold by each image? */
typedef bool br_compare(struct br_image, struct br_pair *);
bool br_each_image(const struct br_call *, br_compare *, struct br_pair *);

/* May whatever has the name `from` be at `to`, with all that may lie below? False: ask
 * br_moves(). */
br_compare br_moves_freely;
/* May what is described by `what`? False: `against` objects. */
br_compare br_moves;
/* Is what may be read at `from` read at `to` as well? */
br_compare br_stays_read;
/* May the object move as far as rules go that deny folded names? `against` likewise. */
br_compare br_fold_moves;
/* May a symlink lead there, by bytes and by folded names? */
br_compare br_leads;
/* Wherever it leads. Of `from` alone. */
br_compare br_leads_anywhere;
