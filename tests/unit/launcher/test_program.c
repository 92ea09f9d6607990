/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/io.h"
#include "base/tree.h"
#include "launcher/run/dirs.h"

static char dir[64];

static void put(const char *name, const char *text, size_t n, unsigned mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	cr_assert(fd >= 0 && b_write_all(fd, text, n) == 0);
	close(fd);
}

static void set_up(void)
{
	strcpy(dir, "/tmp/test_program.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	mkdir("a", 0755);
	mkdir("b", 0755);
	mkdir("a/sub", 0755);
	put("a/plain", "x", 1, 0644);
	put("b/plain", "x", 1, 0755);
	put("a/only", "x", 1, 0644);
	put("here", "x", 1, 0755);
}

static void tear_down(void)
{
	cr_assert_eq(chdir("/"), 0);
	cr_expect_eq(b_tree_remove(dir, NULL), 0);
}

static enum b_kind kind_of(const char *name, const char *path, const char *expected)
{
	char *out = NULL;
	struct b_err err = {.kind = B_OK};

	if (lau_program_find(name, path, &out, &err) < 0)
		return err.kind;
	cr_expect_str_eq(out, expected);
	free(out);
	return B_OK;
}

TestSuite(launcher_program, .init = set_up, .fini = tear_down);

Test(launcher_program, first_executable_of_path_wins)
{
	cr_expect_eq(kind_of("plain", "a:b", "b/plain"), B_OK);
	cr_expect_eq(kind_of("here", "a:", "./here"), B_OK);
	cr_expect_eq(kind_of("here", ":a", "./here"), B_OK);
	cr_expect_eq(kind_of("sh", NULL, "/bin/sh"), B_OK);
}

Test(launcher_program, a_slash_is_taken_as_it_is)
{
	cr_expect_eq(kind_of("b/plain", "", "b/plain"), B_OK);
	cr_expect_eq(kind_of("a/plain", "b", ""), B_NOEXEC);
	cr_expect_eq(kind_of("./none", "b", ""), B_NOTFOUND);
	cr_expect_eq(kind_of("here/x", "b", ""), B_NOTFOUND);
}

Test(launcher_program, missing_is_told_from_not_executable)
{
	cr_expect_eq(kind_of("none", "a:b", ""), B_NOTFOUND);
	cr_expect_eq(kind_of("", "a:b", ""), B_NOTFOUND);
	cr_expect_eq(kind_of("only", "a:b", ""), B_NOEXEC);
	cr_expect_eq(kind_of("sub", "a", ""), B_NOEXEC);
}

Test(launcher_program, text_without_interpreter_is_a_script)
{
	put("t1", "echo hi\n\0", 9, 0644);
	put("t2", "\177ELF\0\0", 6, 0644);
	put("t3", "", 0, 0644);
	cr_expect(lau_program_is_text("t1"));
	cr_expect_not(lau_program_is_text("t2"));
	cr_expect(lau_program_is_text("t3"));
	cr_expect_not(lau_program_is_text("none"));
}
