/* SPDX-License-Identifier: Apache-2.0 */
/* read_log.c - the lines of a log, and the events of one run among them. */
#include "audit/read_log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "audit/pack.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

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
	*l = (struct aud_lines){.fd = fd,
				.packed = aud_unpack_new(fd),
				.path = b_strdup(path),
				.buf = b_malloc(AUD_LINE_MAX)};
	return 0;
}

void aud_lines_release(struct aud_lines *l)
{
	if (l->buf)
		close(l->fd);
	aud_unpack_free(l->packed);
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
	got = l->packed ? aud_unpack_read(l->packed, l->buf + l->end, AUD_LINE_MAX - l->end)
			: b_read_full(l->fd, l->buf + l->end, AUD_LINE_MAX - l->end);
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

/* ---- the events of a run ---- */

/* An image that began in the run: the line of its exec, and its hello. */
struct aud_image {
	UT_hash_handle hh;
	int64_t seq, ppid;
	const char *exe;
	bool has_hello;
};

enum { IMAGES_MAX = 1 << 20 };

static struct aud_image *image_of(struct aud_reader *r, int64_t seq, bool make)
{
	struct aud_image *i;

	HASH_FIND(hh, r->images, &seq, sizeof seq, i);
	if (i || !make || HASH_COUNT(r->images) >= IMAGES_MAX)
		return i;
	i = b_calloc(1, sizeof *i);
	i->seq = seq;
	HASH_ADD(hh, r->images, seq, sizeof i->seq, i);
	return i;
}

static void name_image(struct aud_reader *r, int64_t seq, bool is_hello)
{
	struct aud_image *i = image_of(r, seq, true);

	if (!i || (i->has_hello && !is_hello))
		return;
	if (!i->exe || strcmp(i->exe, r->e.path) != 0)
		i->exe = b_arena_strndup(&r->names, r->e.path, strlen(r->e.path));
	i->ppid = r->e.ppid;
	i->has_hello = is_hello;
}

/* What the line leaves to that of its image. Version 1 says all itself. */
static void fill_in(struct aud_reader *r)
{
	struct aud_entry *e = &r->e;
	const struct aud_image *i;

	if (e->version < 2)
		return;
	if (strcmp(e->kind, "exec") == 0)
		name_image(r, e->seq, false);
	else if (strcmp(e->kind, "hello") == 0 && e->proc)
		name_image(r, e->proc, true);
	i = r->last;
	if (!i || i->seq != e->proc)
		i = r->last = e->proc ? image_of(r, e->proc, false) : NULL;
	if (i && !*e->exe && strcmp(e->kind, "unwitnessed") != 0)
		e->exe = i->exe;
	if (i && !(e->has >> AUD_F_ppid & 1))
		e->ppid = i->ppid;
}

/* A command may write into its ring what it likes. The broker's ring it cannot reach. */
static bool is_claim(const struct aud_reader *r)
{
	return r->is_brokered && !*r->e.layer && strcmp(r->e.op, "modify") == 0 &&
	       strcmp(r->e.kind, "result") == 0;
}

/* A run that was killed at its start may have no run.json: the log says who speaks in it. */
static bool has_brokers_line(const struct aud_run *run)
{
	b_auto(aud_reader_release) struct aud_reader r = {.run = run, .l = {.fd = -1}};
	struct b_err err;
	int got;

	if (aud_lines_open(&r.l, run->log, &err) < 0)
		return false;
	while ((got = aud_reader_next(&r, &err)) > 0)
		if (got == AUD_READ_EVENT && strcmp(r.e.layer, "broker") == 0)
			return true;
	return false;
}

static bool floor_has(const json_t *floor, const char *what)
{
	for (size_t i = 0; i < json_array_size(floor); i++) {
		const char *text = json_string_value(json_array_get(floor, i));

		if (text && b_has_prefix(text, what))
			return true;
	}
	return false;
}

/* The kernel decides marked calls, and only a shim reports them. */
static bool is_brokered(const struct aud_run *run)
{
	const json_t *floor = aud_run_get(run, "floor");

	if (!floor)
		return has_brokers_line(run);
	return floor_has(floor, "broker") && !floor_has(floor, "marked calls");
}

int aud_reader_open(struct aud_reader *r, const struct aud_run *run, struct b_err *err)
{
	*r = (struct aud_reader){.run = run, .is_brokered = is_brokered(run), .l = {.fd = -1}};
	if (access(run->log, F_OK) < 0 && errno == ENOENT)
		return 0; /* the run never got so far */
	return aud_lines_open(&r->l, run->log, err);
}

int aud_reader_next(struct aud_reader *r, struct b_err *err)
{
	int got;

	if (!r->l.buf)
		return AUD_READ_END;
	while ((got = aud_lines_next(&r->l, &r->line, err)) > 0) {
		if (r->line.torn && r->run->live)
			return AUD_READ_END; /* being written */
		if (aud_entry_parse(&r->line, &r->e, &r->why) < 0) {
			if (r->run->is_shared)
				continue; /* another writer's, and torn perhaps */
			return AUD_READ_BAD;
		}
		if (r->run->is_shared && *r->e.run_id && strcmp(r->e.run_id, r->run->id) != 0)
			continue;
		fill_in(r);
		r->e.is_claim = is_claim(r);
		return AUD_READ_EVENT;
	}
	return got;
}

void aud_reader_release(struct aud_reader *r)
{
	struct aud_image *i = r->images, *next;

	HASH_CLEAR(hh, r->images);
	for (; i; i = next) {
		next = i->hh.next;
		free(i);
	}
	b_arena_release(&r->names);
	aud_entry_release(&r->e);
	aud_lines_release(&r->l);
}
