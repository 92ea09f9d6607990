/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of sbpl/read.c. */
#include "sbpl/machine.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static struct b_arena arena;
static struct b_err err;
static struct sbpl_node *root;

static void teardown(void)
{
	b_arena_release(&arena);
}

TestSuite(sbpl_read, .fini = teardown);

static const struct sbpl_node *first(const char *text)
{
	cr_assert_eq(sbpl_read(&arena, "t.sb", text, strlen(text), &root, &err), 0, "%s: %s", text,
		     err.msg);
	cr_assert(root->n > 0, "%s", text);
	return root->v[0];
}

static void string_is(const char *text, const char *want)
{
	const struct sbpl_node *n = first(text);

	cr_expect_eq(n->kind, SBPL_STRING, "%s", text);
	cr_expect_str_eq(n->s, want, "%s", text);
}

static void refuses(const char *text, enum b_kind kind, const char *part)
{
	err = (struct b_err){0};
	cr_expect_eq(sbpl_read(&arena, "t.sb", text, strlen(text), &root, &err), -1, "%s", text);
	cr_expect_eq(err.kind, kind, "%s: %s", text, err.msg);
	cr_expect(strstr(err.msg, part), "%s: %s", text, err.msg);
}

Test(sbpl_read, lists_words_numbers_and_comments)
{
	const struct sbpl_node *n =
		first("; c\n(allow file-read* ; x )\n (literal \"/a\") 42 -7 #x1F #t #f)");

	cr_assert_eq(n->kind, SBPL_LIST);
	cr_assert_eq(n->n, 8);
	cr_expect_str_eq(n->v[1]->s, "file-read*");
	cr_expect_eq(n->v[2]->kind, SBPL_LIST);
	cr_expect_eq(n->v[3]->num, 42);
	cr_expect_eq(n->v[4]->num, -7);
	cr_expect_eq(n->v[5]->num, 31);
	cr_expect_eq(n->v[6]->kind, SBPL_BOOL);
	cr_expect_eq(n->v[7]->num, 0);
	cr_expect_eq(n->v[2]->line, 3);
	cr_expect_eq(n->v[2]->col, 2);
}

Test(sbpl_read, strings_and_their_escapes)
{
	string_is("\"a\\\\b\\\"c\"", "a\\b\"c");
	string_is("\"\\n\\t\\r\\x41\\101\\q\"", "\n\t\rAAq");
	string_is("#\"^/a\\.b\\\"c$\"", "^/a\\.b\"c$");
	string_is("\"\\xc3\\xA9\"", "\xc3\xa9");
	string_is("\"\"", "");
	string_is("\";(\"", ";(");
}

Test(sbpl_read, quotes)
{
	const struct sbpl_node *n = first("(defined? 'file-clone)");

	cr_assert_eq(n->n, 2);
	cr_assert_eq(n->v[1]->n, 2);
	cr_expect_str_eq(n->v[1]->v[0]->s, "quote");
	cr_expect_str_eq(n->v[1]->v[1]->s, "file-clone");
	n = first("'(a ''b) c");
	cr_expect_eq(n->v[1]->n, 2);
	cr_expect_eq(root->n, 2);
}

Test(sbpl_read, broken_text_is_refused_where_it_breaks)
{
	refuses("(a\n  (b)", B_FORMAT, "t.sb:1:1: a ( without its )");
	refuses("(a))", B_FORMAT, "t.sb:1:4: a ) without its (");
	refuses("\n \"abc", B_FORMAT, "t.sb:2:6: a string without its end");
	refuses("\"a\\", B_FORMAT, "without its end");
	refuses("\"\\xZ1\"", B_FORMAT, "hexadecimal");
	refuses("\"\\0\"", B_FORMAT, "NUL");
	refuses("\"\\777\"", B_FORMAT, "octal");
	refuses("(a ')", B_FORMAT, "quote of nothing");
	refuses("'", B_FORMAT, "quote of nothing");
	refuses("#\\a", B_FORMAT, "unknown # form");
	refuses("a\x01"
		"b",
		B_FORMAT, "control character");
}

Test(sbpl_read, limits)
{
	b_auto(b_str_release) struct b_str s = {0};

	for (int i = 0; i < 200000; i++)
		b_str_addc(&s, '(');
	refuses(s.s, B_LIMIT, "too deep");
	b_str_reset(&s);
	for (int i = 0; i < 200000; i++)
		b_str_addc(&s, '\'');
	refuses(s.s, B_LIMIT, "too deep");
	b_str_reset(&s);
	b_str_addc(&s, '"');
	for (int i = 0; i < 1100; i++)
		b_str_addc(&s, 'a');
	b_str_addc(&s, '"');
	refuses(s.s, B_LIMIT, "Error reading string");
	b_str_reset(&s);
	for (int i = 0; i < 5 << 20; i++)
		b_str_addc(&s, ' ');
	refuses(s.s, B_LIMIT, "longer than");
	b_str_reset(&s);
	for (int i = 0; i < (1 << 20) + 1; i++)
		b_str_add(&s, "a ");
	refuses(s.s, B_LIMIT, "too many");
}
