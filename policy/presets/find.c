/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "policy/presets.h"

const struct pol_preset *pol_preset_find(const char *name)
{
	for (unsigned i = 0; i < pol_presets_n; i++)
		if (strcmp(pol_presets[i].name, name) == 0)
			return &pol_presets[i];
	return NULL;
}
