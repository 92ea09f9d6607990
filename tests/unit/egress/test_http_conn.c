/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of egress/http_conn.c and http_refuse.c. */
#include "egress/http_conn.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/requests.h"
#include "policy/front/dialect.h"

#define H	  "Host: a.example.net\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" H "\r\n"
#define OK	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct b_arena arena;
static struct pol_requests all;
static struct sbx_requests rules;
static struct egr_http_conn *conn;
static struct b_str got[EGR_HTTP_ENDS]; /* what each end has read */
static struct b_str told;
static size_t step = SIZE_MAX; /* bytes at once */

static bool is_deaf; /* nobody can be told */

static bool note(struct egr_http_conn *c, const struct egr_http_told *t)
{
	(void)c;
	if (is_deaf)
		return false;
	if (!t->target)
		b_str_addf(&told, "bad %d\n", t->head->wrong);
	else
		b_str_addf(&told, "%s%.*s %s rule %d\n",
			   t->is_for_another   ? "elsewhere "
			   : t->answer.allowed ? ""
			   : t->answer.passes  ? "would refuse "
					       : "refuse ",
			   (int)t->head->method.n, t->head->method.s, t->target->path,
			   t->answer.rule);
	return true;
}

static void begin(const char *endpoint)
{
	struct pol_http_rules said;
	struct pol_ynode *root;
	struct b_err err;
	uint32_t set;

	cr_assert_eq(pol_yaml_parse(&arena, "p", endpoint, strlen(endpoint), &root, &err), 0);
	cr_assert(pol_openshell_requests(&arena, root, &said));
	said.name = "api";
	cr_assert_eq(pol_requests_add(&all, &said, &set, &err), 0, "%s", err.msg);
	pol_requests_view(&all, &rules);
	conn = b_calloc(1, sizeof *conn);
	conn->rules = &rules;
	conn->port = 80;
	conn->nsets = 1;
	conn->program = "/usr/bin/curl";
	conn->tell = note;
	(void)sbx_host_parse("a.example.net", 13, &conn->host);
	egr_http_begin(conn);
}

static void end(void)
{
	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		b_str_release(&got[i]);
	b_str_release(&told);
	free(conn);
	pol_requests_release(&all);
	b_arena_release(&arena);
	step = SIZE_MAX;
}

/* As a relay whose sockets take everything. */
static void send_all(void)
{
	const char *p;
	size_t n;

	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		while ((n = egr_http_pending(conn, (enum egr_http_end)i, &p))) {
			n = n < step ? n : step;
			b_str_addn(&got[i], p, n);
			egr_http_sent(conn, (enum egr_http_end)i, n);
		}
}

static void says(enum egr_http_end from, const char *text)
{
	for (size_t left = strlen(text); left;) {
		char *room;
		size_t n = egr_http_room(conn, from, &room);

		if (!n)
			return;
		n = n < left ? n : left;
		n = n < step ? n : step;
		memcpy(room, text, n);
		text += n;
		left -= n;
		egr_http_received(conn, from, n);
		send_all();
		send_all();
	}
}

static void leaves(enum egr_http_end from)
{
	egr_http_received(conn, from, 0);
	send_all();
	send_all();
}

#define CALLER(text) says(EGR_HTTP_CALLER, text)
#define SERVER(text) says(EGR_HTTP_SERVER, text)

/* All that the end has read since the last time. */
#define expect_read(end, want)                                                                     \
	do {                                                                                       \
		cr_expect_str_eq(b_str_c(&got[end]), want, "by %zu: %s", step,                     \
				 b_str_c(&got[end]));                                              \
		b_str_reset(&got[end]);                                                            \
	} while (0)
#define expect_caller(want) expect_read(EGR_HTTP_CALLER, want)
#define expect_server(want) expect_read(EGR_HTTP_SERVER, want)
#define expect_begins(end, want)                                                                   \
	cr_expect(strncmp(b_str_c(&got[end]), want, strlen(want)) == 0, "%s", b_str_c(&got[end]))

static const char read_only[] = "{protocol: rest, enforcement: enforce, access: read-only, "
				"deny_rules: [{method: '*', path: /secret/**}]}";
static const char full[] = "{protocol: rest, enforcement: enforce, access: full}";

Test(egress_http_conn, every_request_of_a_connection_is_judged)
{
	for (size_t s = 1; s < 200; s = s * 3 + 1) {
		begin(read_only);
		step = s;
		CALLER(GET("/a//b;x/%63?q"));
		expect_server(GET("/a/b/c?q"));
		SERVER(OK);
		expect_caller(OK);
		CALLER("POST /a HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n12345" GET("/a"));
		expect_server("");
		expect_begins(EGR_HTTP_CALLER, "HTTP/1.1 403 Forbidden\r\n");
		cr_expect(strstr(b_str_c(&got[0]), "Connection: close\r\n"));
		cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
		cr_expect_str_eq(b_str_c(&told), "GET /a/b/c rule 0\nrefuse POST /a rule -1\n");
		end();
	}
}

Test(egress_http_conn, what_follows_a_request_waits_for_its_answer)
{
	begin(read_only);
	CALLER(GET("/1") GET("/public/../secret/2") GET("/3"));
	expect_server(GET("/1"));
	SERVER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	expect_caller("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	cr_expect_str_eq(b_str_c(&told), "GET /1 rule 0\n");
	SERVER("0\r\n\r\n");
	expect_begins(EGR_HTTP_CALLER, "0\r\n\r\nHTTP/1.1 403 Forbidden\r\n");
	expect_server("");
	cr_expect_str_eq(b_str_c(&told), "GET /1 rule 0\nrefuse GET /secret/2 rule 3\n");
	end();
}

Test(egress_http_conn, a_body_is_not_a_request)
{
	begin(full);
	CALLER("POST / HTTP/1.1\r\n" H "Content-Length: 27\r\n\r\n"
	       "GET /x HTTP/1.1\r\nHost: b\r\n"
	       "\r\n");
	expect_server("POST / HTTP/1.1\r\n" H "Content-Length: 27\r\n\r\n"
		      "GET /x HTTP/1.1\r\nHost: b\r\n\r");
	cr_expect_str_eq(b_str_c(&told), "POST / rule 0\n");
	SERVER(OK);
	/* the last byte was no part of it: what is left is no request */
	expect_begins(EGR_HTTP_CALLER, OK);
	CALLER("GET / HTTP/1.1\r\n" H "\r\n");
	expect_server("");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
}

Test(egress_http_conn, chunks_are_made_anew)
{
	for (size_t s = 1; s < 200; s = s * 3 + 1) {
		begin(full);
		step = s;
		CALLER("PUT /x HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
		       "00a;name=\"value\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n");
		if (s >= 100)
			expect_server("PUT /x HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
				      "a\r\n0123456789\r\n0\r\n\r\n");
		cr_expect_not(strstr(b_str_c(&got[1]), "Trailer"));
		SERVER(OK);
		expect_caller(OK);
		cr_expect_eq(egr_http_fate(conn), EGR_HTTP_GOES_ON);
		end();
	}
	begin(full);
	CALLER("PUT /x HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5 \r\n12345\r\n");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_IS_BROKEN);
	expect_server("PUT /x HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n");
	end();
}

Test(egress_http_conn, who_waits_to_go_on_is_told_to)
{
	begin(full);
	CALLER("PUT /x HTTP/1.1\r\n" H "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	expect_caller("HTTP/1.1 100 Continue\r\n\r\n");
	expect_server("PUT /x HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n");
	CALLER("12345");
	expect_server("12345");
	SERVER("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK);
	expect_caller("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK);
	end();
	begin(read_only);
	CALLER("PUT /x HTTP/1.1\r\n" H "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	expect_begins(EGR_HTTP_CALLER, "HTTP/1.1 403 ");
	end();
}

Test(egress_http_conn, behind_an_upgrade_bytes_are_bytes)
{
	begin(full);
	CALLER("GET /chat HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	expect_server("GET /chat HTTP/1.1\r\n" H
		      "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	SERVER("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: "
	       "Upgrade\r\n\r\n\x81\x02hi");
	expect_caller("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
		      "\x81\x02hi");
	CALLER("\x81\x02yo" GET("/secret"));
	expect_server("\x81\x02yo" GET("/secret"));
	leaves(EGR_HTTP_CALLER);
	cr_expect(egr_http_is_shut(conn, EGR_HTTP_SERVER));
	SERVER("more");
	expect_caller("more");
	leaves(EGR_HTTP_SERVER);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_IS_OVER);
	end();
	/* nobody asked for it */
	begin(full);
	CALLER(GET("/"));
	SERVER("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	expect_begins(EGR_HTTP_CALLER, "HTTP/1.1 502 Bad Gateway\r\n");
	end();
	/* asked for, and not granted: requests as before */
	begin(read_only);
	CALLER("GET /c HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	SERVER("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
	b_str_reset(&got[1]);
	CALLER(GET("/secret/x"));
	expect_server("");
	end();
}

static void refused(const char *request, const char *begins)
{
	begin(full);
	CALLER(request);
	expect_server("");
	expect_begins(EGR_HTTP_CALLER, begins);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	cr_expect_gt(told.len, 0, "%s", request);
	end();
}

Test(egress_http_conn, a_request_for_another_host_is_refused)
{
	refused("GET / HTTP/1.1\r\nHost: b.example.net\r\n\r\n", "HTTP/1.1 421 ");
	refused("GET / HTTP/1.1\r\nHost: a.example.net:81\r\n\r\n", "HTTP/1.1 421 ");
	refused("GET http://b.example.net/ HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 421 ");
	refused("GET https://a.example.net/ HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 421 ");
	refused("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 421 ");
	refused("GET * HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 421 ");
	refused("GET /..%2fx HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 400 ");
	refused("CONNECT b:1 HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 501 ");
	refused("\x16\x03\x01\x02\r\n\r\n", "HTTP/1.1 400 ");
}

Test(egress_http_conn, a_refusal_has_the_shape_of_its_document)
{
	begin(read_only);
	CALLER(GET("/secret/a\"b"));
	expect_caller("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
		      "X-Sbx-Denied: policy\r\nContent-Length: 185\r\nConnection: close\r\n\r\n"
		      "{\"error\":\"denied by the policy\",\"request\":\"GET /secret/a%22b\","
		      "\"why\":\"a rule\",\"rule\":\"* /secret/**\",\"place\":\"p:1:72\","
		      "\"program\":\"/usr/bin/curl\","
		      "\"remedy\":\"ask for the rule to be changed\"}\n");
	end();
	begin(read_only);
	conn->shape = EGR_SHAPE_OPENSHELL;
	CALLER("DELETE /x HTTP/1.1\r\n" H "\r\n");
	expect_caller("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
		      "X-OpenShell-Policy: api\r\nContent-Length: 104\r\nConnection: close\r\n\r\n"
		      "{\"error\":\"policy_denied\",\"policy\":\"api\",\"rule\":\"DELETE /x\","
		      "\"detail\":\"DELETE /x not permitted by policy\"}");
	end();
	begin(read_only);
	conn->shape = EGR_SHAPE_SRT;
	CALLER("DELETE /x HTTP/1.1\r\n" H "\r\n");
	expect_caller("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
		      "X-Proxy-Error: blocked-by-allowlist\r\nContent-Length: 39\r\n"
		      "Connection: close\r\n\r\nConnection blocked by network allowlist");
	end();
}

Test(egress_http_conn, a_request_waits_until_it_can_be_told)
{
	static const char text[] = "GET /x HTTP/1.1\r\nHost: a.example.net\r\n\r\n";

	begin("{protocol: rest, enforcement: enforce, access: read-only}");
	is_deaf = true;
	says(EGR_HTTP_CALLER, text);
	says(EGR_HTTP_CALLER, "DELETE /y HTTP/1.1\r\nHost: a.example.net\r\n\r\n");
	egr_http_again(conn);
	send_all();
	cr_expect_eq(got[EGR_HTTP_SERVER].len, 0);
	cr_expect_eq(told.len, 0);
	is_deaf = false;
	egr_http_again(conn);
	send_all();
	cr_expect_str_eq(b_str_c(&told), "GET /x rule 0\n");
	cr_expect_str_eq(b_str_c(&got[EGR_HTTP_SERVER]), text);
	is_deaf = true;
	says(EGR_HTTP_SERVER, "HTTP/1.1 204 No Content\r\n\r\n");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_GOES_ON);
	is_deaf = false;
	egr_http_again(conn);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER, "the second is refused");
	end();
}

Test(egress_http_conn, audit_passes_and_tells)
{
	begin("{protocol: rest, access: read-only}");
	CALLER("DELETE /x HTTP/1.1\r\n" H "\r\n");
	expect_server("DELETE /x HTTP/1.1\r\n" H "\r\n");
	cr_expect_str_eq(b_str_c(&told), "would refuse DELETE /x rule -1\n");
	SERVER(OK);
	CALLER("DELETE /x HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n");
	expect_server("");
	end();
}

Test(egress_http_conn, a_server_that_lies_reaches_nobody)
{
	static const char *const rows[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n",
		"SSH-2.0-x\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin(full);
		CALLER(GET("/"));
		SERVER(rows[i]);
		expect_begins(EGR_HTTP_CALLER, "HTTP/1.1 502 Bad Gateway\r\n");
		cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
		end();
	}
	/* a second answer to one request */
	begin(full);
	CALLER(GET("/"));
	SERVER(OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	expect_caller(OK);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
	/* it answers before it was asked */
	begin(full);
	SERVER(OK);
	expect_caller("");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
}

Test(egress_http_conn, ends_are_ends_and_breaks_are_breaks)
{
	begin(full);
	CALLER(GET("/"));
	leaves(EGR_HTTP_SERVER);
	expect_begins(EGR_HTTP_CALLER, "HTTP/1.1 502 ");
	end();
	begin(full);
	CALLER(GET("/"));
	SERVER("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12");
	leaves(EGR_HTTP_SERVER);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_IS_BROKEN, "the caller sees that it is cut");
	end();
	begin(full);
	CALLER("GET / HTTP/1.0\r\n" H "\r\n");
	expect_server("GET / HTTP/1.0\r\n" H "Connection: close\r\n\r\n");
	SERVER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
	expect_caller("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
	begin(full);
	CALLER(GET("/"));
	leaves(EGR_HTTP_CALLER);
	SERVER("HTTP/1.0 200 OK\r\n\r\nto the ");
	SERVER("end");
	leaves(EGR_HTTP_SERVER);
	expect_caller("HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
	begin(full);
	CALLER("PUT / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n12");
	leaves(EGR_HTTP_CALLER);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_IS_BROKEN);
	end();
	begin(full);
	CALLER(GET("/"));
	SERVER(OK);
	leaves(EGR_HTTP_CALLER);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_IS_OVER);
	end();
	/* an answer before the body has come: nothing may follow */
	begin(full);
	CALLER("PUT / HTTP/1.1\r\n" H "Content-Length: 50\r\n\r\n12");
	SERVER("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
	expect_caller("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_ENDS_CALLER);
	end();
}

/* A server that reads slowly: what waits is no more than the struct, and nothing is lost. */
Test(egress_http_conn, ten_gigabytes_go_through_what_is_there)
{
	const uint64_t length = UINT64_C(10) << 30;
	uint64_t sent = 0, passed = 0;
	const char *p;
	char *room;
	size_t n;

	begin(full);
	CALLER("PUT / HTTP/1.1\r\n" H "Content-Length: 10737418240\r\n\r\n");
	cr_expect_leq(sizeof *conn, 256u << 10);
	while (passed < length) {
		n = egr_http_room(conn, EGR_HTTP_CALLER, &room);
		if (n > length - sent)
			n = (size_t)(length - sent);
		if (n) {
			egr_http_received(conn, EGR_HTTP_CALLER, n);
			sent += n;
		}
		n = egr_http_pending(conn, EGR_HTTP_SERVER, &p);
		cr_assert_gt(n, 0);
		egr_http_sent(conn, EGR_HTTP_SERVER, n);
		passed += n;
		cr_assert_leq(sent - passed, 2 * EGR_HTTP_BUFFER);
	}
	cr_expect_eq(passed, length);
	SERVER(OK);
	expect_caller(OK);
	cr_expect_eq(egr_http_fate(conn), EGR_HTTP_GOES_ON);
	end();
}
