/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/linux/bwrap/wrap.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/supervise/supervise.h"
#include "policy/plan/landlock.h"

/* Starts the second stage with the first n bytes of a plan; what it said behind its hello. */
static int second_stage(const struct b_str *spec, size_t n, int hello[2],
			struct lau_stage2_report *out)
{
	int fd = memfd_create("plan", 0), status = -1;
	char number[16], hi;
	char *argv[] = {(char[]){"sbx-launch"}, (char[]){LAU_STAGE2}, number, NULL};
	pid_t pid;

	cr_assert_eq(write(fd, spec->s, n), (ssize_t)n);
	snprintf(number, sizeof number, "%d", fd);
	pid = fork();
	if (pid == 0)
		_exit(lau_stage2(3, argv));
	close(fd);
	close(hello[1]);
	memset(out, 0, sizeof *out);
	if (b_read_full(hello[0], &hi, 1) == 1)
		(void)b_read_full(hello[0], out, sizeof *out);
	close(hello[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void plan(struct b_str *out, int hello[2])
{
	char *argv[] = {(char[]){"true"}, NULL}, *envp[] = {(char[]){"A=1"}, NULL};
	const struct lau_confine confine = {.landlock_fd = -1};
	const struct lau_wrap wrap = {.keep_caps = UINT64_MAX};
	const struct lau_spawn spawn = {
		.confine = &confine, .program = "/bin/true", .argv = argv, .envp = envp};

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, hello), 0);
	b_str_reset(out);
	lau_stage2_spec(&wrap, &spawn, hello[1], out);
}

Test(launcher_stage2, a_whole_plan_becomes_the_command)
{
	b_auto(b_str_release) struct b_str spec = {0};
	struct lau_stage2_report said;
	int hello[2];

	plan(&spec, hello);
	cr_expect_eq(second_stage(&spec, spec.len, hello, &said), 0, "%s", said.err.msg);
	cr_expect_eq(said.err.kind, B_OK);
}

/* What is missing were a filter, capabilities and a Landlock domain that say nothing. */
Test(launcher_stage2, a_plan_cut_short_starts_nothing)
{
	b_auto(b_str_release) struct b_str spec = {0};
	struct lau_stage2_report said;
	size_t whole = 1;

	for (size_t n = 0; n < whole; n += 7) {
		int hello[2];

		plan(&spec, hello);
		whole = spec.len;
		cr_expect_eq(second_stage(&spec, n, hello, &said), LAU_STATUS_OURS, "%zu", n);
		cr_expect_eq(said.err.kind, n < 8 ? B_OK : B_FLOOR, "%zu", n);
	}
}
