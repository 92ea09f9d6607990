/*
 * residual.h - what of a glob is left to match below a path, once the path itself is consumed. Each
 * residual is a suffix of the glob. Pure; internal to policy/.
 */
#pragma once

#include <stdbool.h>

#include "policy/model.h"

struct pol_residuals {
	bool at[POL_MAX_RULE_LEN + 1]; /* is glob + i one? */
};

/* Of a path that lies strictly below `path`. Neither is longer than POL_MAX_RULE_LEN. */
void pol_residuals(const char *glob, const char *path, struct pol_residuals *out);
