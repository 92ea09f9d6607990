/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a pid namespace ends when it is told to and alone, whoever reaps whom. */
#include "launcher/run/confine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

#define FOR_EVER_MS 10000u

static const struct lau_confine wanted = {.isolate = LAU_ISOLATE_PID,
					  .isolate_must = LAU_ISOLATE_PID,
					  .landlock_fd = -1,
					  .broker_landlock_fd = -1};

struct made {
	pid_t init, other;
};

/* Makes the namespace, its first process, and another in it that lives until `end` closes: both are
 * our parent's children. */
static _Noreturn void make(pid_t supervisor, int out, int end, int alone)
{
	struct made m = {0};
	struct b_err err = {0};
	char c;

	if (lau_confine_namespaces(&wanted, &err) < 0 ||
	    lau_confine_init(&wanted, supervisor, alone, &m.init, &err) < 0)
		_exit(1);
	m.other = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (m.other == 0)
		_exit((int)read(end, &c, 1));
	_exit(write(out, &m, sizeof m) != (ssize_t)sizeof m);
}

static bool has_ended(pid_t pid, unsigned ms)
{
	uint64_t until = b_deadline_ms(ms);

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (b_now_ms() >= until)
			return false;
		(void)poll(NULL, 0, 5);
	}
	return true;
}

Test(launcher_confine_init, it_ends_when_others_were_reaped_without_a_word, .timeout = 60)
{
	int out[2], end[2], status;
	struct made m;
	siginfo_t info;
	pid_t pid;

	cr_assert(pipe(out) == 0 && pipe(end) == 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		make(getppid(), out[1], end[0], -1);
	}
	close(out[1]);
	close(end[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (status)
		cr_skip_test("no pid namespace here");
	cr_assert_eq(b_read_full(out[0], &m, sizeof m), (ssize_t)sizeof m);
	cr_assert_eq(kill(m.init, SIGTERM), 0);
	cr_expect_not(has_ended(m.init, 100), "somebody is left");
	/* it ends, and nobody reaps it yet */
	close(end[1]);
	cr_assert_eq(waitid(P_PID, (id_t)m.other, &info, WEXITED | WNOWAIT), 0);
	cr_expect_not(has_ended(m.init, 100), "a zombie is left");
	cr_assert_eq(waitpid(m.other, NULL, 0), m.other);
	cr_expect(has_ended(m.init, FOR_EVER_MS));
	(void)kill(m.init, SIGKILL);
}

/* The byte comes when nobody else is left, not before; and without a word nobody is told. */
Test(launcher_confine_init, it_says_that_it_is_alone, .timeout = 60)
{
	int out[2], end[2], alone[2], status;
	struct made m;
	struct pollfd p;
	pid_t pid;
	char byte;

	cr_assert(pipe(out) == 0 && pipe(end) == 0 && pipe(alone) == 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		make(getppid(), out[1], end[0], alone[1]);
	}
	close(out[1]);
	close(end[0]);
	close(alone[1]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (status)
		cr_skip_test("no pid namespace here");
	cr_assert_eq(b_read_full(out[0], &m, sizeof m), (ssize_t)sizeof m);
	p = (struct pollfd){.fd = alone[0], .events = POLLIN};
	cr_assert_eq(kill(m.init, SIGTERM), 0);
	cr_expect_eq(poll(&p, 1, 100), 0, "somebody is left");
	close(end[1]);
	cr_expect_eq(poll(&p, 1, 100), 0, "a zombie is left");
	cr_assert_eq(waitpid(m.other, NULL, 0), m.other);
	cr_assert_eq(poll(&p, 1, FOR_EVER_MS), 1);
	cr_expect_eq(read(alone[0], &byte, 1), 1);
	cr_expect(has_ended(m.init, FOR_EVER_MS));
	cr_expect_eq(read(alone[0], &byte, 1), 0, "nobody else holds it");
}

Test(launcher_confine_init, killed_it_says_nothing, .timeout = 60)
{
	int out[2], end[2], alone[2], status;
	struct made m;
	pid_t pid;
	char byte;

	cr_assert(pipe(out) == 0 && pipe(end) == 0 && pipe(alone) == 0);
	pid = fork();
	if (pid == 0)
		make(getppid(), out[1], end[0], alone[1]);
	close(out[1]);
	close(alone[1]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (status)
		cr_skip_test("no pid namespace here");
	cr_assert_eq(b_read_full(out[0], &m, sizeof m), (ssize_t)sizeof m);
	cr_assert_eq(kill(m.init, SIGKILL), 0);
	cr_assert_eq(waitpid(m.other, NULL, 0), m.other);
	cr_expect(has_ended(m.init, FOR_EVER_MS));
	cr_expect_eq(read(alone[0], &byte, 1), 0);
}
