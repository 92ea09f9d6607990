/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/marks.c: in which directories the kernel may decide alone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan/landlock.h"
#include "tests/support/floorplan.h"

static void set_up(void)
{
	floorplan_broker = true;
}
TestSuite(policy_marks, .init = set_up, .fini = floorplan_release);

static bool is_marked(const char *path)
{
	for (size_t i = 0; i < floorplan.ngrants; i++)
		if (!strcmp(floorplan.grants[i].path, path) &&
		    floorplan.grants[i].rights == POL_GRANT_CLEAN)
			return true;
	return false;
}

#define FILES                                                                                      \
	LIST("/w/", "/w/.git/", "/w/.git/objects/", "/w/.git/hooks/", "/w/src/", "/w/src/deep/",   \
	     "/w/link@", "/w/f", "/w/pkg/", "/w/pkg/a/", "/w/pkg/b/", "/dev/", "/dev/shm/",        \
	     "/cache/", "/cache/x/", "/usr/")

Test(policy_marks, beside_literals_each_clean_directory_is_granted_and_nothing_below)
{
	const char *const *files = FILES;

	floorplan_make(LIST("a+ T /", "m+ T /w", "m- T /w/.git/hooks", "m- E /w/pkg/a/x.json"),
		       files);
	cr_expect_eq(floorplan_mark(LIST("/", "/proc")), 2);
	cr_expect(is_marked("/w/src"));
	cr_expect(is_marked("/w/pkg/b"));
	cr_expect_not(is_marked("/w"));
	cr_expect_not(is_marked("/w/src/deep"), "granted with what is above it");
	cr_expect_not(is_marked("/w/pkg"));
	cr_expect_not(is_marked("/w/pkg/a"));
	cr_expect_not(is_marked("/w/link"));
	cr_expect_not(is_marked("/w/f"));
	cr_expect_not(is_marked("/usr"), "nobody may modify it");
}

Test(policy_marks, no_git_directory_is_granted_nor_what_is_in_one)
{
	const char *const *files =
		LIST("/w/", "/w/.git/", "/w/.git/objects/", "/w/bare/", "/w/bare/objects/");

	floorplan_make(LIST("a+ T /", "m+ T /w", "m- T /w/.git/hooks", "m- E /w/bare/commondir"),
		       files);
	cr_expect_eq(floorplan_mark(LIST("/")), 0);
	floorplan_release();
	floorplan_make(LIST("a+ T /", "m+ T /w/.git/objects", "m- E /w/.git/objects/x"), files);
	cr_expect_eq(floorplan_mark(LIST("/")), 0);
	floorplan_release();
	floorplan_make(
		LIST("a+ T /", "m+ T /w/bare", "m- E /w/bare/commondir", "m+ T /w/bare/objects"),
		files);
	cr_expect_eq(floorplan_mark(LIST("/")), 0);
}

Test(policy_marks, a_root_that_is_clean_is_granted_itself)
{
	const char *const *files = FILES;

	floorplan_make(LIST("a+ T /", "m+ T /w", "m- E /w/f", "m+ T /cache"), files);
	cr_expect_eq(floorplan_mark(LIST("/")), 3);
	cr_expect(is_marked("/cache"));
	cr_expect_not(is_marked("/cache/x"));
	cr_expect(is_marked("/w/src"));
	cr_expect(is_marked("/w/pkg"));
}

Test(policy_marks, a_pattern_that_may_match_anywhere_leaves_nothing)
{
	const char *const *files = FILES;

	floorplan_make(LIST("a+ T /", "m+ T /w", "r- G /w **/*.env"), files);
	cr_expect_eq(floorplan_mark(LIST("/")), 0);
}

Test(policy_marks, what_is_mounted_below_and_what_is_in_dev_are_left_out)
{
	const char *const *files = FILES;

	floorplan_make(LIST("a+ T /", "m+ T /w", "m- E /w/f", "m+ T /dev/shm"), files);
	cr_expect_eq(floorplan_mark(LIST("/", "/w", "/w/src/deep", "/cache", "/w/pkgs")), 1);
	cr_expect_not(is_marked("/w/src"), "another file system lies in it");
	cr_expect(is_marked("/w/pkg"));
	cr_expect_not(is_marked("/dev/shm"));
}

Test(policy_marks, as_many_as_are_worth_their_rules)
{
	static char names[2 * POL_CLEAN_MAX][16];
	const char *files[2 * POL_CLEAN_MAX + 2] = {"/w/"};

	for (unsigned i = 0; i < 2 * POL_CLEAN_MAX; i++) {
		snprintf(names[i], sizeof names[i], "/w/d%03u/", i);
		files[i + 1] = names[i];
	}
	floorplan_make(LIST("a+ T /", "m+ T /w", "m- E /w/f"), files);
	cr_expect_eq(floorplan_mark(LIST("/")), POL_CLEAN_MAX);
	cr_expect(is_marked("/w/d000"));
	cr_expect(is_marked("/w/d127"));
	cr_expect_not(is_marked("/w/d128"));
}

Test(policy_marks, the_kernel_is_asked_for_files_and_directories_alone)
{
	const uint64_t other = POL_LL_MAKE_SYM | POL_LL_MAKE_SOCK | POL_LL_MAKE_FIFO |
			       POL_LL_MAKE_CHAR | POL_LL_MAKE_BLOCK;
	const char *const *files = FILES;
	struct pol_ll_plan plan;
	struct pol_floor both;

	floorplan_make(LIST("a+ T /", "m+ T /w", "m- E /w/f"), files);
	floorplan_mark(LIST("/"));
	pol_ll_plan(&floorplan, POL_LL_ABI_MAX, &plan);
	for (size_t i = 0; i < plan.nrules; i++)
		cr_expect_not(plan.rules[i].access & other, "%s", plan.rules[i].path);
	pol_ll_plan_release(&plan);
	pol_floor_union(&floorplan, &both);
	for (size_t i = 0; i < both.ngrants; i++)
		cr_expect_not(both.grants[i].rights & POL_GRANT_CLEAN, "the broker has its own");
	pol_floor_release(&both);
}
