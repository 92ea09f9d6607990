/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of Unicode's canonical forms: cases of the standard's conformance tests. */
#include "sbpl/emit.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct {
	const char *text, *composed, *decomposed;
} cases[] = {
	{"plain/\n", "plain/\n", "plain/\n"},
	{"", "", ""},
	{"caf\u00e9", "caf\u00e9", "cafe\u0301"},
	{"cafe\u0301", "caf\u00e9", "cafe\u0301"},
	{"\u1e69", "\u1e69", "s\u0323\u0307"},
	{"s\u0307\u0323", "\u1e69", "s\u0323\u0307"}, /* marks have an order */
	{"\uac01\uac00", "\uac01\uac00", "\u1100\u1161\u11a8\u1100\u1161"}, /* Hangul */
	{"\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
	{"\u0344", "\u0308\u0301", "\u0308\u0301"}, /* excluded from composition */
	{"\u0958", "\u0915\u093c", "\u0915\u093c"},
	{"\u212b", "\u00c5", "A\u030a"}, /* one for one */
	{"\uf900", "\u8c48", "\u8c48"},
	{"\u30ac", "\u30ac", "\u30ab\u3099"},
	{"\U0001d15e", "\U0001d157\U0001d165", "\U0001d157\U0001d165"},
	{"a\u0315\u0300\u05ae\u0300b", "\u00e0\u05ae\u0300\u0315b", "a\u05ae\u0300\u0300\u0315b"},
	{"\u0390\u0345\u1f82", "\u0390\u0345\u1f82",
	 "\u03b9\u0308\u0301\u0345\u03b1\u0313\u0300\u0345"},
};

Test(base_normalise, both_forms_of_names)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		b_auto(b_str_release) struct b_str c = {0}, d = {0};

		cr_assert(b_normalise(cases[i].text, strlen(cases[i].text), true, &c));
		cr_assert(b_normalise(cases[i].text, strlen(cases[i].text), false, &d));
		cr_expect_str_eq(b_str_c(&c), cases[i].composed, "%s", cases[i].text);
		cr_expect_str_eq(b_str_c(&d), cases[i].decomposed, "%s", cases[i].text);
	}
}

Test(base_normalise, bytes_that_are_no_text_have_no_forms)
{
	b_auto(b_str_release) struct b_str s = {0};

	cr_expect_not(b_normalise("caf\xc3", 4, true, &s));
	cr_expect_not(b_normalise("\xed\xa0\x80", 3, false, &s));
	cr_expect_eq(s.len, 0);
}
