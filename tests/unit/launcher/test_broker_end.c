/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what the last act of a run has asked for is done, and told. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"
#include "tests/support/broker.h"

enum { SLOW_MS = 300, HELD_MS = 5000 };

static char root[64];
static struct sb_policy policy;
static struct sbx_ring *ring;
static struct sbx_ring_reader reader;

/* Shared with the broker: it has come to the point. */
static _Atomic bool *begun;

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static void set_up(void)
{
	begun = share(sizeof *begun);
	ring = share(sbx_ring_bytes(1 << 20));
	sbx_ring_init(ring, 1 << 20, SBX_AUDIT_ALL);
	sbx_ring_reader_init(&reader, ring, 1 << 20);
	strcpy(root, "/tmp/sbx-end-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	/* the denial has to be looked for below a directory that moves */
	sb_policy_make(&policy, (const char *const[]){"rmx+ T /", "r- G / **/*.env", NULL});
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_end, .init = set_up, .fini = tear_down, .timeout = 60);

static void pause_ms(unsigned ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static void be_slow(void)
{
	uint64_t until = b_now_ms() + SLOW_MS;

	*begun = true;
	while (b_now_ms() < until)
		pause_ms(10);
}

static void after_a_move(enum lau_broker_point at)
{
	if (at == BR_POINT_MOVED)
		be_slow();
}

static void before_a_cut(enum lau_broker_point at)
{
	if (at == BR_POINT_UNLOCKED)
		be_slow();
}

static void never(enum lau_broker_point at)
{
	(void)at;
}

/* ---- acts: a thread asks, and the process ends when the broker is at it ---- */

static void *move(void *arg)
{
	(void)rename("d", "to/d");
	return arg;
}

static void *cut(void *arg)
{
	if (truncate("big", 0) < 0)
		return NULL;
	return arg;
}

/* At a FIFO that nobody reads. */
static void *wait_at_fifo(void *arg)
{
	*begun = true;
	(void)open("fifo", O_WRONLY | O_CLOEXEC);
	return arg;
}

static int end_meanwhile(void *arg)
{
	void *(*const *ask)(void *) = arg;
	pthread_t t;

	if (pthread_create(&t, NULL, *ask, NULL) != 0)
		return 1;
	for (unsigned i = 0; !*begun; i++) {
		if (i > HELD_MS)
			return 2;
		pause_ms(1);
	}
	return 0;
}

static int run(void *(*ask)(void *), void (*point)(enum lau_broker_point))
{
	const struct sb_options o = {
		.test_point = point, .no_filter = true, .ring = ring, .ring_size = 1 << 20};

	*begun = false;
	return sb_run(&policy, &o, end_meanwhile, &ask);
}

/* Events of a change at this path. */
static unsigned told(const char *name)
{
	static unsigned char buf[SBX_RING_FRAME_MAX];
	const char *path, *path2;
	struct sbx_event ev;
	char whole[128];
	unsigned n = 0;

	snprintf(whole, sizeof whole, "%s/%s", root, name);
	while (sbx_ring_read(&reader, buf, b_now_ms(), true, &ev, &path, &path2) == 1)
		n += ev.op == SBX_MODIFY && ev.flags & SBX_EVF_ALLOWED && !ev.err &&
		     !strcmp(path, whole);
	return n;
}

Test(launcher_broker_end, a_move_is_told)
{
	cr_assert_eq(mkdir("d", 0777), 0);
	cr_assert_eq(mkdir("to", 0777), 0);
	cr_assert_eq(run(move, after_a_move), 0);
	cr_assert_eq(access("to/d", F_OK), 0);
	cr_assert_eq(told("d"), 1);
}

Test(launcher_broker_end, a_cut_is_told)
{
	int fd = open("big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, 2 << 20), 0);
	close(fd);
	cr_assert_eq(run(cut, before_a_cut), 0);
	cr_assert_eq(stat("big", &st), 0);
	cr_assert_eq(st.st_size, 0, "it was judged before the end, and is done");
	cr_assert_eq(told("big"), 1);
}

Test(launcher_broker_end, what_waits_does_not_hold_the_end)
{
	uint64_t start = b_now_ms();

	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_assert_eq(run(wait_at_fifo, never), 0);
	cr_assert_lt(b_now_ms() - start, HELD_MS);
}
