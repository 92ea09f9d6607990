/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/jsonedit.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/mem.h"

static const char *const path[] = {"hooks", "Pre", NULL};
static struct b_err err;

static void appended(const char *text, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};

	cr_assert_eq(ad_json_append(text, path, "{\"a\": 1}", &out, &err), 0, "%s: %s", text,
		     err.msg);
	cr_expect_str_eq(b_str_c(&out), want);
}

Test(adopt_jsonedit, makes_what_is_not_there)
{
	static const char whole[] = "{\n  \"hooks\": {\n    \"Pre\": [\n      {\"a\": 1}\n    ]\n"
				    "  }\n}\n";

	appended("", whole);
	appended(" \n", whole);
	appended("{}\n", whole);
	appended("{ }\n", whole);
	appended(
		"{\n\t\"x\": [1, 2] // why\n}",
		"{\n\t\"x\": [1, 2],\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\"a\": 1}\n\t\t]\n\t} "
		"// why\n}");
	appended("{\n    \"hooks\": {\"Post\": []}\n}\n",
		 "{\n    \"hooks\": {\"Post\": [],\n        \"Pre\": [\n            {\"a\": 1}\n"
		 "        ]}\n}\n");
}

Test(adopt_jsonedit, adds_to_a_list_that_is_there)
{
	appended("{\"hooks\": {\"Pre\": []}}",
		 "{\"hooks\": {\"Pre\": [\n      {\"a\": 1}\n    ]}}");
	appended(
		"{\n  \"hooks\": {\n    \"Pre\": [\n      1\n    ]\n  },\n  \"z\": \"}]\\\"\"\n}\n",
		"{\n  \"hooks\": {\n    \"Pre\": [\n      1,\n      {\"a\": 1}\n    ]\n  },\n"
		"  \"z\": \"}]\\\"\"\n}\n");
	/* a comma behind the last value stays where it is */
	appended("{\"hooks\": {\"Pre\": [1, /* ] */],},}",
		 "{\"hooks\": {\"Pre\": [1,\n      {\"a\": 1}, /* ] */],},}");
}

Test(adopt_jsonedit, refuses_what_is_not_that_shape)
{
	static const char *const texts[] = {"[]",
					    "{",
					    "{} x",
					    "{\"a\" 1}",
					    "{\"a\": }",
					    "{\"a\": 1 \"b\": 2}",
					    "{\"a\": \"x\ny\"}",
					    "{\"a\": \"x",
					    "{\"a\": \"x\\",
					    "{\"hooks\": []}",
					    "{\"hooks\": {\"Pre\": {}}}",
					    "{\"hooks\": {}, \"hooks\": {}}",
					    "null"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		b_auto(b_str_release) struct b_str out = {0};

		cr_expect_eq(ad_json_append(texts[i], path, "1", &out, &err), -1, "%s", texts[i]);
		cr_expect_eq(err.kind, B_FORMAT);
	}
}

Test(adopt_jsonedit, too_many_levels_are_an_error)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_add(&text, "{\"a\": ");
	for (int i = 0; i < 100000; i++)
		b_str_addc(&text, '[');
	cr_expect_eq(ad_json_check(text.s, &err), -1);
}

Test(adopt_jsonedit, finds_values_and_items)
{
	static const char text[] =
		"{\"hooks\": {\"x\": {\"Pre\": 0}, \"Pre\": [\"a\", {\"b\": 1}]}}";
	static const char *const none[] = {"hooks", "b", NULL};
	struct ad_span list, item;

	cr_assert_eq(ad_json_find(text, path, &list, &err), 1);
	cr_expect_eq(text[list.at], '[');
	cr_assert(ad_json_item(text, list, 1, &item));
	cr_expect_eq(item.end - item.at, strlen("{\"b\": 1}"));
	cr_expect_not(ad_json_item(text, list, 2, &item));
	cr_expect_eq(ad_json_find(text, none, &list, &err), 0);
}

/* What was added is taken out with what was put beside it. */
Test(adopt_jsonedit, a_cut_undoes_an_append)
{
	static const char *const texts[] = {"{\"hooks\": {\"Pre\": [1]}}",
					    "{\n \"hooks\": {\"Pre\": [\n  {},\n  2\n ]\n}}\n",
					    "{\"hooks\": {\"Pre\": [\"]\", \"\\\"\"]}, \"b\": 1}"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		b_auto(b_str_release) struct b_str more = {0}, less = {0};
		struct ad_span list, item, last = {0};

		cr_assert_eq(ad_json_append(texts[i], path, "{\"n\": [1, 2]}", &more, &err), 0);
		cr_assert_eq(ad_json_find(more.s, path, &list, &err), 1);
		for (size_t k = 0; ad_json_item(more.s, list, k, &item); k++)
			last = item;
		ad_json_cut(more.s, last, &less);
		cr_expect_str_eq(less.s, texts[i]);
	}
}

static void cut(const char *text, const char *const *keys, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct ad_span at;

	cr_assert_eq(ad_json_find(text, keys, &at, &err), 1);
	ad_json_cut(text, at, &out);
	cr_expect_str_eq(out.s, want);
}

Test(adopt_jsonedit, a_cut_takes_the_key_and_one_comma)
{
	static const char *const b[] = {"b", NULL};

	cut("{\"b\" : 1}", b, "{}");
	cut("{\"a\": 0, \"b\": 1}", b, "{\"a\": 0}");
	cut("{\"b\": [1], \"c\": 2}", b, "{\"c\": 2}");
	cut("{\"a\": 0, \"b\": 1, \"c\": 2}", b, "{\"a\": 0, \"c\": 2}");
}
