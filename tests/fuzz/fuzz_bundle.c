/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a compiled policy: any bytes under a right checksum. What is read is used as a run
 * would use it. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/bundle.h"
#include "policy/document/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct b_str file = {0};
	struct pol_bundle *b = NULL;
	struct pol_doc doc = {0};
	struct sbx_image image;
	struct b_err err;
	const char *name;

	pol_bundle_seal(data, n, &file);
	if (pol_bundle_parse("fuzz", file.s, file.len, &b, &err) == 0) {
		if (pol_bundle_documents(b, &doc, &name, &err) == 0)
			pol_doc_release(&doc);
		if (b->key[0]) { /* else it has no automata */
			if (sbx_image_open(&image, b->image, b->image_size, true) != SBX_IMAGE_OK)
				abort();
			(void)sbx_decide(&image, SBX_READ, "/a/b", 4);
		}
		pol_bundle_free(b);
	}
	b_str_release(&file);
	return 0;
}
