/* SPDX-License-Identifier: Apache-2.0 */
/* http_write.c - heads as they go on (http_head.h). */
#include <stdio.h>
#include <string.h>

#include "egress/http_head.h"

struct writer {
	char *out;
	size_t room, len;
	bool is_full;
};

static void put(struct writer *w, const char *s, size_t n)
{
	if (n > w->room - w->len) {
		w->is_full = true;
		return;
	}
	memcpy(w->out + w->len, s, n);
	w->len += n;
}

static void put_text(struct writer *w, const char *s)
{
	put(w, s, strlen(s));
}

static void put_span(struct writer *w, struct egr_text a)
{
	put(w, a.s, a.n);
}

static void put_number(struct writer *w, const char *before, uint64_t v, const char *behind)
{
	char text[24];

	put_text(w, before);
	put(w, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)v));
	put_text(w, behind);
}

static void put_host(struct writer *w, const struct egr_http_head *h)
{
	char addr[SBX_ADDR_TEXT];

	put_text(w, "Host: ");
	if (h->host.kind == SBX_HOST_NAME) {
		put(w, h->host.name, h->host.len);
	} else {
		put_text(w, h->host.addr.is_v6 ? "[" : "");
		put(w, addr, sbx_addr_text(&h->host.addr, addr));
		put_text(w, h->host.addr.is_v6 ? "]" : "");
	}
	if (h->port)
		put_number(w, ":", h->port, "");
	put_text(w, "\r\n");
}

static void put_fields(struct writer *w, const struct egr_http_head *h)
{
	for (size_t i = 0; i < h->nfields; i++) {
		const struct egr_http_field *f = &h->field[i];

		if (f->is_left_out)
			continue;
		put_span(w, f->name);
		put_text(w, ": ");
		put_span(w, f->value);
		put_text(w, "\r\n");
	}
}

/* What frames the body, what becomes of the connection, and the empty line. */
static size_t end(struct writer *w, const struct egr_http_head *h, bool closes)
{
	if (h->body == EGR_BODY_CHUNKED)
		put_text(w, "Transfer-Encoding: chunked\r\n");
	else if (h->has_length)
		put_number(w, "Content-Length: ", h->length, "\r\n");
	if (h->upgrades)
		put_text(w, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (closes)
		put_text(w, "Connection: close\r\n");
	put_text(w, "\r\n");
	return w->is_full ? 0 : w->len;
}

static void put_version(struct writer *w, const struct egr_http_head *h)
{
	put_text(w, h->minor ? "HTTP/1.1" : "HTTP/1.0");
}

size_t egr_http_write_request(const struct egr_http_head *h, const struct sbx_target *t,
			      bool closes, char *out, size_t room)
{
	struct writer w = {.out = out, .room = room};

	put_span(&w, h->method);
	put_text(&w, " ");
	put(&w, t->path, t->len);
	if (t->has_query) {
		put_text(&w, "?");
		put(&w, t->query, t->query_len);
	}
	put_text(&w, " ");
	put_version(&w, h);
	put_text(&w, "\r\n");
	if (h->has_host)
		put_host(&w, h);
	put_fields(&w, h);
	return end(&w, h, closes);
}

/* A status of 1.1 whose body ends with nothing said is empty: that is said. */
static bool is_silent(const struct egr_http_head *h)
{
	return h->status >= 200 && h->status != 204 && h->status != 304 && h->minor &&
	       !h->has_length && h->body == EGR_BODY_NONE;
}

size_t egr_http_write_response(const struct egr_http_head *h, bool closes, char *out, size_t room)
{
	struct writer w = {.out = out, .room = room};

	put_version(&w, h);
	put_number(&w, " ", h->status, " ");
	put_span(&w, h->reason);
	put_text(&w, "\r\n");
	put_fields(&w, h);
	if (is_silent(h) && !h->answers_head)
		put_text(&w, "Content-Length: 0\r\n");
	return end(&w, h, closes);
}
