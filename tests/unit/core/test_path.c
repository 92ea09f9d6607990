/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/path.c. */
#include "core/path.h"

#include <criterion/criterion.h>
#include <string.h>

struct row {
	const char *cwd, *path, *result; /* result NULL: refused */
	unsigned flags;
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char buf[64];
		unsigned flags = 99;
		size_t len = sbx_path_join(buf, sizeof buf, rows[i].cwd, strlen(rows[i].cwd),
					   rows[i].path, &flags);

		if (!rows[i].result) {
			cr_expect_eq(len, 0, "%s + %s: %zu", rows[i].cwd, rows[i].path, len);
			continue;
		}
		cr_expect_eq(len, strlen(rows[i].result), "%s + %s", rows[i].cwd, rows[i].path);
		cr_expect_str_eq(buf, rows[i].result);
		cr_expect_eq(flags, rows[i].flags, "%s + %s: flags %#x", rows[i].cwd, rows[i].path,
			     flags);
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

Test(core_path, relative_and_absolute_paths_are_joined)
{
	static const struct row rows[] = {
		{"/home/u", "a/b", "/home/u/a/b", 0},
		{"/home/u", "/etc/x", "/etc/x", 0},
		{"/", "a", "/a", 0},
		{"/home/u", ".", "/home/u", SBX_PATH_TRAILING},
		{"/", "/", "/", SBX_PATH_TRAILING},
		{"/home/u", "./a//b/./c", "/home/u/a/b/c", 0},
		{"/home/u", "...", "/home/u/...", 0},
		{"/home/u", "a.", "/home/u/a.", 0},
		{"/home/u", ".a", "/home/u/.a", 0},
		{"/home/u", "x\ny", "/home/u/x\ny", 0},
	};

	CHECK(rows);
}

Test(core_path, dotdot_is_folded_and_told)
{
	static const struct row rows[] = {
		{"/home/u", "../v", "/home/v", SBX_PATH_DOTDOT},
		{"/home/u", "../../../..", "/", SBX_PATH_DOTDOT | SBX_PATH_TRAILING},
		{"/", "/../etc", "/etc", SBX_PATH_DOTDOT},
		{"/a", "b/../c", "/a/c", SBX_PATH_DOTDOT},
		{"/a", "b/..", "/a", SBX_PATH_DOTDOT | SBX_PATH_TRAILING},
		{"/a", "b..", "/a/b..", 0},
	};

	CHECK(rows);
}

Test(core_path, a_trailing_slash_asks_for_a_directory)
{
	static const struct row rows[] = {
		{"/a", "b/", "/a/b", SBX_PATH_TRAILING},
		{"/a", "b//", "/a/b", SBX_PATH_TRAILING},
		{"/a", "b/.", "/a/b", SBX_PATH_TRAILING},
	};

	CHECK(rows);
}

Test(core_path, magic_links_are_told)
{
	static const struct row rows[] = {
		{"/", "/proc/self/fd/3", "/proc/self/fd/3", SBX_PATH_MAGIC},
		{"/", "/proc", "/proc", SBX_PATH_MAGIC},
		{"/", "/dev/fd/0", "/dev/fd/0", SBX_PATH_MAGIC},
		{"/", "/dev/stdin", "/dev/stdin", SBX_PATH_MAGIC},
		{"/", "/x/../proc/1", "/proc/1", SBX_PATH_MAGIC | SBX_PATH_DOTDOT},
		{"/", "/process", "/process", 0},
		{"/", "/dev/null", "/dev/null", 0},
		{"/", "/dev/fdx", "/dev/fdx", 0},
	};

	CHECK(rows);
}

Test(core_path, what_does_not_fit_or_says_nothing_is_refused)
{
	static const struct row rows[] = {
		{"/a", "", NULL, 0},
		{"", "a", NULL, 0},
	};
	char buf[6];
	unsigned flags;

	CHECK(rows);
	cr_expect_eq(sbx_path_join(buf, sizeof buf, "/", 1, "/abcd", &flags), 5);
	cr_expect_str_eq(buf, "/abcd");
	cr_expect_eq(sbx_path_join(buf, sizeof buf, "/", 1, "/abcde", &flags), 0);
	cr_expect_eq(sbx_path_join(buf, sizeof buf, "/", 1, "/ab/c", &flags), 5);
	cr_expect_eq(sbx_path_join(buf, sizeof buf, "/", 1, "/ab/cd", &flags), 0);
	/* What is folded away again need not have fitted together with the rest. */
	cr_expect_eq(sbx_path_join(buf, sizeof buf, "/", 1, "/abcd/../x", &flags), 2);
	cr_expect_eq(sbx_path_join(buf, 1, "/", 1, "/", &flags), 0);
}

Test(core_path, under_means_equal_or_below)
{
	cr_expect(sbx_path_under("/a/b", 4, "/a", 2));
	cr_expect(sbx_path_under("/a", 2, "/a", 2));
	cr_expect(sbx_path_under("/a", 2, "/", 1));
	cr_expect(sbx_path_under("/", 1, "/", 1));
	cr_expect_not(sbx_path_under("/ab", 3, "/a", 2));
	cr_expect_not(sbx_path_under("/", 1, "/a", 2));
}

Test(core_path, the_root_is_its_own_parent)
{
	cr_expect_eq(sbx_path_parent("/a/b", 4), 2);
	cr_expect_eq(sbx_path_parent("/a", 2), 1);
	cr_expect_eq(sbx_path_parent("/", 1), 1);
}

Test(core_path, what_led_elsewhere_is_told_from_what_did_not)
{
	static const struct {
		const char *asked, *path;
		bool is_led;
	} rows[] = {
		{"/a/b", "/a/b", false},
		{"b", "/a/b", false},
		{"./b", "/a/b", false},
		{"a//./b/", "/x/a/b", false},
		{"/", "/", false},
		{".", "/a", false},
		{"//a/./b//", "/a/b", false},
		{"/b", "/a/b", true},
		{"../b", "/b", true},
		{"a/../b", "/x/b", true},
		{"link", "/a/real", true},
		{"link/f", "/a/real/f", true},
		{"/l/f", "/r/f", true},
		{"a/b", "/b", true},
		{"b", "/a/bb", true},
		{"bb", "/a/b", true},
		{"..", "/", true},
		{"/a", "/", true},
		{"b", "/", true},
		{"/a/b", "/x/a/b", true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(sbx_path_is_led(rows[i].asked, rows[i].path, strlen(rows[i].path)),
			     rows[i].is_led, "%s: %s", rows[i].asked, rows[i].path);
}
