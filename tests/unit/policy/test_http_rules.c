/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/http_rules.c: `http` of an entry of `connect`. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/requests.h"
#include "policy/front/dialect.h"

static struct b_err err;
static struct pol_doc doc;

/* A document with this one entry; NULL: it is refused, err.msg. */
static const struct pol_http_rules *reads(const char *entry)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_input in = {.name = "p"};

	b_str_addf(&text,
		   "schemaVersion: 2\nkind: Policy\nmetadata: {name: n}\nspec:\n  fsProfiles:\n"
		   "    dev:\n      read: [\"**\"]\n      connect:\n        - %s\n",
		   entry);
	in.text = text.s;
	in.len = text.len;
	if (pol_front_parse(&in, &doc, &err) < 0)
		return NULL;
	return doc.profiles[0].connect.v[0].http;
}

static void expect_rules(const char *entry, const char *want)
{
	b_auto(b_str_release) struct b_str text = {0};
	const struct pol_http_rules *rules = reads(entry);

	cr_assert(rules, "%s: %s", entry, err.msg);
	for (size_t i = 0; i < rules->n; i++)
		b_str_addf(&text, "%s%s|", rules->v[i].allow ? "" : "!", rules->v[i].matched);
	cr_expect_str_eq(b_str_c(&text), want, "%s", entry);
	cr_expect_not(rules->is_audit, "what is ours is enforced");
	pol_doc_release(&doc);
}

Test(policy_http_rules, entries_are_presets_methods_and_paths)
{
	expect_rules(
		"{to: a.example.net:80, http: [read-only, \"POST /repos/*/issues\", \"!* /x/**\"]}",
		"GET **|HEAD **|OPTIONS **|POST /repos/*/issues|!* /x/**|");
	expect_rules("{to: a.example.net:80, http: [full, \"!DELETE **\"]}", "* **|!DELETE **|");
	expect_rules("{to: a.example.net:80, http: [{to: GET /d, query: {t: \"v*\", u: [a, b]}}]}",
		     "GET /d?t=v*&u=a|b|");
	expect_rules("{to: a.example.net:80, by: /bin/x, http: [M-SEARCH /a b]}", "M-SEARCH /a b|");
}

Test(policy_http_rules, a_rule_says_where_it_stands)
{
	const struct pol_http_rules *rules = reads("{to: a.example.net:80, http: [GET /a]}");

	cr_assert(rules, "%s", err.msg);
	cr_expect_str_eq(rules->v[0].origin, "p:9:41");
	pol_doc_release(&doc);
}

Test(policy_http_rules, mistakes_have_a_place_and_a_remedy)
{
	static const struct {
		const char *entry, *msg;
	} rows[] = {
		{"{to: a.example.net:80, http: []}", "p:9:40: http: expected 1 to 1024 entries"},
		{"{to: a.example.net:80, http: [GET]}", "expected read-only, read-write, full, or"},
		{"{to: a.example.net:80, http: [GET x]}", "`GET /repos/**`"},
		{"{to: a.example.net:80, http: [\"G=T /x\"]}", "`GET /repos/**`"},
		{"{to: a.example.net:80, http: [\"GET /a[\"]}", "has unclosed '['"},
		{"{to: a.example.net:80, http: [{to: GET /a, path: x}]}", "unknown field `path`"},
		{"{to: a.example.net:80, http: [{query: {a: b}}]}", "missing field `to`"},
		{"{to: a.example.net:80, http: [{to: GET /a, query: {a: []}}]}", "has no value"},
		{"{to: a.example.net:80, http: [{to: GET /a, query: {a: \"{\"}}]}", "unclosed '{'"},
		{"{to: a.example.net:80, http: read-only}", "expected a list"},
		{"{to: a.example.net, http: [full]}", "write `a.example.net:443`"},
		{"{to: \"!a.example.net:80\", http: [full]}", "belongs to rules that allow"},
		{"{to: ./sock, http: [full]}", "works only with endpoints"},
		{"{to: a.example.net:80, https: [full]}", "expected to, by or http"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_null(reads(rows[i].entry), "%s", rows[i].entry);
		cr_expect(strstr(err.msg, rows[i].msg), "%s: %s", rows[i].entry, err.msg);
	}
}
