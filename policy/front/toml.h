/*
 * toml.h - TOML text (version 1.0) -> a tree of nodes with positions (yaml.h): tables are
 * mappings, arrays are lists. Dates and times are numbers of kind FLOAT, by their text. Hostile
 * input: size, depth and the number of values are limited.
 */
#pragma once

#include <stddef.h>

#include "policy/front/yaml.h"

struct b_err;

/* `name` (borrowed as long as the arena) is how messages call the text. B_POLICY with
 * file:line:col: anything that is not TOML, a key or table twice. */
int pol_toml_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);
