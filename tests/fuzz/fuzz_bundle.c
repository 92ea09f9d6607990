/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle that anybody may have written: the file, and the signed part of it. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "bundle/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	b_auto(b_str_release) struct b_str text = {0}, payload = {0};
	unsigned char signature[BUN_SIGNATURE];
	struct bun_payload p;
	struct b_err err;

	b_str_addn(&text, data, size);
	if (bun_file_read(&text, &payload, signature, &err) == 0 &&
	    bun_payload_read(payload.s, payload.len, &p, &err) == 0)
		bun_payload_release(&p);
	if (bun_payload_read(data, size, &p, &err) == 0)
		bun_payload_release(&p);
	return 0;
}
