/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "launcher/linux/nested/nest.h"

#include <criterion/criterion.h>
#include <sys/socket.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "policy/compile/bundle.h"
#include "policy/engine.h"

static const char texts[] = "/bin/true\0\0true\0A=1\0/ws\0npm\0HOME\0B=2";

static struct lau_nest_head head(void)
{
	return (struct lau_nest_head){.nargs = 1,
				      .nenv = 1,
				      .nworkspaces = 1,
				      .npresets = 1,
				      .npass = 1,
				      .nset = 1,
				      .texts = sizeof texts};
}

Test(launcher_nest, a_request_is_taken_apart)
{
	struct lau_nest_head h = head();
	struct lau_nest_request rq = {0};
	struct b_err err;

	cr_assert_eq(lau_nest_parse(&h, texts, &rq, &err), 0, "%s", err.msg);
	cr_assert_str_eq(rq.program, "/bin/true");
	cr_assert_str_eq(rq.caps, "");
	cr_assert_str_eq(rq.args[0], "true");
	cr_assert_null(rq.args[1]);
	cr_assert_str_eq(rq.env[0], "A=1");
	cr_assert_str_eq(rq.workspaces[0], "/ws");
	cr_assert_str_eq(rq.presets[0], "npm");
	cr_assert_str_eq(rq.set[0], "B=2");
	b_arena_release(&rq.arena);
}

Test(launcher_nest, a_request_that_says_more_or_less_than_it_has_is_refused)
{
	struct b_err err;

	for (int i = 0; i < 9; i++) {
		struct lau_nest_request rq = {0};
		struct lau_nest_head h = head();

		h.nargs = i == 0 ? 0 : i == 1 ? 2 : 1;
		h.nenv = i == 2 ? UINT32_MAX : 1;
		h.nset = i == 3 ? 0 : 1;
		h.texts -= i == 4;
		h.npipes = i == 5 ? LAU_NEST_PIPES + 1 : i == 6;
		h.pipes[0] = i == 6 ? LAU_NEST_TOP : 3;
		h.umask = i == 7 ? 01000 : 022;
		h.bundle = i == 8 ? UINT64_MAX : 0;
		cr_expect_eq(lau_nest_parse(&h, texts, &rq, &err), -1, "%d", i);
		cr_expect_eq(err.kind, B_FORMAT, "%d", i);
		b_arena_release(&rq.arena);
	}
}

/* Whoever makes a request may put automata that allow everything beside harmless rules, with the
 * right key. */
Test(launcher_nest, who_sends_byte_by_byte_holds_nobody_up)
{
	uint64_t start = b_now_ms();
	char data[4096];
	int sock[2];
	pid_t pid;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	pid = fork();
	if (pid == 0) {
		while (send(sock[1], "x", 1, MSG_NOSIGNAL) == 1)
			usleep(5000);
		_exit(0);
	}
	cr_expect_eq(lau_nest_receive(sock[0], data, 3, 0), 0, "who has time gets all");
	cr_expect_eq(lau_nest_receive(sock[0], data, sizeof data, start + 200), -1);
	cr_expect_lt(b_now_ms() - start, 15000); /* all of them would take twenty seconds */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(sock[0]);
	close(sock[1]);
}

Test(launcher_nest, automata_of_a_request_are_not_used)
{
	const char *ws[] = {"/usr/share"};
	const struct pol_request rq = {.workspaces = ws, .nworkspaces = 1, .managed = "/none"};
	struct lau_policy_opts opts = {0};
	struct b_str file = {0};
	struct pol_engine *e;
	struct b_err err;

	cr_assert_eq(pol_engine_new(&rq, &e, &err), 0, "%s", err.msg);
	cr_assert_eq(pol_bundle_write(&rq, e, &file, &err), 0, "%s", err.msg);
	opts.said = pol_said_nothing();
	cr_assert_eq(lau_policy_take(&opts, file.s, file.len, &err), 0, "%s", err.msg);
	cr_assert_str_eq(opts.bundle->key, "");
	lau_policy_opts_release(&opts);
	b_str_release(&file);
	pol_engine_free(e);
}

Test(launcher_nest, capabilities_and_depth_are_the_outer_runs_at_most)
{
	struct lau_plan outer_plan = {.keep_caps = 5}, plan = {.keep_caps = 6};
	struct lau_nest_outer outer = {.plan = &outer_plan, .depth = LAU_NEST_DEPTH - 2};
	const struct lau_nest_guest guest = {.outer = &outer};

	lau_nest_limit(&guest, &plan);
	cr_assert_eq(plan.keep_caps, 4);
	cr_assert_not(lau_nest_may(NULL, &plan));
	plan.floor.uses_broker = true;
	cr_assert(lau_nest_may(NULL, &plan));
	cr_assert(lau_nest_may(&guest, &plan));
	outer.depth++;
	cr_assert_not(lau_nest_may(&guest, &plan));
	plan.bounds.by[LAU_BOUND_NPROC] = LAU_HELD_RLIMIT;
	cr_assert_not(lau_nest_may(NULL, &plan));
}

static int child_checked(const struct lau_nest_server *s, int unshared)
{
	int ready[2], rc;
	struct b_err err;
	pid_t pid;
	char c;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		c = unshared && unshare(unshared) < 0 ? 'n' : 'y';
		(void)!write(ready[1], &c, 1);
		pause();
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	rc = c == 'n' ? -2 : lau_nest_check(s, pid, &err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (c == 'y')
		cr_assert_eq(lau_nest_check(s, pid, &err), -1); /* it is gone */
	close(ready[0]);
	close(ready[1]);
	return rc;
}

Test(launcher_nest, who_asks_must_be_a_process_of_the_run_as_it_began)
{
	const struct lau_nest_outer outer = {.cgroup = -1};
	struct lau_nest_server s = {.listener = -1};
	struct b_err err;
	int rc;

	cr_assert(lau_nest_serve(&s, &outer, getpid()));
	cr_assert_eq(child_checked(&s, 0), 0);
	/* of the same user, in the same namespaces, and not below the supervisor */
	cr_assert_eq(lau_nest_check(&s, getppid(), &err), -1);
	cr_assert_eq(err.kind, B_FLOOR);
	cr_assert_eq(lau_nest_check(&s, 0, &err), -1);
	rc = child_checked(&s, CLONE_NEWUSER);
	cr_assert_lt(rc, 0); /* -2: none can be made here */
	rc = child_checked(&s, CLONE_NEWUSER | CLONE_NEWNET);
	cr_assert_lt(rc, 0);
}
