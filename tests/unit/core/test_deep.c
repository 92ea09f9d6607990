/* SPDX-License-Identifier: Apache-2.0 */
/* test_deep.c - paths beyond PATH_MAX, in a real tree. */
#include "core/deep.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/event.h"

static char root[64], want[SBX_DEEP_ROOM], room[SBX_DEEP_ROOM];
static size_t want_len;
static struct sbx_deep_memo memo;
static int lists;	     /* directories listed */
static bool are_numbers_odd; /* as where a list has other numbers than stat(2) */
static bool is_list_refused;

static int result(int rc)
{
	return rc < 0 ? -errno : rc;
}

static int up(int dir)
{
	return result(openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int down(int at, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS};

	return result((int)syscall(SYS_openat2, at, path, &how, sizeof how));
}

static int list(int dir)
{
	lists++;
	return is_list_refused ? -EACCES
			       : result(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static long entries(int fd, void *buf, size_t size)
{
	ssize_t n = getdents64(fd, buf, size);

	for (ssize_t at = 0; are_numbers_odd && at < n;) {
		struct dirent64 *d = (void *)((char *)buf + at);

		d->d_ino = 7;
		at += d->d_reclen;
	}
	return n < 0 ? -errno : n;
}

static long text(int fd, char *buf, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, buf, size);
	return n < 0 ? -errno : n;
}

static int identify(int at, const char *name, struct sbx_deep_id *out)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return -errno;
	*out = (struct sbx_deep_id){.dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

static void put_away(int fd)
{
	close(fd);
}

static const struct sbx_deep_sys calls = {up, down, list, entries, text, identify, put_away};

/* As many directories of a name of `n` characters, below where we are. */
static void go_down(unsigned levels, int n)
{
	char name[256];

	while (levels--) {
		snprintf(name, sizeof name, "%0*u", n, levels);
		cr_assert_eq(mkdir(name, 0700), 0);
		cr_assert_eq(chdir(name), 0);
		if (want_len + (size_t)n + 1 < sizeof want)
			want_len += (size_t)sprintf(want + want_len, "/%s", name);
	}
}

static void set_up(void)
{
	strcpy(root, "/tmp/test_deep.XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	want_len = strlen(strcpy(want, root));
}

static void tear_down(void)
{
	char command[128];

	cr_expect_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	cr_expect_eq(system(command), 0);
}

TestSuite(core_deep, .init = set_up, .fini = tear_down);

static long ask(const char *dir, struct sbx_deep_memo *m)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long n = sbx_deep_text(&calls, fd, room, m);

	cr_assert_geq(fd, 0);
	close(fd);
	return n;
}

static void expect(const char *dir, size_t len, struct sbx_deep_memo *m)
{
	cr_assert_eq(ask(dir, m), (long)len);
	cr_assert(!memcmp(room, want, len));
	cr_assert_eq(room[len], '\0');
}

Test(core_deep, what_the_kernel_knows_is_its_text)
{
	expect(".", want_len, NULL);
	cr_expect_eq(ask("/", NULL), 1);
	cr_expect_str_eq(room, "/");
}

Test(core_deep, a_path_is_found_at_each_depth)
{
	for (int i = 0; i < 60; i++) {
		go_down(1, 97 + i);
		expect(".", want_len, NULL);
	}
	cr_expect_gt(want_len, 5000);
}

Test(core_deep, neighbours_are_told_apart)
{
	go_down(41, 100);
	for (int i = 0; i < 300; i++) {
		char name[16];

		sprintf(name, "n%d", i);
		cr_assert_eq(mkdir(name, 0700), 0);
	}
	cr_assert_eq(ask("n217", NULL), (long)want_len + 5);
	cr_expect_str_eq(room + want_len, "/n217");
}

Test(core_deep, numbers_of_a_list_are_not_relied_on)
{
	go_down(45, 100);
	are_numbers_odd = true;
	expect(".", want_len, NULL);
}

/* Somebody makes entries for as long as we look. */
static long endless(int list, void *buf, size_t size)
{
	const uint16_t reclen = 24;

	(void)list;
	memset(buf, 0, size);
	for (size_t at = 0; at + reclen <= size; at += reclen) {
		memcpy((char *)buf + at + 16, &reclen, sizeof reclen);
		strcpy((char *)buf + at + 19, "x");
	}
	return (long)(size / reclen * reclen);
}

Test(core_deep, no_more_is_looked_through_than_others_can_wait_for, .timeout = 30)
{
	struct sbx_deep_sys crowded = calls;
	int fd;

	go_down(45, 100);
	fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	crowded.entries = endless;
	cr_expect_eq(sbx_deep_text(&crowded, fd, room, NULL), -EACCES);
	close(fd);
}

Test(core_deep, what_is_kept_saves_the_climb)
{
	go_down(100, 100);
	expect(".", want_len, &memo);
	lists = 0;
	expect(".", want_len, &memo);
	expect("..", want_len - 101, &memo);
	expect("../..", want_len - 202, &memo);
	cr_expect_eq(lists, 0);
	go_down(1, 100);
	lists = 0;
	ask("../../..", &memo);
	expect(".", want_len, &memo);
	cr_expect_leq(lists, 4);
}

Test(core_deep, what_is_kept_is_not_believed_after_a_move)
{
	char *name = want + strlen(root) + 1, old[101];

	go_down(60, 100);
	expect(".", want_len, &memo);
	memcpy(old, name, 100);
	old[100] = '\0';
	name[0] = 'x';
	{
		int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		char new[101];

		memcpy(new, name, 100);
		new[100] = '\0';
		cr_assert_eq(renameat(fd, old, fd, new), 0);
		expect(".", want_len, &memo);
		/* the old way leads here, by a symlink */
		cr_assert_eq(symlinkat(new, fd, old), 0);
		memcpy(memo.text + strlen(root) + 1, old, 100);
		expect(".", want_len, &memo);
		close(fd);
	}
}

Test(core_deep, a_removed_directory_has_no_path)
{
	go_down(45, 100);
	cr_assert_eq(mkdir("gone", 0700), 0);
	cr_assert_eq(chdir("gone"), 0);
	cr_assert_eq(rmdir("../gone"), 0);
	cr_expect_eq(ask(".", NULL), -ENOENT);
}

Test(core_deep, where_no_list_is_given_there_is_no_path)
{
	go_down(45, 100);
	is_list_refused = true;
	cr_expect_eq(ask(".", NULL), -EACCES);
}

Test(core_deep, beyond_the_bound_nothing_is_cut)
{
	go_down(240, 250);
	expect(".", want_len, &memo);
	go_down(10, 250);
	cr_expect_eq(ask(".", &memo), -ENAMETOOLONG);
	cr_expect_eq(ask(".", NULL), -ENAMETOOLONG);
}

Test(core_deep, a_name_is_appended_up_to_the_bound)
{
	size_t len = 1;

	room[0] = '/';
	cr_expect(sbx_deep_append(room, &len, "a", 1));
	cr_expect_str_eq(room, "/a");
	cr_expect(sbx_deep_append(room, &len, "bc", 2));
	cr_expect_str_eq(room, "/a/bc");
	len = SBX_DEEP_MAX - 3;
	cr_expect(!sbx_deep_append(room, &len, "abc", 3));
	cr_expect_eq(len, SBX_DEEP_MAX - 3);
	cr_expect(sbx_deep_append(room, &len, "ab", 2));
	cr_expect_eq(len, SBX_DEEP_MAX);
}
