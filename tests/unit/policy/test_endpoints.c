/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/endpoint_text.c and of decisions on what it reads. */
#include "policy/compile/endpoints.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "policy/compile/requests.h"
#include "tests/support/engine.h"
#include "tests/support/tsv.h"

static struct b_arena arena;

static void teardown(void)
{
	b_arena_release(&arena);
}

TestSuite(policy_endpoints, .fini = teardown);

static const char *form(const char *text)
{
	struct pol_endpoint e;
	static struct b_err err;

	return pol_endpoint_parse(&arena, text, &e, &err) < 0 ? err.msg : e.matched;
}

Test(policy_endpoints, entries_have_a_normal_form)
{
	static const struct {
		const char *text, *form;
	} rows[] = {
		{"GitHub.com:443", "github.com:443"},
		{"github.com.", "github.com"},
		{"*.Example.net", "*.example.net"},
		{"**.example.org:1-65535", "**.example.org:1-65535"},
		{"[2001:DB8::1]:443", "[2001:db8::1]:443"},
		{"2001:db8::1", "2001:db8::1"},
		{"[2001:db8::]/32", "2001:db8::/32"},
		{"[2001:db8::]/32:443", "[2001:db8::]/32:443"},
		{"10.1.2.3/8:5432", "10.0.0.0/8:5432"},
		{"::ffff:10.0.0.0/104", "10.0.0.0/8"},
		{"localhost:5432", "localhost:5432"},
		{"db:5000-5010", "db:5000-5010"},
		{"a_b.c:7", "a_b.c:7"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(form(rows[i].text), rows[i].form, "%s", rows[i].text);
}

Test(policy_endpoints, what_is_no_endpoint_is_refused_with_a_reason)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{"", "empty"},
		{"*", "every host"},
		{"**", "every host"},
		{"*:443", "every host"},
		{"*.com", "top-level"},
		{"**.org:443", "top-level"},
		{"a*.example.org", "whole label in front"},
		{"a.*.example.org", "whole label in front"},
		{"***.example.org", "whole label in front"},
		{"*.a..b", "empty label"},
		{"a..b", "empty label"},
		{"https://example.org", "not a URL"},
		{"example.org/x", "a host and a port"},
		{"user@example.org", "not a host name"},
		{"example.org:0", "a port from 1"},
		{"example.org:65536", "a port from 1"},
		{"example.org:https", "a port from 1"},
		{"example.org:", "a port from 1"},
		{"example.org:5010-5000", "ends before"},
		{"127.1:80", "another form"},
		{"2130706433", "another form"},
		{"0x7f000001:80", "another form"},
		{"[2001:db8::1", "without `]`"},
		{"10.0.0.0/33", "a host and a port"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(strstr(form(rows[i].text), rows[i].reason), "`%s`: %s", rows[i].text,
			  form(rows[i].text));
}

/* ---- decisions ---- */

static struct engine e;

/* "+ github.com:443", "- 10.0.0.0/8" */
static void rule(const char *text)
{
	struct pol_endpoint r = {.allow = text[0] == '+', .layer = POL_LAYER_MAIN, .origin = text};
	struct b_err err;

	cr_assert_eq(pol_endpoint_parse(&arena, text + 2, &r, &err), 0, "%s", err.msg);
	pol_endpoints_add(&e.rules, &r);
}

static void compile(const char *const *rules, size_t n)
{
	engine_init(&e);
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	for (size_t i = 0; i < n; i++)
		rule(rules[i]);
	engine_compile(&e);
}

/* The name resolves to `address`. */
static bool reaches(const char *name, const char *address, uint16_t port)
{
	struct sbx_connect_answer a;
	struct sbx_addr addr;

	cr_assert(sbx_addr_parse(address, strlen(address), &addr));
	return sbx_connect_resolved(&e.image, name, strlen(name), &addr, 1, port, NULL, &a);
}

Test(policy_endpoints, addresses_of_names_are_judged_by_class_and_rules)
{
	static const char *const rules[] = {"+ **.example.org:443", "+ db.example.org:5432",
					    "+ open.example.org",   "+ 127.0.0.0/8:8080",
					    "- 10.9.0.0/16",	    "+ 10.8.0.0/16:443"};

	compile(rules, sizeof rules / sizeof *rules);
	cr_expect(reaches("a.example.org", "93.184.216.34", 443));
	cr_expect_not(reaches("a.example.org", "10.0.0.1", 443), "a wildcard opens no private one");
	cr_expect(reaches("a.example.org", "10.8.0.1", 443), "named by a range");
	cr_expect_not(reaches("a.example.org", "127.0.0.1", 443));
	cr_expect(reaches("db.example.org", "10.0.0.1", 5432), "an exact name");
	cr_expect_not(reaches("db.example.org", "10.9.0.1", 5432), "denied by a rule");
	cr_expect_not(reaches("db.example.org", "169.254.169.254", 5432));
	cr_expect_not(reaches("db.example.org", "64:ff9b::10.9.0.1", 5432), "the one inside");
	cr_expect_not(reaches("open.example.org", "127.0.0.1", 80));
	cr_expect(reaches("open.example.org", "127.0.0.1", 8080), "a range opens loopback");
	engine_release(&e);
}

Test(policy_endpoints, one_refused_address_refuses_all)
{
	static const char *const rules[] = {"+ *.example.org"};
	struct sbx_connect_answer a;
	struct sbx_addr addrs[2];

	compile(rules, 1);
	cr_assert(sbx_addr_parse("8.8.8.8", 7, &addrs[0]));
	cr_assert(sbx_addr_parse("10.0.0.1", 8, &addrs[1]));
	cr_expect(sbx_connect_resolved(&e.image, "a.example.org", 13, addrs, 1, 443, NULL, &a));
	cr_expect_not(sbx_connect_resolved(&e.image, "a.example.org", 13, addrs, 2, 443, NULL, &a));
	cr_expect_eq(a.why, SBX_CONNECT_CLASS);
	cr_expect(sbx_addr_equal(&a.addr, &addrs[1]));
	cr_expect_not(sbx_connect_resolved(&e.image, "a.example.org", 13, addrs, 0, 443, NULL, &a));
	engine_release(&e);
}

Test(policy_endpoints, a_name_may_be_asked_for_where_some_port_is_open)
{
	static const char *const rules[] = {"+ *.example.org:443", "- x.example.org",
					    "+ y.example.org:5000-5010",
					    "- y.example.org:5000-5009"};
	struct sbx_connect_answer a;
	bool exact = true;

	compile(rules, sizeof rules / sizeof *rules);
	cr_expect(sbx_connect_may_resolve(&e.image, "a.example.org", 13, &exact, &a));
	cr_expect_not(exact);
	cr_expect(sbx_connect_may_resolve(&e.image, "y.example.org", 13, &exact, &a));
	cr_expect_not(sbx_connect_may_resolve(&e.image, "x.example.org", 13, &exact, &a));
	cr_expect_str_eq(e.rules.net.v[1].origin,
			 e.rules.net.v[a.rule - (int)e.image.hdr->net.first_rule].origin);
	cr_expect_not(sbx_connect_may_resolve(&e.image, "other.net", 9, &exact, &a));
	cr_expect_eq(a.why, SBX_CONNECT_NO_RULE);
	cr_expect_eq(a.rule, -1);
	engine_release(&e);
}

Test(policy_endpoints, trusted_ranges_are_as_good_as_public)
{
	static struct sbx_cidr trusted[2];
	static const char *const rules[] = {"+ *.example.org"};

	cr_assert(sbx_cidr_parse("198.18.0.0/15", 13, &trusted[0]));
	cr_assert(sbx_cidr_parse("127.0.0.0/8", 11, &trusted[1]));
	engine_init(&e);
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	e.rules.net.trusted = trusted;
	e.rules.net.ntrusted = 2;
	rule(rules[0]);
	engine_compile(&e);
	cr_expect(reaches("a.example.org", "198.19.0.1", 443));
	cr_expect_not(reaches("a.example.org", "198.20.0.1", 443) &&
		      reaches("a.example.org", "10.0.0.1", 443));
	cr_expect_not(reaches("a.example.org", "127.0.0.1", 443), "never, whoever trusts it");
	engine_release(&e);
}

Test(policy_endpoints, an_image_without_rules_opens_nothing)
{
	struct sbx_connect_answer a;
	struct sbx_host h;

	engine_init(&e);
	engine_compile(&e);
	sbx_host_parse("example.org", 11, &h);
	cr_expect_not(sbx_connect_host(&e.image, &h, 443, NULL, &a));
	cr_expect_not(sbx_connect_may_resolve(&e.image, "example.org", 11, NULL, &a));
	cr_expect_not(sbx_connect_is_said(&e.image));
	engine_release(&e);
}

static bool is_hosts(const char *address, uint16_t port)
{
	struct sbx_connect_answer a;
	struct sbx_addr addr;

	cr_assert(sbx_addr_parse(address, strlen(address), &addr));
	return sbx_connect_is_hosts(&e.image, &addr, port, NULL, &a);
}

Test(policy_endpoints, ports_of_the_loopback_interface_are_the_hosts_where_they_are_said)
{
	static const char *const rules[] = {
		"+ 127.0.0.1:5432",  "+ [::1]:6000-6001", "+ 127.0.0.2",       "+ 0.0.0.0/0:7000",
		"+ 10.0.0.0/8:5432", "+ 127.0.0.1:5433",  "- 127.0.0.0/8:5433"};

	compile(rules, sizeof rules / sizeof *rules);
	cr_expect(is_hosts("127.0.0.1", 5432));
	cr_expect_not(is_hosts("127.0.0.1", 5431));
	cr_expect_not(is_hosts("127.0.0.3", 5432));
	cr_expect(is_hosts("::1", 6001));
	cr_expect_not(is_hosts("127.0.0.2", 80), "of any port");
	cr_expect_not(is_hosts("127.0.0.1", 7000), "of more than the interface");
	cr_expect_not(is_hosts("10.0.0.1", 5432), "no loopback");
	cr_expect_not(is_hosts("127.0.0.1", 5433), "denied");
	engine_release(&e);
}

/* ---- rules on requests ---- */

static void judged_rule(uint8_t layer, const char *text, const char *path)
{
	struct pol_http_rules rules = {.name = path};
	struct pol_endpoint r = {.allow = true, .layer = layer, .origin = text};
	struct b_err err;

	cr_assert_eq(pol_endpoint_parse(&arena, text, &r, &err), 0, "%s", err.msg);
	pol_http_rules_add(&arena, &rules, &(struct pol_http_rule){.allow = true, .path = path});
	r.requests = path ? &rules : NULL;
	pol_endpoints_add(&e.rules, &r);
}

/* "path path" of the sets that hold for the host. */
static const char *sets_of(const char *host, uint16_t port)
{
	static char text[256];
	struct sbx_requests r;
	struct sbx_host h;
	uint32_t set[SBX_LAYERS_MAX];
	size_t n, len = 0;

	sbx_requests_of(&e.image, &r);
	cr_assert(sbx_requests_check(&r));
	(void)sbx_host_parse(host, strlen(host), &h);
	n = sbx_connect_sets(&e.image, &h, port, NULL, set);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", i ? " " : "",
					(int)r.set[set[i]].name.len,
					r.text + r.set[set[i]].name.at);
	return text;
}

Test(policy_endpoints, rules_on_requests_are_those_of_the_rule_that_opens_each_layer)
{
	engine_init(&e);
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	pol_endpoints_layer(&e.rules, 3, false);
	pol_endpoints_layer(&e.rules, 4, true);
	judged_rule(POL_LAYER_MAIN, "**.example.net", NULL);
	judged_rule(POL_LAYER_MAIN, "*.example.net:80", "/main");
	judged_rule(POL_LAYER_MAIN, "plain.example.net:80", NULL);
	judged_rule(POL_LAYER_MAIN, "192.0.2.0/24:80", "/range");
	judged_rule(3, "**.example.net:80-90", "/other");
	engine_compile(&e);
	cr_expect_str_eq(sets_of("a.example.net", 80), "/main /other");
	cr_expect_str_eq(sets_of("plain.example.net", 80), "/other");
	cr_expect_str_eq(sets_of("a.example.net", 90), "/other");
	cr_expect_str_eq(sets_of("a.example.net", 443), "");
	cr_expect_str_eq(sets_of("192.0.2.7", 80), "/range");
	cr_expect_str_eq(sets_of("::ffff:192.0.2.7", 80), "/range");
	cr_expect_str_eq(sets_of("192.0.2.7", 81), "");
	engine_release(&e);
}

/* Is TLS to be ended for this endpoint? */
static bool ends_tls(const char *text, bool no_tls)
{
	struct pol_http_rules rules = {.no_tls = no_tls};
	struct pol_endpoint r = {.allow = true, .origin = text, .requests = &rules};
	struct b_err err;
	bool said;

	engine_init(&e);
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	judged_rule(POL_LAYER_MAIN, "plain.example.net:443", NULL);
	cr_assert_eq(pol_endpoint_parse(&arena, text, &r, &err), 0, "%s", err.msg);
	pol_http_rules_add(&arena, &rules, &(struct pol_http_rule){.allow = true});
	pol_endpoints_add(&e.rules, &r);
	engine_compile(&e);
	said = sbx_connect_ends_tls(&e.image);
	engine_release(&e);
	return said;
}

Test(policy_endpoints, what_may_come_encrypted_is_opened_where_rules_are_on_requests)
{
	cr_expect(ends_tls("a.example.net:443", false));
	cr_expect(ends_tls("a.example.net:80-90", false));
	cr_expect(ends_tls("192.0.2.7:8080", false));
	cr_expect_not(ends_tls("a.example.net:80", false));
	cr_expect_not(ends_tls("a.example.net:443", true));
}

Test(policy_endpoints, a_cached_image_is_of_the_same_rules_on_requests)
{
	static const char *const paths[] = {NULL, "/a", "/b"};
	char digest[3][B_SHA256_HEX];

	for (size_t i = 0; i < 3; i++) {
		struct b_sha256 h;

		engine_init(&e);
		pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
		judged_rule(POL_LAYER_MAIN, "a.example.net:80", paths[i]);
		b_sha256_init(&h);
		pol_endpoints_hash(&h, &e.rules.net);
		b_sha256_final(&h, digest[i]);
		engine_compile(&e);
		engine_release(&e);
	}
	cr_expect(strcmp(digest[0], digest[1]) != 0);
	cr_expect(strcmp(digest[1], digest[2]) != 0);
}
