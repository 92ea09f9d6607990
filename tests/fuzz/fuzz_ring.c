/* SPDX-License-Identifier: Apache-2.0 */
/* The reader against any content of the mapping: the input is laid over header and data, read,
 * then written to honestly. The reader must end, hand out only what is well-formed, and work
 * again after one lap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct sbx_ring_reader rd;
static unsigned char buf[SBX_RING_FRAME_MAX];

static int read_one(void)
{
	struct sbx_event ev;
	const char *path, *path2;
	int got = sbx_ring_read(&rd, buf, 0, true, &ev, &path, &path2);

	if (got != 1)
		return got;
	if (ev.kind >= SBX_EV_KIND_COUNT || ev.op >= SBX_OP_COUNT || ev.call >= SBX_CALL_COUNT ||
	    strlen(path) != ev.path_len || strlen(path2) != ev.path2_len)
		abort();
	return got;
}

static void read_all(void)
{
	size_t calls;

	for (calls = 0; read_one() != 0; calls++)
		if (calls > 4 * SBX_RING_MIN / SBX_RING_UNIT)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const size_t bytes = sbx_ring_bytes(SBX_RING_MIN), head = offsetof(struct sbx_ring, head);
	struct sbx_event ev = {.path_len = 6};
	struct sbx_ring *r = aligned_alloc(64, bytes);
	size_t i;

	memset(r, 0, bytes);
	sbx_ring_init(r, SBX_RING_MIN, SBX_AUDIT_ALL);
	sbx_ring_reader_init(&rd, r, SBX_RING_MIN);
	memcpy((char *)r + head, data, n < bytes - head ? n : bytes - head);
	read_all();
	for (i = 0; i < 2 * SBX_RING_MIN / SBX_RING_UNIT; i++) {
		sbx_ring_write(r, SBX_RING_MIN, &ev, "/after", "");
		read_all();
	}
	if (!sbx_ring_write(r, SBX_RING_MIN, &ev, "/after", "") || read_one() != 1)
		abort();
	free(r);
	return 0;
}
