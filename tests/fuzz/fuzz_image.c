/* fuzz_image - whatever the bytes, the reader refuses or stays in bounds. The first byte chooses
 * whether the checksum is put right, so that the check of tables is reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decide.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct sbx_image *img)
{
	static const char *const paths[] = {"/", "/ws/a/b.env", "/usr/lib/x"};
	struct sbx_verdict v;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		for (int op = 0; op < SBX_OP_COUNT; op++) {
			sbx_explain(img, (enum sbx_op)op, paths[i], strlen(paths[i]), &v);
			if (strlen(v.matched) + strlen(v.origin) == 0)
				abort();
			sbx_subtree(img, (enum sbx_op)op, paths[i], strlen(paths[i]));
		}
	sbx_move_allowed(img, "/ws/a", 5, "/ws/b", 5, true, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_image img;
	unsigned char *copy;

	if (size < 1 + sizeof(struct sbx_image_header))
		return 0;
	copy = malloc(size - 1);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1) {
		struct sbx_image_header *h = (void *)copy;

		h->magic = SBX_IMAGE_MAGIC;
		h->version = SBX_IMAGE_VERSION;
		h->size = (uint32_t)(size - 1);
		h->checksum = sbx_image_checksum(copy, size - 1);
	}
	for (int whole = 0; whole < 2; whole++)
		if (sbx_image_open(&img, copy, size - 1, whole) == SBX_IMAGE_OK)
			use(&img);
	free(copy);
	return 0;
}
