/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of egress/http_head.c, http_write.c, http_body.c. */
#include "egress/http_body.h"
#include "egress/http_head.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tsv.h"

static struct egr_http_head head, answer;
static struct sbx_target target;
static char out[EGR_HTTP_ROOM];

#define H "Host: a.example.net\r\n"

static enum egr_http_said asks_n(const char *text, size_t n)
{
	size_t seen = 0;

	return egr_http_request(text, n, &seen, &head);
}

static enum egr_http_said asks(const char *text)
{
	return asks_n(text, strlen(text));
}

/* What it answers is in `head`. */
static enum egr_http_said answers(const char *text)
{
	struct egr_http_asked asked = egr_http_asked(&head);
	size_t seen = 0;

	return egr_http_response(text, strlen(text), &seen, &asked, &answer);
}

static void body_text(const struct egr_http_head *h, char text[32])
{
	if (h->upgrades)
		snprintf(text, 32, "upgrade");
	else if (h->body == EGR_BODY_LENGTH)
		snprintf(text, 32, "length %llu", (unsigned long long)h->length);
	else
		snprintf(text, 32, "%s",
			 h->body == EGR_BODY_NONE      ? "none"
			 : h->body == EGR_BODY_CHUNKED ? "chunked"
						       : "to end");
}

/* ---- the rows ---- */

/* "/path key=value key=value", or ERR. */
static void target_text(const char *request, struct b_str *text)
{
	char room[512];
	struct sbx_query_pair p;
	size_t at = 0;

	if (asks(request) != EGR_HTTP_GO ||
	    sbx_target_read(head.target.s, head.target.n, 0, &target) != SBX_TARGET_OK) {
		b_str_add(text, "ERR");
		return;
	}
	b_str_add(text, target.path);
	while (sbx_query_next(target.query, target.query_len, &at, room, &p) == SBX_QUERY_PAIR)
		b_str_addf(text, " %.*s=%.*s", (int)p.key_len, p.key, (int)p.value_len, p.value);
}

/* The row's "%c0" as a byte. */
static void add_bytes(struct b_str *to, const char *text)
{
	for (; *text; text++) {
		char hex[3] = {text[0] == '%' ? text[1] : '\0', text[1], '\0'};

		if (hex[0]) {
			hex[1] = text[2];
			b_str_addc(to, (char)strtoul(hex, NULL, 16));
			text += 2;
		} else {
			b_str_addc(to, *text);
		}
	}
}

static void judge_row(const struct tsv_row *row)
{
	const char *kind = tsv_cell(row, "kind"), *in = tsv_cell(row, "input");
	b_auto(b_str_release) struct b_str said = {0}, bytes = {0};
	char body[32] = "ERR";
	enum egr_http_said got = EGR_HTTP_BAD;

	if (strcmp(kind, "target") == 0) {
		target_text(in, &said);
		cr_expect_str_eq(b_str_c(&said), tsv_cell(row, "result"), "%s", row->cells[0]);
		return;
	}
	if (strncmp(kind, "request", 7) == 0) {
		if (strcmp(kind, "request-bytes") == 0)
			add_bytes(&bytes, in);
		else
			b_str_add(&bytes, in);
		got = asks_n(bytes.s, bytes.len);
		if (got == EGR_HTTP_GO)
			body_text(&head, body);
	} else {
		cr_assert_eq(asks(strcmp(kind, "response-upgrade") == 0
					  ? "GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\n"
					    "Upgrade: websocket\r\n\r\n"
					  : "GET / HTTP/1.1\r\n" H "\r\n"),
			     EGR_HTTP_GO);
		got = answers(in);
		if (got == EGR_HTTP_GO)
			body_text(&answer, body);
	}
	cr_expect_neq(got, EGR_HTTP_MORE, "%s", row->cells[0]);
	cr_expect_str_eq(body, tsv_cell(row, "result"), "%s", row->cells[0]);
}

Test(egress_http, messages_are_read_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_http_parse.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		judge_row(&t->rows[i]);
	tsv_free(t);
}

/* ---- smuggling ---- */

#define GET  "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" H

static const struct {
	const char *in;
	enum egr_http_wrong wrong;
} SMUGGLED[] = {
	/* two lengths, or none that all read alike */
	{POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_BOTH},
	{POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", EGR_HTTP_WRONG_BOTH},
	{POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 5, 5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: +5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: -5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 0x5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 5 5\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 5.0\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length:\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length: 1844674407370955161600\r\n\r\n", EGR_HTTP_WRONG_LENGTH},
	{POST "Content-Length : 5\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{POST "Content_Length: 5\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{POST "Connection: Content-Length\r\nContent-Length: 5\r\n\r\n", EGR_HTTP_WRONG_CONNECTION},
	/* codings that one reader knows and another does not */
	{POST "Transfer-Encoding: chunkedx\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: xchunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: chunked, identity\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: identity, chunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: gzip, chunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: identity\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	 EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: \"chunked\"\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding: chunked;q=1\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer-Encoding:\vchunked\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{POST "Transfer-Encoding : chunked\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{POST " Transfer-Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_FOLD},
	{POST "A: b\r\n\tTransfer-Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_FOLD},
	{POST "Transfer-Encoding:\r\n chunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
	{POST "Transfer_Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{POST "Transfer-Encoding\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{POST "Connection: close, transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n",
	 EGR_HTTP_WRONG_CONNECTION},
	{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
	/* lines that end where one reader sees it */
	{GET H "A: b\nContent-Length: 5\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "A: b\rContent-Length: 5\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "A: b\r\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "\n\r\n", EGR_HTTP_WRONG_BYTE},
	{"GET / HTTP/1.1\n" H "\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "A: b\x01\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "A: b\x7f\r\n\r\n", EGR_HTTP_WRONG_BYTE},
	{GET H "A: \xc0\xaf\r\n\r\n", EGR_HTTP_WRONG_UTF8},
	{GET H "A\xc3\xa9: b\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{GET H "A b: c\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{GET H ": c\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{GET H "A\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{"\r\n" GET H "\r\n", EGR_HTTP_WRONG_LINE},
	/* first lines */
	{" GET / HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_LINE},
	{"GET  / HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_LINE},
	{"GET\t/ HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_LINE},
	{"GET / HTTP/1.1 \r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET /  HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET /a b HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET /\r\n" H "\r\n", EGR_HTTP_WRONG_LINE},
	{"GET / http/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET / HTTP/1.2\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET / HTTP/2.0\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET / HTTP/1.10\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"GET / HTTP/01.1\r\n" H "\r\n", EGR_HTTP_WRONG_VERSION},
	{"PRI * HTTP/2.0\r\n\r\n", EGR_HTTP_WRONG_VERSION},
	{"G(T / HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_LINE},
	{"TRACE / HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_METHOD},
	{"CONNECT b.example.net:443 HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_METHOD},
	{"connect b.example.net:443 HTTP/1.1\r\n" H "\r\n", EGR_HTTP_WRONG_METHOD},
	/* for whom it is */
	{GET "\r\n", EGR_HTTP_WRONG_HOST},
	{GET H H "\r\n", EGR_HTTP_WRONG_HOST},
	{GET H "host: b.example.net\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host:\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: u@a.example.net\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: a.example.net, b.example.net\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: a.example.net/\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: a.example.net:80x\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: a.example.net:\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: 127.1\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: [::1\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host: ::1\r\n\r\n", EGR_HTTP_WRONG_HOST},
	{GET "Host : a.example.net\r\n\r\n", EGR_HTTP_WRONG_FIELD},
	{"GET / HTTP/1.0\r\n" H H "\r\n", EGR_HTTP_WRONG_HOST},
	{GET H "Connection: Host\r\n\r\n", EGR_HTTP_WRONG_CONNECTION},
	/* what changes the connection */
	{POST "Content-Length: 5\r\nExpect: 200-ok\r\n\r\n", EGR_HTTP_WRONG_EXPECT},
	{POST "Content-Length: 5\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	 EGR_HTTP_WRONG_UPGRADE},
	{GET H "Content-Length: 5\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	 EGR_HTTP_WRONG_UPGRADE},
	{GET H "Connection: a b\r\n\r\n", EGR_HTTP_WRONG_CONNECTION},
};

Test(egress_http, what_two_readers_could_read_in_two_ways_is_refused)
{
	for (size_t i = 0; i < sizeof SMUGGLED / sizeof *SMUGGLED; i++) {
		cr_expect_eq(asks(SMUGGLED[i].in), EGR_HTTP_BAD, "%s", SMUGGLED[i].in);
		cr_expect_eq(head.wrong, SMUGGLED[i].wrong, "%s: %s", SMUGGLED[i].in,
			     egr_http_wrong_text(head.wrong));
		cr_expect_geq(egr_http_wrong_status(head.wrong), 400);
	}
	cr_expect_eq(asks_n(GET H "A: \0\r\n\r\n", sizeof(GET H "A: \0\r\n\r\n") - 1),
		     EGR_HTTP_BAD);
}

Test(egress_http, the_control_of_the_table_passes)
{
	static const char *const rows[] = {
		GET H "\r\n",
		POST "Content-Length: 5\r\n\r\n",
		POST "transfer-encoding:\tChunked \r\n\r\n",
		GET "Host: [2001:db8::1]:8080\r\n\r\n",
		GET "Host: 192.0.2.1\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"M-SEARCH * HTTP/1.1\r\n" H "\r\n",
		GET H "A:\r\nB: caf\xc3\xa9\tx\r\nConnection: , close ,\r\n\r\n",
		GET H "Connection: keep-alive, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
		      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(asks(rows[i]), EGR_HTTP_GO, "%s: %s", rows[i],
			     egr_http_wrong_text(head.wrong));
	cr_expect_not(head.upgrades, "h2c is left out");
}

Test(egress_http, limits_are_the_last_that_pass)
{
	static char text[EGR_HTTP_HEAD_MAX + 2];
	b_auto(b_str_release) struct b_str s = {0};
	const char front[] = GET H "A: ";
	size_t seen = 0;

	memset(text, 'a', sizeof text);
	memcpy(text, front, sizeof front - 1);
	memcpy(text + EGR_HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
	cr_expect_eq(asks_n(text, EGR_HTTP_HEAD_MAX), EGR_HTTP_GO);
	memcpy(text + EGR_HTTP_HEAD_MAX - 4, "a\r\n\r\n", 5);
	cr_expect_eq(asks_n(text, EGR_HTTP_HEAD_MAX + 1), EGR_HTTP_BAD);
	cr_expect_eq(head.wrong, EGR_HTTP_WRONG_LONG);
	cr_expect_eq(egr_http_request(text, EGR_HTTP_HEAD_MAX - 1, &seen, &head), EGR_HTTP_MORE);
	cr_expect_eq(egr_http_request(text, EGR_HTTP_HEAD_MAX, &seen, &head), EGR_HTTP_BAD,
		     "so many bytes without an end");

	b_str_add(&s, GET H);
	for (unsigned i = 1; i < EGR_HTTP_FIELDS; i++)
		b_str_addf(&s, "A%u: b\r\n", i);
	s.len -= 2;
	b_str_add(&s, "\r\n\r\n");
	cr_expect_eq(asks(s.s), EGR_HTTP_GO);
	s.len -= 2;
	b_str_add(&s, "One: more\r\n\r\n");
	cr_expect_eq(asks(s.s), EGR_HTTP_BAD);
	cr_expect_eq(head.wrong, EGR_HTTP_WRONG_MANY);
}

Test(egress_http, a_head_in_pieces_is_the_same_head)
{
	static const char all[] = POST "Content-Length: 5\r\nA: b\r\n\r\n12345GET /next";
	const size_t len = sizeof all - 1 - strlen("12345GET /next");
	size_t seen = 0;

	for (size_t n = 0; n < len; n++)
		cr_expect_eq(egr_http_request(all, n, &seen, &head), EGR_HTTP_MORE, "%zu", n);
	cr_expect_eq(egr_http_request(all, sizeof all - 1, &seen, &head), EGR_HTTP_GO);
	cr_expect_eq(head.used, len);
	cr_expect_eq(head.length, 5);
	cr_expect_eq(seen, 0, "for the next");
}

/* ---- heads that go on ---- */

static const char *goes_on(const char *request, bool closes)
{
	size_t n;

	cr_assert_eq(asks(request), EGR_HTTP_GO, "%s", egr_http_wrong_text(head.wrong));
	cr_assert_eq(sbx_target_read(head.target.s, head.target.n, 0, &target), SBX_TARGET_OK);
	n = egr_http_write_request(&head, &target, closes, out, sizeof out - 1);
	cr_assert_gt(n, 0);
	out[n] = '\0';
	return out;
}

Test(egress_http, a_request_goes_on_as_it_was_judged)
{
	cr_expect_str_eq(
		goes_on("GET /a/../b;c?d=e HTTP/1.1\r\nhOST: A.Example.NET:8080\r\nA:  b \r\n"
			"Connection: keep-alive, x-Hop\r\nX-hop: 1\r\nTE: trailers\r\n"
			"Proxy-Authorization: Basic x\r\nKeep-Alive: 5\r\n\r\n",
			false),
		"GET /b?d=e HTTP/1.1\r\nHost: a.example.net:8080\r\nA: b\r\n\r\n");
	cr_expect_str_eq(goes_on(POST "Expect: 100-Continue\r\ncontent-length: 007\r\n\r\n", true),
			 POST "Content-Length: 7\r\nConnection: close\r\n\r\n");
	cr_expect(head.expects);
	cr_expect_str_eq(goes_on(POST "TRANSFER-encoding: CHUNKED\r\nTrailer: X\r\n\r\n", false),
			 POST "Transfer-Encoding: chunked\r\n\r\n");
	cr_expect_str_eq(goes_on(GET H "Upgrade: WebSocket\r\nConnection: upgrade\r\n"
				       "Sec-WebSocket-Key: x\r\n\r\n",
				 false),
			 GET H "Sec-WebSocket-Key: x\r\nConnection: Upgrade\r\n"
			       "Upgrade: websocket\r\n\r\n");
	cr_expect_str_eq(goes_on("GET http://a.example.net/%61 HTTP/1.0\r\n\r\n", true),
			 "GET /a HTTP/1.0\r\nConnection: close\r\n\r\n");
	cr_expect(head.closes);
	cr_expect_str_eq(goes_on("OPTIONS * HTTP/1.1\r\nHost: [2001:DB8::1]:1\r\n\r\n", false),
			 "OPTIONS * HTTP/1.1\r\nHost: [2001:db8::1]:1\r\n\r\n");
	cr_expect_eq(egr_http_write_request(&head, &target, false, out, 20), 0, "no room");
}

static const char *comes_back(const char *request, const char *response, bool closes)
{
	size_t n;

	cr_assert_eq(asks(request), EGR_HTTP_GO);
	cr_assert_eq(answers(response), EGR_HTTP_GO, "%s: %s", response,
		     egr_http_wrong_text(answer.wrong));
	n = egr_http_write_response(&answer, closes, out, sizeof out - 1);
	out[n] = '\0';
	return out;
}

Test(egress_http, a_response_comes_back_framed_once)
{
	static const char get[] = GET H "\r\n", is_head[] = "HEAD / HTTP/1.1\r\n" H "\r\n";

	cr_expect_str_eq(comes_back(get,
				    "HTTP/1.1 200 All is well\r\nKeep-Alive: 5\r\nA: b\r\n"
				    "Connection: keep-alive\r\ncontent-length: 5\r\n\r\n",
				    false),
			 "HTTP/1.1 200 All is well\r\nA: b\r\nContent-Length: 5\r\n\r\n");
	cr_expect_str_eq(comes_back(get, "HTTP/1.1 200\r\nA: b\r\n\r\n", false),
			 "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 0\r\n\r\n");
	cr_expect_str_eq(comes_back(get, "HTTP/1.0 200 OK\r\n\r\n", true),
			 "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n");
	cr_expect_eq(answer.body, EGR_BODY_TO_END);
	cr_expect_str_eq(comes_back(is_head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false),
			 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
	cr_expect_eq(answer.body, EGR_BODY_NONE);
	cr_expect_str_eq(comes_back(is_head, "HTTP/1.1 200 OK\r\n\r\n", false),
			 "HTTP/1.1 200 OK\r\n\r\n");
	cr_expect_str_eq(
		comes_back(get, "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n", false),
		"HTTP/1.1 100 Continue\r\n\r\n");
	cr_expect_str_eq(comes_back(get, "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", false),
			 "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n");
	cr_expect_eq(answer.body, EGR_BODY_NONE);
	cr_expect_str_eq(
		comes_back(get, "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n", true),
		"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n"
		"Connection: close\r\n\r\n");
}

Test(egress_http, a_server_may_be_the_attacker_too)
{
	static const struct {
		const char *in;
		enum egr_http_wrong wrong;
	} rows[] = {
		{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		 "\r\n",
		 EGR_HTTP_WRONG_UPGRADE},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		 EGR_HTTP_WRONG_BOTH},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		 EGR_HTTP_WRONG_LENGTH},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", EGR_HTTP_WRONG_CODING},
		{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", EGR_HTTP_WRONG_CODING},
		{"HTTP/1.1 200 OK\r\n folded\r\n\r\n", EGR_HTTP_WRONG_FOLD},
		{"HTTP/1.1 200 OK\nA: b\r\n\r\n", EGR_HTTP_WRONG_BYTE},
		{"HTTP/1.1 20 OK\r\n\r\n", EGR_HTTP_WRONG_STATUS},
		{"HTTP/1.1 2000 OK\r\n\r\n", EGR_HTTP_WRONG_STATUS},
		{"HTTP/1.1 099 OK\r\n\r\n", EGR_HTTP_WRONG_STATUS},
		{"HTTP/1.1  200 OK\r\n\r\n", EGR_HTTP_WRONG_STATUS},
		{"HTTP/2 200 OK\r\n\r\n", EGR_HTTP_WRONG_VERSION},
		{"ICY 200 OK\r\n\r\n", EGR_HTTP_WRONG_VERSION},
		{"\r\n", EGR_HTTP_WRONG_STATUS},
	};

	cr_assert_eq(asks(GET H "\r\n"), EGR_HTTP_GO);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(answers(rows[i].in), EGR_HTTP_BAD, "%s", rows[i].in);
		cr_expect_eq(answer.wrong, rows[i].wrong, "%s: %s", rows[i].in,
			     egr_http_wrong_text(answer.wrong));
	}
	/* asked for a WebSocket, and given another protocol */
	cr_assert_eq(asks(GET H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), EGR_HTTP_GO);
	cr_expect_eq(answers("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
		     EGR_HTTP_BAD);
	cr_expect_eq(answers("HTTP/1.1 200 OK\r\n\r\n"), EGR_HTTP_GO);
	cr_expect_not(answer.upgrades);
}

static bool is_for(const char *request, const char *host, uint16_t port)
{
	struct sbx_host h;

	(void)sbx_host_parse(host, strlen(host), &h);
	cr_assert_eq(asks(request), EGR_HTTP_GO, "%s", request);
	cr_assert_eq(sbx_target_read(head.target.s, head.target.n, 0, &target), SBX_TARGET_OK);
	return egr_http_is_for(&head, &target, &h, port, 80);
}

Test(egress_http, a_request_is_for_the_host_that_was_dialled)
{
	cr_expect(is_for(GET H "\r\n", "a.example.net", 80));
	cr_expect(is_for(GET "Host: A.EXAMPLE.net.:80\r\n\r\n", "a.example.net", 80));
	cr_expect_not(is_for(GET H "\r\n", "a.example.net", 8080));
	cr_expect_not(is_for(GET H "\r\n", "b.example.net", 80));
	cr_expect_not(is_for(GET H "\r\n", "192.0.2.1", 80));
	cr_expect(is_for(GET "Host: [2001:db8:0::1]\r\n\r\n", "2001:db8::1", 80));
	cr_expect(is_for("GET http://a.example.net/ HTTP/1.1\r\n" H "\r\n", "a.example.net", 80));
	cr_expect_not(
		is_for("GET http://b.example.net/ HTTP/1.1\r\n" H "\r\n", "a.example.net", 80));
	cr_expect_not(
		is_for("GET http://a.example.net:81/ HTTP/1.1\r\n" H "\r\n", "a.example.net", 80));
	cr_expect_not(is_for("GET http://127.1/ HTTP/1.1\r\n" H "\r\n", "a.example.net", 80));
	cr_expect_not(is_for("GET / HTTP/1.0\r\n\r\n", "a.example.net", 80), "it says none");
}

/* ---- bodies ---- */

/* What the body says, `step` bytes at a time, and what is behind it: "data|rest", BAD or MORE. */
static const char *reads(enum egr_body_kind kind, uint64_t length, const char *in, size_t step)
{
	static char text[4096];
	struct egr_body b;
	struct egr_piece p;
	enum egr_body_said said = EGR_BODY_MORE;
	size_t n = strlen(in), at = 0, len = 0;

	egr_body_begin(&b, kind, length);
	while (said == EGR_BODY_DATA || (said == EGR_BODY_MORE && at < n)) {
		said = egr_body_read(&b, in + at, step < n - at ? step : n - at, &p);
		at += p.used;
		if (said == EGR_BODY_DATA) {
			cr_assert_gt(p.len, 0);
			memcpy(text + len, p.data, p.len);
			len += p.len;
		}
	}
	text[len] = '\0';
	if (said == EGR_BODY_BAD)
		return "BAD";
	cr_expect_eq(egr_body_may_end(&b), said == EGR_BODY_END || kind == EGR_BODY_TO_END);
	if (said == EGR_BODY_END)
		snprintf(text + len, sizeof text - len, "|%s", in + at);
	return said == EGR_BODY_END || kind == EGR_BODY_TO_END ? text : "MORE";
}

Test(egress_http, bodies_end_where_they_say)
{
	static const struct {
		enum egr_body_kind kind;
		uint64_t length;
		const char *in, *want;
	} rows[] = {
		{EGR_BODY_NONE, 0, "GET", "|GET"},
		{EGR_BODY_LENGTH, 5, "12345GET", "12345|GET"},
		{EGR_BODY_LENGTH, 0, "GET", "|GET"},
		{EGR_BODY_LENGTH, 5, "1234", "MORE"},
		{EGR_BODY_TO_END, 0, "12345", "12345"},
		{EGR_BODY_CHUNKED, 0, "5\r\n12345\r\n0\r\n\r\nGET", "12345|GET"},
		{EGR_BODY_CHUNKED, 0, "05;a=\"b\"\r\n12345\r\nA\r\n1234567890\r\n0;x\r\n\r\nGET",
		 "123451234567890|GET"},
		{EGR_BODY_CHUNKED, 0, "0\r\nA: b\r\nContent-Length: 9\r\n\r\nGET", "|GET"},
		{EGR_BODY_CHUNKED, 0, "0\r\n\r\n", "|"},
		{EGR_BODY_CHUNKED, 0, "5\r\n1234", "MORE"},
		{EGR_BODY_CHUNKED, 0, "0\r\n\r", "MORE"},
		{EGR_BODY_CHUNKED, 0, "5\r\n12345\r\n", "MORE"},
		{EGR_BODY_CHUNKED, 0, "5\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5 \r\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, " 5\r\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "0x5\r\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "+5\r\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "-1\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, ";a\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5;a\n12345\r\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5;\x01\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5\r\n12345678\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5\r\n12345\n0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "5\r\n12345\r0\r\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "10000000000000005\r\n12345\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "0\r\nA: b\n\r\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "0\r\n\n", "BAD"},
		{EGR_BODY_CHUNKED, 0, "0\r\n\rGET", "BAD"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t step = 1; step < 40; step += 3)
			cr_expect_str_eq(reads(rows[i].kind, rows[i].length, rows[i].in, step),
					 rows[i].want, "%s by %zu", rows[i].in, step);
}

Test(egress_http, what_is_for_nobody_has_an_end)
{
	static char text[EGR_BODY_TRAILER + 64];
	char front[EGR_BODY_FRONT];

	memset(text, 'a', sizeof text - 1);
	memcpy(text, "5;", 2);
	cr_expect_str_eq(reads(EGR_BODY_CHUNKED, 0, text, 4096), "BAD", "an extension");
	memcpy(text, "0\r\n", 3);
	cr_expect_str_eq(reads(EGR_BODY_CHUNKED, 0, text, 4096), "BAD", "a trailer");
	cr_expect_eq(egr_body_front(4096, front), 6);
	cr_expect_str_eq(front, "1000\r\n");
	cr_expect_lt(egr_body_front(SIZE_MAX, front), EGR_BODY_FRONT);
}
