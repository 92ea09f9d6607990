/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of rules on endpoints for programs, where not all of a process's programs are known.
 */
#include "core/connect.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/engine.h"

static struct engine e;

static bool reaches(const char *host, const char *program, bool is_partial)
{
	const struct sbx_exe exe = {1, 2, program, strlen(program)};
	struct sbx_connect_answer a;
	struct sbx_programs who;
	struct sbx_host h;

	cr_assert_eq(sbx_host_parse(host, strlen(host), &h), SBX_HOST_NAME);
	sbx_connect_programs(&e.image, &exe, 1, &who);
	who.is_partial = is_partial;
	return sbx_connect_host(&e.image, &h, 443, &who, &a);
}

static void compile(const char *const *rules)
{
	engine_init(&e);
	for (; *rules; rules++)
		engine_endpoint(&e, *rules);
	engine_compile(&e);
}

Test(core_connect_who, partial_meets_denials_and_no_openings)
{
	compile((const char *const[]){"+ a.example.org by usr/bin/git", "+ b.example.org",
				      "- b.example.org by usr/bin/git", NULL});
	cr_expect(reaches("a.example.org", "/usr/bin/git", false));
	cr_expect(!reaches("a.example.org", "/usr/bin/curl", false));
	cr_expect(reaches("b.example.org", "/usr/bin/curl", false));
	cr_expect(!reaches("b.example.org", "/usr/bin/git", false));

	cr_expect(reaches("a.example.org", "/usr/bin/git", true), "it is one itself");
	cr_expect(!reaches("a.example.org", "/usr/bin/curl", true));
	cr_expect(!reaches("b.example.org", "/usr/bin/curl", true), "it may go back to one");
	engine_release(&e);
}

/* The last pattern is a program's that was replaced. */
static bool reaches_replaced(const char *host, const char *program, const char *replaced,
			     struct sbx_connect_answer *a)
{
	const struct sbx_exe exe[] = {{1, 2, program, strlen(program)},
				      {1, 3, replaced, strlen(replaced)}};
	struct sbx_programs who, lost;
	struct sbx_host h;

	cr_assert_eq(sbx_host_parse(host, strlen(host), &h), SBX_HOST_NAME);
	sbx_connect_programs(&e.image, &exe[0], 1, &who);
	sbx_connect_programs(&e.image, &exe[1], 1, &lost);
	memcpy(who.replaced, lost.bit, sizeof who.replaced);
	return sbx_connect_host(&e.image, &h, 443, &who, a);
}

Test(core_connect_who, replaced_meets_denials_and_no_openings)
{
	struct sbx_connect_answer a;

	compile((const char *const[]){"+ a.example.org by usr/bin/git", "+ b.example.org",
				      "- b.example.org by usr/bin/git",
				      "+ c.example.org by usr/bin/g*", "+ d.example.org", NULL});
	cr_expect_not(reaches_replaced("a.example.org", "/usr/bin/sh", "/usr/bin/git", &a));
	cr_expect_eq(a.why, SBX_CONNECT_REPLACED);
	cr_expect_eq(a.rule, 0, "the rule that would allow");
	cr_expect_not(reaches_replaced("b.example.org", "/usr/bin/sh", "/usr/bin/git", &a));
	cr_expect_eq(a.why, SBX_CONNECT_RULE);
	cr_expect(reaches_replaced("b.example.org", "/usr/bin/sh", "/usr/bin/curl", &a));
	cr_expect_not(reaches_replaced("c.example.org", "/usr/bin/sh", "/usr/bin/git", &a));
	cr_expect(reaches_replaced("c.example.org", "/usr/bin/gcc", "/usr/bin/git", &a),
		  "by another of its programs");
	cr_expect(reaches_replaced("d.example.org", "/usr/bin/sh", "/usr/bin/git", &a));
	cr_expect_not(reaches_replaced("x.example.org", "/usr/bin/sh", "/usr/bin/git", &a));
	cr_expect_eq(a.why, SBX_CONNECT_NO_RULE);
	engine_release(&e);
}

Test(core_connect_who, what_may_be_met_is_judged_program_by_program)
{
	/* for git both rules hold, and the later opens */
	compile((const char *const[]){"+ a.example.org", "- a.example.org by usr/bin/git",
				      "+ a.example.org by usr/bin/git", NULL});
	cr_expect(reaches("a.example.org", "/usr/bin/git", false));
	cr_expect(reaches("a.example.org", "/usr/bin/curl", true));
	engine_release(&e);
	/* it may go back to git and not to curl */
	compile((const char *const[]){"+ a.example.org", "- a.example.org by usr/bin/git",
				      "+ a.example.org by usr/bin/curl", NULL});
	cr_expect(reaches("a.example.org", "/usr/bin/curl", true), "the later rule holds for sure");
	cr_expect(!reaches("a.example.org", "/usr/bin/sh", true));
	engine_release(&e);
}
