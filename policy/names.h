/*
 * names.h - directories that many rules look into, each listed once. A preset asks for eighty
 * names in every home: two listings of a home and of its .config cost less than eighty lookups.
 *
 *	struct pol_names names = {0};
 *	switch (pol_names_look(&names, &ruleset->arena, "/home/u", 7, ".ssh", 4)) ...
 *
 * It is a picture of one moment, as a walk by single lookups is one of several.
 */
#pragma once

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

enum pol_name pol_names_look(struct pol_names *, struct b_arena *, const char *dir, size_t dir_len,
			     const char *name, size_t len);
