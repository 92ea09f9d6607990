/* log.c - see log.h. */
#include "audit/log.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"

enum { FLUSH_BYTES = 128 << 10 };

void aud_log_init(struct aud_log *l, int fd)
{
	*l = (struct aud_log){.fd = fd};
	memcpy(l->hash, AUD_CHAIN_START, sizeof l->hash);
}

void aud_log_release(struct aud_log *l)
{
	b_str_release(&l->buf);
}

void aud_log_line(struct aud_log *l, size_t start)
{
	b_sha256_hex(l->buf.s + start, l->buf.len - start - 1, l->hash);
	l->bytes += l->buf.len - start;
	l->pending_lines++;
	if (l->buf.len >= FLUSH_BYTES)
		aud_log_flush(l);
}

void aud_log_flush(struct aud_log *l)
{
	if (aud_log_open(l) && l->buf.len && b_write_all(l->fd, l->buf.s, l->buf.len) < 0) {
		l->failed = true;
		l->error = errno;
	}
	if (l->failed)
		l->dropped_lines += l->pending_lines;
	l->pending_lines = 0;
	b_str_reset(&l->buf);
}
