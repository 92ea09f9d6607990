/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/homes.c. */
#include "policy/rules/workspace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static char dir[] = "/tmp/sbx-names-XXXXXX";
static struct b_arena arena;
static struct pol_names names;

static const char *in_dir(const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(mkdir(in_dir("sub"), 0700), 0);
	cr_assert_eq(symlink("sub", in_dir("link")), 0);
	cr_assert_eq(b_write_file(in_dir("file"), 0600, "", 0, false, NULL), 0);
}

static void end(void)
{
	unlink(in_dir("file"));
	unlink(in_dir("link"));
	rmdir(in_dir("sub"));
	rmdir(dir);
	b_arena_release(&arena);
}

TestSuite(policy_names, .init = begin, .fini = end);

static enum pol_name look(const char *name)
{
	const struct pol_names_at at = {dir, strlen(dir), true};

	return pol_names_look(&names, &arena, &at, name, strlen(name));
}

Test(policy_names, a_directory_is_listed_once_it_is_asked_often)
{
	cr_expect_eq(look("file"), POL_NAME_UNKNOWN);
	cr_expect_eq(look("file"), POL_NAME_UNKNOWN);
	cr_expect_eq(look("file"), POL_NAME_PLAIN);
	cr_expect_eq(look("sub"), POL_NAME_PLAIN);
	cr_expect_eq(look("link"), POL_NAME_LINK);
	cr_expect_eq(look("none"), POL_NAME_MISSING);
	cr_expect_eq(look("fil"), POL_NAME_MISSING, "names are compared whole");
	cr_expect_eq(look("file2"), POL_NAME_MISSING);
}

Test(policy_names, what_cannot_be_listed_is_not_known)
{
	const struct pol_names_at at = {"/nonexistent/x", 14, true};

	for (int i = 0; i < 5; i++)
		cr_expect_eq(pol_names_look(&names, &arena, &at, "a", 1), POL_NAME_UNKNOWN);
}

Test(policy_names, what_was_found_in_a_directory_that_is_not_listed_is_remembered)
{
	const struct pol_names_at at = {dir, strlen(dir), false};

	for (int i = 0; i < 5; i++)
		cr_expect_eq(pol_names_look(&names, &arena, &at, "file", 4), POL_NAME_UNKNOWN);
	pol_names_tell(&names, &arena, &at, "file", 4, POL_NAME_PLAIN);
	pol_names_tell(&names, &arena, &at, "none", 4, POL_NAME_MISSING);
	cr_expect_eq(pol_names_look(&names, &arena, &at, "file", 4), POL_NAME_PLAIN);
	cr_expect_eq(pol_names_look(&names, &arena, &at, "none", 4), POL_NAME_MISSING);
	cr_expect_eq(pol_names_look(&names, &arena, &at, "fil", 3), POL_NAME_UNKNOWN);
	cr_expect_eq(pol_names_look(&names, &arena, &at, "file2", 5), POL_NAME_UNKNOWN);
}

Test(policy_names, paths_are_the_same_with_and_without)
{
	static const char *const paths[] = {"file", "sub/x",  "link",	     "link/x/y",
					    "none", "none/x", "sub/../link", "link/../file"};

	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
			cr_expect_str_eq(pol_canonical_below(&arena, dir, paths[i], &names),
					 pol_canonical_below(&arena, dir, paths[i], NULL), "%s",
					 paths[i]);
			cr_expect_str_eq(pol_canonical_below(&arena, "/", in_dir(paths[i]), &names),
					 pol_canonical(&arena, in_dir(paths[i])), "%s", paths[i]);
		}
}
