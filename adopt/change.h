/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - one file of somebody's settings, and what becomes of it: read, shown, written, and
 * given back as it was. What stands in the file is the caller's to decide, between load and apply.
 *
 *	b_auto(ad_change_release) struct ad_change c = {0};
 *	b_str_add(&c.file, "/home/me/.npmrc");
 *	if (ad_change_load(&c, 0600, &err) < 0) ...
 *	c.will_exist = true, b_str_add(&c.after, text);
 *	ad_change_show(&c, 3, &said);
 *	if (ad_change_apply(&c, false, &err) < 0) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "adopt/state.h"
#include "base/str.h"

struct b_err;

struct ad_change {
	struct b_str file;	    /* absolute */
	bool exists, will_exist;    /* the file, before and after */
	struct b_str before, after; /* its bytes; they may hold no NUL */
	struct ad_state state;	    /* as an earlier change of ours left it */
	unsigned mode;
};
void ad_change_release(struct ad_change *);

/* Where the user's home is. B_USAGE: nothing says it. */
int ad_home(struct b_str *out, struct b_err *err);
/* "CURRENT DIRECTORY/name". Somebody else may have laid the project out: B_USAGE where a link is on
 * the way. */
int ad_change_in_project(struct ad_change *, const char *name, struct b_err *err);
/* `mode`: of a file that is not there yet. B_FORMAT: not UTF-8; B_SYSTEM. */
int ad_change_load(struct ad_change *, unsigned mode, struct b_err *err);
/* Where the file is as we have left it, its earlier bytes are what it will be. */
bool ad_change_goes_back(struct ad_change *);
bool ad_change_is_none(const struct ad_change *);
/* The place that differs, with so many lines around it. */
void ad_change_show(const struct ad_change *, int context, struct b_str *out);
/* Writes or removes the file; `undo` forgets what is known of it. B_SYSTEM: nothing was changed. */
int ad_change_apply(struct ad_change *, bool undo, struct b_err *err);
