/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - see room.h. */
#include "launcher/linux/run/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define ALIGN 64u

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1, include/uapi/linux/fcntl.h */
#endif

/* A file may not be larger (setrlimit(2)): the attempt would be a signal. */
static size_t within_limit(size_t size)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim) < 0 || lim.rlim_cur >= size)
		return size;
	return (size_t)lim.rlim_cur;
}

static int map_both(struct lau_room *r, int fd)
{
	enum { SEALS = F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
	void *own, *seen;

	own = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (own == MAP_FAILED)
		return -1;
	r->own = own;
	if (madvise(own, r->size, MADV_DONTFORK) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -1;
	seen = mmap(NULL, r->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (seen == MAP_FAILED)
		return -1;
	r->seen = seen;
	return 0;
}

int lau_room_init(struct lau_room *r, size_t size, struct b_err *err)
{
	b_auto_fd int fd = memfd_create("sbx-room", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int sys;

	*r = (struct lau_room){.size = within_limit(size)};
	if (fd >= 0 && ftruncate(fd, (off_t)r->size) == 0 && map_both(r, fd) == 0)
		return 0;
	sys = errno;
	lau_room_release(r);
	return b_fail(err, sys == ENOMEM ? B_LIMIT : B_SYSTEM, sys, "shared memory: %s",
		      strerror(sys));
}

void lau_room_release(struct lau_room *r)
{
	if (r->own)
		(void)munmap(r->own, r->size);
	if (r->seen)
		(void)munmap((void *)(uintptr_t)r->seen, r->size);
	*r = (struct lau_room){0};
}

void *lau_room_place(struct lau_room *r, const void *data, size_t size)
{
	size_t at = (r->used + ALIGN - 1) / ALIGN * ALIGN;

	if (at > r->size || size > r->size - at)
		return NULL;
	r->used = at + size;
	return memcpy(r->own + at, data, size);
}

const void *lau_room_seen(const struct lau_room *r, const void *own)
{
	return r->seen + ((const unsigned char *)own - r->own);
}
