/* SPDX-License-Identifier: Apache-2.0 */
/* http_conn.c - see http_conn.h. */
#include "egress/http_conn.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SPARE (EGR_BODY_FRONT + sizeof EGR_BODY_LAST + 2) /* what stands around a chunk's data */

/* ---- buffers ---- */

static size_t held(const struct egr_http_buffer *b)
{
	return b->to - b->from;
}

static size_t room_in(struct egr_http_buffer *b)
{
	if (b->from == b->to) {
		b->from = b->to = 0;
	} else if (b->from && b->to == sizeof b->s) {
		memmove(b->s, b->s + b->from, held(b));
		b->to -= b->from;
		b->from = 0;
	}
	return sizeof b->s - b->to;
}

/* All of it: who calls has seen that there is room. */
static void put(struct egr_http_buffer *b, const char *s, size_t n)
{
	if (n > room_in(b)) {
		memmove(b->s, b->s + b->from, held(b));
		b->to -= b->from;
		b->from = 0;
	}
	memcpy(b->s + b->to, s, n);
	b->to += n;
}

/* Where `n` bytes may be written; NULL: not before some are sent. */
static char *place_in(struct egr_http_buffer *b, size_t n)
{
	if (sizeof b->s - held(b) < n)
		return NULL;
	if (room_in(b) < n) {
		memmove(b->s, b->s + b->from, held(b));
		b->to -= b->from;
		b->from = 0;
	}
	return b->s + b->to;
}

/* ---- answers of our own ---- */

/* The last that the caller hears. */
static void say_last(struct egr_http_conn *c, const struct b_str *text)
{
	struct egr_http_buffer *out = &c->side[EGR_HTTP_CALLER].out;

	c->fate = EGR_HTTP_IS_BROKEN;
	if (!place_in(out, text->len))
		return;
	put(out, text->s, text->len);
	c->fate = EGR_HTTP_ENDS_CALLER;
}

static void say_bad_gateway(struct egr_http_conn *c, enum egr_http_wrong wrong)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (c->has_answered) {
		c->fate = EGR_HTTP_IS_BROKEN;
		return;
	}
	if (c->no_server && wrong == EGR_HTTP_WRONG_NONE)
		egr_http_no_gateway(c->no_server, &text);
	else
		egr_http_bad_gateway(wrong, &text);
	say_last(c, &text);
}

/* ---- bodies ---- */

static void put_piece(struct egr_http_side *to, const struct egr_piece *p)
{
	char front[EGR_BODY_FRONT];

	if (to->is_chunks)
		put(&to->out, front, egr_body_front(p->len, front));
	put(&to->out, p->data, p->len);
	if (to->is_chunks)
		put(&to->out, "\r\n", 2);
}

/* From one end to the other, as much as there is room for. END: it is over; BAD: it never is. */
static enum egr_body_said move_body(struct egr_http_conn *c, enum egr_http_end from)
{
	struct egr_http_side *in = &c->side[from], *to = &c->side[!from];
	struct egr_body *b = &c->body[from];
	enum egr_body_said said;
	struct egr_piece p;

	for (;;) {
		size_t n = held(&in->in), room = sizeof to->out.s - held(&to->out);

		if (room <= SPARE)
			return EGR_BODY_MORE;
		if (n > room - SPARE)
			n = room - SPARE;
		said = egr_body_read(b, in->in.s + in->in.from, n, &p);
		if (said == EGR_BODY_DATA)
			put_piece(to, &p);
		in->in.from += p.used;
		if (said == EGR_BODY_END && to->is_chunks)
			put(&to->out, EGR_BODY_LAST, sizeof EGR_BODY_LAST - 1);
		if (said != EGR_BODY_DATA)
			break;
	}
	if (said == EGR_BODY_MORE && in->has_ended && !held(&in->in))
		return egr_body_may_end(b) ? EGR_BODY_END : EGR_BODY_BAD;
	return said;
}

/* ---- requests ---- */

/* The first set that refuses is named, else the first that would. */
static void ask_sets(const struct egr_http_conn *c, const struct sbx_request *q,
		     struct egr_http_told *t)
{
	char room[EGR_HTTP_HEAD_MAX];

	for (size_t i = 0; i < c->nsets; i++) {
		struct sbx_request_answer a;
		bool passes = sbx_request_judge(c->rules, c->set[i], q, room, &a);

		if (i == 0 || !passes || (t->answer.allowed && !a.allowed)) {
			t->answer = a;
			t->set = c->set[i];
		}
		if (!passes)
			return;
	}
}

static void judge(struct egr_http_conn *c, struct egr_http_told *t, struct sbx_target *target)
{
	const struct egr_http_head *h = t->head;
	unsigned flags = SBX_TARGET_SLASHES;
	struct sbx_request q = {.method = h->method.s, .method_len = h->method.n};

	t->answer = (struct sbx_request_answer){.rule = -1, .why = SBX_REQUEST_NO_RULE};
	for (size_t i = 0; i < c->nsets; i++)
		if (!(c->rules->set[c->set[i]].flags & SBX_REQUEST_SLASHES))
			flags = 0;
	if (h->wrong != EGR_HTTP_WRONG_NONE)
		return;
	t->target_kind = sbx_target_read(h->target.s, h->target.n, flags, target);
	if (t->target_kind != SBX_TARGET_OK)
		return;
	t->target = target;
	t->is_for_another =
		(target->is_url && target->is_https != c->is_encrypted) ||
		!egr_http_is_for(h, target, &c->host, c->port, c->is_encrypted ? 443 : 80) ||
		(target->is_star && !egr_is_word(h->method, "OPTIONS"));
	q.path = target->path;
	q.path_len = target->len;
	q.query = target->query;
	q.query_len = target->query_len;
	if (!t->is_for_another)
		ask_sets(c, &q, t);
}

static void refuse(struct egr_http_conn *c, const struct egr_http_told *t)
{
	b_auto(b_str_release) struct b_str text = {0};

	egr_http_refusal(c, t, &text);
	say_last(c, &text);
}

/* There is room for it: nothing else is on its way to the server. */
static void forward(struct egr_http_conn *c, const struct egr_http_told *t)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct egr_http_head *h = t->head;
	struct egr_http_side *to = &c->side[EGR_HTTP_SERVER];
	size_t n = egr_http_write_request(h, t->target, h->closes,
					  place_in(&to->out, EGR_HTTP_ROOM), EGR_HTTP_ROOM);

	if (!n) { /* never: a head has room for what is written of one */
		c->fate = EGR_HTTP_IS_BROKEN;
		return;
	}
	to->out.to += n;
	to->is_chunks = h->body == EGR_BODY_CHUNKED;
	egr_body_begin(&c->body[EGR_HTTP_CALLER], h->body, h->length);
	c->asked = egr_http_asked(h);
	c->minor = h->minor;
	c->is_last = h->closes;
	c->has_answered = false;
	c->up = EGR_REQUEST_BODY;
	c->down = EGR_RESPONSE_HEAD;
	if (h->expects)
		put(&c->side[EGR_HTTP_CALLER].out, go_on, sizeof go_on - 1);
}

/* True: there was one. */
static bool read_request(struct egr_http_conn *c)
{
	struct egr_http_side *s = &c->side[EGR_HTTP_CALLER];
	struct egr_http_head h;
	struct sbx_target target;
	struct egr_http_told t = {.head = &h};

	/* what was answered before goes first, so that nothing piles up */
	if (c->is_held || held(&s->out) || held(&c->side[EGR_HTTP_SERVER].out))
		return false;
	if (egr_http_request(s->in.s + s->in.from, held(&s->in), &s->seen, &h) == EGR_HTTP_MORE) {
		if (s->has_ended)
			c->fate = EGR_HTTP_IS_OVER;
		return false;
	}
	judge(c, &t, &target);
	c->is_held = !c->tell(c, &t);
	if (c->is_held)
		return false;
	if (!t.target || t.is_for_another || !t.answer.passes)
		refuse(c, &t);
	else if (c->no_server)
		say_bad_gateway(c, EGR_HTTP_WRONG_NONE);
	else
		forward(c, &t);
	s->in.from += h.used;
	return true;
}

static bool move_up(struct egr_http_conn *c)
{
	enum egr_body_said said;

	if (c->up == EGR_REQUEST_HEAD)
		return read_request(c);
	if (c->up != EGR_REQUEST_BODY)
		return false;
	said = move_body(c, EGR_HTTP_CALLER);
	if (said == EGR_BODY_BAD)
		c->fate = EGR_HTTP_IS_BROKEN;
	else if (said == EGR_BODY_END)
		c->up = EGR_REQUEST_DONE;
	return said != EGR_BODY_MORE;
}

/* ---- responses ---- */

static void pass_response(struct egr_http_conn *c, struct egr_http_head *h)
{
	struct egr_http_side *to = &c->side[EGR_HTTP_CALLER];
	enum egr_body_kind body = h->body;

	/* who speaks 1.0 knows no chunks */
	if (body == EGR_BODY_CHUNKED && !c->minor)
		h->body = EGR_BODY_TO_END;
	to->is_chunks = h->body == EGR_BODY_CHUNKED;
	if (h->status >= 200)
		c->is_last |= h->closes || h->body == EGR_BODY_TO_END;
	to->out.to += egr_http_write_response(h, h->status >= 200 && c->is_last,
					      place_in(&to->out, EGR_HTTP_ROOM), EGR_HTTP_ROOM);
	c->has_answered = true;
	egr_body_begin(&c->body[EGR_HTTP_SERVER], body, h->length);
}

static bool read_response(struct egr_http_conn *c)
{
	struct egr_http_side *s = &c->side[EGR_HTTP_SERVER];
	struct egr_http_head h;
	enum egr_http_said said;

	if (!place_in(&c->side[EGR_HTTP_CALLER].out, EGR_HTTP_ROOM))
		return false;
	said = egr_http_response(s->in.s + s->in.from, held(&s->in), &s->seen, &c->asked, &h);
	if (said == EGR_HTTP_MORE && !s->has_ended)
		return false;
	if (said != EGR_HTTP_GO) {
		say_bad_gateway(c, h.wrong);
		return false;
	}
	s->in.from += h.used;
	if (h.status == 101 && c->up == EGR_REQUEST_DONE) {
		pass_response(c, &h);
		c->up = EGR_RAW;
	} else if (h.status >= 200) {
		pass_response(c, &h);
		c->down = EGR_RESPONSE_BODY;
	} else if (h.status != 100 && h.status != 101 && c->minor) {
		pass_response(c, &h);
	}
	return true;
}

/* The whole response is on its way: the next request, or the end. */
static void end_response(struct egr_http_conn *c)
{
	c->down = EGR_RESPONSE_NONE;
	if (c->is_last || c->up != EGR_REQUEST_DONE)
		c->fate = EGR_HTTP_ENDS_CALLER;
	else
		c->up = EGR_REQUEST_HEAD;
}

static bool move_down(struct egr_http_conn *c)
{
	const struct egr_http_side *s = &c->side[EGR_HTTP_SERVER];
	enum egr_body_said said;

	if (c->up == EGR_RAW)
		return false;
	if (c->down == EGR_RESPONSE_HEAD)
		return read_response(c);
	if (c->down == EGR_RESPONSE_NONE) {
		/* a server that speaks unasked, or leaves, between two requests */
		if (s->has_ended || held(&s->in))
			c->fate = EGR_HTTP_ENDS_CALLER;
		return false;
	}
	said = move_body(c, EGR_HTTP_SERVER);
	if (said == EGR_BODY_BAD)
		c->fate = EGR_HTTP_IS_BROKEN;
	else if (said == EGR_BODY_END)
		end_response(c);
	return said != EGR_BODY_MORE;
}

/* ---- behind an upgrade ---- */

static void move_raw(struct egr_http_conn *c, enum egr_http_end from)
{
	struct egr_http_buffer *in = &c->side[from].in, *out = &c->side[!from].out;
	size_t n = held(in), room = sizeof out->s - held(out);

	if (n > room)
		n = room;
	if (n)
		put(out, in->s + in->from, n);
	in->from += n;
}

bool egr_http_is_shut(const struct egr_http_conn *c, enum egr_http_end to)
{
	const struct egr_http_side *from = &c->side[!to];

	return c->up == EGR_RAW && from->has_ended && !held(&from->in) && !held(&c->side[to].out);
}

/* ---- the whole ---- */

static void run(struct egr_http_conn *c)
{
	bool moved = true;

	while (moved && c->fate == EGR_HTTP_GOES_ON && c->up != EGR_RAW) {
		moved = move_up(c);
		if (c->fate == EGR_HTTP_GOES_ON)
			moved |= move_down(c);
	}
	if (c->fate != EGR_HTTP_GOES_ON || c->up != EGR_RAW)
		return;
	move_raw(c, EGR_HTTP_CALLER);
	move_raw(c, EGR_HTTP_SERVER);
	if (egr_http_is_shut(c, EGR_HTTP_CALLER) && egr_http_is_shut(c, EGR_HTTP_SERVER))
		c->fate = EGR_HTTP_IS_OVER;
}

void egr_http_begin(struct egr_http_conn *c)
{
	c->fate = EGR_HTTP_GOES_ON;
	c->up = EGR_REQUEST_HEAD;
	c->down = EGR_RESPONSE_NONE;
	c->is_held = c->is_last = c->has_answered = false;
	for (int i = 0; i < EGR_HTTP_ENDS; i++) {
		c->side[i].in.from = c->side[i].in.to = 0;
		c->side[i].out.from = c->side[i].out.to = 0;
		c->side[i].seen = 0;
		c->side[i].has_ended = c->side[i].is_chunks = false;
	}
}

size_t egr_http_room(struct egr_http_conn *c, enum egr_http_end end, char **out)
{
	struct egr_http_buffer *b = &c->side[end].in;
	size_t n = c->side[end].has_ended ? 0 : room_in(b);

	*out = b->s + b->to;
	return n;
}

void egr_http_received(struct egr_http_conn *c, enum egr_http_end end, size_t n)
{
	c->side[end].in.to += n;
	c->side[end].has_ended |= n == 0;
	run(c);
}

void egr_http_again(struct egr_http_conn *c)
{
	c->is_held = false;
	run(c);
}

size_t egr_http_pending(const struct egr_http_conn *c, enum egr_http_end end, const char **out)
{
	const struct egr_http_buffer *b = &c->side[end].out;

	*out = b->s + b->from;
	return held(b);
}

void egr_http_sent(struct egr_http_conn *c, enum egr_http_end end, size_t n)
{
	c->side[end].out.from += n;
	run(c);
}
