/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on endpoints: what core/connect.c finds in an image against rules that are asked one by
 * one, on random rules, programs, hosts and ports; then whole lookups of names against the same.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/engine.h"

#define RULESETS  400
#define QUESTIONS 300 /* for each: 120,000 of names and of addresses */
#define RULES_MAX 14

static const char *const labels[] = {"a", "b", "ab", "a_b", "com"};
static const uint16_t ports[] = {1, 80, 443, 444, 5000, 5007, 65535};
static const struct sbx_exe exes[] = {
	{1, 10, "/usr/bin/psql", 13},	    {1, 11, "/usr/bin/curl", 13},
	{2, 10, "/opt/x/tool", 11},	    {1, 12, NULL, 0},
	{1, 13, "/usr/local/bin/psql", 19},
};

static void draw_name(struct draw *d, char out[64])
{
	unsigned n = 1 + draw(d, 4);

	*out = '\0';
	for (unsigned i = 0; i < n; i++) {
		if (i)
			strcat(out, ".");
		strcat(out, labels[draw(d, sizeof labels / sizeof *labels)]);
	}
}

static void draw_addr(struct draw *d, struct sbx_addr *out)
{
	static const char *const texts[] = {
		"10.0.0.1",    "10.0.0.2", "10.1.0.1",	      "8.8.8.8",	 "127.0.0.1",
		"169.254.1.1", "::1",	   "::ffff:10.0.0.1", "2002:a00:1::",	 "2001:4860::8888",
		"fd00::1",     "fd80::1",  "64:ff9b::7f00:1", "64:ff9b::808:808"};
	const char *text = texts[draw(d, sizeof texts / sizeof *texts)];

	cr_assert(sbx_addr_parse(text, strlen(text), out), "%s", text);
}

static void draw_range(struct draw *d, struct sbx_cidr *out)
{
	char text[SBX_ADDR_TEXT + 4];
	struct sbx_addr a;
	size_t n;

	draw_addr(d, &a);
	n = sbx_addr_text(&a, text);
	n += (size_t)sprintf(text + n, "/%u", draw(d, a.is_v6 ? 129 : 33));
	cr_assert(sbx_cidr_parse(text, n, out), "%s", text);
}

static void draw_glob_host(struct draw *d, char *host)
{
	static const char *const globs[] = {"a*.b.com",	 "*b.com.a", "?.a.b",
					    "*.a.*.com", "**.*.a.b", "a*b.b.a"};

	strcpy(host, globs[draw(d, sizeof globs / sizeof *globs)]);
}

static void draw_ports(struct draw *d, struct pol_endpoint *e)
{
	unsigned kind = draw(d, 3);

	e->low = kind ? ports[draw(d, 7)] : 0;
	e->high = kind == 1 ? e->low : 65535;
	if (kind == 2) {
		e->high = ports[draw(d, 7)];
		if (e->high < e->low) {
			uint16_t swap = e->low;

			e->low = e->high;
			e->high = swap;
		}
	}
}

static void draw_by(struct draw *d, struct pol_endpoint *e, struct pol_program v[2])
{
	static const struct pol_program some[] = {
		{.text = "/usr/bin/psql", .dev = 1, .ino = 10},
		{.text = "/usr/bin/*", .glob = "usr/bin/*"},
		{.text = "/**/psql", .glob = "**/psql"},
		{.text = "/gone"},
		{.text = "/opt/x/tool", .dev = 2, .ino = 10},
	};

	if (draw(d, 3))
		return;
	e->by = (struct pol_programs){v, 1 + draw(d, 2)};
	for (size_t i = 0; i < e->by.n; i++)
		v[i] = some[draw(d, 5)];
}

static void draw_endpoint(struct draw *d, struct pol_ruleset *rs, uint8_t layer)
{
	static const enum pol_host_shape shapes[] = {POL_HOST_NAME,  POL_HOST_NAME, POL_HOST_ONE,
						     POL_HOST_DEEP,  POL_HOST_GLOB, POL_HOST_RANGE,
						     POL_HOST_RANGE, POL_HOST_NAMES};
	struct pol_program by[2];
	char host[64];
	struct pol_endpoint e = {.allow = draw(d, 3) != 0,
				 .layer = layer,
				 .is_shut = draw(d, 5) == 0,
				 .shape = shapes[draw(d, sizeof shapes / sizeof *shapes)],
				 .host = host,
				 .matched = "m",
				 .origin = "o"};

	draw_name(d, host);
	if (e.shape == POL_HOST_GLOB)
		draw_glob_host(d, host);
	draw_range(d, &e.range);
	draw_ports(d, &e);
	draw_by(d, &e, by);
	pol_endpoints_add(rs, &e);
}

/* `make agreement` asks for a million questions of each kind: AGREEMENT_TIMES multiplies. */
static int rulesets(void)
{
	const char *s = getenv("AGREEMENT_TIMES");

	return RULESETS * (s ? (int)strtoul(s, NULL, 10) : 1);
}

/* One layer or two, each a list of its own. */
static void draw_world(struct draw *d, struct engine *e)
{
	unsigned layers = 1 + draw(d, 2);

	engine_init(e);
	for (unsigned layer = 0; layer < layers; layer++) {
		pol_endpoints_layer(&e->rules, (uint8_t)layer, false);
		for (unsigned n = draw(d, RULES_MAX + 1); n > 0; n--)
			draw_endpoint(d, &e->rules, (uint8_t)layer);
	}
	engine_compile(e);
}

struct question {
	char name[64];
	struct sbx_host host;
	struct sbx_addr addr;
	uint16_t port;
	struct pol_who who;
	struct sbx_exe v[2];
	struct sbx_programs programs;
};

static void draw_question(struct draw *d, const struct engine *e, struct question *q)
{
	draw_name(d, q->name);
	cr_assert_eq(sbx_host_parse(q->name, strlen(q->name), &q->host), SBX_HOST_NAME);
	draw_addr(d, &q->addr);
	q->port = ports[draw(d, 7)];
	q->who = (struct pol_who){q->v, draw(d, 3)};
	for (size_t i = 0; i < q->who.n; i++)
		q->v[i] = exes[draw(d, 5)];
	sbx_connect_programs(&e->image, q->v, q->who.n, &q->programs);
}

/* The verdict of all layers on a name, and the rule that is named; -1 none. */
static bool naive_name(const struct engine *e, const struct question *q, int *out_rule)
{
	*out_rule = -1;
	for (size_t i = 0; i < e->rules.net.nlayers; i++) {
		uint8_t layer = e->rules.net.layer[i].number;
		int last =
			pol_endpoints_last(&e->rules.net, layer, q->name, NULL, q->port, &q->who);

		if (last < 0 || !e->rules.net.v[last].allow) {
			*out_rule = last;
			return false;
		}
		if (*out_rule < 0 || layer == POL_LAYER_MAIN)
			*out_rule = last;
	}
	return true;
}

static int place(const struct engine *e, const struct sbx_connect_answer *a)
{
	return a->rule < 0 ? -1 : a->rule - (int)e->image.hdr->net.first_rule;
}

Test(agreement_connect, names_are_decided_as_rule_by_rule)
{
	unsigned allowed = 0, named = 0;
	struct draw d;

	draw_seed(&d, 41);
	for (int i = 0; i < rulesets(); i++) {
		struct engine e;

		draw_world(&d, &e);
		for (int k = 0; k < QUESTIONS; k++) {
			struct sbx_connect_answer a;
			struct question q;
			int rule;
			bool expected;

			draw_question(&d, &e, &q);
			expected = naive_name(&e, &q, &rule);
			sbx_connect_host(&e.image, &q.host, q.port, &q.programs, &a);
			cr_assert_eq(a.allowed, expected, "set %d: %s:%u", i, q.name, q.port);
			cr_assert_eq(place(&e, &a), rule, "set %d: %s:%u", i, q.name, q.port);
			allowed += a.allowed;
			named += rule >= 0;
			if (a.allowed)
				cr_assert(sbx_connect_may_resolve(&e.image, q.name, strlen(q.name),
								  NULL, &a),
					  "set %d: %s", i, q.name);
		}
		engine_release(&e);
	}
	cr_expect_gt(allowed, RULESETS * QUESTIONS / 50);
	cr_expect_gt(named, RULESETS * QUESTIONS / 10);
}

/* What stands for the address in rules: the one inside where it is mapped. */
static int naive_addr_rule(const struct engine *e, const struct question *q, uint8_t layer,
			   const struct sbx_addr *a)
{
	return pol_endpoints_last(&e->rules.net, layer, NULL, a, q->port, &q->who);
}

static bool class_opens(const struct pol_endpoint *e, const struct sbx_addr *a)
{
	enum sbx_addr_class c = sbx_addr_class(a);

	return c == SBX_ADDR_PUBLIC || (!sbx_addr_is_never(c) && e->shape == POL_HOST_NAME);
}

static bool naive_addr(const struct engine *e, const struct question *q)
{
	for (size_t i = 0; i < e->rules.net.nlayers; i++) {
		uint8_t layer = e->rules.net.layer[i].number;
		struct sbx_addr in, plain = q->addr;
		bool is_mapped = false, has = sbx_addr_inside(&q->addr, &in, &is_mapped);
		const struct pol_endpoint *r;
		int last;

		plain = is_mapped ? in : plain;
		last = naive_addr_rule(e, q, layer, &plain);
		if (last < 0 || !e->rules.net.v[last].allow)
			return false;
		r = &e->rules.net.v[last];
		if (r->is_shut && sbx_addr_is_never(sbx_addr_class(&plain)))
			return false;
		if (!has || is_mapped)
			continue;
		last = naive_addr_rule(e, q, layer, &in);
		if (last >= 0 ? !e->rules.net.v[last].allow : !class_opens(r, &in))
			return false;
	}
	return true;
}

Test(agreement_connect, addresses_are_decided_as_rule_by_rule)
{
	unsigned allowed = 0;
	struct draw d;

	draw_seed(&d, 42);
	for (int i = 0; i < rulesets(); i++) {
		struct engine e;

		draw_world(&d, &e);
		for (int k = 0; k < QUESTIONS; k++) {
			struct sbx_connect_answer a;
			char text[SBX_ADDR_TEXT];
			struct question q;

			draw_question(&d, &e, &q);
			sbx_addr_text(&q.addr, text);
			sbx_connect_addr(&e.image, &q.addr, q.port, &q.programs, &a);
			cr_assert_eq(a.allowed, naive_addr(&e, &q), "set %d: %s %u", i, text,
				     q.port);
			allowed += a.allowed;
		}
		engine_release(&e);
	}
	cr_expect_gt(allowed, RULESETS * QUESTIONS / 100);
}

static bool naive_one(const struct engine *e, const struct question *q, uint8_t layer,
		      const struct pol_endpoint *by_name, const struct sbx_addr *a)
{
	int last = naive_addr_rule(e, q, layer, a);

	if (last >= 0 && !e->rules.net.v[last].allow)
		return false;
	if (by_name->is_shut && sbx_addr_is_never(sbx_addr_class(a)))
		return false;
	return last >= 0 || class_opens(by_name, a);
}

static bool naive_resolved(const struct engine *e, const struct question *q)
{
	struct sbx_addr in;
	bool is_mapped;
	int rule;

	if (!naive_name(e, q, &rule))
		return false;
	for (size_t i = 0; i < e->rules.net.nlayers; i++) {
		uint8_t layer = e->rules.net.layer[i].number;
		int last =
			pol_endpoints_last(&e->rules.net, layer, q->name, NULL, q->port, &q->who);
		const struct pol_endpoint *by_name = &e->rules.net.v[last];

		if (!sbx_addr_inside(&q->addr, &in, &is_mapped)) {
			if (!naive_one(e, q, layer, by_name, &q->addr))
				return false;
		} else if (!naive_one(e, q, layer, by_name, &in) ||
			   (!is_mapped && !naive_one(e, q, layer, by_name, &q->addr))) {
			return false;
		}
	}
	return true;
}

Test(agreement_connect, what_a_name_resolves_to_is_decided_as_rule_by_rule)
{
	unsigned allowed = 0, refused = 0;
	struct draw d;

	draw_seed(&d, 43);
	for (int i = 0; i < rulesets(); i++) {
		struct engine e;

		draw_world(&d, &e);
		for (int k = 0; k < QUESTIONS; k++) {
			struct sbx_connect_answer a;
			struct question q;
			bool by_name;

			draw_question(&d, &e, &q);
			by_name = sbx_connect_host(&e.image, &q.host, q.port, &q.programs, &a);
			sbx_connect_resolved(&e.image, q.host.name, q.host.len, &q.addr, 1, q.port,
					     &q.programs, &a);
			cr_assert_eq(a.allowed, naive_resolved(&e, &q), "set %d: %s %u", i, q.name,
				     q.port);
			allowed += a.allowed;
			refused += by_name && !a.allowed;
		}
		engine_release(&e);
	}
	cr_expect_gt(allowed, RULESETS * QUESTIONS / 100);
	cr_expect_gt(refused, RULESETS * QUESTIONS / 100);
}

static bool is_never(const struct sbx_addr *a)
{
	struct sbx_addr in;
	bool is_mapped;

	return sbx_addr_is_never(sbx_addr_class(a)) ||
	       (sbx_addr_inside(a, &in, &is_mapped) && sbx_addr_is_never(sbx_addr_class(&in)));
}

/* The answer of a watched policy, by that of the same one enforced. */
static bool is_watched_as(const struct sbx_connect_answer *watched,
			  const struct sbx_connect_answer *enforced, bool never)
{
	if (enforced->allowed || never)
		return watched->allowed == enforced->allowed && !watched->would_deny;
	return watched->allowed && watched->would_deny && watched->rule == enforced->rule;
}

Test(agreement_connect, watched_passes_what_is_denied_but_for_what_is_never_open)
{
	unsigned passed = 0, kept = 0;
	struct draw d;

	draw_seed(&d, 44);
	for (int i = 0; i < rulesets(); i++) {
		struct engine e;
		struct sbx_image_header *hdr;

		draw_world(&d, &e);
		hdr = (struct sbx_image_header *)(uintptr_t)e.image.hdr;
		for (int k = 0; k < QUESTIONS; k++) {
			struct sbx_connect_answer a[2], name[2], to[2];
			struct question q;

			draw_question(&d, &e, &q);
			for (uint32_t on = 0; on < 2; on++) {
				hdr->net.layer[0].is_watched = hdr->net.layer[1].is_watched = on;
				sbx_connect_addr(&e.image, &q.addr, q.port, &q.programs, &a[on]);
				sbx_connect_host(&e.image, &q.host, q.port, &q.programs, &name[on]);
				sbx_connect_resolved(&e.image, q.host.name, q.host.len, &q.addr, 1,
						     q.port, &q.programs, &to[on]);
			}
			cr_assert(is_watched_as(&a[1], &a[0], is_never(&q.addr)), "set %d", i);
			cr_assert(is_watched_as(&name[1], &name[0], false), "set %d: %s", i,
				  q.name);
			cr_assert_eq(to[1].allowed, to[0].allowed || !is_never(&q.addr), "set %d",
				     i);
			cr_assert_eq(to[1].would_deny, !to[0].allowed && !is_never(&q.addr));
			cr_assert(sbx_connect_may_resolve(&e.image, q.name, strlen(q.name), NULL,
							  &to[1]));
			passed += a[1].would_deny;
			kept += !a[1].allowed;
		}
		engine_release(&e);
	}
	cr_expect_gt(passed, RULESETS * QUESTIONS / 100);
	cr_expect_gt(kept, RULESETS * QUESTIONS / 100);
}
