/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads against the broker: what a path means is changed while it is looked at, for
 * SBX_RACE_MS milliseconds (`make races`: a minute) for each thing that changes. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/broker.h"

#define OK	0
#define RACE_MS 400 /* of one race, where nobody says */

static char root[64];
static struct sb_policy policy;

static void make_file(const char *name, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void set_up(void)
{
	static char rule[128], other[128];

	strcpy(root, "/tmp/sbx-race-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("open", 0755) | mkdir("shut", 0755), 0);
	make_file("open/f", "public");
	make_file("shut/f", "secret");
	snprintf(rule, sizeof rule, "rm- T %s/shut", root);
	snprintf(other, sizeof other, "rm- T %s/none", root);
	sb_policy_make(&policy, (const char *const[]){"rmx+ T /", rule, other, NULL});
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_races, .init = set_up, .fini = tear_down);

static atomic_bool stop;
static _Alignas(4) char path[16];
static int slot;
static int race_ms = RACE_MS;

static bool is_over(void)
{
	static struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >
	       race_ms;
}

/* ---- who changes what is looked at ---- */

static void *swap_text(void *arg)
{
	uint32_t shut, open_;

	(void)arg;
	memcpy(&shut, "shut", sizeof shut);
	memcpy(&open_, "open", sizeof open_);
	while (!stop) {
		__atomic_store_n((uint32_t *)(void *)path, shut, __ATOMIC_RELAXED);
		__atomic_store_n((uint32_t *)(void *)path, open_, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *swap_link(void *arg)
{
	(void)arg;
	while (!stop) {
		(void)!symlink("shut", "next");
		rename("next", "way");
		(void)!symlink("open", "next");
		rename("next", "way");
	}
	return NULL;
}

static void *swap_cwd(void *arg)
{
	(void)arg;
	while (!stop)
		(void)(chdir("open") | chdir("../shut") | chdir(".."));
	return NULL;
}

static void *swap_fd(void *arg)
{
	int a = open("open/f", O_RDONLY), b = open("shut/f", O_PATH);

	(void)arg;
	while (!stop) {
		dup2(b, slot);
		dup2(a, slot);
	}
	return NULL;
}

/* ---- who looks ---- */

/* 0: never got what is denied; 1: it did. */
static int read_often(const char *name)
{
	char text[8];

	while (!is_over()) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);

		if (fd >= 0)
			close(fd);
		if (n == 6 && !memcmp(text, "secret", 6))
			return 1;
	}
	return 0;
}

static int write_often(const char *name)
{
	while (!is_over()) {
		int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd >= 0)
			close(fd);
		(void)chmod(name, 0611);
		(void)unlink(name);
	}
	return 0;
}

static int with(void *(*swap)(void *), int (*look)(const char *), const char *name)
{
	pthread_t t;
	int rc;

	if (chdir(root) < 0 || pthread_create(&t, NULL, swap, NULL) != 0)
		return 200;
	rc = look(name);
	stop = true;
	pthread_join(t, NULL);
	return rc;
}

static int text_read(void *arg)
{
	(void)arg;
	strcpy(path, "open/f");
	return with(swap_text, read_often, path);
}
static int text_write(void *arg)
{
	(void)arg;
	strcpy(path, "open/f");
	return with(swap_text, write_often, path);
}
static int link_read(void *arg)
{
	(void)arg;
	return with(swap_link, read_often, "way/f");
}
static int link_write(void *arg)
{
	(void)arg;
	return with(swap_link, write_often, "way/f");
}
static int cwd_read(void *arg)
{
	(void)arg;
	return with(swap_cwd, read_often, "f");
}
static int cwd_write(void *arg)
{
	(void)arg;
	return with(swap_cwd, write_often, "f");
}

static int fchmod_often(const char *name)
{
	(void)name;
	while (!is_over())
		(void)fchmod(slot, 0611);
	return 0;
}
static int fd_chmod(void *arg)
{
	(void)arg;
	if (chdir(root) < 0)
		return 200;
	slot = open("open/f", O_RDONLY);
	return with(swap_fd, fchmod_often, "");
}

static void expect_held(int (*act)(void *))
{
	const struct sb_options o = {.level = POL_READ_ALL};
	struct stat before, after;

	cr_assert_eq(stat("shut/f", &before), 0);
	cr_expect_eq(sb_run(&policy, &o, act, NULL), OK);
	cr_assert_eq(stat("shut/f", &after), 0, "it was removed");
	cr_expect_eq(before.st_ino, after.st_ino);
	cr_expect_eq(before.st_mode, after.st_mode);
}

/* NULL: one race alone. */
static void expect_both_held(int (*reads)(void *), int (*changes)(void *))
{
	const char *ms = getenv("SBX_RACE_MS");

	if (ms)
		race_ms = atoi(ms) / (changes ? 2 : 1);
	expect_held(reads);
	if (changes)
		expect_held(changes);
}

Test(launcher_broker_races, the_text_in_memory_changes)
{
	expect_both_held(text_read, text_write);
}

Test(launcher_broker_races, a_symlink_changes)
{
	expect_both_held(link_read, link_write);
}

Test(launcher_broker_races, the_working_directory_changes)
{
	expect_both_held(cwd_read, cwd_write);
}

Test(launcher_broker_races, the_descriptor_changes)
{
	expect_both_held(fd_chmod, NULL);
}

/* Won on a busy machine, too, if not at the first try. */
static bool is_won(int (*race)(void *))
{
	const struct sb_options bare = {.bare = true};

	for (int i = 0; i < 20; i++)
		if (sb_run(&policy, &bare, race, NULL) == 1)
			return true;
	return false;
}

/* The races are real: without us the secret is read. */
Test(launcher_broker_races, positive_control)
{
	cr_expect(is_won(text_read));
	cr_expect(is_won(link_read));
	cr_expect(is_won(cwd_read));
}
