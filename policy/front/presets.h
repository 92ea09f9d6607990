/* SPDX-License-Identifier: Apache-2.0 */
/* presets.h - the YAML files of policy/presets/, compiled in (policy/presets/gen-presets.c). */
#pragma once

#include <stddef.h>

#include "policy/front/tree.h"

#define POL_PRESETS_MAX 64

struct pol_preset {
	const char *name; /* file stem */
	const char *file; /* as messages and positions call it */
	const char *text;
	size_t len;
	const unsigned char *tree; /* packed: pol_preset_root() */
	unsigned nodes;
};
extern const struct pol_preset pol_presets[];
extern const unsigned pol_presets_n;

/* What pol_yaml_parse() makes of the text. Unpacked when first asked for, and then kept. [MT-safe]
 */
const struct pol_ynode *pol_preset_root(const struct pol_preset *);
/* NULL when there is none of that name. */
const struct pol_preset *pol_preset_find(const char *name);
