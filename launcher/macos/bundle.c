/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - sbx-bundle is not built for macOS: the option is refused there (option_rows.c). */
#include "launcher/run/bundle.h"

#include "base/err.h"

int lau_bundle_take(const char *file, const char *key, struct lau_bundle *out, struct b_err *err)
{
	(void)key;
	*out = (struct lau_bundle){0};
	return file ? b_fail(err, B_USAGE, 0, "--require-bundle: not on macOS") : 0;
}

void lau_bundle_release(struct lau_bundle *b)
{
	*b = (struct lau_bundle){0};
}
