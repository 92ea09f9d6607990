/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a worker and the signal of the watch exclude each other: the broker is held at the
 * points where they would meet. launcher/linux/broker/watch.c */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

TestSuite(launcher_broker_answers, .init = sb_tree_set_up, .fini = sb_tree_tear_down,
	  .timeout = 60);

/* Seen by the test and by the broker, which is a child of it. */
static struct {
	atomic_int served; /* calls that have come to their answer */
	atomic_int hold;   /* this one is held there */
	atomic_bool is_held, signals, has_signalled;
	atomic_int met; /* settled although the signal was on its way */
	atomic_int signalled;
	atomic_int broker; /* its number */
} * seen;

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0)
		;
}

static void share(void)
{
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)seen, MAP_FAILED);
}

/* ---- forced: the caller is killed while its answer is ready ---- */

static void forced(enum lau_broker_point at)
{
	if (at == BR_POINT_SERVED && atomic_fetch_add(&seen->served, 1) + 1 == seen->hold) {
		seen->is_held = true;
		for (int i = 0; i < 2000 && !seen->signals; i++)
			sleep_ms(1);
	}
	if (at == BR_POINT_SIGNAL) {
		seen->signals = true;
		seen->signalled++;
		sleep_ms(60); /* the worker would have answered long since */
		seen->has_signalled = true;
	}
	if (at == BR_POINT_SETTLED && seen->signals && !seen->has_signalled)
		seen->met++;
}

static bool opens_well(void)
{
	struct stat a, b;
	int fd = open(sb_in("f"), O_RDONLY | O_CLOEXEC);
	bool ok = fd > 2 && fstat(fd, &a) == 0 && stat(sb_in("f"), &b) == 0 && a.st_ino == b.st_ino;

	if (fd > 0)
		close(fd);
	return ok;
}

static int die_in_an_open(void *arg)
{
	pid_t pid;

	(void)arg;
	if (!opens_well())
		return 1;
	seen->hold = seen->served + 1;
	pid = fork();
	if (pid == 0)
		_exit(!opens_well());
	for (int i = 0; i < 2000 && !seen->is_held; i++)
		sleep_ms(1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2000 && !seen->has_signalled; i++)
		sleep_ms(1);
	for (int i = 0; i < 200; i++)
		if (!opens_well())
			return 2;
	return 0;
}

Test(launcher_broker_answers, no_answer_while_a_signal_is_on_its_way)
{
	const struct sb_options o = {
		.level = POL_READ_ALL, .test_point = forced, .no_filter = true};

	share();
	cr_expect_eq(sb_run(&sb_tree_policy, &o, die_in_an_open, NULL), 0);
	cr_expect(seen->is_held);
	cr_expect_geq(seen->signalled, 1, "the watch did not signal: nothing was forced");
	cr_expect_eq(seen->met, 0);
}

/* ---- at random: callers die and wait beside one that opens ---- */

static void slowly(enum lau_broker_point at)
{
	static atomic_uint n;

	if (at != BR_POINT_SIGNAL && n++ % 16 == 0)
		sleep_ms(25); /* two looks of the watch */
}

static void *open_all_the_time(void *arg)
{
	(void)arg;
	for (;;)
		(void)opens_well();
	return NULL;
}

static int open_beside_the_dying(void *arg)
{
	time_t end = time(NULL) + 3;
	int bad = 0;

	(void)arg;
	while (time(NULL) < end) {
		pid_t pid = fork();
		pthread_t t;

		if (pid == 0) {
			if (pthread_create(&t, NULL, open_all_the_time, NULL) != 0)
				_exit(1);
			open_all_the_time(NULL);
		}
		for (int i = 0; i < 8; i++)
			bad += !opens_well();
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return bad > 100 ? 100 : bad;
}

Test(launcher_broker_answers, every_open_has_its_descriptor)
{
	const struct sb_options o = {
		.level = POL_READ_ALL, .test_point = slowly, .no_filter = true};

	cr_expect_eq(sb_run(&sb_tree_policy, &o, open_beside_the_dying, NULL), 0);
}

/* ---- the host stops the broker ---- */

static int open_in_children(void *arg)
{
	time_t end = time(NULL) + 3;
	int bad = 0;

	(void)arg;
	seen->broker = getppid();
	while (time(NULL) < end) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = 0; i < 100; i++)
				if (!opens_well()) {
					sleep_ms(2000); /* it is ended before */
					_exit(1);
				}
			_exit(0);
		}
		waitpid(pid, &status, 0);
		bad += WIFEXITED(status) && WEXITSTATUS(status);
	}
	return bad > 100 ? 100 : bad;
}

static _Noreturn void stop_and_go(void)
{
	for (;;) {
		if (seen->broker) {
			kill(seen->broker, SIGSTOP);
			kill(seen->broker, SIGCONT);
		}
		for (volatile int i = 0; i < 2000; i++)
			;
	}
}

/* The caller is answered by a descriptor, or ended at once. */
Test(launcher_broker_answers, a_stopped_broker_ends_who_got_no_descriptor)
{
	const struct sb_options o = {.level = POL_READ_ALL};
	pid_t pid;

	share();
	pid = fork();
	if (pid == 0)
		stop_and_go();
	cr_expect_eq(sb_run(&sb_tree_policy, &o, open_in_children, NULL), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
