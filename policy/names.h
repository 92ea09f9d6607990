/*
 * names.h - what is asked of directories by many rules, asked once. A preset asks for eighty names
 * in every home: two listings of a home and of its .config cost less than eighty lookups. Of other
 * directories (/etc) what was found once is remembered.
 *
 *	struct pol_names names = {0};
 *	const struct pol_names_at at = {.dir = "/home/u", .len = 7, .may_list = true};
 *	switch (pol_names_look(&names, &ruleset->arena, &at, ".ssh", 4)) {
 *	case POL_NAME_UNKNOWN:
 *		... lookup ...
 *		pol_names_tell(&names, &ruleset->arena, &at, ".ssh", 4, POL_NAME_PLAIN);
 *
 * It is a picture of one moment, as a walk by single lookups is one of several.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

enum pol_name {
	POL_NAME_UNKNOWN, /* look yourself: asked too seldom, not listable, or too many names */
	POL_NAME_MISSING,
	POL_NAME_PLAIN, /* no symlink */
	POL_NAME_LINK
};

/* Zeroed: nothing is known. All that is kept is in the arena, always the same. */
struct pol_names {
	struct pol_names_dir *dirs;
};

/* A directory, "" = the root. `may_list`: many names will be asked of it. */
struct pol_names_at {
	const char *dir;
	size_t len;
	bool may_list;
};

enum pol_name pol_names_look(struct pol_names *, struct b_arena *, const struct pol_names_at *,
			     const char *name, size_t len);
/* What a lookup found. */
void pol_names_tell(struct pol_names *, struct b_arena *, const struct pol_names_at *,
		    const char *name, size_t len, enum pol_name);
