/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a worker and the signal of the watch exclude each other: the broker is held at the
 * points where they would meet. launcher/linux/broker/watch.c */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
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
	atomic_int broker;  /* its number */
	atomic_int gives;   /* as many copies are held when the caller has its descriptor */
	atomic_bool writes; /* opens_well() opens to write */
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
	int how = seen && seen->writes ? O_WRONLY | O_CREAT : O_RDONLY;
	int fd = open(sb_in("f"), how | O_CLOEXEC, 0666);
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

static void stop_it_in_opens(bool to_write)
{
	const struct sb_options o = {.level = POL_READ_ALL};
	pid_t pid;

	share();
	seen->writes = to_write;
	pid = fork();
	if (pid == 0)
		stop_and_go();
	cr_expect_eq(sb_run(&sb_tree_policy, &o, open_in_children, NULL), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The caller is answered by a descriptor, or ended at once. */
Test(launcher_broker_answers, a_stopped_broker_ends_who_got_no_descriptor)
{
	stop_it_in_opens(false);
}

Test(launcher_broker_answers, nor_does_an_open_to_write_go_on_without_one)
{
	stop_it_in_opens(true);
}

/* ---- the caller is faster than the broker, which still has its file open ---- */

enum { HELD_MS = 400 };

static void hold_copies(enum lau_broker_point at)
{
	if (at == BR_POINT_GIVEN && seen->gives > 0) {
		seen->gives--;
		sleep_ms(HELD_MS);
	}
}

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

static long open_ms(const char *name, mode_t mode)
{
	struct timespec start;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &start);
	seen->gives = 1;
	fd = open(sb_in(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	close(fd);
	return ms_since(&start);
}

/* Data is given in one with the answer: the caller goes on. What can be executed is not: whoever
 * closes it may execute it at once. */
static int time_opens(void *arg)
{
	long data = open_ms("data", 0644), program;

	(void)arg;
	sleep_ms(HELD_MS); /* the one worker comes back */
	program = open_ms("program", 0755);
	if (data < 0 || program < 0)
		return 200;
	return data < HELD_MS && program >= HELD_MS ? 0 : 201;
}

Test(launcher_broker_answers, what_is_no_program_is_given_with_the_answer)
{
	const struct sb_options o = {
		.level = POL_READ_NONE, .test_point = hold_copies, .no_filter = true};

	share();
	cr_expect_eq(sb_run(&sb_tree_policy, &o, time_opens, NULL), 0);
}

static bool write_script(const char *name)
{
	static const char text[] = "#!/bin/sh\n";
	int fd = open(sb_in(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1;

	return close(fd) == 0 && ok;
}

/* errno of execve(2), or 0. */
static int run_script(const char *name)
{
	char *argv[] = {(char[]){"s"}, NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv(sb_in(name), argv);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The file becomes a program while the broker has its copy: by another worker of it. */
static int make_and_run(void *arg)
{
	static const char *const names[] = {"by-path", "by-descriptor"};

	(void)arg;
	for (int i = 0; i < 2; i++) {
		int fd, err;

		seen->gives = 1;
		if (!write_script(names[i]))
			return 200;
		if (i == 0 && chmod(sb_in(names[i]), 0755) < 0)
			return 201;
		if (i == 1) {
			fd = open(sb_in(names[i]), O_RDONLY | O_CLOEXEC);
			if (fd < 0 || fchmod(fd, 0755) < 0)
				return 202;
			close(fd);
		}
		err = run_script(names[i]);
		if (err)
			return err;
	}
	return 0;
}

Test(launcher_broker_answers, a_program_can_be_run_when_it_became_one)
{
	const struct sb_options o = {
		.level = POL_READ_NONE, .test_point = hold_copies, .no_filter = true};

	share();
	cr_expect_eq(sb_run(&sb_tree_policy, &o, make_and_run, NULL), 0);
}
