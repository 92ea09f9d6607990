/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/run/dirs.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "audit/places.h"
#include "base/err.h"
#include "base/tree.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "tests/support/nocall.h"

static char top[64];

static void set_up(void)
{
	strcpy(top, "/tmp/test_scratch.XXXXXX");
	cr_assert(mkdtemp(top));
}

static void tear_down(void)
{
	cr_expect_eq(b_tree_remove(top, NULL), 0);
}

TestSuite(launcher_scratch, .init = set_up, .fini = tear_down);

static void take(struct lau_scratch *s)
{
	struct b_err err = {0};

	cr_assert_eq(lau_scratch_take(true, s, &err), 0, "%s", err.msg);
}

static void fill(const struct lau_scratch *s)
{
	int fd = openat(s->lock, "left", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

Test(launcher_scratch, in_a_directory_of_somebodys_own_nothing_is_left)
{
	struct lau_scratch s;

	setenv("TMPDIR", top, 1);
	lau_processes_adopt();
	take(&s);
	cr_expect(!strncmp(s.path, top, strlen(top)));
	cr_expect(lau_os_is_plain_dir(s.lock));
	fill(&s);
	lau_scratch_release(&s);
	cr_expect_eq(rmdir(top), 0, "empty");
	cr_assert_eq(mkdir(top, 0700), 0);
}

Test(launcher_scratch, without_locks_nothing_is_left_and_the_line_says_so)
{
	static const int whys[] = {ENOSYS, EPERM, ENOLCK, EOPNOTSUPP, EINVAL};
	struct b_err err = {0};
	struct lau_scratch s;

	setenv("TMPDIR", top, 1);
	for (size_t i = 0; i < sizeof whys / sizeof *whys; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			take_call_away(SYS_flock, whys[i]);
			cr_assert_lt(lau_scratch_take(true, &s, &err), 0);
			_exit(err.sys == whys[i] && strstr(err.msg, "flock(2)") ? 0 : 1);
		}
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "errno %d", whys[i]);
		cr_expect_eq(rmdir(top), 0, "errno %d: empty", whys[i]);
		cr_assert_eq(mkdir(top, 0700), 0);
	}
}

static void keep_name(const char *path, char *out, size_t size)
{
	const char *name = strrchr(path, '/');

	snprintf(out, size, "%.*s/%s%s", (int)(name - path), path, aud_place_kept().s, name);
}

Test(launcher_scratch, in_tmp_the_next_run_gets_the_directory_of_one_that_ended)
{
	struct lau_scratch s;
	struct stat before, after;
	char name[128], kept[160];

	unsetenv("TMPDIR");
	lau_processes_adopt();
	take(&s);
	cr_assert_eq(fstat(s.lock, &before), 0);
	snprintf(name, sizeof name, "%s", s.path);
	keep_name(name, kept, sizeof kept);
	fill(&s);
	lau_scratch_release(&s);
	cr_expect_lt(lstat(name, &after), 0);
	/* unless a run that goes on meanwhile was faster */
	if (lstat(kept, &after) == 0 && after.st_ino == before.st_ino) {
		cr_expect_eq(after.st_nlink, 2);
		take(&s);
		cr_assert_eq(fstat(s.lock, &after), 0);
		cr_expect(strcmp(s.path, name) || after.st_ino == before.st_ino);
		cr_expect_lt(faccessat(s.lock, "left", F_OK, 0), 0);
		lau_scratch_release(&s);
	}
}

Test(launcher_scratch, a_directory_that_grew_large_is_not_used_again)
{
	struct lau_scratch s;
	struct stat before, after;
	char kept[160], name[256];

	unsetenv("TMPDIR");
	lau_processes_adopt();
	take(&s);
	cr_assert_eq(fstat(s.lock, &before), 0);
	keep_name(s.path, kept, sizeof kept);
	for (int i = 0; i < 600; i++) { /* 120 KiB of names */
		snprintf(name, sizeof name, "%0200d", i);
		close(openat(s.lock, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	lau_scratch_release(&s);
	/* not every file system keeps the blocks */
	cr_expect(lstat(kept, &after) < 0 || after.st_ino != before.st_ino ||
			  after.st_size <= 64 << 10,
		  "%lld bytes", (long long)after.st_size);
}

Test(launcher_scratch, a_process_that_is_left_keeps_its_directory_from_being_used_again)
{
	struct lau_scratch s;
	struct stat before, after;
	char kept[160];
	pid_t pid;

	unsetenv("TMPDIR");
	lau_processes_adopt();
	take(&s);
	cr_assert_eq(fstat(s.lock, &before), 0);
	keep_name(s.path, kept, sizeof kept);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	cr_expect_not(lau_processes_none());
	lau_scratch_release(&s);
	cr_expect(lstat(kept, &after) < 0 || after.st_ino != before.st_ino);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect(lau_processes_none());
}

Test(launcher_scratch, only_a_directory_as_mkdir_makes_it_is_plain)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_expect(lau_os_is_plain_dir(fd));
	cr_assert_eq(fchmod(fd, 0750), 0);
	cr_expect_not(lau_os_is_plain_dir(fd));
	cr_assert_eq(fchmod(fd, 0700), 0);
	if (fsetxattr(fd, "user.sbx", "x", 1, 0) == 0)
		cr_expect_not(lau_os_is_plain_dir(fd));
	close(fd);
}

Test(launcher_scratch, a_rename_replaces_nothing)
{
	int from = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to;

	cr_assert_geq(from, 0);
	cr_assert_eq(mkdirat(from, "a", 0700) | mkdirat(from, "to", 0700), 0);
	to = openat(from, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(to, "a", 0700), 0);
	cr_expect_lt(lau_os_rename_new(from, to, "a"), 0);
	cr_assert_eq(unlinkat(to, "a", AT_REMOVEDIR), 0);
	cr_expect_eq(lau_os_rename_new(from, to, "a"), 0);
	close(to);
	close(from);
}
