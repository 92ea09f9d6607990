/* SPDX-License-Identifier: Apache-2.0 */
/* clean.c - below which directories no rule can differ: see decide.h. */
#include "core/decide.h"

#include "core/fold.h"

static unsigned below(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	return sbx_state_flags(img, op, sbx_step(img, op, sbx_walk(img, op, path, len), '/'));
}

/* Several documents together may deny two names alike although one document treats them
 * differently. A socket of the host could then move from one name to the other. */
static bool connects_nowhere(const struct sbx_image *img, const char *path, size_t len)
{
	const struct sbx_image_op *op = &img->hdr->op[SBX_CONNECT];

	return op->nrules == 0 ||
	       (op->nlayers <= 1 && below(img, SBX_CONNECT, path, len) & SBX_ST_ALL_DENY);
}

bool sbx_clean_below(const struct sbx_image *img, const char *path, size_t len)
{
	static const enum sbx_op all[] = {SBX_MODIFY, SBX_READ, SBX_EXEC};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (!(below(img, all[i], path, len) & SBX_ST_ALL_ALLOW) ||
		    sbx_folded_near(img, all[i], path, len) >= 0)
			return false;
	return connects_nowhere(img, path, len);
}
