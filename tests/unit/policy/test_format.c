/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/questions/format.c: shapes, comments, and what is refused. */
#include "policy/questions/convert.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static void becomes(const char *text, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	cr_assert_eq(pol_format("f", text, strlen(text), &out, &err), 0, "%s\n%s", text, err.msg);
	cr_expect_str_eq(b_str_c(&out), want);
}

static void stays(const char *text)
{
	becomes(text, text);
}

static void refused(const char *text)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	cr_expect_eq(pol_format("f", text, strlen(text), &out, &err), -1, "%s", text);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_eq(out.len, 0);
}

Test(policy_format, mappings_and_lists)
{
	becomes("a:  1\nb:\n   - x\n   -   y\n", "a: 1\nb:\n  - x\n  - y\n");
	becomes("a:\n- k: v\n  l: w\n-\n  m: n\n", "a:\n  - k: v\n    l: w\n  - m: n\n");
	becomes("- - a\n  - b\n- {}\n- []\n", "-\n  - a\n  - b\n- {}\n- []\n");
	becomes("a: {b: [c , d],'e':  f}", "a: {b: [c, d], 'e': f}\n");
	stays("a:\nb: ~\n");
	stays("word\n");
}

Test(policy_format, long_lists_get_a_line_for_each)
{
	b_auto(b_str_release) struct b_str in = {0}, out = {0};

	b_str_add(&in, "a: [");
	b_str_add(&out, "a:\n");
	for (int i = 0; i < 20; i++) {
		b_str_addf(&in, "%srule%d", i ? ", " : "", i);
		b_str_addf(&out, "  - rule%d\n", i);
	}
	b_str_add(&in, "]\n");
	becomes(b_str_c(&in), b_str_c(&out));
}

Test(policy_format, comments_stay_where_they_are)
{
	stays("# first\n\n# second\na: 1  # third\n# last\n");
	becomes("a: [x, # one\n  y]\n", "a:\n  - x  # one\n  - y\n");
	becomes("a:\n    # in\n    b: c # with\n#out\nd: e\n",
		"a:\n  # in\n  b: c  # with\n#out\nd: e\n");
	becomes("a: 'x # no' # yes\n", "a: 'x # no'  # yes\n");
	becomes("a: x#no\n", "a: x#no\n");
	becomes("a: # of a\n  - b\n", "a:  # of a\n  - b\n");
}

Test(policy_format, blank_lines)
{
	becomes("\n\na: 1\n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n");
	becomes("a:\n  b: 1\n  \n  c: 2\n", "a:\n  b: 1\n\n  c: 2\n");
}

Test(policy_format, line_breaks_of_dos)
{
	becomes("a: 1\r\n\r\nc: 3\r\n", "a: 1\n\nc: 3\n");
}

Test(policy_format, scalars_of_several_lines)
{
	becomes("a: b\n  c\n", "a: \"b c\"\n");
	becomes("a: \"b\n\n  c\\x01\"\n", "a: \"b\\nc\\x01\"\n");
	becomes("a: |\n      x\n        y\n", "a: |\n  x\n    y\n");
	stays("a: >-\n  x\n\n  y\nb: 1\n");
}

Test(policy_format, anchors_aliases_tags)
{
	stays("a: &x [b]\nc: *x\n");
	becomes("a: &x\n    b: c\nd: !!str   5\n", "a: &x\n  b: c\nd: !!str 5\n");
	stays("a: &x b\n*x : c\n");
}

Test(policy_format, characters)
{
	becomes("\xef\xbb\xbf\xc3\xa9:  \"\xe2\x82\xac\"  #\xc3\xa9\n",
		"\xc3\xa9: \"\xe2\x82\xac\"  #\xc3\xa9\n");
}

Test(policy_format, what_cannot_be_kept_is_refused)
{
	refused("a: [");
	refused("");
	refused("%YAML 1.1\n---\na: b\n");
	refused("a: |2\n    b\n");
	refused("a: 1\na: 2\n");
}
