/* SPDX-License-Identifier: Apache-2.0 */
/* presets.h - the YAML files of policy/presets/, compiled in (policy/presets/gen-presets.c). */
#pragma once

#include <stddef.h>

#include "policy/front/tree.h"

struct pol_preset {
	const char *name; /* file stem */
	const char *file; /* as messages and positions call it */
	const char *text;
	size_t len;
	const struct pol_ynode *root; /* what pol_yaml_parse() makes of the text */
};
extern const struct pol_preset pol_presets[];
extern const unsigned pol_presets_n;

/* NULL when there is none of that name. */
const struct pol_preset *pol_preset_find(const char *name);
