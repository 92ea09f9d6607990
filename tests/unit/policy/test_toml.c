/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/toml.c, toml_value.c. */
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

	return pol_toml_parse(&arena, "t", text, strlen(text), &root, &err) < 0 ? NULL : root;
}

static void refused(const char *text, const char *message)
{
	err.msg[0] = '\0';
	cr_expect_null(read_tree(text), "%s", text);
	cr_expect(strstr(err.msg, message), "%s: %s", text, err.msg);
}

/* The value of a.b.c in the text. */
static const struct pol_ynode *at(const char *text, const char *path)
{
	const struct pol_ynode *n = read_tree(text);
	char key[64];

	cr_assert(n, "%s: %s", text, err.msg);
	while (*path) {
		size_t len = strcspn(path, ".");

		memcpy(key, path, len);
		key[len] = '\0';
		n = pol_yaml_get(n, key);
		cr_assert(n, "%s: no %s", text, key);
		path += len + (path[len] == '.');
	}
	return n;
}

static void value_is(const char *value, enum pol_ykind kind, const char *text)
{
	struct b_str s = {0};
	const struct pol_ynode *n;

	b_str_addf(&s, "k = %s\n", value);
	n = at(b_str_c(&s), "k");
	cr_expect_eq(n->kind, kind, "%s", value);
	cr_expect_str_eq(n->s, text, "%s", value);
	b_str_release(&s);
}

Test(policy_toml, scalars_are_read)
{
	value_is("\"a\\tb\\u00e9\\U0001F600\" # c", POL_Y_STR, "a\tb\xc3\xa9\xf0\x9f\x98\x80");
	value_is("'a\\t\"'", POL_Y_STR, "a\\t\"");
	value_is("\"\"", POL_Y_STR, "");
	value_is("\"\"\"\nx\n  y \\\n   z\"\"\"\"\"", POL_Y_STR, "x\n  y z\"\"");
	value_is("'''\n'x'\\n'''", POL_Y_STR, "'x'\\n");
	value_is("true", POL_Y_BOOL, "true");
	value_is("1_000", POL_Y_INT, "1000");
	value_is("+17", POL_Y_INT, "17");
	value_is("-0", POL_Y_INT, "-0");
	value_is("0xFF_ff", POL_Y_INT, "65535");
	value_is("0o17", POL_Y_INT, "15");
	value_is("0b11", POL_Y_INT, "3");
	value_is("1.5e-3", POL_Y_FLOAT, "1.5e-3");
	value_is("-inf", POL_Y_FLOAT, "-inf");
	value_is("2026-05-18 09:30:00Z", POL_Y_FLOAT, "2026-05-18 09:30:00Z");
}

Test(policy_toml, tables_are_put_together)
{
	const char *text = "a.b = 1\n[t]\nx = [1,\n 2, # c\n]\n[t.u]\ny = {p = 1, q.r = 2}\n"
			   "[[l]]\nn = 1\n[[l]]\nn = 2\n[l.m]\no = 3\n[\"q k\".'s']\nz = true\n";
	const struct pol_ynode *n = at(text, "t.x");

	cr_expect_eq(n->n, 2);
	cr_expect_eq(n->pos.line, 3);
	cr_expect_eq(n->pos.col, 5);
	cr_expect_str_eq(at(text, "a.b")->s, "1");
	cr_expect_str_eq(at(text, "t.u.y.q.r")->s, "2");
	cr_expect_eq(at(text, "l")->n, 2);
	cr_expect_str_eq(pol_yaml_get(pol_yaml_get(at(text, "l")->v[1], "m"), "o")->s, "3");
	cr_expect_str_eq(at(text, "q k.s.z")->s, "true");
	cr_expect_str_eq(at("[a.b]\nx = 1\n[a]\ny = 2\r\n", "a.y")->s, "2");
}

Test(policy_toml, what_is_not_toml_is_refused_with_its_place)
{
	refused("a = 1\na = 2\n", "t:2:1: key `a` is there already");
	refused("[a]\n[a]\n", "t:2:2: `a` is there already");
	refused("a = {b = 1}\n[a.c]\n", "t:2:2: `a` is there already");
	refused("a = [1]\n[[a]]\n", "t:2:3: `a` is there already");
	refused("[a]\nb.c = 1\n[a.b]\n", "`b` is there already");
	refused("[a.b]\n[a]\nb.c = 1\n", "t:3:1: `b` is there already");
	refused("a = 1 b = 2\n", "t:1:7: expected the end of the line, found `b`");
	refused("a\n", "expected `=` after the key, found the end of the line");
	refused("a = \n", "expected a value, found the end of the line");
	refused("a = yes\n", "`yes` is not a value, expected quotes around a string");
	refused("a = 01\n", "`01` is not a value");
	refused("a = 1__0\n", "is not a value");
	refused("a = \"x\n", "t:1:5: a string without its end");
	refused("a = \"\\x\"\n", "unknown escape");
	refused("a = \"\\ud800\"\n", "not a character");
	refused("a = [1 2]\n", "expected `,` or `]`");
	refused("a = {b = 1,}\n", "expected a key, found `}`");
	refused("a = {b = 1\n}", "expected `,` or `}`");
	refused("[a\n", "expected `]`");
	refused("= 1\n", "expected a key");
	refused("a = \"\xff\"\n", "t:1:6: not UTF-8");
	refused("a = 1 # \x01\n", "expected text in the comment");
}

Test(policy_toml, size_and_depth_are_limited)
{
	struct b_str s = {0};

	b_str_add(&s, "a = ");
	for (int i = 0; i < 100000; i++)
		b_str_addc(&s, '[');
	refused(b_str_c(&s), "more than 32 levels");
	b_str_reset(&s);
	for (int i = 0; i < 100; i++)
		b_str_add(&s, "a.");
	b_str_add(&s, "a = 1\n");
	refused(b_str_c(&s), "more than 32 levels");
	b_str_reset(&s);
	for (int i = 0; i < 2000; i++)
		b_str_addf(&s, "k%d = 1\n", i);
	refused(b_str_c(&s), "more than 1024 keys");
	b_str_release(&s);
}
