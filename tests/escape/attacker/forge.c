/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forge.c - false events in the channel of the shim, beside what the program really does: the
 * record must say that all the same.
 */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/event.h"
#include "core/ring.h"

static struct sbx_ring *open_ring(uint64_t *out_size, size_t *out_bytes)
{
	const char *dir = getenv("SBX_CHANNEL");
	char path[400];
	struct stat st;
	void *ring;
	int fd;

	snprintf(path, sizeof path, "%.300s/ring", dir ? dir : "/none");
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
	if (fd < 0)
		return NULL;
	ring = fstat(fd, &st) < 0
		       ? MAP_FAILED
		       : mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (ring == MAP_FAILED)
		return NULL;
	*out_bytes = (size_t)st.st_size;
	if (sbx_ring_check(ring, *out_bytes, out_size))
		return ring;
	munmap(ring, *out_bytes);
	return NULL;
}

static void lie(struct sbx_ring *ring, uint64_t size, const char *path, uint32_t v)
{
	static const uint16_t calls[] = {SBX_CALL_unlink, SBX_CALL_utimes, SBX_CALL_open,
					 SBX_CALL_unknown, SBX_CALL_fchmodat};
	struct sbx_event ev = {
		.pid = (uint32_t)getpid(),
		.ppid = (uint32_t)getppid(),
		.kind = SBX_EV_CALL,
		.op = SBX_MODIFY,
		.call = calls[v % 5],
		.flags = (uint16_t)(SBX_EVF_ALLOWED | (v >> 4) % 2 * SBX_EVF_QUERY),
		.err = (int[]){0, ENOENT, EACCES}[(v >> 6) % 3],
		.path_len = (uint16_t)strlen(path),
	};
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ev.time_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	(void)sbx_ring_write(ring, size, &ev, path, NULL);
}

static long act(const char *path, uint32_t v)
{
	switch (v % 4) {
	case 0:
		return syscall(SYS_unlink, path);
	case 1:
		return syscall(SYS_chmod, path, 0600 + (v >> 4) % 8 * 8);
	case 2:
		return syscall(SYS_truncate, path, 3);
	default:
		return syscall(SYS_mkdir, path, 0755);
	}
}

long ak_op_forge(struct ak_thread *t, const struct ak_op *op)
{
	static const char *const names[] = {"src/a", "src/b", "pub/x", "src/forged"};
	uint64_t size;
	size_t bytes;
	struct sbx_ring *ring = open_ring(&size, &bytes);
	char path[128];
	long rc;

	(void)t;
	if (!ring)
		return -1;
	snprintf(path, sizeof path, "%s/ws/%s", ak.base, names[op->v[0] % 4]);
	if (op->v[2] % 3 == 0)
		lie(ring, size, path, op->v[1]);
	rc = act(path, op->v[3]);
	if (op->v[2] % 3)
		lie(ring, size, path, op->v[1]);
	munmap(ring, bytes);
	return rc;
}
