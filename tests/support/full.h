/* SPDX-License-Identifier: Apache-2.0 */
/* full.h - FULL=1: tests try all that they can, and not a part (tests/support/e2e.sh). */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_full(void)
{
	const char *full = getenv("FULL");

	return full && *full;
}
