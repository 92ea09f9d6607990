/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/decide.c and core/move.c. */
#include "core/decide.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "policy/compile/ruleset.h"
#include "tests/support/engine.h"

static struct engine e;

static void setup(void)
{
	engine_init(&e);
}

static void teardown(void)
{
	engine_release(&e);
}

TestSuite(core_decide, .init = setup, .fini = teardown);

static void rules(const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		engine_rule(&e, texts[i]);
	engine_compile(&e);
}
#define RULES(...)                                                                                 \
	rules((const char *const[]){__VA_ARGS__},                                                  \
	      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static struct sbx_verdict explain(const char *path)
{
	struct sbx_verdict v;

	sbx_explain(&e.image, SBX_READ, path, strlen(path), &v);
	return v;
}

Test(core_decide, nothing_matches_nothing_is_allowed)
{
	engine_compile(&e);
	cr_expect_not(engine_allows(&e, "/"));
	cr_expect_not(engine_allows(&e, "/a"));
	cr_expect_str_eq(explain("/a").matched, "[]");
	cr_expect_str_eq(explain("/a").origin, "builtin:default");
	cr_expect_eq(explain("/a").rule, -1);
}

Test(core_decide, the_last_matching_rule_wins)
{
	RULES("+ /ws/", "- /ws/secrets/", "+ /ws/secrets/public.txt");
	cr_expect(engine_allows(&e, "/ws"));
	cr_expect(engine_allows(&e, "/ws/a"));
	cr_expect_not(engine_allows(&e, "/ws/secrets"));
	cr_expect_not(engine_allows(&e, "/ws/secrets/x"));
	cr_expect(engine_allows(&e, "/ws/secrets/public.txt"));
	cr_expect_not(engine_allows(&e, "/ws/secrets/public.txt/x"));
	cr_expect_not(engine_allows(&e, "/wss"));
	cr_expect_str_eq(explain("/ws/secrets/x").matched, "- /ws/secrets/");
	cr_expect_eq(explain("/ws/secrets/x").rule, 1);
	cr_expect_str_eq(explain("/other").matched, "<no matching rule>");
}

Test(core_decide, the_root_directory_is_a_path)
{
	RULES("+ /");
	cr_expect(engine_allows(&e, "/"));
	cr_expect(engine_allows(&e, "/a/b"));
}

Test(core_decide, an_exact_root_says_nothing_of_what_is_below)
{
	struct pol_rule r = {
		.allow = true, .shape = POL_EXACT, .base = "", .matched = "/", .origin = "t:1:1"};

	pol_ruleset_add(&e.rules, SBX_READ, &r);
	engine_compile(&e);
	cr_expect(engine_allows(&e, "/"));
	cr_expect_not(engine_allows(&e, "/a"));
}

/* Paths longer and shorter than a word, with the fault at every place of one. */
Test(core_decide, what_is_not_canonical_is_denied)
{
	static const char *const bad[] = {
		"",	  "a",	     "a/b",	     "//",	     "/a/",
		"/a//b",  "/.",	     "/..",	     "/a/.",	     "/a/..",
		"/a/./b", "/a/../b", "/abcdef/../x", "/abcdefg/./x", "/abcdefgh/"};
	char path[32];

	RULES("+ /");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_not(engine_allows(&e, bad[i]), "`%s`", bad[i]);
		cr_expect_eq(sbx_attribute(&e.image, SBX_READ, bad[i], strlen(bad[i])), -1);
		cr_expect_eq(sbx_subtree(&e.image, SBX_READ, bad[i], strlen(bad[i])),
			     SBX_SUBTREE_DENY);
	}
	for (size_t at = 1; at < 24; at++) {
		memset(path, 'x', sizeof path);
		path[0] = path[at] = '/';
		cr_expect_eq(sbx_decide(&e.image, SBX_READ, path, 26), at != 1, "slash at %zu", at);
		memset(path + at + 1, '.', 2);
		path[at + 3] = '/';
		cr_expect_not(sbx_decide(&e.image, SBX_READ, path, 28), "dots at %zu", at);
		path[at + 3] = 'y';
		cr_expect_eq(sbx_decide(&e.image, SBX_READ, path, 28), at != 1);
		path[at] = '\0';
		cr_expect_not(sbx_decide(&e.image, SBX_READ, path, 26), "NUL at %zu", at);
	}
}

Test(core_decide, names_with_dots_are_canonical)
{
	RULES("+ /");
	cr_expect(engine_allows(&e, "/.git/.x/..y/..."));
	cr_expect(engine_allows(&e, "/a./b../c"));
	cr_expect(engine_allows(&e, "/x\ny/\x01\xff"));
}

Test(core_decide, an_operation_out_of_range_is_denied)
{
	RULES("+ /");
	cr_expect_not(sbx_decide(&e.image, SBX_OP_COUNT, "/a", 2));
	cr_expect_eq(sbx_attribute(&e.image, SBX_OP_COUNT, "/a", 2), -1);
}

Test(core_decide, operations_have_lists_of_their_own)
{
	struct sbx_verdict v;

	engine_rule_for(&e, SBX_READ, "+ /");
	engine_rule_for(&e, SBX_READ, "- /secret");
	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	engine_compile(&e);
	cr_expect(sbx_decide(&e.image, SBX_READ, "/etc", 4));
	cr_expect_not(sbx_decide(&e.image, SBX_MODIFY, "/etc", 4));
	sbx_explain(&e.image, SBX_MODIFY, "/ws/a", 5, &v);
	cr_expect(v.allowed);
	cr_expect_eq(v.rule, 2); /* in the table of all rules */
	cr_expect_str_eq(v.origin, "+ /ws/");
}

static enum sbx_subtree subtree(const char *path)
{
	return sbx_subtree(&e.image, SBX_READ, path, strlen(path));
}

Test(core_decide, subtrees_know_whether_anything_below_differs)
{
	RULES("+ /ws **", "- /ws **/*.env", "- /ws/build/", "+ /usr/", "- /usr/x");
	cr_expect_eq(subtree("/"), SBX_SUBTREE_MIXED);
	cr_expect_eq(subtree("/ws"), SBX_SUBTREE_MIXED);
	cr_expect_eq(subtree("/ws/a/b"), SBX_SUBTREE_MIXED);
	cr_expect_eq(subtree("/ws/build"), SBX_SUBTREE_DENY);
	cr_expect_eq(subtree("/ws/build/x"), SBX_SUBTREE_DENY);
	cr_expect_eq(subtree("/usr"), SBX_SUBTREE_MIXED);
	cr_expect_eq(subtree("/usr/lib"), SBX_SUBTREE_ALLOW);
	cr_expect_eq(subtree("/usr/x"), SBX_SUBTREE_MIXED);
	cr_expect_eq(subtree("/etc"), SBX_SUBTREE_DENY);
}

/* What the flags promise, by trying everything over a small alphabet. */
static bool all_below(const char *path, size_t len, bool allowed)
{
	static const char alphabet[] = "ab/";
	char p[16];

	for (unsigned n = 0; n < 3 * 3 * 3 * 3; n++) {
		size_t m = len;
		unsigned code = n;

		memcpy(p, path, len);
		p[m++] = '/';
		for (int i = 0; i < 4; i++, code /= 3)
			p[m++] = alphabet[code % 3];
		p[m] = '\0';
		if (strstr(p + len, "//") || p[m - 1] == '/')
			continue;
		for (size_t part = len + 2; part <= m; part++)
			if (p[part - 1] != '/' &&
			    sbx_decide(&e.image, SBX_READ, p, part) != allowed)
				return false;
	}
	return true;
}

Test(core_decide, subtrees_agree_with_what_is_below)
{
	static const char *const paths[] = {"/a", "/b", "/a/b", "/a/a", "/b/a"};
	struct draw d;

	draw_seed(&d, 11);
	for (int round = 0; round < 400; round++) {
		for (unsigned n = 1 + draw(&d, 6); n > 0; n--)
			draw_rule(&d, false, &e.rules);
		engine_compile(&e);
		for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
			enum sbx_subtree s = subtree(paths[i]);
			bool allowed = engine_allows(&e, paths[i]);

			if (s == SBX_SUBTREE_MIXED)
				continue;
			cr_assert_eq(allowed, s == SBX_SUBTREE_ALLOW);
			cr_assert(all_below(paths[i], strlen(paths[i]), allowed));
		}
		engine_release(&e);
		engine_init(&e);
	}
}

Test(core_decide, walking_by_steps_is_walking)
{
	uint32_t state;

	RULES("+ /ws **", "- /ws **/x/**");
	state = sbx_walk(&e.image, SBX_READ, "/", 1);
	for (const char *p = "/ws/a/x"; *p; p++)
		state = sbx_step(&e.image, SBX_READ, state, (unsigned char)*p);
	cr_expect_eq(state, sbx_walk(&e.image, SBX_READ, "/ws/a/x", 7));
	cr_expect_not(sbx_state_flags(&e.image, SBX_READ, state) & SBX_ST_ALLOW);
	state = sbx_step(&e.image, SBX_READ, state, '/');
	cr_expect_eq(sbx_state_flags(&e.image, SBX_READ, state), SBX_ST_SLASH | SBX_ST_ALL_DENY);
	/* A state that is none stays none. */
	cr_expect_eq(sbx_state_flags(&e.image, SBX_READ, UINT32_MAX), SBX_ST_ALL_DENY);
	cr_expect_eq(sbx_step(&e.image, SBX_READ, UINT32_MAX, 'a'), UINT32_MAX);
}

static bool moves(const char *from, const char *to, unsigned what)
{
	return sbx_move_allowed(&e.image, from, strlen(from), to, strlen(to), what, NULL);
}

static bool move(const char *from, const char *to, bool is_dir)
{
	return moves(from, to, is_dir ? SBX_MOVES_DIR : 0);
}

Test(core_decide, a_move_may_not_launder)
{
	enum sbx_op op = SBX_OP_COUNT;

	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	RULES("+ /ws **", "- /ws secrets/**");
	cr_expect_not(sbx_move_allowed(&e.image, "/ws/secrets", 11, "/ws/pub", 7, true, &op));
	cr_expect_eq(op, SBX_READ);
	cr_expect_not(move("/ws/secrets/key", "/ws/key", false));
	cr_expect(move("/ws/a", "/ws/b", true));
}

Test(core_decide, what_may_be_read_is_not_kept_where_it_may_not)
{
	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	RULES("+ /ws **", "- /ws secrets/**");
	cr_expect(move("/ws/a", "/ws/secrets/a", false), "made anew");
	cr_expect_not(moves("/ws/a", "/ws/secrets/a", SBX_MOVES_KEPT));
	cr_expect_not(moves("/ws/secrets/a", "/ws/a", SBX_MOVES_KEPT));
	cr_expect(moves("/ws/secrets/a", "/ws/secrets/b", SBX_MOVES_KEPT));
	cr_expect_not(move("/ws/a", "/ws/secrets/a", true));
	cr_expect_not(move("/ws/a", "/ws/secrets", true));
}

Test(core_decide, a_socket_is_not_moved_to_where_it_may_be_connected_to)
{
	enum sbx_op op = SBX_OP_COUNT;

	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	engine_rule_for(&e, SBX_CONNECT, "+ /ws/socks/");
	RULES("+ /");
	cr_expect_not(
		sbx_move_allowed(&e.image, "/ws/s", 5, "/ws/socks/s", 11, SBX_MOVES_SOCKET, &op));
	cr_expect_eq(op, SBX_CONNECT);
	cr_expect_not(moves("/ws/s", "/ws/socks/s", SBX_MOVES_SOCKET | SBX_MOVES_KEPT));
	cr_expect_not(move("/ws/d", "/ws/socks/d", true));
	cr_expect(move("/ws/s", "/ws/socks/s", false), "no socket");
	cr_expect(moves("/ws/socks/s", "/ws/s", SBX_MOVES_SOCKET | SBX_MOVES_KEPT));
	cr_expect(moves("/ws/socks/s", "/ws/socks/t", SBX_MOVES_SOCKET));
	cr_expect(move("/ws/d", "/ws/e", true));
	cr_expect_not(sbx_move_free(&e.image, "/ws/s", 5, "/ws/socks/s", 11));
}

Test(core_decide, names_denied_everywhere_do_not_hinder_moves)
{
	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	RULES("+ /ws **", "- /ws **/*.env");
	cr_expect(move("/ws/a", "/ws/b/c", true));
	cr_expect(move("/ws/a", "/ws/x.env", false));
	cr_expect_not(move("/ws/a", "/ws/x.env", true), "who lists it now would then");
	cr_expect_not(move("/ws/x.env", "/ws/y", true));
	cr_expect_not(move("/ws/x.env", "/ws/y", false));
}

Test(core_decide, protected_names_may_not_be_planted)
{
	enum sbx_op op = SBX_OP_COUNT;

	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	engine_rule_for(&e, SBX_MODIFY, "- /ws/.git/hooks/");
	RULES("+ /");
	cr_expect_not(sbx_move_allowed(&e.image, "/ws/a", 5, "/ws/.git", 8, true, &op));
	cr_expect_eq(op, SBX_MODIFY);
	cr_expect_not(move("/ws/.git", "/ws/a", true));
	cr_expect(move("/ws/a", "/ws/.gix", true));
	cr_expect(move("/ws/a", "/ws/.git/objects", true));
}

/* Every name below over a small alphabet, up to four bytes. */
static bool move_by_hand(const char *from, const char *to, enum sbx_op op)
{
	static const char alphabet[] = "ab/";
	char p[24], q[24];

	for (unsigned n = 0; n < 3 * 3 * 3 * 3 * 3; n++) {
		char tail[8] = "/";
		unsigned code = n;
		bool was, is;

		for (int i = 1; i < 6; i++, code /= 3)
			tail[i] = alphabet[code % 3];
		if (strstr(tail, "//"))
			continue;
		for (int cut = 1; cut <= 6; cut++) {
			if (cut > 1 && tail[cut - 1] == '/')
				continue;
			snprintf(p, sizeof p, "%s%.*s", from, cut == 1 ? 0 : cut, tail);
			snprintf(q, sizeof q, "%s%.*s", to, cut == 1 ? 0 : cut, tail);
			was = sbx_decide(&e.image, op, p, strlen(p));
			is = sbx_decide(&e.image, op, q, strlen(q));
			if ((!was && is) || ((cut > 1 || op == SBX_READ) && was && !is))
				return false;
		}
	}
	return true;
}

Test(core_decide, moves_agree_with_trying_all_names_below)
{
	static const char *const ends[] = {"/a", "/b", "/a/b", "/a/a", "/b/b"};
	unsigned refused = 0, passed = 0, doubted = 0;
	struct draw d;

	draw_seed(&d, 12);
	for (int round = 0; round < 600; round++) {
		for (unsigned n = 1 + draw(&d, 5); n > 0; n--) {
			draw_rule(&d, false, &e.rules);
			if (draw(&d, 2))
				pol_ruleset_add(
					&e.rules, SBX_MODIFY,
					&e.rules.op[SBX_READ]
						 .v[draw(&d, (unsigned)e.rules.op[SBX_READ].n)]);
		}
		engine_compile(&e);
		for (int i = 0; i < 6; i++) {
			const char *from = ends[draw(&d, 5)], *to = ends[draw(&d, 5)];
			bool by_hand = move_by_hand(from, to, SBX_READ) &&
				       move_by_hand(from, to, SBX_MODIFY);
			bool allowed = move(from, to, true);

			cr_assert(by_hand || !allowed, "round %d: %s to %s", round, from, to);
			refused += !allowed;
			passed += allowed;
			doubted += by_hand && !allowed;
		}
		engine_release(&e);
		engine_init(&e);
	}
	/* Names longer than those tried account for the rest. */
	cr_expect_gt(passed, 300);
	cr_expect_gt(refused, 300);
	cr_expect_lt(doubted, refused / 5, "%u of %u", doubted, refused);
}

/* /ws/b denies what /ws/a denies and a little more, at `n` places. */
static bool long_move(int n)
{
	char rule[64];

	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	engine_rule_for(&e, SBX_CONNECT, "+ /ws/");
	engine_rule(&e, "+ /ws/");
	for (int i = 0; i < n; i++) {
		snprintf(rule, sizeof rule, "- /ws/a/n%d/deep/%d", i, i * i);
		engine_rule_for(&e, SBX_CONNECT, rule);
		snprintf(rule, sizeof rule, "- /ws/b/n%d/deep/%d", i, i * i);
		engine_rule_for(&e, SBX_CONNECT, rule);
		snprintf(rule, sizeof rule, "- /ws/b/n%d/deep/%d.x", i, i * i);
		engine_rule_for(&e, SBX_CONNECT, rule);
	}
	engine_compile(&e);
	return move("/ws/a", "/ws/b", true);
}

Test(core_decide, a_move_within_the_budget_is_proved)
{
	cr_expect(long_move(20));
}

Test(core_decide, a_move_that_takes_too_long_to_prove_is_refused)
{
	cr_expect_not(long_move(200));
}

static bool may_lead(const char *link, const char *target)
{
	return sbx_link_allowed(&e.image, link, strlen(link), target, strlen(target));
}

Test(core_decide, a_link_does_not_lead_around_what_is_protected)
{
	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	engine_rule_for(&e, SBX_MODIFY, "- /ws/.git/hooks/");
	RULES("+ /");
	cr_expect_not(may_lead("/ws/.git", "/ws/evil"));
	cr_expect_not(may_lead("/ws/.git", "/elsewhere"), "another run can fill it");
	cr_expect(may_lead("/ws/.git", "/ws/.git"));
	cr_expect(may_lead("/ws/other", "/ws/evil"));
	cr_expect(may_lead("/ws/other", "/elsewhere"), "the kernel judges what it leads to");
	cr_expect(sbx_link_free(&e.image, "/ws/other", 9));
	cr_expect_not(sbx_link_free(&e.image, "/ws/.git", 8));
}

Test(core_decide, a_link_that_may_not_be_read_leads_nowhere_else)
{
	engine_rule_for(&e, SBX_MODIFY, "+ /ws/");
	RULES("+ /", "- /ws **/*.env", "- /ws s/key");
	cr_expect_not(may_lead("/ws/a.env", "/ws/pub"));
	cr_expect_not(may_lead("/ws/a.env", "/usr/share/pub"));
	cr_expect(may_lead("/ws/a.env", "/ws/b.env"));
	cr_expect(may_lead("/ws/b", "/ws/a.env"), "the object is judged");
	cr_expect_not(may_lead("/ws/s", "/ws/pub"), "the host would write s/key there");
	cr_expect_not(may_lead("/ws/s", "/usr/share"), "another run can be waiting there");
	cr_expect(may_lead("/ws/b", "/usr/share"), "as any name beside it");
	cr_expect(may_lead("/ws/d", "/ws/e"));
	cr_expect_not(sbx_link_free(&e.image, "/ws/a.env", 9));
	cr_expect_not(sbx_link_free(&e.image, "/ws/s", 5));
}

Test(core_decide, names_of_operations)
{
	cr_expect_str_eq(sbx_op_name(SBX_READ), "read");
	cr_expect_str_eq(sbx_op_name(SBX_CONNECT), "connect");
	cr_expect_str_eq(sbx_op_name(SBX_OP_COUNT), "?");
}
