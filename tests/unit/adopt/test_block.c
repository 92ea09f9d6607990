/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/block.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/mem.h"

#define BLOCK "# >>> sbx-launch --setup t\nx = 1\n# <<< sbx-launch\n"

static void puts_in(const char *text, bool at_top, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};

	ad_block_put(text, "t", "x = 1\n", at_top, &out);
	cr_expect_str_eq(b_str_c(&out), want);
}

Test(adopt_block, it_stands_at_the_end_on_a_line_of_its_own)
{
	puts_in("", false, BLOCK);
	puts_in("a\n", false, "a\n" BLOCK);
	puts_in("a", false, "a\n" BLOCK);
}

Test(adopt_block, at_the_top_behind_the_name_of_an_interpreter)
{
	puts_in("a\n", true, BLOCK "a\n");
	puts_in("#!/usr/bin/make -f\na\n", true, "#!/usr/bin/make -f\n" BLOCK "a\n");
	puts_in("#!/usr/bin/make -f", true, "#!/usr/bin/make -f\n" BLOCK);
}

Test(adopt_block, once_there_it_is_replaced_where_it_is)
{
	puts_in("a\n# >>> sbx-launch --setup t\nold\nlines\n# <<< sbx-launch\nb\n", true,
		"a\n" BLOCK "b\n");
	puts_in("# >>> sbx-launch --setup tt\n# <<< sbx-launch\n", false,
		"# >>> sbx-launch --setup tt\n# <<< sbx-launch\n" BLOCK);
}

Test(adopt_block, what_has_no_end_is_no_block)
{
	struct ad_span at;

	cr_expect_not(ad_block_find("# >>> sbx-launch --setup t\nx\n", "t", &at));
	cr_expect_not(ad_block_find("# >>> sbx-launch --setup t", "t", &at));
}

Test(adopt_block, cut_out_it_leaves_the_rest)
{
	b_auto(b_str_release) struct b_str out = {0};
	const char *text = "a\n" BLOCK "b";
	struct ad_span at = {0};

	cr_assert(ad_block_find(text, "t", &at));
	ad_block_cut(text, at, &out);
	cr_expect_str_eq(b_str_c(&out), "a\nb");
}

static void says(const char *text, const char *key, bool is_makefile, const char *want)
{
	size_t n;
	const char *value = ad_block_value(text, key, is_makefile, &n);

	if (!want) {
		cr_expect_null(value, "%s", text);
		return;
	}
	cr_assert_not_null(value, "%s", text);
	cr_expect(n == strlen(want) && memcmp(value, want, n) == 0, "%s: %.*s", text, (int)n,
		  value);
}

Test(adopt_block, a_key_is_a_word_with_a_value)
{
	says("a=1\nscript-shell = /bin/sh \n", "script-shell", false, "/bin/sh");
	says("[core] hooksPath=x", "hookspath", false, "x");
	says("target = { a = { runner = \"y\" } }", "runner", false, "\"y\" } }");
	says("    shell: bash\n", "shell", false, "bash");
	says("# script-shell=x\n; "
	     "script-shell=x\nno-script-shell=1\nscript-shells=1\nscript-shell\n",
	     "script-shell", false, NULL);
	says("", "x", false, NULL);
}

Test(adopt_block, of_a_makefile_the_last_that_is_no_recipe)
{
	says("SHELL = a\nexport SHELL := /bin/bash # why\nall:\n\tSHELL=x env\n", "SHELL", true,
	     "/bin/bash");
	says("MY_SHELL = a\nshell = b\n.SHELLFLAGS = -c\n", "SHELL", true, NULL);
	says("SHELL ?= z\n", "SHELL", true, "z");
	says("SHELL ?= z\n.SHELLFLAGS := -eu -c\n", ".SHELLFLAGS", true, "-eu -c");
}
