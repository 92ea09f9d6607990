/* stdio.h - the files that the command is given as its input, output and errors. */
#pragma once

#include <stddef.h>

#include "policy/engine.h"

struct lau_dirs;

/* Regular files among descriptors 0 to 2 that still have their name, but for those in
 * directories the command is given anyway. Returns how many; strings live in dirs->arena. */
size_t lau_stdio_find(struct lau_dirs *, struct pol_stdio out[POL_STDIO_MAX]);
