/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/requests.c, policy/front/openshell_http.c and core/request.c. */
#include "policy/compile/requests.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "tests/support/tsv.h"

static struct b_err err;
static struct sbx_request_answer answer;

/* An endpoint of OpenShell, compiled; `all` to be released. False: it is not judged. */
static bool compile(struct b_arena *a, const char *endpoint, struct pol_http_rules *rules,
		    struct pol_requests *all, struct sbx_requests *view)
{
	struct pol_ynode *root;
	uint32_t set;

	cr_assert_eq(pol_yaml_parse(a, "p", endpoint, strlen(endpoint), &root, &err), 0, "%s: %s",
		     endpoint, err.msg);
	if (!pol_openshell_requests(a, root, rules))
		return false;
	cr_assert_eq(pol_requests_add(all, rules, &set, &err), 0, "%s", err.msg);
	cr_assert_eq(set, 0);
	pol_requests_view(all, view);
	cr_assert(sbx_requests_check(view));
	return true;
}

static bool passes(const struct sbx_requests *view, const char *method, const char *path,
		   const char *query)
{
	const struct sbx_request q = {method,	    strlen(method), path,
				      strlen(path), query,	    strlen(query)};
	char room[1024];

	return sbx_request_judge(view, 0, &q, room, &answer);
}

Test(policy_requests, requests_are_judged_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_l7.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		struct pol_http_rules rules;
		struct pol_requests all = {0};
		struct sbx_requests view;
		struct b_arena a = {0};
		bool ok = compile(&a, tsv_cell(row, "endpoint"), &rules, &all, &view) &&
			  passes(&view, tsv_cell(row, "method"), tsv_cell(row, "path"),
				 tsv_cell(row, "query"));

		cr_expect_eq(ok, tsv_is_true(row, "allowed"), "%s", row->cells[0]);
		pol_requests_release(&all);
		b_arena_release(&a);
	}
	tsv_free(t);
}

/* "method path?query" of each rule, and where it stands. */
static void expect_rules(const char *endpoint, const char *want)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_http_rules rules = {0};
	struct pol_requests all = {0};
	struct sbx_requests view;
	struct b_arena a = {0};

	cr_assert(compile(&a, endpoint, &rules, &all, &view));
	for (size_t i = 0; i < rules.n; i++)
		b_str_addf(&text, "%s%s %s\n", rules.v[i].allow ? "" : "!", rules.v[i].matched,
			   rules.v[i].origin);
	cr_expect_str_eq(b_str_c(&text), want);
	pol_requests_release(&all);
	b_arena_release(&a);
}

Test(policy_requests, a_preset_is_rules_and_denials_come_last)
{
	expect_rules("{protocol: rest, access: read-only}",
		     "GET ** p:1:26\nHEAD ** p:1:26\nOPTIONS ** p:1:26\n");
	expect_rules("protocol: rest\naccess: read-write\ndeny_rules: [{method: '*', path: /x}]\n",
		     "GET ** p:2:9\nHEAD ** p:2:9\nOPTIONS ** p:2:9\nPOST ** p:2:9\n"
		     "PUT ** p:2:9\nPATCH ** p:2:9\n!* /x p:3:14\n");
	expect_rules("{protocol: rest, access: full}", "* ** p:1:26\n");
	expect_rules("protocol: rest\n"
		     "rules:\n"
		     "- allow: {method: GET, path: /a, query: {t: x, u: {any: [y, z]}}}\n"
		     "- allow: {method: GET}\n"
		     "- allow: {path: /b}\n"
		     "deny_rules: [{path: /c}, {method: PUT}]\n",
		     "GET /a?t=x&u=y|z p:3:10\n!* /c p:6:14\n!PUT ** p:6:26\n");
}

Test(policy_requests, audit_passes_what_can_be_read)
{
	struct pol_http_rules rules;
	struct pol_requests all = {0};
	struct sbx_requests view;
	struct b_arena a = {0};

	/* absent means audit (row openshell_l7_validate-033) */
	cr_assert(compile(&a,
			  "{protocol: rest, allow_encoded_slash: true, "
			  "rules: [{allow: {method: GET, path: /a, query: {t: x}}}]}",
			  &rules, &all, &view));
	cr_expect(rules.is_audit);
	cr_expect_eq(view.set[0].flags, SBX_REQUEST_AUDIT | SBX_REQUEST_SLASHES);
	cr_expect(passes(&view, "GET", "/a", "t=x"));
	cr_expect(answer.allowed && answer.rule == 0);
	cr_expect(passes(&view, "POST", "/a", ""));
	cr_expect_not(answer.allowed);
	cr_expect_eq(answer.rule, -1);
	cr_expect_eq(answer.why, SBX_REQUEST_NO_RULE);
	cr_expect_not(passes(&view, "GET", "/a", "t=%zz"), "no rule can judge it");
	cr_expect_eq(answer.why, SBX_REQUEST_QUERY);
	cr_expect_not(passes(&view, "GET", "/a", "t=x;t=y"));
	cr_expect(passes(&view, "GET", "/b", "t=%zz"), "no rule asks for it");
	pol_requests_release(&all);
	b_arena_release(&a);
}

static struct pol_http_rules ours;
static struct pol_requests all_of_ours;
static struct b_arena arena;

static void rule(bool allow, const char *method, const char *path)
{
	pol_http_rules_add(&arena, &ours,
			   &(struct pol_http_rule){
				   .allow = allow, .method = method, .path = path, .origin = "o"});
}

Test(policy_requests, the_last_rule_that_matches_wins)
{
	static const char *const texts[] = {"a*"};
	const struct pol_http_param params[] = {{"k", texts, 1}, {"l", texts, 1}};
	struct sbx_requests view;
	uint32_t set;

	rule(true, NULL, "/repos/**");
	rule(false, NULL, "/repos/secret/**");
	rule(true, "GET", "/repos/secret/open");
	pol_http_rules_add(&arena, &ours,
			   &(struct pol_http_rule){.path = "/repos/x",
						   .param = params,
						   .nparams = 2,
						   .query = POL_GLOB_TEXT,
						   .origin = "o"});
	cr_assert_eq(pol_requests_add(&all_of_ours, &ours, &set, &err), 0, "%s", err.msg);
	pol_requests_view(&all_of_ours, &view);
	cr_expect(passes(&view, "DELETE", "/repos/a/b", ""));
	cr_expect_eq(answer.rule, 0);
	cr_expect_not(passes(&view, "GET", "/repos/secret/x", ""));
	cr_expect_eq(answer.rule, 1);
	cr_expect_eq(answer.why, SBX_REQUEST_RULE);
	cr_expect(passes(&view, "HEAD", "/repos/secret/open", ""));
	cr_expect_not(passes(&view, "POST", "/repos/secret/open", ""));
	cr_expect_not(passes(&view, "GET", "/", ""));
	cr_expect_not(passes(&view, "OPTIONS", "*", ""));
	/* all keys, any value of each */
	cr_expect(passes(&view, "GET", "/repos/x", "k=a.b"));
	cr_expect_not(passes(&view, "GET", "/repos/x", "k=b&k=a.b&l=z&l=a/b"));
	cr_expect_eq(answer.rule, 3);
	cr_expect(passes(&view, "GET", "/repos/x", "K=a&l=a"), "keys have their case");
	pol_requests_release(&all_of_ours);
	b_arena_release(&arena);
}

Test(policy_requests, what_cannot_be_judged_is_refused_when_it_is_read)
{
	static const char *const texts[] = {"a[", "a"};
	struct pol_http_param params[SBX_REQUEST_PARAMS + 1];
	struct pol_http_rule r = {.allow = true, .param = params, .nparams = 1, .origin = "o"};
	uint32_t set;

	for (size_t i = 0; i <= SBX_REQUEST_PARAMS; i++)
		params[i] = (struct pol_http_param){"k", texts, 1};
	pol_http_rules_add(&arena, &ours, &r);
	cr_expect_eq(pol_requests_add(&all_of_ours, &ours, &set, &err), -1);
	cr_expect(strstr(err.msg, "unclosed '['"), "%s", err.msg);
	for (size_t i = 0; i <= SBX_REQUEST_PARAMS; i++)
		params[i].glob = texts + 1;
	r.nparams = SBX_REQUEST_PARAMS + 1;
	ours.n = 0;
	pol_http_rules_add(&arena, &ours, &r);
	cr_expect_eq(pol_requests_add(&all_of_ours, &ours, &set, &err), -1);
	cr_expect(strstr(err.msg, "more than 32 keys"), "%s", err.msg);
	r.nparams = SBX_REQUEST_PARAMS;
	ours.n = 0;
	pol_http_rules_add(&arena, &ours, &r);
	cr_expect_eq(pol_requests_add(&all_of_ours, &ours, &set, &err), 0, "%s", err.msg);
	pol_requests_release(&all_of_ours);
	b_arena_release(&arena);
}

/* A file that was not made here names what is not there. */
Test(policy_requests, an_index_that_leads_out_is_found)
{
	const struct sbx_request_set set = {.nrules = 1}, far_set = {.first_rule = 1, .nrules = 1};
	const struct sbx_request_rule good = {.allow = 1}, method = {.method = {0, 2}},
				      globs = {.first_glob = 0xffffffff, .nglobs = 2},
				      params = {.nparams = 1};
	struct sbx_requests r = {
		.set = &set, .nsets = 1, .rule = &good, .nrules = 1, .text = "G", .ntext = 1};

	cr_expect(sbx_requests_check(&r));
	r.set = &far_set;
	cr_expect_not(sbx_requests_check(&r));
	r.set = &set;
	r.rule = &method;
	cr_expect_not(sbx_requests_check(&r));
	r.rule = &globs;
	cr_expect_not(sbx_requests_check(&r));
	r.rule = &params;
	cr_expect_not(sbx_requests_check(&r));
}
