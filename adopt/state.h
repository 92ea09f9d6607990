/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what a file of settings was before we changed it, kept for an undo. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct b_err;

struct ad_state {
	bool is_there;		    /* else nothing is known of this file */
	bool existed;		    /* the file did, before */
	struct b_str before, after; /* its bytes, and those that we have written */
	struct b_str made;	    /* the first directory that had to be made, "" = none */
};
void ad_state_release(struct ad_state *);

/* `file`: an absolute path. B_FORMAT, B_SYSTEM. */
int ad_state_read(const char *file, struct ad_state *out, struct b_err *err);
int ad_state_write(const char *file, const struct ad_state *, struct b_err *err);
void ad_state_remove(const char *file);
