/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew.h - renames the regular file `from` to `to`, but what is there afterwards is a copy that
 * nobody has open, and that has no other name.
 *
 *	br_copy_begin(&copy, from, to, flags);	the lock of moves is held alone
 *	br_copy_fill(&copy);			without it, unless copy.name says that it has a name
 *	br_copy_fits(&copy, from)		with it: from is what was copied, and as it was
 *	br_copy_place(&copy, from, to, flags);	as rename(2) would, with it
 *	br_copy_drop(&copy, to);		with it, whatever came before
 *
 * 0; -errno, and nothing has changed; BR_NOT_COPIED: it is too large, may not be read, or has
 * what the broker cannot give (another owner).
 * Private to launcher/linux/broker.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct br_end;

#define BR_NOT_COPIED (-ECANCELED)
#define BR_COPY_NAME  40
struct br_copy {
	int old, new;
	struct stat st; /* of the original, before it was read */
	char name[BR_COPY_NAME];
};
#define BR_COPY_INIT                                                                               \
	{                                                                                          \
		.old = -1, .new = -1                                                               \
	}
int br_copy_begin(struct br_copy *, const struct br_end *from, const struct br_end *to,
		  unsigned flags);
int br_copy_fill(const struct br_copy *);
bool br_copy_fits(const struct br_copy *, const struct br_end *from);
int br_copy_place(struct br_copy *, const struct br_end *from, const struct br_end *to,
		  unsigned flags);
void br_copy_drop(struct br_copy *, const struct br_end *to);
