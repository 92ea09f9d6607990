/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - see feed.h. Lines travel in batches: a ring of them, which the reader fills and from
 * which each taker takes at its own pace. */
#include "views/feed.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

enum {
	BATCHES = 4,
	LINES_MAX = 1024,
	/* Of a line its text, and a copy that becomes its fields. */
	LINE_ROOM = 2 * AUD_LINE_MAX + 128,
	TEXT_MAX = 512 << 10
};

struct batch {
	struct view_line *lines;
	size_t n;
	char *text; /* TEXT_MAX, and one line more */
	size_t used;
};

/* A taker, and how many batches it took. */
struct seat {
	struct view_taker *taker;
	struct feed *feed;
	pthread_t thread;
	bool is_thread, is_out; /* out: its beginning failed */
	uint64_t taken;
};

struct feed {
	pthread_mutex_t lock;
	pthread_cond_t filled_more, taken_more;
	struct batch ring[BATCHES];
	uint64_t filled;
	bool is_over, has_failed;
	struct seat *seats;
	size_t n;
	const struct aud_reader *reader;
};

static void begin(struct seat *s)
{
	struct view_taker *t = s->taker;

	t->result = t->begin ? t->begin(t->ctx, s->feed->reader) : 0;
	s->is_out = t->result < 0;
}

static void take(struct seat *s)
{
	const struct batch *b = &s->feed->ring[s->taken % BATCHES];

	if (!s->is_out)
		s->taker->take(s->taker->ctx, b->lines, b->n);
}

static void end(struct seat *s)
{
	struct view_taker *t = s->taker;

	if (!s->is_out)
		t->result = s->feed->has_failed ? -1 : t->end(t->ctx);
}

/* Is there a batch that was not taken? Waits until there is, or never will be. */
static bool wait_for_batch(struct seat *s)
{
	struct feed *f = s->feed;
	bool is_there;

	pthread_mutex_lock(&f->lock);
	while (s->taken == f->filled && !f->is_over)
		pthread_cond_wait(&f->filled_more, &f->lock);
	is_there = s->taken < f->filled;
	pthread_mutex_unlock(&f->lock);
	return is_there;
}

static void *sit(void *ctx)
{
	struct seat *s = ctx;
	struct feed *f = s->feed;

	begin(s);
	while (wait_for_batch(s)) {
		take(s);
		pthread_mutex_lock(&f->lock);
		s->taken++;
		pthread_cond_signal(&f->taken_more);
		pthread_mutex_unlock(&f->lock);
	}
	end(s);
	return NULL;
}

/* ---- the reader ---- */

static bool is_free(const struct feed *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->seats[i].is_thread && f->filled - f->seats[i].taken >= BATCHES)
			return false;
	return true;
}

static struct batch *wait_for_room(struct feed *f)
{
	struct batch *b = &f->ring[f->filled % BATCHES];

	pthread_mutex_lock(&f->lock);
	while (!is_free(f))
		pthread_cond_wait(&f->taken_more, &f->lock);
	pthread_mutex_unlock(&f->lock);
	b->n = b->used = 0;
	return b;
}

static void hand_out(struct feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->filled++;
	pthread_cond_broadcast(&f->filled_more);
	pthread_mutex_unlock(&f->lock);
	for (size_t i = 0; i < f->n; i++) {
		if (f->seats[i].is_thread)
			continue;
		take(&f->seats[i]);
		f->seats[i].taken++;
	}
}

/* The fields lie in the batch: the reader's own room is not used. */
static int read_line(struct view *v, struct aud_reader *r, struct batch *b, struct b_err *err)
{
	struct view_line *l = &b->lines[b->n];
	int got;

	r->e.room = b->text + b->used;
	r->e.room_size = LINE_ROOM / 2;
	got = aud_reader_next(r, err);
	if (got <= 0)
		return got;
	*l = (struct view_line){.line = r->line, .number = r->l.number};
	if (got == AUD_READ_EVENT) {
		l->e = r->e;
		b->used += r->line.len + 64; /* as much as the parser takes */
	} else {
		l->why = r->why;
		if (!v->bad++) {
			v->first_bad = r->l.number;
			v->why = r->why;
		}
	}
	l->line.s = memcpy(b->text + b->used, r->line.s, r->line.len);
	b->used += r->line.len;
	b->n++;
	return got;
}

static int read_all(struct view *v, struct feed *f, struct aud_reader *r, struct b_err *err)
{
	int got = 1;

	while (got > 0) {
		struct batch *b = wait_for_room(f);

		while (b->n < LINES_MAX && b->used < TEXT_MAX &&
		       (got = read_line(v, r, b, err)) > 0)
			;
		if (b->n)
			hand_out(f);
	}
	r->e.room = NULL; /* a batch's */
	return got;
}

static void seat_all(struct feed *f, struct view_taker *takers)
{
	for (size_t i = 0; i < f->n; i++) {
		struct seat *s = &f->seats[i];

		*s = (struct seat){.taker = &takers[i], .feed = f};
		s->is_thread = pthread_create(&s->thread, NULL, sit, s) == 0;
		if (!s->is_thread)
			begin(s);
	}
}

static void leave(struct feed *f, bool has_failed)
{
	pthread_mutex_lock(&f->lock);
	f->is_over = true;
	f->has_failed = has_failed;
	pthread_cond_broadcast(&f->filled_more);
	pthread_mutex_unlock(&f->lock);
	for (size_t i = 0; i < f->n; i++) {
		if (f->seats[i].is_thread)
			(void)pthread_join(f->seats[i].thread, NULL);
		else
			end(&f->seats[i]);
	}
}

int view_feed(struct view *v, struct view_taker *takers, size_t n, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	struct feed f = {.lock = PTHREAD_MUTEX_INITIALIZER,
			 .filled_more = PTHREAD_COND_INITIALIZER,
			 .taken_more = PTHREAD_COND_INITIALIZER,
			 .n = n,
			 .reader = &r};
	b_auto_free struct seat *seats = b_calloc(n, sizeof *seats);
	int got;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	f.seats = seats;
	for (size_t i = 0; i < BATCHES; i++)
		f.ring[i] = (struct batch){.lines = b_calloc(LINES_MAX, sizeof *f.ring[i].lines),
					   .text = b_malloc(TEXT_MAX + LINE_ROOM)};
	seat_all(&f, takers);
	got = read_all(v, &f, &r, err);
	leave(&f, got < 0);
	for (size_t i = 0; i < BATCHES; i++) {
		free(f.ring[i].lines);
		free(f.ring[i].text);
	}
	return got;
}
