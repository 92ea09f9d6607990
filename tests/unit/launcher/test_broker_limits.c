/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of the run passes to a process outside in the middle of a call that sets another
 * process's limits or processors: between the broker's look and the deed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

TestSuite(launcher_broker_limits, .init = sb_tree_set_up, .fini = sb_tree_tear_down, .timeout = 60);

enum { WAIT_MS = 10000, HELD_MS = 200 }; /* for a number, and for one that is not given away */

static struct {
	_Atomic int left;    /* times that the broker is still to be held, 0 = never */
	_Atomic pid_t child; /* of the run */
	_Atomic pid_t owner; /* outside, of the same number, which says of itself: */
	_Atomic unsigned looked, files, processors;
} * shared;
static int to_host[2], to_broker[2];
static uid_t as;

static void hold(enum lau_broker_point at)
{
	char byte;

	if (at != BR_POINT_JUDGED || !shared->left || --shared->left)
		return;
	(void)!write(to_host[1], "", 1);
	(void)!read(to_broker[0], &byte, 1);
}

static void nap(void)
{
	const struct timespec ms = {0, 1000000};

	nanosleep(&ms, NULL);
}

static void die_with_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() == 1)
		_exit(1);
}

static bool is_free(pid_t pid, int wait_ms)
{
	for (int ms = 0; ms < wait_ms; ms++) {
		if (kill(pid, 0) < 0)
			return errno == ESRCH;
		nap();
	}
	return false;
}

/* A process outside with that number, which needs CAP_CHECKPOINT_RESTORE. */
static pid_t make_owner(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

	if (pid != 0)
		return pid;
	if (as && (setresgid(as, as, as) < 0 || setresuid(as, as, as) < 0))
		_exit(1);
	die_with_parent();
	shared->owner = number;
	for (;; shared->looked++) {
		struct rlimit lim;
		cpu_set_t own;

		if (getrlimit(RLIMIT_NOFILE, &lim) == 0)
			shared->files = (unsigned)lim.rlim_max;
		if (sched_getaffinity(0, sizeof own, &own) == 0)
			shared->processors = (unsigned)CPU_COUNT(&own);
		nap();
	}
}

static pid_t start_host(bool is_held)
{
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	die_with_parent();
	if (read(to_host[0], &byte, 1) != 1)
		_exit(1);
	kill(shared->child, SIGKILL);
	if (is_free(shared->child, is_held ? HELD_MS : WAIT_MS) && make_owner(shared->child) > 0)
		while (!shared->owner)
			sched_yield();
	(void)!write(to_broker[1], "", 1);
	for (;;)
		pause();
}

static void *reap(void *arg)
{
	(void)waitpid(shared->child, NULL, 0);
	return arg;
}

static const struct rlimit few = {8, 8};
static const unsigned long one = 1;

static int limit_child(void *arg)
{
	pid_t child = fork();
	pthread_t t;

	while (child == 0)
		pause();
	shared->child = child;
	if (child < 0 || pthread_create(&t, NULL, reap, NULL) != 0)
		return SB_BROKEN;
	shared->left = *(int *)arg / 2 + 1;
	return sb_result(*(int *)arg % 2 ? syscall(SYS_prlimit64, child, RLIMIT_NOFILE, &few, NULL)
					 : syscall(SYS_sched_setaffinity, child, sizeof one, &one));
}

static void expect_untouched(void)
{
	unsigned before = shared->looked;
	cpu_set_t own;

	while (shared->looked < before + 2)
		nap();
	cr_assert_eq(sched_getaffinity(0, sizeof own, &own), 0);
	cr_expect_neq(shared->files, few.rlim_max);
	cr_expect_eq(shared->processors, (unsigned)CPU_COUNT(&own));
}

/* kind: which call, odd or even; and at which look, before or after the number is held. */
static void pass_number(int kind)
{
	const struct sb_options o = {.test_point = hold, .uid = as};
	bool is_held = kind / 2;
	pid_t host;
	int got;

	shared->left = shared->child = shared->owner = 0;
	cr_assert_eq(pipe(to_host) | pipe(to_broker), 0);
	host = start_host(is_held);
	got = sb_run(&sb_tree_policy, &o, limit_child, &kind);
	cr_expect_eq(shared->left, 0, "%d: the look was never reached", kind);
	cr_expect_eq(shared->owner != 0, !is_held, "%d: the number was given away", kind);
	if (is_held)
		cr_expect_eq(got, 0, "%d: %d", kind, got);
	else
		cr_expect(got == EPERM || got == ESRCH, "%d, uid %u: %d", kind, as, got);
	if (shared->owner) {
		expect_untouched();
		kill(shared->owner, SIGKILL);
	}
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	close(to_host[0]), close(to_host[1]), close(to_broker[0]), close(to_broker[1]);
}

static void set_shared(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(shared, MAP_FAILED);
}

Test(launcher_broker_limits, a_number_that_passes_outside_takes_no_limit_along)
{
	if (geteuid() != 0)
		cr_skip_test("only root gives a process its number");
	set_shared();
	for (int kind = 0; kind < 4; kind++) {
		as = 0;
		pass_number(kind);
		as = SB_NOBODY;
		pass_number(kind);
	}
}

/* ---- without a race ---- */

static void *sleep_long(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static int limit_thread_and_child(void *arg)
{
	_Atomic pid_t tid = 0;
	struct rlimit was = {0}, lim = {0};
	cpu_set_t its;
	pthread_t t;
	pid_t child = fork();
	int rc = 1;

	(void)arg;
	while (child == 0)
		pause();
	if (child < 0 || pthread_create(&t, NULL, sleep_long, &tid) != 0)
		return SB_BROKEN;
	while (!tid)
		sched_yield();
	if (prlimit(child, RLIMIT_NOFILE, &few, &was) == 0 && was.rlim_max > few.rlim_max &&
	    prlimit(child, RLIMIT_NOFILE, NULL, &lim) == 0 && lim.rlim_max == few.rlim_max &&
	    syscall(SYS_sched_setaffinity, tid, sizeof one, &one) == 0 &&
	    sched_getaffinity(tid, sizeof its, &its) == 0 && CPU_COUNT(&its) == 1 &&
	    syscall(SYS_prlimit64, child, RLIMIT_NOFILE, (void *)8, NULL) < 0 && errno == EFAULT &&
	    kill(child, 0) == 0)
		rc = 0;
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child ? rc : 2;
}

Test(launcher_broker_limits, threads_and_children_get_theirs)
{
	sb_expect_at(limit_thread_and_child, POL_READ_NONE, 0);
}
