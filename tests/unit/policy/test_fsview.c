/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/fsview.c: what permissions keep closed, to an ordinary user. */
#include "policy/plan/floor.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static bool is_closed(const char *path)
{
	const struct pol_fsview *fs = pol_fsview_host();

	return fs->is_closed(fs->ctx, path);
}

/* The answer to an ordinary user: to us, or, when root, to one we become. */
static bool is_closed_to_user(const char *path)
{
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		return is_closed(path);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		_exit(is_closed(path));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

Test(policy_fsview, what_root_keeps_to_itself_is_closed)
{
	struct stat st;

	if (stat("/etc/shadow", &st) < 0 || st.st_mode & S_IROTH)
		cr_skip_test("no /etc/shadow of the usual mode");
	cr_expect(is_closed_to_user("/etc/shadow"));
	if (geteuid() == 0)
		cr_expect_null(pol_fsview_host()->is_closed, "nothing is closed to root");
}

Test(policy_fsview, what_everybody_may_read_or_enter_is_not)
{
	cr_expect_not(is_closed_to_user("/etc/passwd"));
	cr_expect_not(is_closed_to_user("/etc"));
	cr_expect_not(is_closed_to_user("/tmp"));
	cr_expect_not(is_closed_to_user("/bin/sh"));
}

Test(policy_fsview, what_is_absent_is_closed_where_only_root_can_make_it)
{
	cr_expect(is_closed_to_user("/etc/no-such-file"));
	cr_expect(is_closed_to_user("/etc/no-such-dir/file"));
	cr_expect_not(is_closed_to_user("/tmp/no-such-file"));
	cr_expect_not(is_closed_to_user("/tmp/no-such-dir/file"));
}

Test(policy_fsview, what_is_our_own_is_not_whatever_its_mode)
{
	char path[] = "/tmp/sbx-fsview-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_expect_eq(fchmod(fd, 0), 0);
	if (geteuid() == 0)
		cr_expect_eq(fchown(fd, NOBODY, NOBODY), 0);
	cr_expect_not(is_closed_to_user(path));
	close(fd);
	unlink(path);
}
