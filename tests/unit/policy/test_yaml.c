/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/yaml.c. */
#include "policy/front/tree.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static struct b_arena arena;
static struct b_err err;

static struct pol_ynode *parse_n(const char *text, size_t len)
{
	struct pol_ynode *root = NULL;

	err = (struct b_err){0};
	return pol_yaml_parse(&arena, "f", text, len, &root, &err) < 0 ? NULL : root;
}

static struct pol_ynode *parse(const char *text)
{
	return parse_n(text, strlen(text));
}

static void refused(const char *text, const char *message)
{
	cr_expect_null(parse(text), "%s", text);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_str_eq(err.msg, message);
}

Test(policy_yaml, nodes_carry_line_and_column_from_one)
{
	const struct pol_ynode *root = parse("a: 1\nb:\n  - \xc3\xa9\xc3\xa9 \n  - {c: x}\n");
	const struct pol_ynode *b = pol_yaml_get(root, "b");

	cr_assert(b);
	cr_expect_eq(b->kind, POL_Y_SEQ);
	cr_expect_eq(b->n, 2);
	cr_expect_eq(b->v[0]->pos.line, 3);
	cr_expect_eq(b->v[0]->pos.col, 5);
	cr_expect_str_eq(b->v[0]->s, "\xc3\xa9\xc3\xa9");
	cr_expect_str_eq(pol_yaml_get(b->v[1], "c")->s, "x");
	cr_expect_eq(pol_yaml_get(b->v[1], "c")->pos.col, 9);
	cr_expect_null(pol_yaml_get(root, "c"));
	cr_expect_null(pol_yaml_get(b, "c"));
}

Test(policy_yaml, plain_scalars_have_the_types_of_the_core_schema)
{
	static const struct {
		const char *text;
		enum pol_ykind kind;
	} rows[] = {
		{"~", POL_Y_NULL},	 {"null", POL_Y_NULL},
		{"true", POL_Y_BOOL},	 {"1", POL_Y_INT},
		{"-17", POL_Y_INT},	 {"0x1f", POL_Y_INT},
		{"0o17", POL_Y_INT},	 {"1.5", POL_Y_FLOAT},
		{"1e3", POL_Y_FLOAT},	 {".5", POL_Y_FLOAT},
		{".inf", POL_Y_FLOAT},	 {".", POL_Y_STR},
		{"yes", POL_Y_STR},	 {"0x", POL_Y_STR},
		{"1.2.3", POL_Y_STR},	 {"1e", POL_Y_STR},
		{"-", POL_Y_SEQ},	 {"'1'", POL_Y_STR},
		{"\"true\"", POL_Y_STR}, {"!!str 1", POL_Y_STR},
		{"+.e1", POL_Y_STR},	 {"2026-05-18T09:30:00Z", POL_Y_STR},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct pol_ynode *n = parse(rows[i].text);

		cr_assert(n, "%s: %s", rows[i].text, err.msg);
		cr_expect_eq(n->kind, rows[i].kind, "%s is %s", rows[i].text,
			     pol_yaml_kind_name(n->kind));
	}
}

Test(policy_yaml, duplicate_keys_are_refused_at_every_level)
{
	refused("\"a\\0\": 1\n", "f:1:1: a key contains a NUL, expected a name without");
	refused("a: 1\nb: 2\na: 3\n", "f:3:1: duplicate key `a`, first given in line 1");
	refused("x:\n  - {k: 1, \"k\": 2}\n", "f:2:12: duplicate key `k`, first given in line 2");
}

Test(policy_yaml, aliases_share_and_count)
{
	const struct pol_ynode *root = parse("a: &x [1, 2]\nb: *x\n");
	const struct pol_ynode *a = pol_yaml_get(root, "a"), *b = pol_yaml_get(root, "b");

	cr_assert(b);
	cr_expect_eq(b->n, 2);
	cr_expect_eq(b->v, a->v);
	cr_expect_eq(b->pos.line, 2);
	cr_expect_eq(root->weight, 9);
}

Test(policy_yaml, cyclic_aliases_are_refused)
{
	refused("a: &x [*x]\n", "f:1:8: alias `*x` contains itself");
	refused("&x {a: {b: *x}}\n", "f:1:12: alias `*x` contains itself");
}

Test(policy_yaml, an_alias_bomb_costs_nothing)
{
	struct b_str s = {0};

	b_str_add(&s, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++) {
		b_str_addf(&s, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			b_str_addf(&s, "%s*a%d", k ? ", " : "", i - 1);
		b_str_add(&s, "]\n");
	}
	cr_expect_null(parse(b_str_c(&s)));
	cr_expect(strstr(err.msg, "more than 200000 values after alias expansion"), "%s", err.msg);
	b_str_release(&s);
}

Test(policy_yaml, aliases_may_not_nest_past_the_depth)
{
	struct b_str s = {0};

	b_str_add(&s, "- &a0 [x]\n");
	for (int i = 1; i < 40; i++)
		b_str_addf(&s, "- &a%d [*a%d]\n", i, i - 1);
	cr_expect_null(parse(b_str_c(&s)));
	cr_expect(strstr(err.msg, "nested deeper than 32 levels"), "%s", err.msg);
	b_str_release(&s);
}

Test(policy_yaml, depth_is_limited)
{
	char deep[2 * POL_MAX_DEPTH + 3] = {0};

	memset(deep, '[', POL_MAX_DEPTH);
	memset(deep + POL_MAX_DEPTH, ']', POL_MAX_DEPTH);
	cr_expect(parse(deep), "%s", err.msg);
	memset(deep, '[', POL_MAX_DEPTH + 1);
	memset(deep + POL_MAX_DEPTH + 1, ']', POL_MAX_DEPTH + 1);
	refused(deep, "f:1:33: nested deeper than 32 levels");
}

Test(policy_yaml, anchors_are_limited)
{
	struct b_str s = {0};

	for (int i = 0; i <= POL_MAX_ANCHORS; i++)
		b_str_addf(&s, "- &a%d x\n", i);
	refused(b_str_c(&s), "f:257:3: more than 256 anchors");
	b_str_release(&s);
}

Test(policy_yaml, size_is_limited)
{
	b_auto(b_str_release) struct b_str s = {0};

	b_str_add(&s, "a: b\n");
	while (s.len <= POL_MAX_FILE)
		b_str_add(&s, "# 0123456789012345678901234567890123456789012345678901234567890\n");
	cr_expect_null(parse_n(b_str_c(&s), s.len));
	cr_expect_str_eq(err.msg, "f: larger than 4194304 bytes");
}

Test(policy_yaml, what_is_no_text_is_named_by_place)
{
	refused("", "f:1:1: empty, expected a YAML document");
	refused("# only a comment\n", "f:1:1: empty, expected a YAML document");
	refused("a: b\nc: \xff\n", "f:2:4: byte 0xff is not UTF-8, expected UTF-8 text");
	refused("\xff\xfe", "f:1:1: byte 0xff is not UTF-8, expected UTF-8 text");
	refused("a:\n\tb: c\n", "f:2:1: a tab, expected spaces for indentation");
	refused("a: b\n---\nc: d\n", "f:2:1: a second document, expected one");
	/* what ends a line in YAML 1.1 and in no editor */
	refused("a: b # c\xe2\x80\xa8"
		"d: e\n",
		"f:1:9: a line break that editors do not show as one, expected a newline");
	refused("a: b\nc: 1 # d\rd: e\n",
		"f:2:9: a line break that editors do not show as one, expected a newline");
	refused("a: b # c\xc2\x85"
		"d: e\n",
		"f:1:9: a line break that editors do not show as one, expected a newline");
	refused("a: b\x01\n", "f:1:5: control characters are not allowed, expected plain text");
}

Test(policy_yaml, a_nul_byte_is_no_end_of_text)
{
	cr_expect_null(parse_n("a: b\0c: d\n", 10));
	cr_expect_str_eq(err.msg, "f:1:5: control characters are not allowed, expected plain text");
}

Test(policy_yaml, unquoted_rules_are_told_to_be_quoted)
{
	refused("- **/*.env\n",
		"f:1:4: not an alias, expected quotes around a rule that starts with `*`");
	refused("- !docs/drafts/**\n",
		"f:1:3: tag `!docs/drafts/**`, expected quotes around a rule that starts with `!`");
	refused("- *name\n", "f:1:3: unknown alias `*name`, expected quotes if a rule was meant");
	refused("a:\n  - {a,b}/x\n",
		"f:2:10: not YAML: while parsing a block collection, did not find expected '-' "
		"indicator (rules that start with { or [ need quotes)");
	refused("- @x\n", "f:1:3: `@` cannot start a plain value, expected quotes");
}

Test(policy_yaml, crlf_and_a_byte_order_mark_change_nothing)
{
	const struct pol_ynode *root = parse("\xef\xbb\xbf"
					     "a: b\r\nc:\r\n  - d\r\n");
	const struct pol_ynode *c = pol_yaml_get(root, "c");

	cr_assert(c, "%s", err.msg);
	cr_expect_str_eq(pol_yaml_get(root, "a")->s, "b");
	cr_expect_str_eq(c->v[0]->s, "d");
	cr_expect_eq(c->v[0]->pos.line, 3);
	refused("\xef\xbb\xbf", "f:1:1: empty, expected a YAML document");
}

Test(policy_yaml, keys_must_be_scalars)
{
	refused("? [a]\n: b\n", "f:1:3: a key is a list, expected a string");
}

Test(policy_yaml, expect_names_both_types)
{
	const struct pol_ynode *n = parse("a: [1]\n");

	cr_expect_eq(pol_yaml_expect(pol_yaml_get(n, "a"), POL_Y_STR, "a", &err), -1);
	cr_expect_str_eq(err.msg, "f:1:4: a is a list, expected a string");
	cr_expect_eq(pol_yaml_expect(n, POL_Y_MAP, "a", &err), 0);
	n = parse("\"a\\0b\"");
	cr_expect_eq(n->len, 3);
	cr_expect_eq(pol_yaml_expect(n, POL_Y_STR, "x", &err), -1);
}
