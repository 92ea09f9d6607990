/* lines.c - see lines.h. */
#include "audit/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

int aud_lines_open(struct aud_lines *l, const char *path, struct b_err *err)
{
	/* O_NONBLOCK: a FIFO in its place must not hang us */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return b_fail(err, B_FORMAT, 0, "%s: not a regular file", path);
	}
	*l = (struct aud_lines){.fd = fd, .path = b_strdup(path), .buf = b_malloc(AUD_LINE_MAX)};
	return 0;
}

void aud_lines_release(struct aud_lines *l)
{
	if (l->buf)
		close(l->fd);
	free(l->buf);
	free(l->path);
	*l = (struct aud_lines){.fd = -1};
}

/* Makes room and reads on; false at the end or on failure. */
static bool refill(struct aud_lines *l)
{
	ssize_t got;

	memmove(l->buf, l->buf + l->start, l->end - l->start);
	l->end -= l->start;
	l->start = 0;
	got = b_read_full(l->fd, l->buf + l->end, AUD_LINE_MAX - l->end);
	if (got <= 0) {
		l->eof = got == 0;
		return false;
	}
	l->end += (size_t)got;
	return true;
}

/* Passes over the rest of a line that fills the whole buffer. */
static int skip_rest(struct aud_lines *l)
{
	char *nl;

	do {
		l->start = l->end;
		if (!refill(l))
			return l->eof ? 0 : -1;
		nl = memchr(l->buf, '\n', l->end);
	} while (!nl);
	l->start = (size_t)(nl - l->buf) + 1;
	return 0;
}

int aud_lines_next(struct aud_lines *l, struct aud_line *out, struct b_err *err)
{
	size_t scanned = 0;

	for (;;) {
		size_t have = l->end - l->start;
		char *from = l->buf + l->start, *nl = memchr(from + scanned, '\n', have - scanned);

		if (nl) {
			*out = (struct aud_line){.s = from, .len = (size_t)(nl - from)};
			l->start += out->len + 1;
			break;
		}
		if (have == AUD_LINE_MAX) {
			if (skip_rest(l) < 0)
				goto failed;
			*out = (struct aud_line){.s = "", .too_long = true};
			break;
		}
		scanned = have;
		if (!l->eof && refill(l))
			continue;
		if (!l->eof)
			goto failed;
		if (!have)
			return 0;
		*out = (struct aud_line){.s = l->buf + l->start, .len = have, .torn = true};
		l->start = l->end;
		break;
	}
	l->number++;
	return 1;
failed:
	return b_fail(err, B_AUDIT, errno, "%s: %s", l->path, strerror(errno));
}
