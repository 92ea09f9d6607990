/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.h - what renames and links have in common: one call with two ends, as it is judged. Private
 * to move.c and hardlink.c.
 */
#pragma once

#include "launcher/linux/broker/broker.h"

struct br_move {
	struct br_call *c;
	struct br_end *from, *to;
	bool swaps;
	bool was_looked_through;
	int kernel_says;     /* against the move, before anything was looked through; 0 = nothing */
	enum sbx_op against; /* that objects to the move itself */
	const struct br_end *root;     /* the end that is the root of a grant, and changes */
	const struct br_end *program;  /* the end where one may not be that may not be read */
	const struct br_end *git_link; /* the end where a symlink would lead the host's git */
	mode_t replaced;	       /* what the move replaces; 0 = nothing, or not looked at */
	bool is_made_anew;	       /* a file, so that nobody has what is at the new name */
	/* the name below `from` that objects, told for the directory that was asked about */
	struct br_tree tree;
};

/* The answer, told of both ends; SBX_EVF_*. */
struct br_answer br_move_tell(const struct br_move *, struct br_answer, unsigned flags);
/* A refusal, unless the kernel would have refused anyway. */
struct br_answer br_move_refuse(const struct br_move *, unsigned flags, enum br_want to);
/* The answer to ends that were not found. */
struct br_answer br_move_not_found(const struct br_call *, int rc);

/* The mode of what has the name, 0 = nothing. */
mode_t br_move_mode(const struct br_end *, struct stat *out);
/* SBX_MOVES_* */
unsigned br_move_what(const struct stat *);
/* Do the rules let it move from `a` to `b`? False: `against`. */
bool br_move_may(struct br_move *, const struct br_end *a, const struct br_end *b, unsigned what);
/* Does something that may be read come to where it may not? */
bool br_move_hides(const struct br_call *, const struct br_end *a, const struct br_end *b);
/* Neither a symlink nor a directory with one comes into a git directory: 0, or SBX_EVF_*. */
unsigned br_move_by_links(struct br_move *, struct br_end *a, struct br_end *b);
/* 0: both names may change; else the SBX_EVF_* of the refusal, or: */
#define BR_REFUSED_FROM 0x80000000u
unsigned br_move_judge_ends(struct br_move *);
