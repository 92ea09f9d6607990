/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http_conn - a caller and a server that say anything, in pieces: what the server gets is
 * whole requests that the rules allow, one after the other, each judged once; and nothing after a
 * refusal. The first bytes of the input say who speaks and how much: 0 to 127 bytes of the caller,
 * or of the server; 0 bytes: that end has closed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/http_conn.h"
#include "policy/compile/requests.h"

static struct egr_http_conn conn;
static struct sbx_requests rules;
static struct egr_http_head head;
static struct sbx_target target;
static struct b_str to_server;
static unsigned passed;

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static bool note(struct egr_http_conn *c, const struct egr_http_told *t)
{
	expect(c == &conn);
	passed += t->target && !t->is_for_another && t->answer.passes;
	return true;
}

static void prepare(void)
{
	static struct pol_requests all;
	struct pol_http_rules said = {0};
	struct b_arena a = {0};
	struct b_err err;
	uint32_t set;

	if (rules.nsets)
		return;
	pol_http_rules_add(&a, &said, &(struct pol_http_rule){.allow = true, .path = "/ok/**"});
	pol_http_rules_add(&a, &said, &(struct pol_http_rule){.path = "/ok/no/**"});
	expect(pol_requests_add(&all, &said, &set, &err) == 0);
	pol_requests_view(&all, &rules);
	b_arena_release(&a);
	conn.rules = &rules;
	conn.port = 80;
	conn.nsets = 1;
	conn.tell = note;
	(void)sbx_host_parse("a", 1, &conn.host);
}

static void send_all(size_t n)
{
	const char *p;

	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		for (size_t left; (left = egr_http_pending(&conn, (enum egr_http_end)i, &p));) {
			left = left < n ? left : n;
			if (i == EGR_HTTP_SERVER)
				b_str_addn(&to_server, p, left);
			egr_http_sent(&conn, (enum egr_http_end)i, left);
		}
}

/* The bytes behind the body, or NULL: it is not whole. */
static const char *behind_body(const char *s, const char *end)
{
	struct egr_body b;
	struct egr_piece p;
	enum egr_body_said said;

	egr_body_begin(&b, head.body, head.length);
	do {
		said = egr_body_read(&b, s, (size_t)(end - s), &p);
		s += p.used;
	} while (said == EGR_BODY_DATA);
	expect(said != EGR_BODY_BAD);
	return said == EGR_BODY_END ? s : NULL;
}

static void check_server(void)
{
	const char *s = b_str_c(&to_server), *end = s + to_server.len;
	unsigned requests = 0;

	while (s && s < end) {
		size_t seen = 0;

		expect(egr_http_request(s, (size_t)(end - s), &seen, &head) == EGR_HTTP_GO);
		expect(sbx_target_read(head.target.s, head.target.n, 0, &target) == SBX_TARGET_OK);
		expect(target.len == head.target.n - target.query_len - target.has_query);
		expect(memcmp(target.path, head.target.s, target.len) == 0);
		expect(strncmp(target.path, "/ok/", 4) == 0);
		expect(strncmp(target.path, "/ok/no/", 7) != 0);
		expect(strcmp(head.host.name, "a") == 0);
		requests++;
		if (head.upgrades && conn.up == EGR_RAW)
			break;
		s = behind_body(s + head.used, end);
	}
	expect(requests == passed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	prepare();
	egr_http_begin(&conn);
	b_str_reset(&to_server);
	passed = 0;
	while (size && egr_http_fate(&conn) == EGR_HTTP_GOES_ON) {
		enum egr_http_end from = data[0] & 1 ? EGR_HTTP_SERVER : EGR_HTTP_CALLER;
		size_t n = data[0] >> 1, room;
		char *p;

		data++;
		size--;
		n = n < size ? n : size;
		room = egr_http_room(&conn, from, &p);
		n = n < room ? n : room;
		if (!room)
			continue;
		memcpy(p, data, n);
		egr_http_received(&conn, from, n);
		send_all(n % 7 + 1);
		data += n;
		size -= n;
	}
	send_all(64);
	check_server();
	return 0;
}
