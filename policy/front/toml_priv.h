/* toml_priv.h - the scalars of TOML, toml_value.c. Private to toml.c. */
#pragma once

#include "policy/front/tree.h"

/* May the byte stand in a key without quotes? */
bool pol_toml_is_bare(int byte);
/* A string of any of the four kinds; a key is one line. */
int pol_toml_string(struct pol_cursor *, bool is_key, const struct pol_ynode **out);
/* true, false, a number, a date. */
int pol_toml_word(struct pol_cursor *, const struct pol_ynode **out);
