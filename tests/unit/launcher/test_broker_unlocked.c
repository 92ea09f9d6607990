/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what takes long is done without the lock of moves, which all runs of a
 * user share. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/support/broker.h"

#define LARGE (2 << 20)

static char root[64];
static struct sb_policy policy;
static struct lau_movelock locks[2];

/* Shared with the broker. */
static struct {
	_Atomic unsigned unlocked; /* how often the point was reached, and nobody had the lock */
	_Atomic unsigned locked;
	_Atomic unsigned held; /* what has no name was held when the lock was given back */
} * seen;

static void set_up(void)
{
	static char deny[128];
	struct b_err err = {0};

	strcpy(root, "/tmp/sbx-long-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("s", 0777), 0);
	snprintf(deny, sizeof deny, "r- G %s **/*.env", root);
	sb_policy_make(&policy, (const char *const[]){"rmx+ T /", deny, NULL});
	cr_assert_eq(lau_movelock_open(NULL, &locks[0], &err), 0, "%s", err.msg);
	cr_assert_eq(lau_movelock_join(&locks[0], &locks[1], &err), 0, "%s", err.msg);
	locks[1].limit_ms = 50;
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)seen, MAP_FAILED);
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	lau_movelock_release(&locks[1]);
	lau_movelock_release(&locks[0]);
	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_unlocked, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- in the broker ---- */

static bool holds_nameless(void)
{
	DIR *d = opendir("/proc/self/fd");
	bool found = false;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char to[256];
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);

		to[n > 0 ? n : 0] = '\0';
		found |= strstr(to, "/big (deleted)") != NULL;
	}
	if (d)
		closedir(d);
	return found;
}

static void look(enum lau_broker_point at)
{
	pid_t who;

	if (at == BR_POINT_SERVED)
		seen->held += holds_nameless();
	if (at != BR_POINT_UNLOCKED)
		return;
	if (lau_movelock_move(&locks[1], &who) < 0) {
		seen->locked++;
		return;
	}
	seen->unlocked++;
	lau_movelock_move_end(&locks[1]);
}

static void die(enum lau_broker_point at)
{
	if (at == BR_POINT_UNLOCKED)
		_exit(9);
}

static int run(int (*act)(void *), void *arg, void (*point)(enum lau_broker_point))
{
	const struct sb_options o = {.test_point = point, .lock = &locks[0], .no_filter = true};

	memset((void *)seen, 0, sizeof *seen);
	return sb_run(&policy, &o, act, arg);
}

/* ---- acts ---- */

static void make_big(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, LARGE), 0);
	close(fd);
}

static long size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) < 0 ? -1 : (long)st.st_size;
}

static int cut(void *arg)
{
	(void)arg;
	return truncate("big", 1) < 0 ? errno : 0;
}

static int open_to_cut(void *arg)
{
	int fd = open("big", *(int *)arg, 0600);

	return fd < 0 ? errno : 0;
}

static int drop(void *arg)
{
	(void)arg;
	return unlink("big") < 0 ? errno : 0;
}

static int replace(void *arg)
{
	(void)arg;
	return rename("small", "big") < 0 ? errno : 0;
}

static int hide(void *arg)
{
	(void)arg;
	return rename("big", "s/x.env") < 0 ? errno : 0;
}

Test(launcher_broker_unlocked, files_are_cut_without_the_lock)
{
	const int how[] = {O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC | O_CREAT, O_RDONLY | O_TRUNC,
			   O_WRONLY | O_TRUNC | O_NOFOLLOW};

	make_big("big");
	cr_expect_eq(run(cut, NULL, look), 0);
	cr_expect_eq(size_of("big"), 1);
	cr_expect(seen->unlocked == 1 && !seen->locked);
	for (unsigned i = 0; i < sizeof how / sizeof *how; i++) {
		make_big("big");
		cr_expect_eq(run(open_to_cut, (void *)(uintptr_t)&how[i], look), 0, "%u", i);
		cr_expect_eq(size_of("big"), 0, "%u", i);
		cr_expect(seen->unlocked == 1 && !seen->locked, "%u", i);
	}
	/* by a symlink, the slow way */
	cr_assert_eq(rename("big", "target") | symlink("target", "big"), 0);
	make_big("target");
	cr_expect_eq(run(open_to_cut, (void *)(uintptr_t)&how[0], look), 0);
	cr_expect_eq(size_of("target"), 0);
	cr_expect(seen->unlocked == 1 && !seen->locked);
}

Test(launcher_broker_unlocked, what_is_removed_is_freed_without_the_lock)
{
	make_big("big");
	cr_expect_eq(run(drop, NULL, look), 0);
	cr_expect_eq(size_of("big"), -1);
	cr_expect_eq(seen->held, 1);
	make_big("big");
	make_big("small");
	cr_expect_eq(truncate("small", 1), 0);
	cr_expect_eq(run(replace, NULL, look), 0);
	cr_expect_eq(size_of("big"), 1);
	cr_expect_eq(seen->held, 1);
}

Test(launcher_broker_unlocked, a_file_is_copied_without_the_lock)
{
	struct stat before, after;

	make_big("big");
	cr_assert_eq(stat("big", &before), 0);
	cr_expect_eq(run(hide, NULL, look), 0);
	cr_expect(seen->unlocked == 1 && !seen->locked);
	cr_expect_eq(seen->held, 1);
	cr_expect_eq(size_of("big"), -1);
	cr_assert_eq(stat("s/x.env", &after), 0);
	cr_expect_eq(after.st_size, LARGE);
	cr_expect_neq(after.st_ino, before.st_ino);
	/* over what is there */
	make_big("big");
	cr_expect_eq(truncate("big", 3), 0);
	cr_expect_eq(run(hide, NULL, look), 0);
	cr_expect_eq(size_of("s/x.env"), 3);
	cr_expect_eq(size_of("big"), -1);
}

/* ---- what is left when the broker is killed ---- */

static bool has_litter(const char *dir)
{
	DIR *d = opendir(dir);
	bool found = false;
	struct dirent *e;

	while (d && (e = readdir(d)))
		found |= !strncmp(e->d_name, ".sbx-", 5);
	if (d)
		closedir(d);
	return found;
}

Test(launcher_broker_unlocked, nothing_is_left_of_a_copy_when_the_broker_is_killed)
{
	make_big("big");
	cr_expect_neq(run(hide, NULL, die), 0);
	cr_expect_eq(size_of("big"), LARGE);
	cr_expect_eq(size_of("s/x.env"), -1);
	cr_expect(!has_litter("s") && !has_litter("."));
}

static _Atomic bool over, has_seen;

static void *watch(void *arg)
{
	while (!over)
		has_seen |= has_litter(arg);
	return NULL;
}

static int hide_and_watch(void *arg)
{
	pthread_t t;
	int rc;

	(void)arg;
	if (pthread_create(&t, NULL, watch, (void *)(uintptr_t) "s"))
		return 200;
	rc = hide(NULL);
	over = true;
	pthread_join(t, NULL);
	return rc ? rc : has_seen ? 201 : 0;
}

Test(launcher_broker_unlocked, a_copy_has_no_name_before_it_has_its_place)
{
	make_big("big");
	cr_assert_eq(truncate("big", 48 << 20), 0);
	cr_expect_eq(run(hide_and_watch, NULL, NULL), 0);
	cr_expect_eq(size_of("s/x.env"), 48 << 20);
}

/* ---- somebody writes to the original meanwhile ---- */

static void write_more(enum lau_broker_point at)
{
	int fd;

	if (at != BR_POINT_UNLOCKED || seen->unlocked++)
		return;
	fd = open("big", O_WRONLY | O_APPEND | O_CLOEXEC);
	seen->held = fd >= 0 && write(fd, "x", 1) == 1;
	close(fd);
}

Test(launcher_broker_unlocked, what_was_changed_meanwhile_is_copied_once_more)
{
	make_big("big");
	cr_expect_eq(run(hide, NULL, write_more), 0);
	cr_expect_eq(seen->held, 1);
	cr_expect_eq(seen->unlocked, 2);
	cr_expect_eq(size_of("s/x.env"), LARGE + 1);
}

/* Or puts what may not be moved in its place. */
static void swap_secret(enum lau_broker_point at)
{
	if (at != BR_POINT_UNLOCKED || seen->unlocked++)
		return;
	seen->held = rename("other", "big") == 0;
}

Test(launcher_broker_unlocked, what_took_its_place_meanwhile_is_judged_anew)
{
	make_big("big");
	cr_assert_eq(symlink("/etc/passwd", "other"), 0);
	cr_expect_eq(run(hide, NULL, swap_secret), EACCES, "a link from where it may not be read");
	cr_expect_eq(seen->held, 1);
	cr_expect_eq(size_of("s/x.env"), -1);
}
