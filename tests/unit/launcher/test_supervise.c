/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor with real processes; no confinement. */
#include "launcher/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/io.h"
#include "launcher/run/spawn.h"

static struct lau_signals signals;
static char left[512];
static bool log_fails;

static void note_left(void *ctx, const char *list)
{
	(void)ctx;
	snprintf(left, sizeof left, "%s", list);
}

static int drain(void *ctx, bool final, int *out_poll_ms, struct b_err *err)
{
	(void)ctx;
	(void) final;
	*out_poll_ms = 5;
	return log_fails ? b_fail(err, B_AUDIT, ENOSPC, "disk full") : 0;
}

static struct lau_outcome run(const char *script, uint64_t timeout_ms, uint64_t kill_after_ms)
{
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(script), NULL};
	char *envp[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
	struct lau_spawn sp = {
		.signals = &signals, .program = "/bin/sh", .argv = argv, .envp = envp};
	struct lau_spawned child;
	struct lau_outcome out;
	struct lau_supervisor s = {.signals = &signals,
				   .deadline_ms = timeout_ms ? b_now_ms() + timeout_ms : 0,
				   .kill_after_ms = kill_after_ms,
				   .drain = drain,
				   .left = note_left};
	struct b_err err;

	left[0] = '\0';
	if (timeout_ms)
		s.timer = lau_timer_start(s.deadline_ms);
	cr_assert_eq(lau_spawn(&sp, &child, &err), 0, "%s", err.msg);
	s.command = child.pid;
	lau_supervise(&s, &out);
	lau_timer_stop(s.timer);
	free(argv[2]);
	/* nobody is ever left behind */
	cr_expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return out;
}

static void set_up(void)
{
	cr_assert_eq(lau_signals_open(&signals, NULL), 0);
	lau_processes_adopt();
}

TestSuite(launcher_supervise, .init = set_up, .timeout = 20);

Test(launcher_supervise, status_of_the_command_is_the_outcome)
{
	struct lau_outcome out = run("exit 7", 0, 0);

	cr_expect_eq(out.phase, LAU_PHASE_COMMAND);
	cr_expect_eq(out.exit_code, 7);
	cr_expect_eq(out.signal, 0);
	out = run("kill -USR1 $$", 0, 0);
	cr_expect_eq(out.signal, SIGUSR1);
}

Test(launcher_supervise, a_quick_end_costs_no_grace)
{
	uint64_t start = b_now_ms();

	run("exit 0", 0, 60000);
	cr_expect_lt(b_now_ms() - start, 30000);
}

Test(launcher_supervise, what_is_left_running_is_named_and_ended)
{
	uint64_t took = 900;

	/* where the machine is busy, the quickest of four */
	for (int i = 0; i < 4 && took >= 900; i++) {
		uint64_t start = b_now_ms();
		struct lau_outcome out =
			run("sleep 300 & while [ \"$(cat /proc/$!/comm)\" != sleep ]; "
			    "do :; done; exit 3",
			    0, 0);

		took = b_now_ms() - start;
		cr_expect_eq(out.exit_code, 3);
		cr_expect(strstr(left, "sleep"), "%s", left);
	}
	cr_expect_lt(took, 900); /* TERM was enough */
}

Test(launcher_supervise, what_left_the_session_is_found_too)
{
	struct lau_outcome out = run("setsid sh -c 'setsid sleep 301 & exit' & wait; exit 4", 0, 0);

	cr_expect_eq(out.exit_code, 4);
	cr_expect(*left); /* "sleep", or still "setsid" */
}

Test(launcher_supervise, what_ignores_term_is_killed_after_a_second)
{
	uint64_t start = b_now_ms(), took;
	/* ignored signals are inherited */
	struct lau_outcome out = run("trap '' TERM; sleep 304 & exit 5", 0, 0);

	took = b_now_ms() - start;
	cr_expect_eq(out.exit_code, 5, "%d %d", out.exit_code, out.signal);
	cr_expect(took >= 900 && took < 5000, "%d ms", (int)took);
}

Test(launcher_supervise, a_deadline_ends_a_command_that_stops_itself)
{
	/* one that stops us with it: in a process group of its own, not to stop the test's */
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct lau_outcome out;

		setpgid(0, 0);
		out = run("kill -STOP $$; exit 0", 100, 10000);
		if (out.phase != LAU_PHASE_TIMEOUT || out.signal != SIGTERM)
			_exit(1);
		/* TERM does not end it, and it stops the group once more; longer on a machine too
		 * busy for the trap to be set by then */
		for (uint64_t ms = 100; ms <= 10000; ms *= 4) {
			out = run("trap 'kill -STOP 0' TERM; kill -STOP 0; while :; do :; done", ms,
				  300);
			if (out.was_killed)
				break;
		}
		_exit(out.phase == LAU_PHASE_TIMEOUT && out.was_killed ? 0 : 2);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%x", status);
}

/* With a broker it takes some milliseconds to know whether somebody is left: the deadline may come
 * in between. */
Test(launcher_supervise, who_ended_before_the_deadline_was_in_time)
{
	struct lau_supervisor s = {.signals = &signals, .broker = getpid(), .left = note_left};
	pid_t left_over = fork();
	struct lau_outcome out;
	siginfo_t info;

	if (left_over == 0) {
		lau_signals_restore(&signals);
		pause();
	}
	s.command = fork();
	if (s.command == 0)
		_exit(6);
	cr_assert_eq(waitid(P_PID, (id_t)s.command, &info, WEXITED | WNOWAIT), 0);
	s.deadline_ms = b_now_ms() + 1;
	lau_supervise(&s, &out);
	cr_expect_eq(out.phase, LAU_PHASE_COMMAND);
	cr_expect_eq(lau_outcome_status(&out), 6);
}

/* As before Linux 5.9, and below the filter of an old container. */
static int hide_close_range(void)
{
	struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog prog = {4, insn};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

Test(launcher_supervise, the_timer_holds_nothing_open_without_close_range)
{
	int pipes[2];
	pid_t timer;
	char none;

	cr_assert_eq(hide_close_range(), 0);
	cr_assert_eq(pipe(pipes), 0);
	timer = lau_timer_start(b_now_ms() + 60000); /* returns when it has let go */
	cr_expect_gt(timer, 0);
	close(pipes[1]);
	cr_expect_eq(read(pipes[0], &none, 1), 0);
	lau_timer_stop(timer);
}

Test(launcher_supervise, deadline_ends_the_whole_tree)
{
	struct lau_outcome out = run("sleep 302; exit 0", 50, 10000);

	cr_expect_eq(out.phase, LAU_PHASE_TIMEOUT);
	cr_expect_not(out.was_killed);
	cr_expect_eq(lau_outcome_status(&out), 124);
}

Test(launcher_supervise, deadline_kills_what_ignores_it)
{
	struct lau_outcome out;

	/* longer on a machine too busy for the trap to be set by then */
	for (uint64_t ms = 50; ms <= 10000; ms *= 4) {
		out = run("trap '' TERM; while :; do sleep 0.05; done", ms, 50);
		if (out.was_killed)
			break;
	}
	cr_expect_eq(lau_outcome_status(&out), 137);
	cr_expect_eq(out.signal, SIGKILL);
}

Test(launcher_supervise, stops_and_goes_on_with_the_command)
{
	pid_t me = getpid(), waker = fork();
	struct lau_outcome out;

	if (waker == 0) {
		/* not a child of ours to be waited for: orphaned at once */
		if (fork() == 0) {
			char path[32], text[256] = "";

			snprintf(path, sizeof path, "/proc/%d/stat", (int)me);
			for (;;) { /* until the supervisor has stopped */
				int fd = open(path, O_RDONLY);
				ssize_t n = read(fd, text, sizeof text - 1);

				close(fd);
				if (n > 0 && strstr(text, ") T "))
					break;
				usleep(1000);
			}
			kill(me, SIGCONT);
		}
		_exit(0);
	}
	out = run("kill -STOP $$; exit 9", 0, 1000);
	cr_expect_eq(out.exit_code, 9);
}

Test(launcher_supervise, signals_from_processes_are_passed_on)
{
	/* a child of the command signals us, whom it knows as the command's parent */
	struct lau_outcome out = run("trap 'exit 11' USR1\n"
				     "sh -c 'kill -USR1 '$PPID\n"
				     "while :; do sleep 0.02; done",
				     0, 0);

	cr_expect_eq(out.exit_code, 11);
}

Test(launcher_supervise, a_required_log_that_fails_ends_the_run)
{
	struct lau_outcome out;

	log_fails = true;
	out = run("sleep 303", 0, 1000);
	log_fails = false;
	cr_expect_eq(out.phase, LAU_PHASE_ABORTED);
	cr_expect_eq(lau_outcome_status(&out), 125);
	cr_expect_str_eq(out.err.msg, "disk full");
}

Test(launcher_supervise, spawn_tells_what_exec_said)
{
	char *argv[] = {(char[]){"x"}, NULL}, *envp[] = {NULL};
	struct lau_spawn sp = {
		.signals = &signals, .program = "/nonexistent", .argv = argv, .envp = envp};
	struct lau_spawned child;
	struct b_err err;

	cr_expect_eq(lau_spawn(&sp, &child, &err), -1);
	cr_expect_eq(err.kind, B_NOTFOUND);
	cr_expect_eq(child.step, LAU_SPAWN_EXEC);
	sp.program = "/etc";
	cr_expect_eq(lau_spawn(&sp, &child, &err), -1);
	cr_expect_eq(err.kind, B_NOEXEC);
	cr_expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

Test(launcher_supervise, script_without_interpreter_runs_under_sh)
{
	char path[] = "/tmp/test_supervise.XXXXXX";
	char *argv[] = {(char[]){"name"}, (char[]){"6"}, NULL}, *envp[] = {NULL};
	struct lau_spawn sp = {.signals = &signals, .program = path, .argv = argv, .envp = envp};
	struct lau_supervisor s = {.signals = &signals};
	int fd = mkstemp(path);
	struct lau_spawned child;
	struct lau_outcome out;
	struct b_err err;

	cr_assert_eq(b_write_all(fd, "exit $1\n", 8), 0);
	fchmod(fd, 0755);
	close(fd);
	cr_assert_eq(lau_spawn(&sp, &child, &err), 0, "%s", err.msg);
	s.command = child.pid;
	lau_supervise(&s, &out);
	cr_expect_eq(out.exit_code, 6);
	unlink(path);
}
