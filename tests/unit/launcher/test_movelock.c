/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of moves among processes: who waits for whom, and what the dead leave behind. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

static char dir[] = "/tmp/sbx-lock-XXXXXX";
static struct lau_movelock mine;
static pid_t who;

static void open_lock(struct lau_movelock *l)
{
	struct b_err err = {0};

	cr_assert_eq(lau_movelock_open(dir, l, &err), 0, "%s", err.msg);
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(dir));
	open_lock(&mine);
	mine.limit_ms = 300;
}

static void tear_down(void)
{
	char path[64];

	lau_movelock_release(&mine);
	snprintf(path, sizeof path, "%s/moves-1", dir);
	cr_assert_eq(unlink(path) | rmdir(dir), 0);
}
TestSuite(launcher_movelock, .init = set_up, .fini = tear_down, .timeout = 60);

enum act { SHARES, MOVES };

static int lock(const struct lau_movelock *l, enum act act)
{
	return act == MOVES ? lau_movelock_move(l, &who) : lau_movelock_share(l, &who);
}

static void unlock(const struct lau_movelock *l, enum act act)
{
	(act == MOVES ? lau_movelock_move_end : lau_movelock_share_end)(l);
}

/* Another broker, which has the lock when this returns, for `hold_ms`. */
static pid_t other(enum act act, unsigned hold_ms)
{
	int has[2];
	pid_t pid;
	char c;

	cr_assert_eq(pipe(has), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		struct lau_movelock l;

		lau_movelock_release(&mine);
		open_lock(&l);
		if (lock(&l, act) < 0 || write(has[1], "", 1) != 1)
			_exit(1);
		(void)poll(NULL, 0, (int)hold_ms);
		unlock(&l, act);
		lau_movelock_release(&l);
		_exit(0);
	}
	cr_assert_eq(read(has[0], &c, 1), 1);
	close(has[0]);
	close(has[1]);
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* How long it took, or -errno. */
static long time_to_lock(enum act act)
{
	uint64_t start = b_now_ms();
	int rc = lock(&mine, act);

	if (rc < 0)
		return rc;
	unlock(&mine, act);
	return (long)(b_now_ms() - start);
}

Test(launcher_movelock, those_who_act_do_so_together)
{
	pid_t pid = other(SHARES, 250);

	cr_assert(lau_movelock_is_wanted(&mine) == false);
	cr_assert_lt(time_to_lock(SHARES), 200);
	cr_assert_eq(end_of(pid), 0);
}

Test(launcher_movelock, who_moves_waits_for_those_who_act_and_they_for_him)
{
	static const enum act pairs[][2] = {{SHARES, MOVES}, {MOVES, SHARES}, {MOVES, MOVES}};

	mine.limit_ms = 5000;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		pid_t pid = other(pairs[i][0], 250);
		long took = time_to_lock(pairs[i][1]);

		cr_assert(took >= 200, "pair %zu: %ld", i, took);
		cr_assert_eq(end_of(pid), 0);
	}
}

/* Killed with it, in every way to have it; and each time by the slot that the last one left. */
Test(launcher_movelock, what_a_dead_broker_held_is_free)
{
	static const enum act pairs[][2] = {{SHARES, MOVES}, {MOVES, SHARES}, {MOVES, MOVES}};

	mine.limit_ms = 5000;
	for (unsigned i = 0; i < 9; i++) {
		pid_t pid = other(pairs[i % 3][0], 60000);

		kill(pid, SIGKILL);
		cr_assert_eq(end_of(pid), SIGKILL);
		cr_assert_geq(time_to_lock(pairs[i % 3][1]), 0, "%u", i);
	}
}

Test(launcher_movelock, a_dead_one_is_not_buried_twice)
{
	pid_t dead = other(SHARES, 60000), next;

	kill(dead, SIGKILL);
	cr_assert_eq(end_of(dead), SIGKILL);
	next = other(SHARES, 60000); /* has its slot, cleaned */
	cr_assert_eq(time_to_lock(MOVES), -EBUSY);
	cr_assert_eq(who, next);
	kill(next, SIGKILL);
	cr_assert_eq(end_of(next), SIGKILL);
	cr_assert_geq(time_to_lock(MOVES), 0);
}

/* Nobody can say what it does when it goes on: the call is refused, and says whom it waited for. */
Test(launcher_movelock, a_frozen_broker_keeps_its_lock)
{
	static const enum act pairs[][2] = {{SHARES, MOVES}, {MOVES, SHARES}, {MOVES, MOVES}};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		pid_t pid = other(pairs[i][0], 10);

		kill(pid, SIGSTOP);
		mine.limit_ms = 300;
		if (time_to_lock(pairs[i][1]) >= 0) { /* it was through before it stopped */
			kill(pid, SIGCONT);
			cr_assert_eq(end_of(pid), 0);
			pid = other(pairs[i][0], 1000);
			kill(pid, SIGSTOP);
			cr_assert_eq(time_to_lock(pairs[i][1]), -EBUSY, "pair %zu", i);
		}
		cr_assert_eq(who, pid);
		kill(pid, SIGCONT);
		mine.limit_ms = 10000;
		cr_assert_geq(time_to_lock(pairs[i][1]), 0);
		cr_assert_eq(end_of(pid), 0);
	}
}

/* Two that move without a pause leave their turn to one who acts, and he to one who moves. */
Test(launcher_movelock, nobody_is_kept_waiting_for_ever)
{
	_Atomic unsigned *n =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static const enum act acts[] = {MOVES, MOVES, SHARES, SHARES};
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0) {
			uint64_t end = b_now_ms() + 1500;
			struct lau_movelock l;

			open_lock(&l);
			for (; b_now_ms() < end; n[i]++) {
				if (lock(&l, acts[i]) < 0)
					_exit(1);
				unlock(&l, acts[i]);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		cr_assert_eq(end_of(pids[i]), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_geq(n[i], 20, "%d: %u", i, n[i]);
}

/* One counts without an atomic, alone: no count is lost. */
Test(launcher_movelock, who_moves_is_alone)
{
	unsigned long *n =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum { TIMES = 2000, ALL = 3 };
	pid_t pids[ALL];

	for (int i = 0; i < ALL; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0) {
			struct lau_movelock l;

			open_lock(&l);
			for (int k = 0; k < TIMES; k++) {
				volatile unsigned long *at = n;
				unsigned long seen;

				if (lock(&l, MOVES) < 0)
					_exit(1);
				seen = *at;
				for (int j = 0; j < 20; j++)
					(void)at[1];
				*at = seen + 1;
				unlock(&l, MOVES);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < ALL; i++)
		cr_assert_eq(end_of(pids[i]), 0);
	cr_assert_eq(*n, ALL * TIMES);
}

Test(launcher_movelock, a_run_inside_joins_without_a_name)
{
	struct lau_movelock first, second;
	struct b_err err = {0};

	cr_assert_eq(lau_movelock_open(NULL, &first, &err), 0, "%s", err.msg);
	cr_assert_eq(lau_movelock_join(&first, &second, &err), 0, "%s", err.msg);
	second.limit_ms = 50;
	cr_assert_neq(first.slot, second.slot);
	cr_assert_eq(lau_movelock_share(&first, &who), 0);
	cr_assert_eq(lau_movelock_move(&second, &who), -EBUSY);
	lau_movelock_share_end(&first);
	cr_assert_eq(lau_movelock_move(&second, &who), 0);
	lau_movelock_move_end(&second);
	lau_movelock_release(&second);
	lau_movelock_release(&first);
}

/* One that is killed, with a place. */
static void join_and_die(const struct lau_movelock *outer)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		struct lau_movelock l;
		struct b_err err;

		if (lau_movelock_join(outer, &l, &err) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(launcher_movelock, one_run_leaves_places_to_the_others)
{
	static struct lau_movelock inside[LAU_MOVELOCK_INSIDE + 1];
	struct lau_movelock another, its;
	struct b_err err = {0};
	unsigned n = 0;

	/* those inside of those inside are of the same family */
	while (n <= LAU_MOVELOCK_INSIDE &&
	       lau_movelock_join(n % 3 && n ? &inside[n - 1] : &mine, &inside[n], &err) == 0)
		n++;
	cr_assert_eq(n, LAU_MOVELOCK_INSIDE);
	cr_expect(err.kind == B_LIMIT && inside[n].page == NULL, "%s", err.msg);
	open_lock(&another);
	cr_assert_eq(lau_movelock_join(&another, &its, &err), 0, "%s", err.msg);
	lau_movelock_release(&its);
	lau_movelock_release(&another);
	/* what has ended, and what was killed, has no place any more */
	lau_movelock_release(&inside[--n]);
	join_and_die(&mine);
	cr_expect_eq(lau_movelock_join(&mine, &inside[n], &err), 0, "%s", err.msg);
	cr_expect_eq(lau_movelock_join(&mine, &its, &err), -1);
	for (n = LAU_MOVELOCK_INSIDE; n-- > 0;)
		lau_movelock_release(&inside[n]);
}
