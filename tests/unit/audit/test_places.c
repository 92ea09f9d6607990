/* SPDX-License-Identifier: Apache-2.0 */
/* What is pruned lies where commands may write, too (--modify /tmp): a directory that they exchange
 * for a link meanwhile leads prune nowhere. */
#include "audit/places.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/tree.h"

#define EXCHANGE 2u /* RENAME_EXCHANGE */

static char top[] = "/tmp/sbx-places-XXXXXX";
static char kept[96], printed[96];
static atomic_bool stop;

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(top));
	cr_assert_eq(chdir(top), 0);
	cr_assert_eq(setenv("TMPDIR", top, 1), 0);
	snprintf(kept, sizeof kept, "%s", aud_place_kept().s);
	snprintf(printed, sizeof printed, "sbx-print-env-%u", (unsigned)geteuid());
	/* a home with a private directory, and one that looks as if its record were gone */
	cr_assert_eq(mkdir("home", 0700), 0);
	cr_assert_eq(mkdir("home/.ssh", 0700), 0);
	make_file("home/.ssh/id");
	cr_assert_eq(mkdir("home/old", 0700), 0);
	make_file("home/old/file");
	cr_assert_eq(symlink("/nonexistent/run", "home/old/run"), 0);
	cr_assert_eq(symlink("home", "link"), 0);
	cr_assert_eq(symlink("home", "link2"), 0);
}

static void tear_down(void)
{
	cr_assert_eq(chdir("/"), 0);
	cr_expect_eq(b_tree_remove(top, NULL), 0);
}
TestSuite(audit_places, .init = set_up, .fini = tear_down, .timeout = 60);

static void *exchange(void *arg)
{
	while (!stop) {
		(void)mkdir(kept, 0700);
		(void)mkdir(printed, 0700);
		(void)syscall(SYS_renameat2, AT_FDCWD, kept, AT_FDCWD, "link", EXCHANGE);
		(void)syscall(SYS_renameat2, AT_FDCWD, printed, AT_FDCWD, "link2", EXCHANGE);
		(void)syscall(SYS_renameat2, AT_FDCWD, kept, AT_FDCWD, "link", EXCHANGE);
		(void)syscall(SYS_renameat2, AT_FDCWD, printed, AT_FDCWD, "link2", EXCHANGE);
	}
	return arg;
}

Test(audit_places, prune_follows_no_link_that_comes_meanwhile)
{
	pthread_t t;

	cr_assert_eq(pthread_create(&t, NULL, exchange, NULL), 0);
	for (int i = 0; i < 1000; i++)
		aud_left_prune();
	stop = true;
	pthread_join(t, NULL);
	cr_expect_eq(access("home/.ssh/id", F_OK), 0);
	cr_expect_eq(access("home/old/file", F_OK), 0);
}

Test(audit_places, prune_takes_what_no_run_uses)
{
	char path[160];

	cr_assert_eq(mkdir(kept, 0700), 0);
	snprintf(path, sizeof path, "%s/0", kept);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(mkdir(printed, 0700), 0);
	snprintf(path, sizeof path, "%s/x", printed);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/x/run", printed);
	cr_assert_eq(symlink("/nonexistent/run", path), 0);
	aud_left_prune();
	cr_expect_lt(access(kept, F_OK), 0);
	cr_expect_lt(access(printed, F_OK), 0);
}
