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
#include "policy/bundle.h"
#include "policy/engine.h"

#define W(text)                                                                                    \
	(char[])                                                                                   \
	{                                                                                          \
		text                                                                               \
	}

static void pack(struct b_str *out, unsigned mask, int pipe, bool has_args)
{
	char *args[] = {W("true"), NULL}, *env[] = {W("A=1"), NULL}, *ws[] = {W("/ws"), NULL},
	     *presets[] = {W("npm"), NULL}, *options[] = {W("sbx-launch"), W("-q"), NULL};
	const struct lau_nest_request rq = {.umask = mask,
					    .ignored = 6,
					    .pipes = {pipe},
					    .npipes = 1,
					    .program = "/bin/true",
					    .args = args + !has_args,
					    .env = env,
					    .workspaces = ws,
					    .presets = presets,
					    .options = options,
					    .bundle = "policy",
					    .bundle_size = 6};

	b_str_reset(out);
	lau_nest_pack(&rq, out);
}

Test(launcher_nest, a_request_is_taken_apart)
{
	b_auto(b_str_release) struct b_str s = {0};
	struct lau_nest_request rq = {0};
	struct b_err err;

	pack(&s, 022, 5, true);
	cr_assert_eq(lau_nest_parse(s.s, s.len, &rq, &err), 0, "%s", err.msg);
	cr_assert_str_eq(rq.program, "/bin/true");
	cr_assert_str_eq(rq.args[0], "true");
	cr_assert_null(rq.args[1]);
	cr_assert_str_eq(rq.env[0], "A=1");
	cr_assert_str_eq(rq.workspaces[0], "/ws");
	cr_assert_str_eq(rq.presets[0], "npm");
	cr_assert_str_eq(rq.options[1], "-q");
	cr_assert_eq(rq.umask, 022);
	cr_assert_eq(rq.ignored, 6);
	cr_assert_eq(rq.npipes, 1);
	cr_assert_eq(rq.pipes[0], 5);
	cr_assert_eq(rq.bundle_size, 6);
	b_arena_release(&rq.arena);
}

static void refused(const struct b_str *s, size_t n, const char *what)
{
	struct lau_nest_request rq = {0};
	struct b_err err = {0};

	cr_expect_eq(lau_nest_parse(s->s, n, &rq, &err), -1, "%s: %zu", what, n);
	cr_expect_eq(err.kind, B_FORMAT);
	b_arena_release(&rq.arena);
}

Test(launcher_nest, a_request_that_says_more_or_less_than_it_has_is_refused)
{
	b_auto(b_str_release) struct b_str s = {0};

	pack(&s, 022, 5, true);
	for (size_t n = 0; n < s.len; n++)
		refused(&s, n, "cut short");
	b_str_addn(&s, "12345678", 8);
	refused(&s, s.len, "grown");
	pack(&s, 01000, 5, true);
	refused(&s, s.len, "umask");
	pack(&s, 022, LAU_NEST_TOP, true);
	refused(&s, s.len, "high pipe");
	pack(&s, 022, 2, true);
	refused(&s, s.len, "low pipe");
	pack(&s, 022, 5, false);
	refused(&s, s.len, "no words");
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

#define W(text)                                                                                    \
	(char[])                                                                                   \
	{                                                                                          \
		text                                                                               \
	}

/* What is sent is parsed by the same rows; what is not sent is no word of a request. */
Test(launcher_nest, options_reach_the_outer_run_as_words)
{
	char *argv[] = {W("sbx-launch"), W("-qvv"),	W("--timeout=5s"), W("--status-fd"),
			W("1"),		 W("--setenv"), W("A=b"),	   W("--memory"),
			W("1G"),	 W("--"),	W("true"),	   NULL};
	static const char *const bad[] = {"--keep-fd=0", "--chdir=/", "word", "--no-shim"};
	b_auto(b_strlist_release) struct b_strlist sent = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct lau_options o, got;
	struct b_err err;
	char *words[16] = {0};

	lau_options_init(&o);
	cr_assert_eq(lau_options_parse(11, argv, &o, &err), 0, "%s", err.msg);
	cr_assert_eq(lau_options_send(&o, &a, &sent, &err), 0, "%s", err.msg);
	cr_assert_eq(sent.n, 7);
	memcpy(words, sent.v, sent.n * sizeof *words);
	lau_options_init(&got);
	cr_assert_eq(lau_options_receive(words, &got, &err), 0, "%s", err.msg);
	cr_expect_eq(got.quiet, 1);
	cr_expect_eq(got.verbose, 2);
	cr_expect_eq(got.timeout_ms, 5000);
	cr_expect_eq(got.bounds.v[LAU_BOUND_MEMORY], o.bounds.v[LAU_BOUND_MEMORY]);
	cr_expect_str_eq(got.set_env.v[0], "A=b");
	cr_expect_eq(got.status_fd, -1);
	lau_options_release(&got);
	lau_options_release(&o);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		words[1] = strdup(bad[i]);
		words[2] = NULL;
		lau_options_init(&got);
		cr_expect_eq(lau_options_receive(words, &got, &err), -1, "%s", bad[i]);
		lau_options_release(&got);
		free(words[1]);
	}
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
