/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - see batch.h. */
#include "ship/batch.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mem.h"

/* zlib has a buffer of twice its window, and makes place in it by moving all of its tables: a
 * quarter of its time for rows. Behind a full flush it begins with an empty buffer instead. */
enum { GZIP_PIECE = 65000 };
enum { GZIP_LEVEL = 1, GZIP_WINDOW = 15 + 16, GZIP_MEM = 8, ZSTD_LEVEL = 1, ROOM = 64 << 10 };

struct ship_packer {
	z_stream z;
	bool has_z;
	size_t in_piece; /* bytes since the last full flush */
	ZSTD_CCtx *zstd;
};

struct ship_batch *ship_batch_new(enum ship_table table, enum ship_coding coding)
{
	struct ship_batch *b = b_calloc(1, sizeof *b);

	b->table = table;
	b->coding = coding;
	b->packer = b_calloc(1, sizeof *b->packer);
	if (coding == SHIP_ZSTD) {
		b->packer->zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(b->packer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	}
	return b;
}

static void free_packer(struct ship_batch *b)
{
	if (!b->packer)
		return;
	if (b->packer->has_z)
		deflateEnd(&b->packer->z);
	ZSTD_freeCCtx(b->packer->zstd);
	free(b->packer);
	b->packer = NULL;
}

void ship_batch_free(struct ship_batch *b)
{
	if (!b)
		return;
	free_packer(b);
	for (size_t i = 0; i < b->n; i++)
		free(b->shares[i].dir);
	free(b->shares);
	b_str_release(&b->body);
	free(b);
}

static int fail(struct b_err *err)
{
	return b_fail(err, B_SYSTEM, 0, "the batch cannot be compressed: out of memory?");
}

static int deflate_all(struct ship_batch *b, char *in, size_t n, int flush)
{
	z_stream *z = &b->packer->z;
	int rc;

	z->next_in = (unsigned char *)in;
	z->avail_in = (unsigned)n;
	do {
		z->next_out = (unsigned char *)b_str_room(&b->body, ROOM);
		z->avail_out = ROOM;
		rc = deflate(z, flush);
		b_str_advance(&b->body, ROOM - z->avail_out);
	} while (rc == Z_OK && (z->avail_out == 0 || z->avail_in || flush == Z_FINISH));
	return rc;
}

static int gzip_put(struct ship_batch *b, char *in, size_t n, bool is_end, struct b_err *err)
{
	struct ship_packer *p = b->packer;
	int rc = Z_OK;

	if (!p->has_z && deflateInit2(&p->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEM,
				      Z_DEFAULT_STRATEGY) != Z_OK)
		return fail(err);
	p->has_z = true;
	while (n && (rc == Z_OK || rc == Z_BUF_ERROR)) {
		size_t room = GZIP_PIECE - p->in_piece, m = n < room ? n : room;

		rc = deflate_all(b, in, m, m == room ? Z_FULL_FLUSH : Z_NO_FLUSH);
		p->in_piece = m == room ? 0 : p->in_piece + m;
		in += m;
		n -= m;
	}
	if (is_end && (rc == Z_OK || rc == Z_BUF_ERROR))
		rc = deflate_all(b, in, 0, Z_FINISH);
	return rc == Z_OK || rc == Z_BUF_ERROR || rc == Z_STREAM_END ? 0 : fail(err);
}

static int zstd_put(struct ship_batch *b, const char *in, size_t n, bool is_end, struct b_err *err)
{
	ZSTD_inBuffer src = {in, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer dst = {b_str_room(&b->body, ROOM), ROOM, 0};

		left = ZSTD_compressStream2(b->packer->zstd, &dst, &src,
					    is_end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return fail(err);
		b_str_advance(&b->body, dst.pos);
	} while (src.pos < src.size || (is_end && left));
	return 0;
}

static int pack(struct ship_batch *b, char *in, size_t n, bool is_end, struct b_err *err)
{
	b->raw_bytes += n;
	switch (b->coding) {
	case SHIP_GZIP:
		return gzip_put(b, in, n, is_end, err);
	case SHIP_ZSTD:
		return zstd_put(b, in, n, is_end, err);
	case SHIP_PLAIN:
		break;
	}
	b_str_addn(&b->body, in, n);
	return 0;
}

int ship_batch_put(struct ship_batch *b, struct b_str *rows, struct b_err *err)
{
	int rc = pack(b, rows->s, rows->len, false, err);

	b_str_reset(rows);
	return rc;
}

void ship_batch_add(struct ship_batch *b, const char *dir, const struct ship_part *part)
{
	b_grow(b->shares, b->n, b->cap);
	b->shares[b->n++] = (struct ship_share){.dir = b_strdup(dir), .part = *part};
	b->rows += part->rows;
}

int ship_batch_end(struct ship_batch *b, struct b_err *err)
{
	char none[1] = "";
	int rc = pack(b, none, 0, true, err);

	free_packer(b);
	return rc;
}
