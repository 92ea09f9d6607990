/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/linux/run/room.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

enum { SIZE = 1 << 20 };

/* What a child makes of it, as a status: 0 = `what` said yes. */
static int in_child(const struct lau_room *r, const void *own,
		    bool (*what)(const struct lau_room *, const void *))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(what(r, own) ? 0 : 1);
	waitpid(pid, &status, 0);
	return status;
}

static bool reads(const struct lau_room *r, const void *own)
{
	return strcmp(lau_room_seen(r, own), "first") == 0;
}

/* Each way to write to this address fails. */
static bool is_shut(void *at)
{
	struct iovec from = {(char[]){'x'}, 1}, to = {at, 1};
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)4095);

	return mprotect(page, 4096, PROT_READ | PROT_WRITE) < 0 && errno == EACCES &&
	       process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0;
}

static bool cannot_write(const struct lau_room *r, const void *own)
{
	void *again = mremap((void *)(uintptr_t)r->seen, 0, SIZE, MREMAP_MAYMOVE);

	return is_shut((void *)(uintptr_t)lau_room_seen(r, own)) &&
	       (again == MAP_FAILED || is_shut(again));
}

/* Not inherited: nothing is mapped there. */
static bool has_no_own(const struct lau_room *r, const void *own)
{
	unsigned char vec[1];

	(void)own;
	return mincore(r->own, 4096, vec) < 0 && errno == ENOMEM;
}

Test(launcher_room, children_read_and_cannot_write)
{
	struct lau_room r;
	struct b_err err;
	char *own;

	cr_assert_eq(lau_room_init(&r, SIZE, &err), 0, "%s", err.msg);
	own = lau_room_place(&r, "first", 6);
	cr_assert(own);
	cr_expect_str_eq(lau_room_seen(&r, own), "first");
	cr_expect_eq(in_child(&r, own, reads), 0);
	cr_expect_eq(in_child(&r, own, cannot_write), 0);
	cr_expect_eq(in_child(&r, own, has_no_own), 0);
	cr_expect_str_eq(own, "first");
	lau_room_release(&r);
}

Test(launcher_room, what_is_placed_later_is_seen)
{
	struct lau_room r;
	struct b_err err;
	int pipes[2], status;
	char *own, go = 0;
	pid_t pid;

	cr_assert_eq(lau_room_init(&r, SIZE, &err), 0, "%s", err.msg);
	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0)
		_exit(read(pipes[0], &go, 1) == 1 && strcmp((const char *)r.seen, "first") == 0
			      ? 0
			      : 1);
	own = lau_room_place(&r, "first", 6);
	cr_assert_eq(own, (char *)r.own);
	cr_assert_eq(write(pipes[1], "", 1), 1);
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
	lau_room_release(&r);
}

Test(launcher_room, full_is_full)
{
	struct lau_room r;
	struct b_err err;
	static char some[SIZE / 2 + 1];

	cr_assert_eq(lau_room_init(&r, SIZE, &err), 0, "%s", err.msg);
	cr_expect(lau_room_place(&r, some, sizeof some));
	cr_expect_null(lau_room_place(&r, some, sizeof some));
	cr_expect_null(lau_room_place(&r, some, SIZE_MAX));
	cr_expect(lau_room_place(&r, "", 1));
	lau_room_release(&r);
}

Test(launcher_room, a_limit_on_files_makes_it_smaller)
{
	struct rlimit lim = {65536, 65536};
	static char some[65537];
	struct lau_room r;
	struct b_err err;

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	cr_assert_eq(lau_room_init(&r, SIZE, &err), 0, "%s", err.msg);
	cr_expect_null(lau_room_place(&r, some, sizeof some));
	cr_expect(lau_room_place(&r, some, 4096));
	lau_room_release(&r);
}
