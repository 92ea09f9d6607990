/* SPDX-License-Identifier: Apache-2.0 */
/* test_actions.c - where a set of spawn file actions leads. */
#include "shim/exec.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "core/path.h"

static char sets[200]; /* their addresses are all that matters */
static char buf[SBX_PATH_MAX];
static int at;

static void leads(int set, const char *path, int dirfd, const char *want)
{
	at = -2;
	cr_assert_eq(shim_actions_lead(&sets[set], path, buf, &at), SHIM_LED_TO);
	cr_expect_eq(at, dirfd);
	cr_expect_str_eq(buf, want);
	cr_expect_not(shim_actions_is_plain(&sets[set], path));
}

static void is(int set, const char *path, enum shim_led want)
{
	cr_expect_eq(shim_actions_lead(&sets[set], path, buf, &at), want);
	cr_expect_eq(shim_actions_is_plain(&sets[set], path), want == SHIM_LED_NOWHERE);
}

Test(shim_actions, relative_paths_are_of_the_directory_last_changed_to)
{
	is(0, "x", SHIM_LED_NOWHERE);
	shim_actions_chdir(&sets[0], "a");
	leads(0, "x", AT_FDCWD, "a/x");
	shim_actions_chdir(&sets[0], "../b");
	leads(0, "./x", AT_FDCWD, "a/../b/./x");
	shim_actions_chdir(&sets[0], "/c");
	leads(0, "x", AT_FDCWD, "/c/x");
	shim_actions_fchdir(&sets[0], 7);
	leads(0, "x", 7, "x");
	shim_actions_chdir(&sets[0], "d");
	leads(0, "x", 7, "d/x");
	is(0, "/x", SHIM_LED_NOWHERE);
	is(1, "x", SHIM_LED_NOWHERE);
}

Test(shim_actions, a_set_that_begins_anew_leads_nowhere)
{
	shim_actions_chdir(&sets[0], "a");
	shim_actions_reset(&sets[0]);
	is(0, "x", SHIM_LED_NOWHERE);
	shim_actions_chdir(&sets[0], "b");
	leads(0, "x", AT_FDCWD, "b/x");
}

Test(shim_actions, what_only_the_child_knows_is_unknown)
{
	shim_actions_replace(&sets[0], 9);
	shim_actions_fchdir(&sets[0], 8);
	leads(0, "x", 8, "x");
	shim_actions_fchdir(&sets[0], 9);
	is(0, "x", SHIM_LED_UNKNOWN);
	is(0, "/proc/self/fd/9", SHIM_LED_UNKNOWN);
	is(0, "/proc/self/cwd/x", SHIM_LED_UNKNOWN);
	is(0, "/dev/fd/9", SHIM_LED_UNKNOWN);
	is(0, "/bin/x", SHIM_LED_NOWHERE);
	shim_actions_chdir(&sets[0], "/a");
	leads(0, "x", AT_FDCWD, "/a/x");
}

Test(shim_actions, more_numbers_than_are_kept_are_all_unknown)
{
	for (int fd = 10; fd < 40; fd++)
		shim_actions_replace(&sets[0], fd);
	shim_actions_fchdir(&sets[0], 5);
	is(0, "x", SHIM_LED_UNKNOWN);
}

Test(shim_actions, a_text_that_does_not_fit_is_unknown)
{
	char far[600];

	memset(far, 'f', sizeof far - 1);
	far[sizeof far - 1] = '\0';
	shim_actions_chdir(&sets[0], far);
	cr_expect_eq(shim_actions_lead(&sets[0], "x", buf, &at), SHIM_LED_TO);
	shim_actions_chdir(&sets[0], far);
	is(0, "x", SHIM_LED_UNKNOWN);
	shim_actions_chdir(&sets[0], "y");
	is(0, "x", SHIM_LED_UNKNOWN);
}

Test(shim_actions, a_set_that_found_no_place_is_unknown_not_forgotten)
{
	for (int i = 0; i < 100; i++)
		shim_actions_chdir(&sets[i], "a");
	leads(0, "x", AT_FDCWD, "a/x");
	is(99, "x", SHIM_LED_UNKNOWN);
	is(150, "x", SHIM_LED_UNKNOWN);
	is(150, "/bin/x", SHIM_LED_NOWHERE);
}

Test(shim_actions, sets_that_only_replace_numbers_make_no_path_unknown)
{
	for (int i = 0; i < 100; i++)
		shim_actions_replace(&sets[i], 1);
	is(150, "x", SHIM_LED_NOWHERE);
	shim_actions_reset(&sets[0]);
	shim_actions_fchdir(&sets[150], 1);
	is(150, "x", SHIM_LED_UNKNOWN);
}
