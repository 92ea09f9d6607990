/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of egress/proxy_head.c. */
#include "egress/proxy_head.h"

#include <criterion/criterion.h>
#include <string.h>

static struct egr_proxy_ask ask;

static enum egr_proxy_said says(const char *text)
{
	return egr_proxy_read((const uint8_t *)text, strlen(text), false, &ask);
}

Test(egress_proxy_head, connect_names_host_and_port)
{
	cr_expect_eq(says("CONNECT A.Example.NET:443 HTTP/1.1\r\nHost: x\r\n\r\nearly"),
		     EGR_PROXY_GO);
	cr_expect_str_eq(ask.host.name, "a.example.net");
	cr_expect_eq(ask.port, 443);
	cr_expect_eq(ask.kind, EGR_PROXY_CONNECT);
	cr_expect_eq(ask.used, strlen("CONNECT A.Example.NET:443 HTTP/1.1\r\nHost: x\r\n\r\n"));
	cr_expect_eq(says("CONNECT [2001:db8::1]:443 HTTP/1.0\r\n\r\n"), EGR_PROXY_GO);
	cr_expect(ask.host.addr.is_v6);
	cr_expect_eq(says("CONNECT 127.1:443 HTTP/1.1\r\n\r\n"), EGR_PROXY_GO);
	cr_expect_eq(ask.host.kind, SBX_HOST_ODD, "refused by who decides");
}

Test(egress_proxy_head, a_url_goes_on_as_a_path_for_one_host)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"GET http://a.example.net/x?y HTTP/1.1\r\nHost: evil.example.net\r\nA: b\r\n"
		 "Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\n"
		 "connection: keep-alive\r\n\r\n",
		 "GET /x?y HTTP/1.1\r\nHost: a.example.net\r\nA: b\r\nConnection: close\r\n\r\n"},
		{"GET HTTP://a.example.net:8080 HTTP/1.0\r\n\r\n",
		 "GET / HTTP/1.0\r\nHost: a.example.net:8080\r\nConnection: close\r\n\r\n"},
		{"GET http://a.example.net?q HTTP/1.1\r\n\r\n",
		 "GET /?q HTTP/1.1\r\nHost: a.example.net\r\nConnection: close\r\n\r\n"},
		{"OPTIONS http://a.example.net HTTP/1.1\r\n\r\n",
		 "OPTIONS * HTTP/1.1\r\nHost: a.example.net\r\nConnection: close\r\n\r\n"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert_eq(says(rows[i].in), EGR_PROXY_GO, "%s", rows[i].in);
		cr_expect_eq(ask.len, strlen(rows[i].out), "%.*s", (int)ask.len, ask.head);
		cr_expect_arr_eq(ask.head, rows[i].out, strlen(rows[i].out), "%.*s", (int)ask.len,
				 ask.head);
		cr_expect_str_eq(ask.host.name, "a.example.net");
	}
}

Test(egress_proxy_head, what_is_not_one_request_is_bad)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET https://a.example.net/ HTTP/1.1\r\n\r\n",
		"GET ftp://a.example.net/ HTTP/1.1\r\n\r\n",
		"GET http:///x HTTP/1.1\r\n\r\n",
		"GET http://a.example.net:0/ HTTP/1.1\r\n\r\n",
		"GET http://a.example.net:65536/ HTTP/1.1\r\n\r\n",
		"GET http://a.example.net/#f HTTP/1.1\r\n\r\n",
		"GET http://a.example.net/ HTTP/2.0\r\n\r\n",
		"GET http://a.example.net/ x HTTP/1.1\r\n\r\n",
		"GET http://a.example.net/ HTTP/1.1\r\n folded: x\r\n\r\n",
		"GET http://a.example.net/ HTTP/1.1\r\nHost : x\r\n\r\n",
		"GET http://a.example.net/ HTTP/1.1\r\nno colon\r\n\r\n",
		"GET http://a.example.net/ HTTP/1.1\nHost: x\r\n\r\n",
		"GET http://a.example.net/ HTTP/1.1\r\nA: b\rHost: x\r\n\r\n",
		"CONNECT a.example.net HTTP/1.1\r\n\r\n",
		"CONNECT ::1:443 HTTP/1.1\r\n\r\n",
		"CONNECT a.example.net:44x HTTP/1.1\r\n\r\n",
		"CONNECT  a.example.net:443 HTTP/1.1\r\n\r\n",
		"\x16\x03\x01\x02",
		"GE\x01",
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(says(rows[i]), EGR_PROXY_BAD, "%s", rows[i]);
	cr_expect_eq(says("CONNECT u@a.example.net:443 HTTP/1.1\r\n\r\n"), EGR_PROXY_GO);
	cr_expect_eq(ask.host.kind, SBX_HOST_BAD, "userinfo is no host");
}

Test(egress_proxy_head, a_part_of_a_request_wants_more)
{
	static const char all[] = "GET http://a.example.net/x HTTP/1.1\r\nA: b\r\n\r\n";

	for (size_t n = 0; n < sizeof all - 1; n++)
		cr_expect_eq(egr_proxy_read((const uint8_t *)all, n, false, &ask), EGR_PROXY_MORE,
			     "%zu", n);
	cr_expect_eq(says(all), EGR_PROXY_GO);
}

static enum egr_proxy_said socks(const char *bytes, size_t n, bool greeted)
{
	return egr_proxy_read((const uint8_t *)bytes, n, greeted, &ask);
}

Test(egress_proxy_head, socks_by_name_and_by_address)
{
	cr_expect_eq(socks("\5\2\0\2", 4, false), EGR_PROXY_GREETING);
	cr_expect_eq(ask.used, 4);
	cr_expect_eq(socks("\5\1\2", 3, false), EGR_PROXY_METHODS);
	cr_expect_eq(socks("\5\3\0", 3, false), EGR_PROXY_MORE);
	cr_expect_eq(socks("\5\1\0\3\3a.b\0\120rest", 14, true), EGR_PROXY_GO);
	cr_expect_str_eq(ask.host.name, "a.b");
	cr_expect_eq(ask.port, 80);
	cr_expect_eq(ask.used, 10);
	cr_expect_eq(socks("\5\1\0\3\3a.b\0", 9, true), EGR_PROXY_MORE);
	cr_expect_eq(socks("\5\1\0\1\12\0\0\1\1\273", 10, true), EGR_PROXY_GO);
	cr_expect_eq(ask.port, 443);
	cr_expect_eq(ask.host.addr.b[0], 10);
	cr_expect_eq(socks("\5\2\0\1\12\0\0\1\1\273", 10, true), EGR_PROXY_COMMAND);
	cr_expect_eq(socks("\5\1\0\2\12\0\0\1\1\273", 10, true), EGR_PROXY_ADDRESS);
	cr_expect_eq(socks("\4\1\0\1\12\0\0\1\1\273", 10, true), EGR_PROXY_BAD);
	cr_expect_eq(socks("\5\1\0\3\3a\0b\0\120", 10, true), EGR_PROXY_GO);
	cr_expect_eq(ask.host.kind, SBX_HOST_BAD, "a name with a zero in it");
}
