/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/run/parts.c: what all runs inside of one may have together. */
#include "launcher/run/run.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static const char id[] = "20260105T000000Z-000005";

Test(launcher_family, so_many_runs_and_no_more)
{
	struct lau_family *f = lau_family_new(id);
	struct b_err err;
	uint64_t room;

	cr_assert_not_null(f);
	cr_assert_str_eq(f->id, id);
	for (unsigned i = 0; i < LAU_FAMILY_RUNS; i++) {
		cr_assert_eq(lau_family_join(f, &room, &err), 0, "%u: %s", i, err.msg);
		lau_family_leave(f, room, 1000);
	}
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(lau_family_join(f, &room, &err), -1);
		cr_assert_eq(err.kind, B_AUDIT);
		cr_assert_not_null(strstr(err.msg, "start another run outside"));
	}
	cr_assert_eq(f->runs, LAU_FAMILY_RUNS);
	cr_assert_eq(f->bytes, LAU_FAMILY_RUNS * 1000ull);
	lau_family_free(f);
}

/* However many live at once, and whatever they write of what they may. */
Test(launcher_family, so_many_bytes_and_no_more)
{
	struct lau_family *f = lau_family_new(id);
	uint64_t room, sum = 0;
	struct b_err err;
	unsigned n = 0;

	for (; lau_family_join(f, &room, &err) == 0; n++) {
		cr_assert_geq(room, 1u << 20);
		sum += room;
		cr_assert_leq(sum, LAU_FAMILY_BYTES);
	}
	cr_assert_eq(err.kind, B_AUDIT);
	cr_assert_geq(n, 32, "as many as one supervisor has at once");
	cr_assert_eq(f->runs, n, "who is refused does not count");
	lau_family_leave(f, room, 0);
	cr_assert_eq(lau_family_join(f, &room, &err), 0, "what was given back");
	lau_family_free(f);
}

Test(launcher_family, is_one_for_all_processes)
{
	struct lau_family *f = lau_family_new(id);
	uint64_t room;
	int status;

	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct b_err err;

			for (int k = 0; k < 1000; k++) {
				if (lau_family_join(f, &room, &err) < 0)
					_exit(1);
				lau_family_leave(f, room, 10);
			}
			_exit(0);
		}
		cr_assert_gt(pid, 0);
	}
	for (int i = 0; i < 4; i++) {
		cr_assert_gt(wait(&status), 0);
		cr_assert_eq(status, 0);
	}
	cr_assert_eq(f->runs, 4000);
	cr_assert_eq(f->bytes, 40000);
	lau_family_free(f);
}
