/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: nothing is done that the ring has no place for. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "core/event.h"
#include "core/ring.h"
#include "tests/support/broker.h"

enum { CALLERS = 4, FULL_MS = 300, PATIENCE_MS = 20000, SLOW_MS = 100 };

/* Between the test, the child that is served, and its children. */
static struct shared {
	_Atomic uint64_t done;	  /* changes that were made */
	_Atomic uint64_t read;	  /* events of them */
	_Atomic bool handled;	  /* the handler of a signal ran */
	_Atomic bool lives;	  /* and its call did not fail */
	_Atomic bool is_released; /* a blocked caller's end was noticed */
	_Atomic bool serves;	  /* a call that is not told is answered */
	_Atomic bool is_over;
} * shared;
static struct sbx_ring *ring;
static struct sbx_ring_reader reader;
static char dir[64];

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static void set_up(void)
{
	shared = share(sizeof *shared);
	ring = share(sbx_ring_bytes(SBX_RING_MIN));
	sbx_ring_init(ring, SBX_RING_MIN, SBX_AUDIT_ALL);
	sbx_ring_reader_init(&reader, ring, SBX_RING_MIN);
	reader.is_patient = true;
	strcpy(dir, "/tmp/sbx-place-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chmod(dir, 0777), 0);
}

static void tear_down(void)
{
	char cmd[96];

	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_place, .init = set_up, .fini = tear_down, .timeout = 60);

static void pause_ms(unsigned ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static int run(int (*act)(void *))
{
	static const char *const lines[] = {"rmx+ T /", "m- G /nowhere **/*.no", NULL};
	const struct sb_options o = {.ring = ring, .ring_size = SBX_RING_MIN};
	struct sb_policy policy;
	int rc;

	sb_policy_make(&policy, lines);
	rc = sb_run(&policy, &o, act, NULL);
	sb_policy_release(&policy);
	return rc;
}

/* Changes of the run that are in the ring now. */
static uint64_t take(bool final)
{
	unsigned char buf[SBX_RING_FRAME_MAX];
	const char *path, *path2;
	struct sbx_event ev;
	uint64_t n = 0;

	while (sbx_ring_read(&reader, buf, 0, final, &ev, &path, &path2) > 0)
		n += ev.flags & SBX_EVF_ALLOWED && !ev.err && !strncmp(path, dir, strlen(dir));
	return n;
}

/* Until there is no room, or for ever where the test reads. */
static void change(unsigned id)
{
	char name[96];

	snprintf(name, sizeof name, "%s/%u", dir, id);
	while (!shared->is_over) {
		if (mkdir(name, 0700) < 0)
			_exit(1);
		shared->done++;
		if (rmdir(name) < 0)
			_exit(1);
		shared->done++;
	}
	_exit(0);
}

/* ---- a full ring that nobody reads ---- */

static void on_alarm(int signo)
{
	(void)signo;
	shared->handled = true;
}

/* Nothing more is done. */
static void wait_until_full(void)
{
	uint64_t last;

	for (unsigned i = 0; i < PATIENCE_MS / FULL_MS; i++) {
		last = shared->done;
		pause_ms(FULL_MS);
		if (last && shared->done == last)
			break;
	}
}

static bool ends_soon(pid_t pid)
{
	for (unsigned i = 0; i < PATIENCE_MS / 10; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		pause_ms(10);
	}
	return false;
}

static bool becomes(const _Atomic bool *flag)
{
	for (unsigned i = 0; i < PATIENCE_MS / 10 && !*flag; i++)
		pause_ms(10);
	return *flag;
}

static int fill(void *arg)
{
	pid_t pid[CALLERS], other;

	(void)arg;
	for (unsigned i = 0; i < CALLERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			const struct sigaction act = {.sa_handler = on_alarm};

			sigaction(SIGALRM, &act, NULL);
			change(i);
		}
	}
	wait_until_full();
	/* a call that is not told is served, by whom is not waiting */
	other = fork();
	if (other == 0) {
		umask(022);
		_exit(0);
	}
	shared->serves = ends_soon(other);
	/* the waiting call is none that was begun: its program's handler runs, it waits on, and
	 * never comes to be EINTR, of which mkdir(2) knows nothing */
	kill(pid[0], SIGALRM);
	if (!becomes(&shared->handled))
		return 2;
	pause_ms(FULL_MS);
	shared->lives = waitpid(pid[0], NULL, WNOHANG) == 0;
	shared->is_released = true;
	for (unsigned i = 0; i < CALLERS; i++) {
		kill(pid[i], SIGKILL);
		shared->is_released = shared->is_released && ends_soon(pid[i]);
	}
	return 0;
}

Test(launcher_broker_place, a_full_ring_makes_callers_wait_and_their_end_and_signals_release_them)
{
	cr_assert_eq(run(fill), 0);
	cr_expect(shared->serves);
	cr_expect(shared->handled);
	cr_expect(shared->lives);
	cr_expect(shared->is_released);
	cr_expect_gt(shared->done, 0);
	cr_expect_eq(take(true), shared->done, "done: %llu", (unsigned long long)shared->done);
	cr_expect_eq(sbx_ring_take_lost(&reader), 0);
}

/* ---- a ring that is read slowly ---- */

static int work(void *arg)
{
	pid_t pid[CALLERS];
	int bad = 0, status;

	(void)arg;
	for (unsigned i = 0; i < CALLERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			change(i);
	}
	pause_ms(1500);
	shared->is_over = true;
	for (unsigned i = 0; i < CALLERS; i++)
		bad |= waitpid(pid[i], &status, 0) != pid[i] || status;
	return bad;
}

static _Noreturn void read_slowly(void)
{
	uint64_t end = b_now_ms() + PATIENCE_MS;

	while (b_now_ms() < end) {
		shared->read += take(false);
		pause_ms(SLOW_MS);
	}
	_exit(0);
}

Test(launcher_broker_place, each_change_is_told_however_slowly_the_ring_is_read)
{
	pid_t slow = fork();
	int rc;

	if (slow == 0)
		read_slowly();
	rc = run(work);
	pause_ms(100);
	kill(slow, SIGKILL);
	waitpid(slow, NULL, 0);
	cr_expect_eq(rc, 0);
	cr_expect_gt(shared->done, 100);
	cr_expect_eq(shared->read, shared->done, "%llu of %llu", (unsigned long long)shared->read,
		     (unsigned long long)shared->done);
	cr_expect_eq(sbx_ring_take_lost(&reader), 0);
}
