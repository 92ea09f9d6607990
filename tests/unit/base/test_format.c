/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/format.c: to the byte what vsnprintf(3) makes. */
#include "base/format.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 200 };

/* In every room from none to more than enough: result, bytes, and nothing behind. */
static __attribute__((format(printf, 1, 2))) void same(const char *fmt, ...)
{
	for (size_t room = 0; room < ROOM; room++) {
		char ours[ROOM + 8], theirs[ROOM + 8];
		va_list ap, again;
		int a, b;

		memset(ours, '#', sizeof ours);
		memset(theirs, '#', sizeof theirs);
		va_start(ap, fmt);
		va_copy(again, ap);
		a = b_vformat(ours, room, fmt, ap);
		b = vsnprintf(theirs, room, fmt, again);
		va_end(again);
		va_end(ap);
		cr_assert_eq(a, b, "%s: %d, not %d", fmt, a, b);
		/* what is not kept may be anything, but not more than there is room for */
		cr_assert_eq(memcmp(ours + room, theirs + room, sizeof ours - room), 0, "%s", fmt);
		if (room)
			cr_assert_str_eq(ours, theirs, "%s in %zu", fmt, room);
	}
}

Test(base_format, what_is_known_is_as_the_library_has_it)
{
	const char *none = "";

	same("%s", none);
	same("plain");
	same("%s/%s", "/a", "b");
	same("%s%s:%u:%u", "label", "file.yaml", 1u, UINT_MAX);
	same("preset:%s:%u:%u", "secrets", 0u, 12u);
	same("%.*s|%.*s|%.*s", 3, "abcdef", 0, "abc", 10, "abc");
	same("%.*s", -1, "a negative precision is none");
	same("%d %d %d %d", 0, -1, INT_MIN, INT_MAX);
	same("%zu %zu %lu", (size_t)0, SIZE_MAX, ULONG_MAX);
	same("%c%c%%%s%%", 'a', 0x7f, "b");
}

Test(base_format, what_is_not_known_is_the_librarys_wholly)
{
	same("%s %04x %s", "before", 0xbeefu, "behind");
	same("%5s|%-5s|%5u|%02d", "a", "b", 7u, 3);
	same("%u %lld %s", 1u, -5ll, "x");
	same("%s %p %u", "x", (void *)0, 4u);
	same("%.3s %ju", "abcdef", (uintmax_t)9);
}

Test(base_format, a_string_of_a_precision_needs_no_end)
{
	const char text[3] = {'a', 'b', 'c'};
	char out[8];

	cr_expect_eq(snprintf(out, sizeof out, "%.*s", 3, text), 3);
	same("%.*s.", 3, text);
}

Test(base_format, arguments_behind_are_in_step)
{
	same("%u%s%d%zu%c%.*s%lu", 1u, "2", -3, (size_t)4, '5', 1, "678", 9ul);
}
