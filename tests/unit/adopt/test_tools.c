/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/tools.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"

static struct b_err err;

static int lines(const char *tool, const char *shell, const char *option, const char *text,
		 struct b_str *out)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};
	const struct ad_tool_words w = {.launcher = &words, .shell = shell, .helper = "/h/npm"};

	b_strlist_add(&words, "/b/sbx-launch");
	if (option)
		b_strlist_add(&words, option);
	return ad_tool_find(tool)->add_lines(&w, text, out, &err);
}

static void gives(const char *tool, const char *shell, const char *option, const char *text,
		  const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};

	cr_assert_eq(lines(tool, shell, option, text, &out), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(&out), want);
}

static void refuses(const char *tool, const char *option, const char *text, const char *part)
{
	b_auto(b_str_release) struct b_str out = {0};

	cr_assert_eq(lines(tool, "/b/sbx-shell", option, text, &out), -1);
	cr_expect(strstr(err.msg, part), "%s", err.msg);
}

Test(adopt_tools, without_options_a_shell_is_the_path_of_ours)
{
	gives("npm", "/b/sbx-shell", NULL, "", "script-shell=/b/sbx-shell\n");
	gives("make", "/b/sbx-shell", NULL, "all:\n", "override SHELL := /b/sbx-shell\n");
	gives("make", "/b/sbx-shell", NULL, "SHELL = /bin/sh\n",
	      "override SHELL := /b/sbx-shell\n");
}

Test(adopt_tools, with_options_or_without_our_shell_another_way_is_found)
{
	gives("npm", "/b/sbx-shell", "--quiet", "", "script-shell=/h/npm/npm-shell\n");
	gives("npm", NULL, NULL, "", "script-shell=/h/npm/npm-shell\n");
	gives("make", "/b/sbx-shell", "--quiet", "",
	      "override SHELL := /b/sbx-launch\noverride .SHELLFLAGS := --quiet -- /bin/sh -c\n");
	gives("make", NULL, NULL, "",
	      "override SHELL := /b/sbx-launch\noverride .SHELLFLAGS := -- /bin/sh -c\n");
}

Test(adopt_tools, a_makefile_keeps_its_shell_and_flags)
{
	gives("make", "/b/sbx-shell", NULL, "SHELL:=bash\n.SHELLFLAGS:=-ec\n",
	      "override SHELL := /b/sbx-launch\noverride .SHELLFLAGS := -- bash -ec\n");
	gives("make", "/b/sbx-shell", NULL, ".SHELLFLAGS:=-ec\n",
	      "override SHELL := /b/sbx-launch\noverride .SHELLFLAGS := -- /bin/sh -ec\n");
	refuses("make", NULL, "SHELL := $(BASH)\n", "sbx-launch make");
}

Test(adopt_tools, what_a_file_cannot_say_is_refused)
{
	refuses("make", "--deny-read=a b", "", "a makefile cannot express `--deny-read=a b`");
	refuses("make", "--deny-read=$x", "", "a makefile cannot express");
	refuses("github", "--deny-read='x'", "", "a workflow cannot express");
	refuses("github", NULL, "on: push\ndefaults:\n", "defaults:");
	refuses("github", NULL, "defaults:\n", "defaults:");
}

Test(adopt_tools, others_take_any_option)
{
	gives("cargo", NULL, "--deny-read=a \"b\"", "",
	      "[target.'cfg(all())']\nrunner = "
	      "[\"/b/sbx-launch\",\"--deny-read=a \\\"b\\\"\",\"--\"]\n");
	gives("github", NULL, NULL, "jobs:\n  a:\n    defaults:\n",
	      "defaults:\n  run:\n    shell: sbx-launch --preset=github -- bash --noprofile --norc "
	      "-eo "
	      "pipefail {0}\n");
}
