/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what has no name is opened anew, by /proc, for no more than the
 * descriptor is open for: FIFOs and devices as files are; pipes and memory files of the caller. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/support/broker.h"

static char root[64];

static void set_up(void)
{
	strcpy(root, "/tmp/sbx-given-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
}

static void tear_down(void)
{
	char cmd[128];

	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_given, .init = set_up, .fini = tear_down, .timeout = 60);

static int again(int fd, int flags)
{
	char name[32];
	int rc;

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	rc = open(name, flags | O_CLOEXEC);
	if (rc < 0)
		return errno;
	close(rc);
	return 0;
}

/* With what `stdin` is, of which the broker knows. */
static int run(int stdin_fd, int (*act)(void *), enum pol_read_level level, bool bare)
{
	const char *const rules[] = {"rmx+ T /", NULL};
	struct lau_given given[LAU_GIVEN_MAX];
	struct sb_options o = {.level = level, .bare = bare};
	struct sb_policy policy;
	int saved = dup(0), rc;

	cr_assert_geq(saved, 0);
	if (stdin_fd >= 0)
		cr_assert_eq(dup2(stdin_fd, 0), 0);
	o.given = (struct lau_givens){given, lau_given_find(given)};
	sb_policy_make(&policy, rules);
	rc = sb_run(&policy, &o, act, NULL);
	sb_policy_release(&policy);
	dup2(saved, 0);
	close(saved);
	return rc;
}

static int write_to_stdin(void *arg)
{
	(void)arg;
	return again(0, O_WRONLY);
}

static int write_both_to_stdin(void *arg)
{
	(void)arg;
	return again(0, O_RDWR | O_NONBLOCK);
}

static int read_stdin(void *arg)
{
	(void)arg;
	return again(0, O_RDONLY | O_NONBLOCK);
}

static int cut_stdin(void *arg)
{
	(void)arg;
	return truncate("/proc/self/fd/0", 0) < 0 ? errno : 0;
}

/* What the run makes itself is its own. */
static int own_pipe(void *arg)
{
	int fds[2], memory = memfd_create("own", MFD_CLOEXEC), rc;

	(void)arg;
	if (pipe(fds) < 0 || memory < 0)
		return 200;
	rc = again(fds[0], O_WRONLY);
	rc = rc ? rc : again(memory, O_RDWR | O_TRUNC);
	return rc ? rc : again(fds[1], O_WRONLY);
}

Test(launcher_broker_given, a_pipe_of_the_caller_is_not_turned_round)
{
	static const enum pol_read_level levels[] = {POL_READ_ALL, POL_READ_NONE};
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_expect_eq(run(fds[0], write_to_stdin, POL_READ_ALL, true), 0, "positive control");
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(run(fds[0], write_to_stdin, levels[i], false), EACCES, "%u", i);
		cr_expect_eq(run(fds[0], write_both_to_stdin, levels[i], false), EACCES, "%u", i);
		cr_expect_eq(run(fds[0], read_stdin, levels[i], false), 0, "%u", i);
		cr_expect_eq(run(fds[1], write_to_stdin, levels[i], false), 0, "%u", i);
		cr_expect_eq(run(fds[0], own_pipe, levels[i], false), 0, "%u", i);
	}
	/* where all opens are performed */
	cr_expect_eq(run(fds[1], read_stdin, POL_READ_ALL, false), EACCES);
}

Test(launcher_broker_given, a_memory_file_of_the_caller_stays_as_it_is)
{
	int memory = memfd_create("caller's", MFD_CLOEXEC), fd;
	char name[32];
	struct stat st;

	cr_assert_eq(write(memory, "text", 4), 4);
	snprintf(name, sizeof name, "/proc/self/fd/%d", memory);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_expect_eq(run(fd, write_to_stdin, POL_READ_NONE, true), 0, "positive control");
	cr_expect_eq(run(fd, write_to_stdin, POL_READ_NONE, false), EACCES);
	cr_expect_eq(run(fd, cut_stdin, POL_READ_NONE, false), EACCES);
	cr_expect_eq(run(fd, read_stdin, POL_READ_NONE, false), 0);
	cr_expect_eq(fstat(memory, &st) + (int)st.st_size, 4);
	cr_expect_eq(run(memory, cut_stdin, POL_READ_NONE, false), 0);
}

/* ---- what has lost its name ---- */

static int nameless_fifo(void *arg)
{
	char name[32];
	int fd;

	(void)arg;
	if (mkfifo("p", 0666) < 0)
		return 200;
	fd = open("p", O_RDONLY | O_NONBLOCK);
	if (fd < 0 || link("p", "q") < 0 || unlink("p") < 0)
		return 201;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, name, AT_FDCWD, "r", AT_SYMLINK_FOLLOW) == 0)
		return 202;
	return again(fd, O_RDONLY | O_NONBLOCK) ? 203 : again(fd, O_WRONLY | O_NONBLOCK);
}

static int nameless_device(void *arg)
{
	int fd = open("null", O_RDONLY);

	(void)arg;
	if (fd < 0 || unlink("null") < 0)
		return 200;
	return again(fd, O_RDONLY) ? 201 : again(fd, O_WRONLY);
}

Test(launcher_broker_given, a_fifo_without_a_name_is_lent_as_its_descriptor_is)
{
	cr_expect_eq(run(-1, nameless_fifo, POL_READ_ALL, true), 202, "positive control");
	cr_assert_eq(system("rm -f p q r"), 0);
	cr_expect_eq(run(-1, nameless_fifo, POL_READ_ALL, false), EACCES);
}

Test(launcher_broker_given, a_device_without_a_name_is_lent_as_its_descriptor_is)
{
	if (mknod("null", S_IFCHR | 0666, makedev(1, 3)) < 0)
		cr_skip_test("only root makes device nodes");
	cr_expect_eq(run(-1, nameless_device, POL_READ_ALL, true), 0, "positive control");
	cr_assert_eq(mknod("null", S_IFCHR | 0666, makedev(1, 3)), 0);
	cr_expect_eq(run(-1, nameless_device, POL_READ_ALL, false), EACCES);
}
