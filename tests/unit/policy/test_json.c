/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/json.c. */
#include "policy/front/tree.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/document/model.h"

static struct b_arena arena;
static struct b_err err;

static const struct pol_ynode *read_tree(const char *text)
{
	struct pol_ynode *root = NULL;

	return pol_json_parse(&arena, "j", text, strlen(text), &root, &err) < 0 ? NULL : root;
}

static void refused(const char *text, const char *message)
{
	err.msg[0] = '\0';
	cr_expect_null(read_tree(text), "%s", text);
	cr_expect(strstr(err.msg, message), "%s: %s", text, err.msg);
}

Test(policy_json, values_are_read_with_their_places)
{
	const struct pol_ynode *root =
		read_tree(" // c\n{ \"a\" : [1, -2.5e+3, true, null],\n"
			  "  /* c */ \"b\\u00e9\\ud83d\\ude00\\n\": \"x\" }");
	const struct pol_ynode *a;

	cr_assert(root, "%s", err.msg);
	a = pol_yaml_get(root, "a");
	cr_assert(a && a->kind == POL_Y_SEQ && a->n == 4);
	cr_expect_eq(a->pos.line, 2);
	cr_expect_eq(a->pos.col, 9);
	cr_expect_eq(a->v[0]->kind, POL_Y_INT);
	cr_expect_eq(a->v[1]->kind, POL_Y_FLOAT);
	cr_expect_str_eq(a->v[1]->s, "-2.5e+3");
	cr_expect_eq(a->v[2]->kind, POL_Y_BOOL);
	cr_expect_eq(a->v[3]->kind, POL_Y_NULL);
	cr_expect(pol_yaml_get(root, "b\xc3\xa9\xf0\x9f\x98\x80\n"));
}

Test(policy_json, what_is_not_json_is_refused_with_its_place)
{
	refused("{\"a\": [1,]}", "j:1:9: a comma after the last value: remove it");
	refused("{\"a\": 1,\n}", "j:1:8: a comma after the last value");
	refused("{\"a\": 1 \"b\": 2}", "j:1:9: expected `,` or `}`, found `\"`");
	refused("{a: 1}", "j:1:2: expected a key in \" quotes, found `a`");
	refused("{\"a\": 1, \"a\": 2}", "j:1:10: key `a` is there already");
	refused("{\"a\": 'x'}", "strings need \" quotes");
	refused("[01]", "a number that begins with 0");
	refused("[1.]", "expected a digit");
	refused("[\"a\nb\"]", "j:1:4: expected a character or an escape");
	refused("[\"\\x\"]", "j:1:3: unknown escape");
	refused("[\"\\ud800\"]", "not a character");
	refused("[\"\\ud800\\u0041\"]", "not a character");
	refused("[tru]", "expected a value, found `t`");
	refused("[1] 2", "expected the end of the text");
	refused("[1", "found the end of the text");
	refused("/* [1]", "a comment without its end");
	refused("[\"\xff\"]", "j:1:3: not UTF-8");
	refused("", "expected a value");
}

Test(policy_json, size_and_depth_are_limited)
{
	struct b_str s = {0};

	for (int i = 0; i < 100000; i++)
		b_str_addc(&s, '[');
	refused(b_str_c(&s), "more than 32 levels");
	b_str_reset(&s);
	b_str_addc(&s, '{');
	for (int i = 0; i < 2000; i++)
		b_str_addf(&s, "\"k%d\": 1,", i);
	refused(b_str_c(&s), "more than 1024 keys");
	b_str_reset(&s);
	b_str_addc(&s, '[');
	for (int i = 0; i < POL_MAX_NODES; i++)
		b_str_add(&s, "1,");
	refused(b_str_c(&s), "more than 200000 values");
	b_str_release(&s);
}
