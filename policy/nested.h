/*
 * nested.h - `nested` of `spec.sandbox`, and what srt's lists mean: where denyRead, allowRead and
 * openModify lie in each other, the deepest counts. Internal to policy/.
 *
 * A mark is an entry at one place of this host. What it says holds for the place and all below it,
 * up to the next mark. At the same place an opening counts, but a file that may not be read is not
 * opened by openModify.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/build.h"
#include "policy/model.h"

enum pol_mark_kind { POL_MARK_CLOSES, POL_MARK_OPENS_READ, POL_MARK_OPENS_MODIFY };

struct pol_mark {
	enum pol_mark_kind kind;
	bool is_final;	 /* nothing opens it again */
	bool is_exact;	 /* what it names and nothing below */
	bool only_named; /* opens what a set closes, where the other marks leave it open */
	bool is_left_out;
	bool is_implied; /* by the system whose document it is: closed where something closes it */
	const char *place;  /* canonical; of a pattern: the directory that it starts from */
	const char *glob;   /* a pattern below `place`; NULL = the place itself */
	const char *origin; /* "file:line:col" */
	const char *what;   /* in notices: "file:line:col: `text`" */
	const char *text;   /* as a person writes it, "~/a/b" */
	size_t depth;	    /* names in `place` */
};

struct pol_marks {
	struct pol_mark *v; /* arena of the ruleset */
	size_t n, cap;
};

/* The entries of a document at their places: literals, shallow ones first, and patterns, those that
 * close first. An opening counts where it is there, and is not reached through a link. `tells`:
 * notices of what is left out. */
void pol_marks_find(struct pol_build *, const struct pol_settings *, bool tells,
		    struct pol_marks *literals, struct pol_marks *patterns);
void pol_marks_add(struct pol_build *, struct pol_marks *, struct pol_mark);
/* Is path at or below dir? Both canonical. */
bool pol_is_at_or_below(const char *path, const char *dir);
/* Does the pattern match this very path? */
bool pol_mark_matches(const struct pol_mark *pattern, const char *path);

/* What is open for modifying, before the sets speak. */
void pol_build_nested_allows(struct pol_build *, const struct pol_settings *);
/* All three lists; what the sets close below an opening stays closed, but for openings that name
 * it. B_LIMIT: too many entries for what has wildcards. */
int pol_build_nested(struct pol_build *, const struct pol_settings *, struct b_err *err);
