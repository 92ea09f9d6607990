/* SPDX-License-Identifier: Apache-2.0 */
/* log_file.c - the file of a run's lines: buffered, chained, given up with a whole line. */
#include "audit/collect_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum { FLUSH_BYTES = 128 << 10 };

bool aud_log_is_torn(const char *path)
{
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char last;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	       pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

void aud_log_init(struct aud_log *l, int fd, bool is_torn)
{
	*l = (struct aud_log){.fd = fd};
	if (fd >= 0 && is_torn)
		b_str_addc(&l->buf, '\n');
}

void aud_log_release(struct aud_log *l)
{
	b_str_release(&l->buf);
}

void aud_log_line(struct aud_log *l, size_t start)
{
	aud_chain_next(&l->chain, l->buf.s + start, l->buf.len - start);
	b_str_add(&l->buf, AUD_CHAIN_FIELD);
	b_str_addn(&l->buf, l->chain.shown, AUD_CHAIN_HEX);
	b_str_add(&l->buf, AUD_CHAIN_END "\n");
	l->bytes += l->buf.len - start;
	l->pending_lines++;
	if (l->buf.len >= FLUSH_BYTES)
		aud_log_flush(l);
}

void aud_log_note_broker(struct aud_log *l, bool is_written, uint64_t count)
{
	if (!is_written)
		l->unwritten_brokers += count ? count : 1;
	else if (count)
		l->pending_brokers.folded += count;
	else
		l->pending_brokers.lines++;
}

static void settle_brokers(struct aud_log *l)
{
	const struct aud_log_brokers p = l->pending_brokers;

	if (l->failed) {
		l->unwritten_brokers += p.lines + p.folded;
	} else {
		l->brokers.lines += p.lines;
		l->brokers.folded += p.folded;
	}
	l->pending_brokers = (struct aud_log_brokers){0};
}

/* Takes back the part of a write that got through: the log ends with a whole line, and what is
 * counted as lost is not there. Not done where another writer's line could be taken along. */
static void give_up(struct aud_log *l)
{
	l->failed = true;
	l->error = errno;
	if (l->end < 0 || ftruncate(l->fd, l->end) < 0)
		return;
	l->chain = l->end_chain;
}

void aud_log_flush(struct aud_log *l)
{
	if (aud_log_open(l) && l->buf.len) {
		if (b_write_all(l->fd, l->buf.s, l->buf.len) < 0)
			give_up(l);
		else if (l->end >= 0)
			l->end += (int64_t)l->buf.len;
		if (!l->failed)
			l->end_chain = l->chain;
	}
	if (l->failed)
		l->dropped_lines += l->pending_lines;
	settle_brokers(l);
	l->pending_lines = 0;
	b_str_reset(&l->buf);
}
