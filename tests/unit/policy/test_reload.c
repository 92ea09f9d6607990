/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/reload.c, compile/past.c and front/unchanged.c: other rules on endpoints
 * while a run lasts. */
#include "policy/reload.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/connect.h"
#include "core/decide.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"

#define MAX_ENGINES 8

static char top[] = "/tmp/sbx-test-reload-XXXXXX";
static struct b_arena arena;
static struct pol_engine *engines[MAX_ENGINES];
static size_t nengines;
static struct pol_reload *reload;
static struct b_err err;

static void setup(void)
{
	cr_assert(mkdtemp(top));
	cr_assert_eq(chdir(top), 0);
	setenv("HOME", top, 1);
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	pol_reload_free(reload);
	for (size_t i = 0; i < nengines; i++)
		pol_engine_free(engines[i]);
	b_arena_release(&arena);
	cr_assert_eq(chdir("/"), 0);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
}

TestSuite(policy_reload, .init = setup, .fini = teardown);

/* The engine of a policy whose `connect` is this, entries with a comma between. */
static struct pol_engine *engine_of(const char *connect)
{
	static const char *file = "p.yaml";
	const char *ws = top;
	const struct pol_request rq = {.policies = &file,
				       .npolicies = 1,
				       .workspaces = &ws,
				       .nworkspaces = 1,
				       .managed = "/nonexistent",
				       .with_endpoints = true};
	b_auto(b_str_release) struct b_str text = {0};
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	b_str_addf(&text,
		   "schemaVersion: 2\nkind: Policy\nmetadata: {name: n}\nspec:\n  fsProfiles:\n"
		   "    dev:\n      read: [\"**\"]\n      connect: [%s]\n",
		   connect);
	cr_assert_eq(write(fd, text.s, text.len), (ssize_t)text.len);
	close(fd);
	cr_assert_lt(nengines, MAX_ENGINES);
	cr_assert_eq(pol_engine_new(&rq, &engines[nengines], &err), 0, "%s", err.msg);
	return engines[nengines++];
}

static struct sbx_image image_of(const char *connect)
{
	struct sbx_image img;
	void *data;
	size_t size;

	cr_assert_eq(pol_reload_image(reload, engine_of(connect), &data, &size, &err), 0, "%s",
		     err.msg);
	cr_assert_eq(sbx_image_open(&img, data, size, true), SBX_IMAGE_OK);
	return img;
}

static void refuses(const char *connect, enum b_kind kind, const char *message)
{
	void *data;
	size_t size;

	cr_assert_eq(pol_reload_image(reload, engine_of(connect), &data, &size, &err), -1);
	cr_expect_eq(err.kind, kind);
	cr_expect(strstr(err.msg, message), "%s", err.msg);
}

/* The number of the rule that decides, and whether it allows. */
static bool asks(const struct sbx_image *img, const char *name, uint16_t port, int *out_rule)
{
	struct sbx_connect_answer a;
	struct sbx_host host;

	cr_assert_eq(sbx_host_parse(name, strlen(name), &host), SBX_HOST_NAME);
	sbx_connect_host(img, &host, port, &(struct sbx_programs){0}, &a);
	*out_rule = a.rule;
	return a.allowed;
}

static void expect_rule(const struct sbx_image *img, int rule, const char *matched)
{
	struct sbx_verdict v;

	sbx_explain_rule(img, SBX_CONNECT, rule, &v);
	cr_expect_str_eq(v.matched, matched);
}

Test(policy_reload, a_number_means_the_same_rule_in_every_later_image)
{
	struct pol_engine *first = engine_of("a.example.net:443, b.example.net:80");
	struct sbx_image img[3];
	int was, is, again;

	reload = pol_reload_new(first, true);
	cr_expect(asks(&first->image, "b.example.net", 80, &was));
	img[0] = image_of("c.example.net:80, {to: d.example.net:80, http: [GET /x]}");
	cr_expect_not(asks(&img[0], "b.example.net", 80, &is), "it is not open any more");
	cr_expect_eq(is, -1);
	expect_rule(&img[0], was, "b.example.net:80");
	cr_expect(asks(&img[0], "c.example.net", 80, &is));
	cr_expect_neq(is, was);
	img[1] = image_of("a.example.net:443, b.example.net:80");
	cr_expect(asks(&img[1], "b.example.net", 80, &again));
	cr_expect_eq(again, was, "what was there before has its number again");
	expect_rule(&img[1], is, "c.example.net:80");
	img[2] = image_of("c.example.net:80, {to: d.example.net:80, http: [GET /x]}");
	cr_expect_eq(img[2].size, img[0].size, "and nothing grows");
	cr_expect_eq(img[2].hdr->nrules, img[0].hdr->nrules);
	expect_rule(&img[2], (int)img[2].hdr->net.requests.first_rule, "GET /x");
	for (int i = 0; i < 3; i++)
		free((void *)(uintptr_t)img[i].base);
}

Test(policy_reload, rules_on_paths_stay_those_of_the_first_image)
{
	static const char *const paths[] = {"/etc/passwd", "/etc/shadow", "/usr/bin/true",
					    "/tmp/x",	   "/nowhere",	  ""};
	struct pol_engine *first = engine_of("a.example.net:443");
	struct sbx_image img;

	reload = pol_reload_new(first, true);
	img = image_of("b.example.net:443");
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		cr_expect_eq(img.hdr->op[op].first_rule, first->image.hdr->op[op].first_rule);
		cr_expect_eq(img.hdr->op[op].nrules, first->image.hdr->op[op].nrules);
	}
	cr_expect_eq(img.hdr->naliases, first->image.hdr->naliases);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
			struct sbx_verdict was, is;
			size_t len = strlen(paths[i]);

			cr_expect_eq(sbx_decide(&img, (enum sbx_op)op, paths[i], len),
				     sbx_decide(&first->image, (enum sbx_op)op, paths[i], len));
			sbx_explain(&first->image, (enum sbx_op)op, paths[i], len, &was);
			sbx_explain(&img, (enum sbx_op)op, paths[i], len, &is);
			cr_expect_str_eq(is.matched, was.matched, "%d %s", op, paths[i]);
			cr_expect_str_eq(is.origin, was.origin, "%d %s", op, paths[i]);
		}
	free((void *)(uintptr_t)img.base);
}

Test(policy_reload, programs_have_the_bits_of_the_first_image)
{
	struct pol_engine *first = engine_of("{to: a.example.net:443, by: [/x/1, /x/2]}");
	const struct sbx_programs two = {.bit = {1u << 1}};
	struct sbx_connect_answer a;
	struct sbx_image img;
	struct sbx_host host;

	reload = pol_reload_new(first, true);
	img = image_of("{to: b.example.net:443, by: [/x/2]}");
	cr_assert_eq(sbx_host_parse("b.example.net", 13, &host), SBX_HOST_NAME);
	cr_expect(sbx_connect_host(&img, &host, 443, &two, &a));
	cr_expect_not(sbx_connect_host(&img, &host, 443, &(struct sbx_programs){.bit = {1}}, &a));
	refuses("{to: a.example.net:443, by: [/x/3]}", B_POLICY, "p.yaml:8:");
	cr_expect(strstr(err.msg, "`/x/3` was not in the rules"), "%s", err.msg);
	free((void *)(uintptr_t)img.base);
}

Test(policy_reload, what_a_run_cannot_change_is_refused_with_its_place)
{
	reload = pol_reload_new(engine_of("a.example.net:443, /run/a.sock"), false);
	refuses("a.example.net:443, /run/b.sock", B_POLICY, "p.yaml:8:");
	refuses("a.example.net:443", B_POLICY, "paths of sockets cannot change");
	refuses("{to: a.example.net:443, http: [GET /x]}, /run/a.sock", B_POLICY,
		"started without certificates");
	free((void *)(uintptr_t)image_of("{to: a.example.net:80, http: [GET /x]}, /run/a.sock")
		     .base);
}

/* ---- documents ---- */

static void expect_change(const char *was, const char *is, const char *message)
{
	const struct pol_input a = {.name = "p", .text = was, .len = strlen(was)};
	const struct pol_input b = {.name = "p", .text = is, .len = strlen(is)};
	int rc;

	err = (struct b_err){0};
	rc = pol_front_unchanged(&a, &b, &err);
	if (!message)
		cr_expect_eq(rc, 0, "%s", err.msg);
	else
		cr_expect(rc < 0 && strstr(err.msg, message) == err.msg, "%d %s: %s", rc, is,
			  err.msg);
}

Test(policy_reload, documents_may_change_in_their_rules_on_endpoints_alone)
{
	static const char orbit[] = "schemaVersion: 2\nspec:\n  a: [x, y]\n  connect: [b]\n";
	static const char shell[] = "version: 1\nprocess: {run_as_user: x}\nnetwork_policies: {}\n";
	static const char srt[] = "{\"network\": {\"allowedDomains\": [\"a\"], \"x\": 1}}";

	expect_change(orbit, orbit, NULL);
	expect_change(orbit, "schemaVersion: 2\nspec:\n  connect: [c, d]\n  a: [x, y]\n", NULL);
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x, y]\n", NULL);
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x, z]\n", "p:3:10: `a` has changed");
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x, y, z]\n", "p:3:13: `a` has");
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x]\n", "p:3:6: `a` has changed");
	expect_change(orbit, "schemaVersion: 2\nspec:\n  connect: [c]\n", "p:3:3: `a` has changed");
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x, y]\n  b: 1\n", "p:4:3: `b` has");
	expect_change(orbit, "schemaVersion: 3\nspec:\n  a: [x, y]\n", "p:1:16: `schemaVersion`");
	expect_change(orbit, "schemaVersion: 2\nspec:\n  a: [x, y\n", "p:4:1");
	expect_change(shell, "version: 1\nprocess: {run_as_user: x}\nnetwork_policies: {a: 1}\n",
		      NULL);
	expect_change(shell, "version: 1\nprocess: {run_as_user: y}\n", "p:2:24: `run_as_user`");
	expect_change(srt, "{\"network\": {\"allowedDomains\": [], \"x\": 1}}", NULL);
	expect_change(srt, "{\"network\": {\"allowedDomains\": [], \"x\": 2}}", "p:1:41: `x`");
	expect_change("[sandbox]\nallowed_domains = [\"a\"]\n", "[sandbox]\n", NULL);
	expect_change("[sandbox]\nenabled = true\n", "[sandbox]\nenabled = false\n",
		      "p:2:11: `enabled`");
}
