/* SPDX-License-Identifier: Apache-2.0 */
/* test_where.c - absolute texts, and what is remembered to make them. */
#include "shim/where.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/shim/image.h"

static char dir[64], buf[SBX_PATH_MAX], want[SBX_PATH_MAX];

static void setup(void)
{
	strcpy(dir, "/tmp/test_where.XXXXXX");
	cr_assert(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(mkdir("a", 0700), 0);
	cr_assert_eq(mkdir("b", 0700), 0);
	test_policy("/denied", "/bin", "/usr/bin", SBX_AUDIT_ALL);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(shim_where, .init = setup, .fini = teardown);

static const char *below(const char *name)
{
	snprintf(want, sizeof want, "%s%s", dir, name);
	return want;
}

#define TEXT(at, path, expected)                                                                   \
	({                                                                                         \
		struct shim_text t_ = shim_text(buf, at, path);                                    \
		cr_expect_str_eq(t_.len ? buf : "", expected);                                     \
		cr_expect_eq(t_.len, strlen(expected));                                            \
		t_;                                                                                \
	})

Test(shim_where, absolute_paths_are_cleaned)
{
	TEXT(AT_FDCWD, "/", "/");
	TEXT(AT_FDCWD, "/usr/lib", "/usr/lib");
	TEXT(AT_FDCWD, "//usr///lib/./x/", "/usr/lib/x");
	TEXT(AT_FDCWD, "/usr/.hidden/..x/...", "/usr/.hidden/..x/...");
	cr_expect(TEXT(AT_FDCWD, "/usr/lib/", "/usr/lib").flags & SBX_PATH_TRAILING);
}

Test(shim_where, two_dots_are_flagged)
{
	cr_expect(shim_text(buf, AT_FDCWD, "/usr/../etc").flags & SBX_PATH_DOTDOT);
	cr_expect(shim_text(buf, AT_FDCWD, "..").flags & SBX_PATH_DOTDOT);
	cr_expect(shim_text(buf, AT_FDCWD, "a/..").flags & SBX_PATH_DOTDOT);
	cr_expect_not(shim_text(buf, AT_FDCWD, "a..b/c").flags & SBX_PATH_DOTDOT);
}

Test(shim_where, relative_paths_stand_on_the_current_directory)
{
	struct shim_text t = TEXT(AT_FDCWD, "x/y", below("/x/y"));

	cr_expect_eq(t.base, strlen(dir));
	cr_expect_not(t.flags & SHIM_TEXT_ABSOLUTE);
	TEXT(AT_FDCWD, ".", below(""));
	TEXT(AT_FDCWD, "./x", below("/x"));
	TEXT(AT_FDCWD, ".git", below("/.git"));
}

Test(shim_where, a_new_current_directory_is_noticed_when_told)
{
	TEXT(AT_FDCWD, "x", below("/x"));
	cr_assert_eq(chdir("a"), 0);
	shim_where_moved();
	TEXT(AT_FDCWD, "x", below("/a/x"));
}

Test(shim_where, the_root_as_current_directory)
{
	cr_assert_eq(chdir("/"), 0);
	shim_where_moved();
	cr_expect_eq(TEXT(AT_FDCWD, "etc/x", "/etc/x").base, 0);
	TEXT(AT_FDCWD, ".", "/");
}

Test(shim_where, aliases_are_followed_whole_components_only)
{
	cr_expect(TEXT(AT_FDCWD, "/bin/sh", "/usr/bin/sh").flags & SHIM_TEXT_ABSOLUTE);
	TEXT(AT_FDCWD, "/bin", "/usr/bin");
	TEXT(AT_FDCWD, "/binary", "/binary");
	cr_assert_eq(chdir("/"), 0);
	shim_where_moved();
	cr_expect(TEXT(AT_FDCWD, "bin/sh", "/usr/bin/sh").flags & SHIM_TEXT_ABSOLUTE);
}

Test(shim_where, a_descriptor_means_its_directory_until_it_is_closed)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	TEXT(fd, "x", below("/a/x"));
	close(fd);
	shim_where_closed(fd);
	cr_assert_eq(open("b", O_RDONLY | O_DIRECTORY), fd);
	TEXT(fd, "x", below("/b/x"));
}

Test(shim_where, what_is_remembered_is_used)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	shim_where_learn(fd, shim_where_since(), "/told", 5);
	TEXT(fd, "x", "/told/x");
	shim_where_closed_all();
	TEXT(fd, "x", below("/a/x"));
}

Test(shim_where, a_number_given_anew_is_forgotten)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	shim_where_learn(fd, shim_where_since(), "/told", 5);
	cr_assert_eq(shim_where_given(fd), fd);
	TEXT(fd, "x", below("/a/x"));
}

Test(shim_where, a_rename_while_a_directory_is_opened_leaves_nothing_to_remember)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);
	uint64_t since = shim_where_since();

	atomic_fetch_add(&shim.ring->moves, 1);
	shim_where_learn(fd, since, "/told", 5);
	TEXT(fd, "x", below("/a/x"));
}

Test(shim_where, a_rename_anywhere_in_the_run_makes_it_stale)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	TEXT(fd, "x", below("/a/x"));
	cr_assert_eq(rename("a", "c"), 0);
	atomic_fetch_add(&shim.ring->moves, 1);
	TEXT(fd, "x", below("/c/x"));
}

Test(shim_where, distrust_ends_all_remembering)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	shim_where_distrust();
	shim_where_learn(fd, shim_where_since(), "/told", 5);
	TEXT(fd, "x", below("/a/x"));
	TEXT(AT_FDCWD, "x", below("/x"));
	cr_assert_eq(chdir("b"), 0);
	TEXT(AT_FDCWD, "x", below("/b/x"));
}

Test(shim_where, a_vfork_child_teaches_nothing)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY), status;
	pid_t pid;

	shim_life();
	pid = vfork();
	if (pid == 0) {
		shim_where_learn(fd, shim_where_since(), "/from/the/child", 15);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	TEXT(fd, "x", below("/a/x"));
}

Test(shim_where, under_a_filter_of_the_programs_own_the_unknown_stays_unknown)
{
	int fd = open("a", O_RDONLY | O_DIRECTORY);

	shim_life();
	shim_where_fill();
	atomic_store(&shim.has_own_filter, true);
	cr_expect_eq(shim_text(buf, fd, "x").len, 0);
	TEXT(AT_FDCWD, "x", below("/x"));
}

Test(shim_where, what_the_kernel_finds_too_long_has_no_text)
{
	static char path[8192];

	memset(path, 'x', 8191);
	path[8191] = '\0';
	cr_expect_eq(shim_text(buf, AT_FDCWD, path).len, 0);
	path[0] = '/';
	cr_expect_eq(shim_text(buf, AT_FDCWD, path).len, 0);
	memset(path, '/', 8191);
	cr_expect_eq(shim_text(buf, AT_FDCWD, path).len, 0);
	path[SBX_PATH_MAX - 1] = '\0';
	cr_expect_eq(shim_text(buf, AT_FDCWD, path).len, 1);
}

Test(shim_where, a_pipe_has_no_text)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_expect_eq(shim_fd_text(fds[0], buf), 0);
	cr_expect_eq(shim_fd_text(-1, buf), 0);
}
