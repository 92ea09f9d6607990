/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/program.h"

#include <string.h>

#include <criterion/criterion.h>

static struct b_arena arena;

static void done(void)
{
	b_arena_release(&arena);
}

static bool parse(const char *text, struct lau_script *out)
{
	return lau_script_parse(&arena, text, strlen(text), out);
}

static void reads(const char *text, const char *interpreter, const char *argument)
{
	struct lau_script s;

	cr_assert(parse(text, &s), "%s", text);
	cr_expect_str_eq(s.interpreter, interpreter);
	cr_assert_eq(!s.argument, !argument, "%s", text);
	if (argument)
		cr_expect_str_eq(s.argument, argument);
}

Test(launcher_script, the_first_line_is_an_interpreter_and_one_argument, .fini = done)
{
	reads("#!/bin/sh\n", "/bin/sh", NULL);
	reads("#! \t/bin/sh\nexit 1\n", "/bin/sh", NULL);
	reads("#!/bin/sh -e\n", "/bin/sh", "-e");
	reads("#!/bin/sh  -e -u \t\n", "/bin/sh", "-e -u");
	reads("#!/bin/sh \n", "/bin/sh", NULL);
}

Test(launcher_script, what_is_no_line_of_the_kind_is_no_script, .fini = done)
{
	static const char *const texts[] = {"",
					    "#",
					    "#!",
					    "#!\n",
					    "#!sh\n",
					    "#!/bin/sh",
					    "/bin/sh\n",
					    "\n#!/bin/sh\n",
					    "# !/bin/sh\n"};
	struct lau_script s;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_not(parse(texts[i], &s), "%s", texts[i]);
}

Test(launcher_script, only_a_plain_name_is_looked_for_instead_of_env, .fini = done)
{
	struct lau_script s;

	cr_assert(parse("#!/usr/bin/env node\n", &s));
	cr_expect_str_eq(lau_script_env(&s), "node");
	cr_assert(parse("#!/usr/bin/env -S node --x\n", &s));
	cr_expect_null(lau_script_env(&s));
	cr_assert(parse("#!/usr/bin/env A=b node\n", &s));
	cr_expect_null(lau_script_env(&s));
	cr_assert(parse("#!/usr/bin/env A=b\n", &s));
	cr_expect_null(lau_script_env(&s));
	cr_assert(parse("#!/usr/bin/env\n", &s));
	cr_expect_null(lau_script_env(&s));
	cr_assert(parse("#!/opt/env node\n", &s));
	cr_expect_null(lau_script_env(&s));
}

Test(launcher_script, the_interpreter_gets_the_file_in_place_of_its_name, .fini = done)
{
	char zero[] = "x", one[] = "a", two[] = "b", *argv[] = {zero, one, two, NULL};
	static const char *const want[] = {"/bin/sh", "-e", "/p/run", "a", "b"};
	struct lau_script s;
	char **got;

	cr_assert(parse("#!/bin/sh -e\n", &s));
	got = lau_script_argv(&arena, &s, "/p/run", argv);
	for (size_t i = 0; i < 5; i++)
		cr_expect_str_eq(got[i], want[i]);
	cr_expect_null(got[5]);
	argv[0] = NULL; /* a caller may give nothing at all */
	cr_assert(parse("#!/bin/sh\n", &s));
	got = lau_script_argv(&arena, &s, "/p/run", argv);
	cr_expect_str_eq(got[0], "/bin/sh");
	cr_expect_str_eq(got[1], "/p/run");
	cr_expect_null(got[2]);
}
