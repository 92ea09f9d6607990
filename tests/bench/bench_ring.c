/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the witness is, as JSON lines:
 *	ring		events a second that two writer processes put into the ring, 60-byte paths
 *	collector	lines a second from the ring to a chained log in memory
 *
 * Goals: 5,000,000 and 500,000. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"
#include "tests/support/witness.h"

enum { ROUNDS = 7, PATHS = 1000 };
#define BIG (256u << 20)

static char paths[PATHS][80];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *what, double *v, double goal)
{
	qsort(v, ROUNDS, sizeof *v, by_value);
	printf("{\"bench\":\"%s\",\"median\":%.0f,\"best\":%.0f,\"goal\":%.0f,\"unit\":\"1/s\"}\n",
	       what, v[ROUNDS / 2], v[ROUNDS - 1], goal);
}

static void put(struct sbx_ring *r, uint64_t size, uint32_t pid, uint32_t i)
{
	struct sbx_event ev = {.time_ns = UINT64_C(1795000000000000000) + i,
			       .pid = pid,
			       .ppid = 1,
			       .image_pid = i,
			       .op = i % 8 ? SBX_READ : SBX_MODIFY,
			       .call = SBX_CALL_openat,
			       .flags = SBX_EVF_ALLOWED};
	const char *path = paths[i % PATHS];

	ev.path_len = (uint16_t)strlen(path);
	sbx_ring_write(r, size, &ev, path, "");
}

static struct sbx_ring *map(size_t data)
{
	struct sbx_ring *r = mmap(NULL, sbx_ring_bytes(data), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if ((void *)r == MAP_FAILED)
		exit(2);
	sbx_ring_init(r, data, SBX_AUDIT_ALL);
	return r;
}

static int read_all(struct sbx_ring_reader *rd, uint64_t *read)
{
	static unsigned char buf[SBX_RING_FRAME_MAX];
	struct sbx_event ev;
	const char *a, *b;
	int got;

	while ((got = sbx_ring_read(rd, buf, 0, false, &ev, &a, &b)) != 0)
		*read += got == 1;
	return 0;
}

/* Two writers, nobody in their way; what they wrote is read afterwards and must be all there. */
static double ring_round(struct sbx_ring *r, struct sbx_ring_reader *rd, uint32_t each)
{
	uint64_t read = 0;
	double t = now();
	uint32_t w, i;

	for (w = 0; w < 2; w++) {
		if (fork())
			continue;
		for (i = 0; i < each; i++)
			put(r, BIG, w + 1, i);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	t = now() - t;
	read_all(rd, &read);
	if (read != 2 * (uint64_t)each || sbx_ring_take_lost(rd))
		exit(3);
	return 2 * each / t;
}

/* The ring is filled and drained in turns, so that only the collector is on the clock. */
static double collector_round(uint32_t lines)
{
	char name[] = "/tmp/sbx-bench-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC | O_APPEND), poll_ms;
	double t = 0, from;
	struct witness w;
	struct b_err err;
	uint32_t i, j;

	witness_start_on(&w, SBX_AUDIT_ALL, fd, true);
	for (i = 0; i < lines; i += 256) {
		for (j = i; j < i + 256; j++)
			put(w.ring, w.ring_size, 10, j);
		from = now();
		if (aud_collector_drain(w.c, 1000, false, &poll_ms, &err) < 0)
			exit(4);
		t += now() - from;
	}
	aud_collector_counts(w.c, &w.counts);
	if (w.counts.events != i)
		exit(5);
	witness_release(&w);
	unlink(name);
	return i / t;
}

int main(void)
{
	struct sbx_ring *r = map(BIG);
	struct sbx_ring_reader rd;
	double v[ROUNDS];
	unsigned i;

	for (i = 0; i < PATHS; i++)
		snprintf(paths[i], sizeof paths[i],
			 "/usr/share/some/directory/of/a/usual/depth/f%04u.txt%s", i,
			 i % 2 ? "" : ".more");
	sbx_ring_reader_init(&rd, r, BIG);
	for (i = 0; i < ROUNDS; i++)
		v[i] = ring_round(r, &rd, 500000);
	report("ring_events_2_writers", v, 5e6);
	for (i = 0; i < ROUNDS; i++)
		v[i] = collector_round(400000);
	report("collector_lines", v, 5e5);
	return 0;
}
