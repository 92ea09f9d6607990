/* SPDX-License-Identifier: Apache-2.0 */
/* The command as the broker's child: what the two ends tell each other. */
#include "launcher/linux/process/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

static int socks[2];

static void block(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks), 0);
}

TestSuite(launcher_reports, .init = block, .timeout = 20);

/* In this process: waits until something has changed, and takes it. */
static void take(struct lau_wards *w)
{
	struct pollfd p[2];

	lau_wards_poll(w, p);
	cr_assert_gt(poll(p, 2, 5000), 0);
	lau_wards_take(w);
}

static pid_t child_that(void (*act)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		act();
		_exit(0);
	}
	return pid;
}

static void exits(void)
{
	_exit(7);
}
static void is_killed(void)
{
	raise(SIGKILL);
}
static void stops(void)
{
	raise(SIGSTOP);
	_exit(3);
}

static int told(struct lau_reports *r, enum lau_watched want)
{
	struct lau_signal s = {0};

	cr_expect_eq(r->watch.ready(&r->watch, &s), want);
	return s.signo;
}

Test(launcher_reports, the_number_stays_until_the_end_was_heard_of)
{
	struct lau_reports r;
	struct lau_wards w;
	pid_t pid = child_that(exits);
	int status;

	cr_assert_eq(lau_wards_open(&w, socks[1], pid), 0);
	lau_reports_open(&r, socks[0]);
	take(&w);
	cr_expect_eq(kill(pid, 0), 0, "it is no longer ours to signal");
	lau_wards_take(&w);
	cr_expect_eq(kill(pid, 0), 0);
	status = told(&r, LAU_WATCH_CHANGED);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	take(&w);
	cr_expect(kill(pid, 0) < 0 && errno == ESRCH, "it was not reaped");
}

Test(launcher_reports, statuses_are_those_of_wait)
{
	struct lau_reports r;
	struct lau_wards w;
	pid_t pid = child_that(stops);
	int status;

	cr_assert_eq(lau_wards_open(&w, socks[1], pid), 0);
	lau_reports_open(&r, socks[0]);
	take(&w);
	status = told(&r, LAU_WATCH_CHANGED);
	cr_expect(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	cr_expect_not(r.has_ended);
	kill(pid, SIGCONT);
	lau_wards_finish((lau_reports_close(&r), &w)); /* nobody listens: it does not wait */
	cr_expect(waitpid(pid, &status, 0) < 0 && errno == ECHILD);
}

Test(launcher_reports, a_signal_is_told)
{
	struct lau_reports r;
	struct lau_wards w;
	pid_t pid = child_that(is_killed);
	int status;

	cr_assert_eq(lau_wards_open(&w, socks[1], pid), 0);
	lau_reports_open(&r, socks[0]);
	take(&w);
	status = told(&r, LAU_WATCH_CHANGED);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cr_expect(r.has_ended);
}

Test(launcher_reports, a_broker_that_is_gone_took_the_command_along)
{
	struct lau_reports r;
	int status;

	lau_reports_open(&r, socks[0]);
	close(socks[1]);
	status = told(&r, LAU_WATCH_CHANGED);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cr_expect_eq(r.watch.fd, -1);
}

Test(launcher_reports, orphans_are_reaped_and_not_told)
{
	struct lau_reports r;
	struct lau_wards w;
	pid_t command = child_that(stops), orphan = child_that(exits);

	cr_assert_eq(lau_wards_open(&w, socks[1], command), 0);
	lau_reports_open(&r, socks[0]);
	for (int i = 0; i < 100 && kill(orphan, 0) == 0; i++)
		take(&w);
	cr_expect(kill(orphan, 0) < 0 && errno == ESRCH);
	while (poll(&(struct pollfd){.fd = socks[0], .events = POLLIN}, 1, 0) > 0)
		cr_expect(WIFSTOPPED(told(&r, LAU_WATCH_CHANGED)));
	cr_expect_eq(kill(command, SIGKILL), 0);
}
