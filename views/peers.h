/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - events in the words of other sandboxes, for view_export(). Pure. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct aud_entry;
struct aud_run;

/* srt's violation store: so many denials, the last ones; a denial that happened n times is n. */
enum { VIEW_VIOLATIONS = 100 };

struct view_violations {
	struct b_str last[VIEW_VIOLATIONS]; /* a ring */
	size_t n;			    /* of all that were added */
};
/* Passes over what was not denied. */
void view_violations_add(struct view_violations *, const struct aud_run *,
			 const struct aud_entry *);
void view_violations_show(const struct view_violations *, struct b_str *out);
void view_violations_release(struct view_violations *);

/* OpenShell's shorthand line of the event, if it has one. */
/* *version: of the policy, 0 before the first line. */
void view_shorthand(const struct aud_run *, const struct aud_entry *, uint64_t *version,
		    struct b_str *out);
