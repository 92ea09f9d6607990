/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/samemount.c: which mount a path lies in. What comes of two that show
 * the same is tests/e2e/mounts.sh's. */
#include "policy/rules/mountinfo.h"

#include <criterion/criterion.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"

Test(policy_mountinfo, what_lies_behind_a_directory)
{
	cr_expect_str_eq(pol_mounted_behind("/a/b", "/a"), "/b");
	cr_expect_str_eq(pol_mounted_behind("/a", "/a"), "");
	cr_expect_str_eq(pol_mounted_behind("/a", "/"), "/a");
	cr_expect_str_eq(pol_mounted_behind("/", "/"), "");
	cr_expect_null(pol_mounted_behind("/ab", "/a"));
	cr_expect_null(pol_mounted_behind("/", "/a"));
	cr_expect_null(pol_mounted_behind("/b/a", "/a"));
}

Test(policy_mountinfo, the_nearest_and_last_mount_has_the_path)
{
	const struct pol_mounted v[] = {
		{0, 1, "/", "/"},    {0, 2, "/", "/home"},   {0, 3, "/x", "/home/a"},
		{0, 4, "/", "/mnt"}, {0, 5, "/", "/home/a"},
	};
	const size_t n = sizeof v / sizeof *v;

	cr_expect_eq(pol_mounted_at(v, n, "/etc"), &v[0]);
	cr_expect_eq(pol_mounted_at(v, n, "/home"), &v[1]);
	cr_expect_eq(pol_mounted_at(v, n, "/home/ab"), &v[1]);
	cr_expect_eq(pol_mounted_at(v, n, "/home/a/b"), &v[4]);
	cr_expect_null(pol_mounted_at(v + 1, n - 1, "/etc"));
}

Test(policy_mountinfo, it_is_this_host)
{
	struct b_arena arena = {0};
	struct pol_mounted *v;
	size_t n = pol_mountinfo(&arena, &v);
	const struct pol_mounted *proc = pol_mounted_at(v, n, "/proc/self/mountinfo");
	struct stat st;

	cr_assert(proc);
	cr_expect_str_eq(proc->at, "/proc");
	cr_expect_str_eq(proc->root, "/");
	cr_assert_eq(stat("/proc", &st), 0);
	cr_expect_eq(makedev(proc->major, proc->minor), st.st_dev);
	b_arena_release(&arena);
}
