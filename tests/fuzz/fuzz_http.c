/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http - a connection of HTTP/1: requests, or (first byte '<') responses, each with its body.
 * What is read lies within what came; what goes on is read again as the same message, with one
 * Host and one field that frames its body; and a message in pieces is the same message.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/http_body.h"
#include "egress/http_head.h"

static struct egr_http_head head, again;
static const struct egr_http_asked asked = {.upgrades = true};
static struct sbx_target target, target_again;
static char out[EGR_HTTP_ROOM];

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static size_t count(const struct egr_http_head *h, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->nfields; i++)
		n += egr_is_name(h->field[i].name, name);
	return n;
}

static void check_framing(const struct egr_http_head *from)
{
	expect(again.body == from->body && again.length == (from->has_length ? from->length : 0));
	expect(count(&again, "Content-Length") + count(&again, "Transfer-Encoding") <= 1);
	expect(again.upgrades == from->upgrades);
}

static void check_request(void)
{
	size_t seen = 0, n;

	if (sbx_target_read(head.target.s, head.target.n, 0, &target) != SBX_TARGET_OK)
		return;
	n = egr_http_write_request(&head, &target, head.closes, out, sizeof out);
	expect(n && n <= sizeof out);
	if (n > EGR_HTTP_HEAD_MAX)
		return;
	expect(egr_http_request(out, n, &seen, &again) == EGR_HTTP_GO && again.used == n);
	expect(sbx_target_read(again.target.s, again.target.n, 0, &target_again) == SBX_TARGET_OK);
	expect(strcmp(target.path, target_again.path) == 0);
	expect(count(&again, "Host") == head.has_host && !again.expects);
	check_framing(&head);
}

static void check_response(void)
{
	size_t seen = 0, n = egr_http_write_response(&head, head.closes, out, sizeof out);

	expect(n && n <= sizeof out);
	if (n > EGR_HTTP_HEAD_MAX)
		return;
	expect(egr_http_response(out, n, &seen, &asked, &again) == EGR_HTTP_GO && again.used == n);
	expect(again.status == head.status);
	if (head.body != EGR_BODY_NONE)
		check_framing(&head);
}

/* The head in two pieces. */
static void check_pieces(const char *in, size_t n, bool is_response, size_t cut)
{
	size_t seen = 0, used = head.used;
	enum egr_http_said said;

	for (int i = 0; i < 2; i++) {
		size_t len = i ? n : cut;

		said = is_response ? egr_http_response(in, len, &seen, &asked, &again)
				   : egr_http_request(in, len, &seen, &again);
		expect(i || said == EGR_HTTP_MORE);
	}
	expect(said == EGR_HTTP_GO && again.used == used);
}

/* Bytes of the body and its framing; 0 in *end: it has none here. */
static size_t read_body(const char *in, size_t n, size_t step, bool *end, size_t *data)
{
	struct egr_body b;
	struct egr_piece p;
	enum egr_body_said said;
	size_t at = 0;

	*data = 0;
	egr_body_begin(&b, head.body, head.length);
	do {
		size_t len = n - at < step ? n - at : step;

		said = egr_body_read(&b, in + at, len, &p);
		expect(p.used <= len && p.len <= p.used);
		expect(said != EGR_BODY_DATA ||
		       (p.len && p.data >= in + at && p.data + p.len <= in + at + p.used));
		expect(said != EGR_BODY_MORE || p.used == len);
		at += p.used;
		*data += p.len;
	} while (said == EGR_BODY_DATA || (said == EGR_BODY_MORE && at < n));
	*end = said == EGR_BODY_END;
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *in = (const char *)data;
	bool is_response = size && in[0] == '<', end = true;
	size_t seen = 0;

	if (is_response) {
		in++;
		size--;
	}
	while (size && end) {
		size_t body, slow, n, m;
		bool same;

		seen = 0;
		if ((is_response ? egr_http_response(in, size, &seen, &asked, &head)
				 : egr_http_request(in, size, &seen, &head)) != EGR_HTTP_GO)
			return 0;
		expect(head.used && head.used <= size && head.nfields <= EGR_HTTP_FIELDS);
		if (is_response)
			check_response();
		else
			check_request();
		check_pieces(in, size, is_response, head.used * 2 / 3);
		in += head.used;
		size -= head.used;
		body = read_body(in, size, size, &end, &n);
		slow = read_body(in, size, 1, &same, &m);
		expect(same == end && slow == body && n == m);
		in += body;
		size -= body;
	}
	return 0;
}
