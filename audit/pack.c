/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - see pack.h. */
#include "audit/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

/* Level 1 makes logs smaller than 3 does (a tenth to a fifth), and they are read faster: lines
 * repeat one another from near. */
enum { LEVEL = 1, PIECE = 128 << 10, WINDOW_LOG_MAX = 23 /* 8 MiB, whatever a file asks for */ };

/* ---- packing ---- */

static void free_compressor(ZSTD_CCtx **c)
{
	ZSTD_freeCCtx(*c);
}

static int pack_to(int from, int to)
{
	b_auto(free_compressor) ZSTD_CCtx *c = ZSTD_createCCtx();
	b_auto_free char *in = b_malloc(PIECE), *out = b_malloc(PIECE);
	bool more = true;

	errno = ENOMEM;
	if (!c)
		return -1;
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	while (more) {
		ssize_t n = b_read_full(from, in, PIECE);
		ZSTD_inBuffer src = {in, n > 0 ? (size_t)n : 0, 0};
		size_t left;

		if (n < 0)
			return -1;
		more = n == PIECE;
		do {
			ZSTD_outBuffer dst = {out, PIECE, 0};

			left = ZSTD_compressStream2(c, &dst, &src,
						    more ? ZSTD_e_continue : ZSTD_e_end);
			if (ZSTD_isError(left) || b_write_all(to, out, dst.pos) < 0)
				return -1;
		} while (more ? src.pos < src.size : left > 0);
	}
	return fsync(to);
}

static int fail(const char *dir, struct b_err *err)
{
	return b_fail(err, B_AUDIT, errno, "%s/" AUD_LOG_NAME ": %s", dir, strerror(errno));
}

int aud_log_pack(const char *dir, unsigned long long above, struct b_err *err)
{
	static const char temporary[] = AUD_LOG_NAME AUD_PACK_SUFFIX ".tmp";
	b_auto_fd int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b_auto_fd int from = -1;
	b_auto_fd int to = -1;
	struct stat st;

	from = dirfd < 0 ? -1
			 : openat(dirfd, AUD_LOG_NAME,
				  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (unsigned long long)st.st_size <= above)
		return 0;
	unlinkat(dirfd, temporary, 0);
	to = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return fail(dir, err);
	if (pack_to(from, to) < 0 ||
	    renameat(dirfd, temporary, dirfd, AUD_LOG_NAME AUD_PACK_SUFFIX) < 0) {
		fail(dir, err);
		unlinkat(dirfd, temporary, 0);
		return -1;
	}
	return unlinkat(dirfd, AUD_LOG_NAME, 0) < 0 ? fail(dir, err) : 1;
}

/* ---- reading ---- */

struct aud_unpack {
	int fd;
	ZSTD_DCtx *d;
	ZSTD_inBuffer in;
	size_t left; /* of the frame: 0 = it is whole */
	char buf[PIECE];
};

struct aud_unpack *aud_unpack_new(int fd)
{
	uint32_t magic = 0;
	struct aud_unpack *u;

	if (pread(fd, &magic, sizeof magic, 0) != sizeof magic || magic != ZSTD_MAGICNUMBER)
		return NULL;
	u = b_calloc(1, sizeof *u);
	u->fd = fd;
	u->d = ZSTD_createDCtx();
	u->in.src = u->buf;
	u->left = 1;
	ZSTD_DCtx_setParameter(u->d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	return u;
}

static int damaged(void)
{
	errno = EBADMSG;
	return -1;
}

ssize_t aud_unpack_read(struct aud_unpack *u, void *buf, size_t n)
{
	ZSTD_outBuffer out = {buf, n, 0};

	while (out.pos < n) {
		size_t before = out.pos;

		if (u->in.pos == u->in.size) {
			ssize_t got = b_read_full(u->fd, u->buf, sizeof u->buf);

			if (got < 0)
				return -1;
			u->in.size = (size_t)got;
			u->in.pos = 0;
		}
		if (u->in.size == 0 && u->left == 0)
			break;
		u->left = ZSTD_decompressStream(u->d, &out, &u->in);
		if (ZSTD_isError(u->left) || (u->in.size == 0 && out.pos == before))
			return damaged();
	}
	return (ssize_t)out.pos;
}

void aud_unpack_free(struct aud_unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->d);
	free(u);
}
