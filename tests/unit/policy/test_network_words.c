/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, sizes and the URL of a proxy; limits and published ports of several documents. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "policy/document/settings.h"

Test(policy_network_words, ports_and_ranges_of_them)
{
	static const char *const bad[] = {"",  "0",   "65536", "-1",  "1-",
					  "-", "5-4", "1-2-3", "80 ", "x"};
	unsigned short low, high;

	cr_assert_eq(pol_port_parse("5432", &low, NULL), 0);
	cr_expect_eq(low, 5432);
	cr_assert_eq(pol_port_parse("5000-65535", &low, &high), 0);
	cr_expect(low == 5000 && high == 65535);
	cr_assert_eq(pol_port_parse("7", &low, &high), 0);
	cr_expect(low == 7 && high == 7);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_lt(pol_port_parse(bad[i], &low, &high), 0, "%s", bad[i]);
	cr_expect_lt(pol_port_parse("1-2", &low, NULL), 0, "one port alone");
}

Test(policy_network_words, sizes)
{
	static const char *const bad[] = {"",	"0",	"0K", "K",
					  "1k", "1.5M", "-1", "99999999999999T"};
	unsigned long long n;

	cr_assert_eq(pol_size_parse("500", &n), 0);
	cr_expect_eq(n, 500);
	cr_assert_eq(pol_size_parse("10M", &n), 0);
	cr_expect_eq(n, 10u << 20);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_lt(pol_size_parse(bad[i], &n), 0, "%s", bad[i]);
}

static void url(const char *text, const char *host, unsigned port, const char *login)
{
	struct pol_upstream u;

	cr_assert_eq(pol_upstream_parse(text, &u), 0, "%s", text);
	cr_expect(u.host_len == strlen(host) && !memcmp(u.host, host, u.host_len), "%s", text);
	cr_expect_eq(u.port, port, "%s", text);
	cr_expect_eq(u.userinfo != NULL, login != NULL, "%s", text);
	if (login && u.userinfo)
		cr_expect(u.userinfo_len == strlen(login) &&
			  !memcmp(u.userinfo, login, u.userinfo_len));
}

Test(policy_network_words, urls_of_proxies)
{
	static const char *const bad[] = {
		"proxy:3128",	"https://proxy",   "http://",	    "http://:80",
		"http://a:0",	"http://a/path",   "http://a:b@",   "http://[::1",
		"http://a:80:", "socks5://a:1080", "http://a?query"};
	struct pol_upstream u;

	url("http://proxy.example:3128", "proxy.example", 3128, NULL);
	url("http://proxy.example/", "proxy.example", 80, NULL);
	url("http://me:s%40@proxy.example:8080", "proxy.example", 8080, "me:s%40");
	url("http://[2001:db8::1]:3128", "2001:db8::1", 3128, NULL);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_lt(pol_upstream_parse(bad[i], &u), 0, "%s", bad[i]);
}

static struct pol_text port_text(const char *s)
{
	return (struct pol_text){.s = s, .pos = {"l.yaml", 3, 5}};
}

Test(policy_network_words, the_smallest_limit_of_all_documents_counts)
{
	const struct pol_settings doc = {.net_limits = {.connections = 10, .rate = 500}},
				  layer = {.net_limits = {
						   .connections = 20, .bytes = 7, .rate = 400}};
	const struct pol_settings *const layers[] = {&layer};
	struct pol_said cli = pol_said_nothing();
	struct pol_effect e;
	struct b_err err;

	cli.net_limits.bytes = 9;
	cr_assert_eq(pol_settings_settle(&doc, layers, 1, &cli, true, &e, &err), 0);
	cr_expect(e.net_limits.connections == 10 && e.net_limits.bytes == 7 &&
		  e.net_limits.rate == 400);
}

Test(policy_network_words, every_document_that_speaks_of_the_network_must_publish_a_port)
{
	struct pol_text ports[] = {port_text("8080")}, other[] = {port_text("8081")};
	const struct pol_settings doc = {.publish = {ports, 1, 1}}, silent = {0};
	const struct pol_settings same = {.publish = {ports, 1, 1}},
				  less = {.publish = {other, 1, 1}};
	const struct pol_settings none = {.value[POL_SET_network] = {.said = true,
								     .v = POL_NET_NONE,
								     .pos = {"m.yaml", 2, 1}}};
	const struct pol_settings *layers[] = {&silent, &same};
	const struct pol_said cli = pol_said_nothing();
	struct pol_effect e;
	struct b_err err;

	cr_assert_eq(pol_settings_settle(&doc, layers, 2, &cli, true, &e, &err), 0);
	cr_expect(e.publish.n == 1 && e.publish.v[0] == 8080);
	layers[1] = &less;
	cr_expect_lt(pol_settings_settle(&doc, layers, 2, &cli, true, &e, &err), 0);
	cr_expect(strstr(err.msg, "l.yaml:3:5") != NULL, "%s", err.msg);
	layers[1] = &none;
	cr_expect_lt(pol_settings_settle(&doc, layers, 2, &cli, true, &e, &err), 0);
	cr_expect(strstr(err.msg, "m.yaml:2:1") != NULL, "%s", err.msg);
}
