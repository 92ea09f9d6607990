/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/questions/explain.c on floors made by hand. */
#include "policy/questions/explain.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/plan/floor.h"
#include "policy/engine.h"
#include "policy/document/model.h"

static const char *carried(enum sbx_op op, const char *path, bool allowed)
{
	static struct pol_grant grants[] = {
		{.path = "/usr", .rights = POL_GRANT_READ | POL_GRANT_EXEC, .is_dir = true},
		{.path = "/home/u/.bashrc", .rights = POL_GRANT_READ},
		{.path = "/w", .rights = POL_GRANT_WRITE, .is_dir = true, .lax = true},
		{.path = "/data", .rights = POL_GRANT_READ, .is_dir = true},
	};
	static const char *carved[] = {"/", "/home/u"};
	const struct pol_floor floor = {
		.grants = grants, .ngrants = 4, .carved = carved, .ncarved = 2};

	return pol_explain_floor(&floor, op, path, allowed);
}

Test(policy_explain, a_grant_carries_what_is_allowed)
{
	cr_expect_str_eq(carried(SBX_READ, "/home/u/.bashrc", true), "landlock-carved");
	cr_expect_str_eq(carried(SBX_EXEC, "/usr/bin/env", true), "landlock-carved");
	cr_expect_str_eq(carried(SBX_EXEC, "/home/u/.bashrc", false), "landlock-carved");
}

Test(policy_explain, no_grant_carries_what_is_denied)
{
	cr_expect_str_eq(carried(SBX_READ, "/home/u/.ssh", false), "landlock-carved");
	cr_expect_str_eq(carried(SBX_READ, "/home/u/.ssh/id", false), "landlock");
	cr_expect_str_eq(carried(SBX_MODIFY, "/usr/bin/env", false), "landlock");
	cr_expect_str_eq(carried(SBX_READ, "/usrlocal/x", false), "landlock");
}

Test(policy_explain, what_the_kernel_does_not_hold_is_said)
{
	cr_expect_str_eq(carried(SBX_READ, "/data/a.env", false), "shim only: needs the broker");
	cr_expect_str_eq(carried(SBX_MODIFY, "/w/.git/hooks", false),
			 "shim only: needs the broker");
	cr_expect_str_eq(carried(SBX_MODIFY, "/w/x", true), "shim only: needs the broker");
	cr_expect_str_eq(carried(SBX_READ, "/srv/x", true), "kernel refuses: needs the broker");
	cr_expect_str_eq(carried(SBX_CONNECT, "/run/x", false), "seccomp");
}

Test(policy_explain, listing_a_carved_directory_is_the_kernels_without_a_broker)
{
	static struct pol_grant grants[] = {
		{.path = "/home/u", .rights = POL_GRANT_LIST, .is_dir = true},
	};
	static const char *carved[] = {"/home/u"};
	const struct pol_floor f = {.grants = grants, .ngrants = 1, .carved = carved, .ncarved = 1};

	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u", true), "landlock-carved");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/new", true),
			 "kernel refuses: needs the broker");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/.ssh", false),
			 "landlock, but names can be listed");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_MODIFY, "/home/u/.ssh", false),
			 "landlock-carved");
}

Test(policy_explain, with_a_broker_the_kernel_carries_what_it_grants)
{
	static struct pol_grant grants[] = {
		{.path = "/home/u/src", .rights = POL_GRANT_READ, .is_dir = true},
	};
	static struct pol_grant brokered[] = {
		{.path = "/home/u", .rights = POL_GRANT_READ, .is_dir = true},
		{.path = "/w", .rights = POL_GRANT_WRITE, .is_dir = true},
	};
	static const char *carved[] = {"/home/u"};
	struct pol_floor f = {.grants = grants,
			      .ngrants = 1,
			      .brokered = brokered,
			      .nbrokered = 2,
			      .carved = carved,
			      .ncarved = 1,
			      .read_level = POL_READ_DIRECTORY,
			      .traps = POL_TRAP_FILES | POL_TRAP_SOCKETS};

	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u", true), "broker");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/src/a", true), "landlock-carved");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/new", true),
			 "broker, for programs with the shim");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/.ssh/id", false), "landlock");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_MODIFY, "/w/.git/hooks", false), "broker");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_CONNECT, "/run/x", false), "broker");
	f.read_level = POL_READ_ALL;
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/home/u/src/a", true), "broker");
}

Test(policy_explain, what_permissions_keep_closed_is_said)
{
	static struct pol_grant grants[] = {
		{.path = "/etc", .rights = POL_GRANT_READ, .is_dir = true},
	};
	static const char *held[] = {"/etc/shadow", "/etc/ssl/private"};
	const struct pol_floor f = {.grants = grants, .ngrants = 1, .held = held, .nheld = 2};

	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/etc/shadow", false), "file permissions");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/etc/ssl/private/k", false),
			 "file permissions");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_MODIFY, "/etc/shadow", false), "landlock");
	cr_expect_str_eq(pol_explain_floor(&f, SBX_READ, "/etc/passwd", true), "landlock");
}

Test(policy_explain, json_has_every_key_and_exact_bytes)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct pol_rule other = {.matched = "**", .origin = "p:1:2"};
	struct pol_answer a = {.op = SBX_READ,
			       .path = "./a\xff",
			       .matched = "a*",
			       .origin = "p:3:4",
			       .overrode = &other};

	pol_explain_json(&a, "landlock", NULL, &out);
	cr_expect_str_eq(b_str_c(&out),
			 "{\"op\":\"read\",\"path\":\"./a\\\\xff\",\"path_b64\":\"Li9h/w==\","
			 "\"allowed\":false,\"matched_rule\":\"a*\",\"rule\":\"p:3:4\","
			 "\"overrode\":{\"matched_rule\":\"**\",\"rule\":\"p:1:2\"},"
			 "\"floor\":\"landlock\"}\n");
	b_str_reset(&out);
	a.overrode = NULL;
	a.path = "x";
	a.allowed = true;
	pol_explain_json(&a, NULL, NULL, &out);
	cr_expect(strstr(b_str_c(&out), "\"overrode\":null,\"floor\":null}"), "%s", b_str_c(&out));
}

Test(policy_explain, text_is_one_line_whatever_the_path)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct pol_answer a = {
		.op = SBX_MODIFY, .path = "./a\nb\x1b[2J", .matched = "[]", .origin = "o"};

	pol_explain_text(&a, "landlock", &out);
	cr_expect_str_eq(b_str_c(&out),
			 "denied   modify   ./a\\x0ab\\x1b[2J  by rule [] (o)  [landlock]\n");
}

Test(policy_explain, the_effective_profile_shows_denies_and_exceptions)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct pol_eff_rule modify[] = {
		{.rule = "**", .pos = {"p", 1, 2}},
		{.rule = ".o/**", .negated = true, .is_global_deny = true, .pos = {"p", 3, 4}},
		{.rule = ".o/x", .is_exception = true, .is_global_deny = true, .pos = {"p", 5, 6}},
	};
	struct pol_effective e = {.name = "w", .v = {NULL, modify}, .n = {0, 3}};

	pol_explain_effective(&e, &out);
	cr_expect_str_eq(b_str_c(&out), "profile w\nread: []\nmodify:\n  allow   **  (p:1:2)\n"
					"  deny    .o/**  (global, p:3:4)\n"
					"  except  .o/x  (global, p:5:6)\n");
}
