/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - logs that are finished and large, compressed whole (zstd), and read as any other. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct b_err;
struct aud_unpack;

#define AUD_PACK_SUFFIX ".zst"
#define AUD_PACK_ABOVE	(16ull << 20) /* bytes of a log that is worth it */

/* Compresses DIR/audit.jsonl when it has more than `above` bytes: 1, 0 when there is nothing to be
 * done, -1 (B_AUDIT). The log is there whole at every moment, by one of its names. */
int aud_log_pack(const char *dir, unsigned long long above, struct b_err *err);

/* NULL: the file is not compressed, and is read from its beginning. Borrows the descriptor. */
struct aud_unpack *aud_unpack_new(int fd);
/* As read(2), but short at the end only: -1 with errno, EBADMSG: damaged. */
ssize_t aud_unpack_read(struct aud_unpack *, void *buf, size_t n);
void aud_unpack_free(struct aud_unpack *);
