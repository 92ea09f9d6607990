/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"

static char dir[64];

static void set_up(void)
{
	strcpy(dir, "/tmp/test_tree.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(mkdir("tree", 0700), 0);
}

static void tear_down(void)
{
	cr_assert_eq(chdir("/"), 0);
	cr_expect_eq(b_tree_remove(dir, NULL), 0);
}

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	close(fd);
}

static void removed(void)
{
	struct b_err err = {.msg = ""};
	struct stat st;

	cr_expect_eq(b_tree_remove("tree", &err), 0, "%s", err.msg);
	cr_expect_neq(lstat("tree", &st), 0);
}

TestSuite(base_tree, .init = set_up, .fini = tear_down);

Test(base_tree, empty_and_missing_are_fine)
{
	removed();
	removed();
}

Test(base_tree, links_are_removed_not_followed)
{
	mkdir("outside", 0700);
	touch("outside/kept");
	cr_assert_eq(symlink("../outside", "tree/dir"), 0);
	cr_assert_eq(symlink("/nonexistent", "tree/dangling"), 0);
	touch("tree/file");
	removed();
	cr_expect_eq(access("outside/kept", F_OK), 0);
}

Test(base_tree, closed_directories_are_opened)
{
	mkdir("tree/a", 0700);
	mkdir("tree/a/b", 0700);
	touch("tree/a/b/file");
	chmod("tree/a/b", 0);
	chmod("tree/a", 0500);
	removed();
}

Test(base_tree, depth_costs_no_descriptors)
{
	struct rlimit few = {64, 64};
	int i;

	cr_assert_eq(chdir("tree"), 0);
	for (i = 0; i < 3000; i++) {
		touch("f");
		cr_assert_eq(mkdir("d", 0700), 0);
		cr_assert_eq(chdir("d"), 0);
	}
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	removed();
}

Test(base_tree, a_link_in_place_of_the_tree_is_left_alone)
{
	struct b_err err;

	mkdir("outside", 0700);
	touch("outside/kept");
	rmdir("tree");
	cr_assert_eq(symlink("outside", "tree"), 0);
	cr_expect_eq(b_tree_remove("tree", &err), -1);
	cr_expect_eq(access("outside/kept", F_OK), 0);
}

Test(base_tree, what_is_no_directory_keeps_its_mode)
{
	struct b_err err;
	struct stat st;
	int fd;

	touch("file");
	cr_assert_eq(chmod("file", 0640), 0);
	fd = open("file", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(b_tree_clear_at(fd, &err), -1);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0640);
	close(fd);
}
