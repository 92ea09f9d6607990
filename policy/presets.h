/* presets.h - the YAML files of policy/presets/, compiled in (scripts/gen-presets). */
#pragma once

#include <stddef.h>

struct pol_preset {
	const char *name; /* file stem */
	const char *text;
	size_t len;
};

/* NULL when there is none of that name. */
const struct pol_preset *pol_preset_find(const char *name);
