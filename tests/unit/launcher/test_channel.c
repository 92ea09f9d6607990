/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/run/channel.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/tree.h"
#include "core/ring.h"
#include "launcher/run/dirs.h"
#include "tests/support/nocall.h"

static char base[64];
static const struct lau_channel_image whole = {"IMAGE", 5, NULL};

static void set_up(void)
{
	strcpy(base, "/tmp/test_channel.XXXXXX");
	cr_assert_not_null(mkdtemp(base));
}

static void tear_down(void)
{
	cr_expect_eq(b_tree_remove(base, NULL), 0);
}

static unsigned entries(void)
{
	DIR *d = opendir(base);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

TestSuite(launcher_channel, .init = set_up, .fini = tear_down);

Test(launcher_channel, holds_the_image_and_a_ready_ring)
{
	struct lau_channel ch;
	struct b_err err = {.msg = ""};
	struct stat st;
	uint64_t size;

	cr_assert_eq(lau_channel_new(base, &whole, SBX_AUDIT_MODIFY, &ch, &err), 0, "%s", err.msg);
	cr_expect(sbx_ring_check(ch.ring, ch.ring_bytes, &size));
	cr_expect_eq(size, ch.ring_data);
	cr_expect_eq(ch.ring->level, SBX_AUDIT_MODIFY);
	cr_assert_eq(stat(ch.image_path, &st), 0);
	cr_expect_eq(st.st_size, 5);
	cr_expect_eq(st.st_mode & 0777, 0400);
	cr_assert_eq(stat(ch.ring_path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	/* allocated, not only sized: no SIGBUS when the file system fills up */
	cr_expect_geq(st.st_blocks * 512, (off_t)LAU_RING_EARLY);
	cr_assert_eq(lau_channel_settle(&ch, &err), 0);
	cr_assert_eq(stat(ch.ring_path, &st), 0);
	cr_expect_geq((size_t)st.st_blocks * 512, ch.ring_bytes);
	cr_assert_eq(stat(ch.dir, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0700);
	lau_channel_release(&ch);
	cr_expect_eq(entries(), 0);
}

Test(launcher_channel, an_image_in_a_file_is_linked_to)
{
	const struct lau_channel_image linked = {"x", 1, "/etc/passwd"};
	struct lau_channel ch;
	char path[128], target[64] = "";

	cr_assert_eq(lau_channel_new(base, &linked, SBX_AUDIT_NONE, &ch, NULL), 0);
	cr_expect_str_eq(ch.image_path, "/etc/passwd");
	snprintf(path, sizeof path, "%s/image", ch.dir);
	cr_expect_gt(readlink(path, target, sizeof target - 1), 0);
	cr_expect_str_eq(target, "/etc/passwd");
	lau_channel_release(&ch);
	cr_expect_eq(access("/etc/passwd", F_OK), 0);
	cr_expect_eq(entries(), 0);
}

Test(launcher_channel, without_locks_nothing_is_left_and_the_line_says_so)
{
	struct lau_channel ch;
	struct b_err err = {.msg = ""};

	take_call_away(SYS_flock, ENOSYS);
	cr_assert_lt(lau_channel_new(base, &whole, SBX_AUDIT_ALL, &ch, &err), 0);
	cr_expect(strstr(err.msg, "flock(2)"), "%s", err.msg);
	cr_expect_eq(entries(), 0);
}

Test(launcher_channel, sweeps_what_dead_runs_left_and_nothing_else)
{
	struct lau_channel alive, next;
	pid_t pid;

	cr_assert_eq(lau_channel_new(base, &whole, SBX_AUDIT_ALL, &alive, NULL), 0);
	pid = fork();
	if (pid == 0) { /* dies without releasing */
		struct lau_channel dead;

		_exit(lau_channel_new(base, &whole, SBX_AUDIT_ALL, &dead, NULL) < 0);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_expect_eq(entries(), 2);
	cr_assert_eq(lau_channel_new(base, &whole, SBX_AUDIT_ALL, &next, NULL), 0);
	cr_expect_eq(entries(), 2); /* alive and next */
	cr_expect_eq(access(alive.ring_path, F_OK), 0);
	lau_channel_release(&next);
	lau_channel_release(&alive);
	cr_expect_eq(entries(), 0);
}

Test(launcher_channel, a_base_that_others_may_enter_is_refused)
{
	struct b_err err;
	char link[80];

	chmod(base, 0755);
	cr_expect_eq(lau_channel_make_base(base, &err), -1);
	cr_expect_eq(err.kind, B_SHIM);
	chmod(base, 0700);
	cr_expect_eq(lau_channel_make_base(base, &err), 0);
	snprintf(link, sizeof link, "%s/link", base);
	cr_assert_eq(symlink(base, link), 0);
	cr_expect_eq(lau_channel_make_base(link, &err), -1);
	unlink(link);
}

Test(launcher_channel, runtime_directory_is_used_only_when_private)
{
	char *found = NULL;

	chmod(base, 0755);
	setenv("XDG_RUNTIME_DIR", base, 1);
	cr_assert_eq(lau_channel_base(&found, NULL), 0);
	cr_expect_null(strstr(found, base), "%s", found);
	free(found);
}
