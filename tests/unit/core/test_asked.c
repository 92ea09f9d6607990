/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/asked.c: what was asked for, in the second text of an event. */
#include "core/asked.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/path.h"

static struct sbx_named named(const char *path, const char *asked)
{
	return (struct sbx_named){path, asked, path ? strlen(path) : 0};
}

/* What a reader makes of what a writer wrote. */
static void check(const struct sbx_named *one, const struct sbx_named *two, const char *want,
		  const char *want2)
{
	const struct sbx_named n[2] = {*one, *two};
	struct sbx_event ev = {.kind = SBX_EV_CALL, .path2_len = (uint16_t)two->len};
	static char room[SBX_PATH_MAX];
	size_t size = sbx_asked_size(n);
	const char *text = two->path;
	struct sbx_asked a;

	cr_expect_eq(size != 0, *want || *want2, "%s", one->path);
	if (size) {
		text = sbx_asked_put(&ev, n, two->len ? room : NULL);
		cr_expect_eq(ev.path2_len, size);
	}
	a = sbx_asked_of(&ev);
	cr_assert_eq(a.path2, two->len);
	cr_assert_eq(a.first, strlen(want));
	cr_assert_eq(a.second, strlen(want2));
	cr_expect(!two->len || memcmp(text, two->path, two->len) == 0);
	cr_expect(!size || memcmp(text + a.path2, want, a.first) == 0);
	cr_expect(!size || memcmp(text + a.path2 + a.first, want2, a.second) == 0);
}

Test(core_asked, what_led_elsewhere_is_told_of_each_path)
{
	static const struct {
		const char *path, *asked, *path2, *asked2, *want, *want2;
	} rows[] = {
		{"/ws/real/f", "link/f", NULL, NULL, "link/f", ""},
		{"/ws/real/f", "real/f", NULL, NULL, "", ""},
		{"/ws/real/f", NULL, NULL, NULL, "", ""},
		{"/ws/real/f", "link/f", "/ws/real/g", "link/g", "link/f", "link/g"},
		{"/ws/real/f", "real/f", "/ws/real/g", "link/../g", "", "link/../g"},
		{"/ws/real/f", "link/f", "/ws/real/g", "./real//g", "link/f", ""},
		{"/ws/real/f", "real/f", "/ws/real/g", "real/g", "", ""},
		{"/ws/real/f", NULL, "/ws/real/g", NULL, "", ""},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sbx_named one = named(rows[i].path, rows[i].asked);
		struct sbx_named two = named(rows[i].path2, rows[i].asked2);

		check(&one, &two, rows[i].want, rows[i].want2);
	}
}

Test(core_asked, what_does_not_fit_is_left_out)
{
	static char path[SBX_PATH_MAX], asked[SBX_PATH_MAX];
	struct sbx_named one, two;

	memset(path, 'p', 2000);
	path[0] = '/';
	memset(asked, 'a', 2095);
	one = named("/ws/f", asked);
	two = named(path, path);
	check(&one, &two, asked, ""); /* 4,095 bytes */
	asked[2095] = 'a';
	check(&one, &two, "", "");
}

/* The command writes events as well. */
Test(core_asked, no_part_is_outside_of_the_text)
{
	static const uint32_t counts[] = {0,	   1,	    5,		 6,	     0xffff,
					  0x10000, 0x50005, 0xffffffffu, 0xffff0001u};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (unsigned kind = 0; kind < SBX_EV_KIND_COUNT; kind++)
			for (uint16_t len = 0; len < 8; len++) {
				struct sbx_event ev = {.kind = (uint16_t)kind,
						       .flags = SBX_EVF_ASKED,
						       .count = counts[i],
						       .path2_len = len};
				struct sbx_asked a = sbx_asked_of(&ev);

				cr_expect_eq(a.path2 + a.first + a.second, len);
				cr_expect(kind == SBX_EV_CALL || a.first == len);
			}
}
