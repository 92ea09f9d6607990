/* SPDX-License-Identifier: Apache-2.0 */
/* The ring under ThreadSanitizer: writers and the reader as threads of one process. No Criterion:
 * its own threads are not built with the sanitizer. Exit status 0 = no race, nothing uncounted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring.h"

enum { THREADS = 4, PER_THREAD = 20000 };

static struct sbx_ring *ring;
static uint64_t size;

static void *writer(void *arg)
{
	char path[200];
	uint32_t i;

	memset(path, 'p', sizeof path);
	for (i = 0; i < PER_THREAD; i++) {
		struct sbx_event ev = {.pid = (uint32_t)(uintptr_t)arg,
				       .path_len = (uint16_t)(i % sizeof path),
				       .path2_len = (uint16_t)(i % 7)};

		sbx_ring_write(ring, size, &ev, path, path);
	}
	return NULL;
}

int main(void)
{
	size_t bytes = sbx_ring_bytes(SBX_RING_MIN);
	unsigned char buf[SBX_RING_FRAME_MAX];
	struct sbx_ring_reader rd;
	uint64_t read = 0, lost = 0;
	pthread_t t[THREADS];
	uintptr_t i;

	ring = aligned_alloc(64, bytes);
	if (!ring)
		return 2;
	memset(ring, 0, bytes);
	sbx_ring_init(ring, SBX_RING_MIN, SBX_AUDIT_ALL);
	if (!sbx_ring_check(ring, bytes, &size))
		return 2;
	sbx_ring_reader_init(&rd, ring, SBX_RING_MIN);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, writer, (void *)i))
			return 2;
	while (read + lost < THREADS * PER_THREAD) {
		struct sbx_event ev;
		const char *a, *b;

		read += sbx_ring_read(&rd, buf, 0, false, &ev, &a, &b) == 1;
		lost += sbx_ring_take_lost(&rd);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	free(ring);
	printf("read %llu lost %llu corrupt %llu\n", (unsigned long long)read,
	       (unsigned long long)lost, (unsigned long long)rd.corrupt);
	return rd.corrupt != 0 || read + lost != THREADS * PER_THREAD;
}
