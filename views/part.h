/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.h - views that take events one by one: alone, or as parts of a page whose log is read once
 * for all (feed.h).
 */
#pragma once

struct aud_entry;
struct aud_reader;
struct b_err;
struct view;

struct view_part {
	/* What it gathers; NULL = it cannot begin, and `err` says why. */
	void *(*open)(struct view *, const struct aud_reader *, struct b_err *err);
	void (*add)(void *gathered, const struct aud_entry *);
	/* As the views do: 1 something, 0 nothing, -1. */
	int (*show)(void *gathered, struct view *, struct b_err *err);
	void (*close)(void *gathered);
	/* Where the view stands alone: the runs inside (inside.h). */
	void (*add_inside)(const struct view *);
};

extern const struct view_part view_part_changes, view_part_denials, view_part_tree;

/* Reads the log for it alone. */
int view_alone(struct view *, const struct view_part *, struct b_err *err);
