/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/linux/process/process.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

/* A place where this kernel lets us make one, with or without controllers; NULL = nowhere. */
static const char *some_parent(void)
{
	static const char *const places[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char procs[64];

		snprintf(procs, sizeof procs, "%s/cgroup.procs", places[i]);
		if (access(procs, W_OK) == 0 && access(places[i], W_OK) == 0)
			return places[i];
	}
	return NULL;
}

static bool is_in(const char *path)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	cr_assert_eq(b_read_file("/proc/self/cgroup", 1 << 16, &text, &err), 0);
	return strstr(b_str_c(&text), strrchr(path, '/'));
}

Test(launcher_cgroup, a_process_enters_and_it_goes_when_empty)
{
	const struct lau_bounds none = {0};
	struct lau_cgroup c;
	struct b_err err;
	struct stat st;
	char *path;
	int status;
	pid_t pid;

	if (!some_parent())
		cr_skip_test("no cgroup of version 2 can be made here");
	cr_assert_eq(lau_cgroup_make(some_parent(), &none, &c, &err), 0, "%s", err.msg);
	pid = fork();
	if (pid == 0)
		_exit(lau_cgroup_enter(c.procs) == 0 && is_in(c.path) ? 0 : 1);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	cr_expect_not(is_in(c.path));
	path = strdup(c.path);
	lau_cgroup_release(&c);
	cr_expect(stat(path, &st) < 0);
	free(path);
}

Test(launcher_cgroup, what_a_dead_launcher_left_is_removed)
{
	const struct lau_bounds none = {0};
	struct lau_cgroup c;
	struct b_err err;
	struct stat st;
	char left[96];
	pid_t pid;

	if (!some_parent())
		cr_skip_test("no cgroup of version 2 can be made here");
	pid = fork();
	if (pid == 0)
		_exit(lau_cgroup_make(some_parent(), &none, &c, &err));
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	snprintf(left, sizeof left, "%s/sbx-launch-%d", some_parent(), (int)pid);
	cr_assert_eq(stat(left, &st), 0);
	cr_assert_eq(lau_cgroup_make(some_parent(), &none, &c, &err), 0, "%s", err.msg);
	cr_expect(stat(left, &st) < 0);
	lau_cgroup_release(&c);
}

/* No controller is handed down in a place like this: the limit cannot be had, and nothing stays. */
Test(launcher_cgroup, a_limit_that_cannot_be_set_is_an_error)
{
	struct lau_bounds b = {0};
	char dir[] = "/tmp/sbx-cgroup.XXXXXX";
	struct lau_cgroup c;
	struct b_err err;

	cr_assert(mkdtemp(dir));
	b.v[LAU_BOUND_MEMORY] = 1 << 20;
	b.by[LAU_BOUND_MEMORY] = LAU_HELD_CGROUP;
	cr_expect_eq(lau_cgroup_make(dir, &b, &c, &err), -1);
	cr_expect_eq(err.kind, B_LIMIT);
	cr_expect(strstr(err.msg, "memory.max"), "%s", err.msg);
	cr_expect_eq(rmdir(dir), 0);
}
