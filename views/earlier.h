/* SPDX-License-Identifier: Apache-2.0 */
/*
 * earlier.h - what runs before this one, in the same workspace, were refused: a denial that none of
 * them met is news. Bounded: the last runs, as far as their logs are not too long together.
 *
 *	struct view_earlier p = {.runs = 0};
 *	if (view_earlier_read(v, &p, &err) < 0) ...
 *	n = view_earlier_count(&p, &entry);		in how many of p.runs
 *	view_earlier_release(&p);
 */
#pragma once

struct aud_entry;
struct b_err;
struct view;

struct view_earlier {
	struct view_past *table; /* uthash */
	unsigned runs;		 /* that were looked at */
};

int view_earlier_read(struct view *, struct view_earlier *, struct b_err *err);
/* Of denials alike: operation, paths and reason; the rule may stand on another line by now. */
unsigned view_earlier_count(const struct view_earlier *, const struct aud_entry *);
void view_earlier_release(struct view_earlier *);
