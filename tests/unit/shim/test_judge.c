/* SPDX-License-Identifier: Apache-2.0 */
/* test_judge.c - verdicts remembered, events told. */
#include "shim/judge.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/event.h"
#include "tests/unit/shim/image.h"

static void policy_at(enum sbx_audit_level level)
{
	test_policy("/denied", NULL, NULL, level);
}

static unsigned events(void)
{
	struct sbx_event ev;
	const char *path, *path2;
	unsigned n = 0;

	while (test_event(&ev, &path, &path2))
		n++;
	return n;
}

static void tell(enum sbx_op op, const char *path, int err)
{
	size_t len = strlen(path);
	struct shim_verdict v = shim_judge(op, path, len);
	struct shim_told t = {.call = SBX_CALL_open,
			      .op = op,
			      .err = err,
			      .flags = v.allowed ? SBX_EVF_ALLOWED : 0,
			      .path = path,
			      .len = len};

	shim_tell(&t, v.key);
}

Test(shim_judge, a_verdict_is_the_same_the_second_time)
{
	int i;

	policy_at(SBX_AUDIT_ALL);
	for (i = 0; i < 3; i++) {
		cr_expect(shim_judge(SBX_READ, "/allowed", 8).allowed);
		cr_expect_not(shim_judge(SBX_READ, "/denied/x", 9).allowed);
		cr_expect_not(shim_judge(SBX_MODIFY, "/denied", 7).allowed);
	}
}

Test(shim_judge, paths_that_share_a_place_do_not_share_a_verdict)
{
	char path[64];
	int i, round;

	policy_at(SBX_AUDIT_ALL);
	/* ten times the places there are */
	for (round = 0; round < 2; round++)
		for (i = 0; i < 20480; i++) {
			int n = snprintf(path, sizeof path, "/%s/%d", i & 1 ? "denied" : "ok", i);

			cr_assert_eq(shim_judge(SBX_READ, path, (size_t)n).allowed, !(i & 1));
		}
}

Test(shim_judge, lengths_and_operations_are_told_apart)
{
	policy_at(SBX_AUDIT_ALL);
	cr_expect_neq(shim_judge(SBX_READ, "/a", 2).key, shim_judge(SBX_MODIFY, "/a", 2).key);
	cr_expect_neq(shim_judge(SBX_READ, "/ab\0", 4).key, shim_judge(SBX_READ, "/ab", 3).key);
	cr_expect_eq(shim_judge(SBX_READ, "/ab", 3).key, shim_judge(SBX_READ, "/abc", 3).key);
}

Test(shim_judge, all_tells_everything)
{
	policy_at(SBX_AUDIT_ALL);
	tell(SBX_READ, "/a", 0);
	tell(SBX_READ, "/a", 0);
	cr_expect_eq(events(), 2);
}

Test(shim_judge, folded_tells_a_read_once_and_a_modify_always)
{
	policy_at(SBX_AUDIT_FOLDED);
	tell(SBX_READ, "/a", 0);
	tell(SBX_READ, "/a", 0);
	cr_expect_eq(events(), 1);
	tell(SBX_READ, "/b", 0);
	cr_expect_eq(events(), 1);
	tell(SBX_MODIFY, "/a", 0);
	tell(SBX_MODIFY, "/a", 0);
	cr_expect_eq(events(), 2);
}

Test(shim_judge, folded_hides_no_denial)
{
	policy_at(SBX_AUDIT_FOLDED);
	tell(SBX_READ, "/denied", EACCES);
	tell(SBX_READ, "/denied", EACCES);
	cr_expect_eq(events(), 2);
}

Test(shim_judge, folded_tells_success_after_failure)
{
	policy_at(SBX_AUDIT_FOLDED);
	tell(SBX_READ, "/a", ENOENT);
	tell(SBX_READ, "/a", ENOENT);
	cr_expect_eq(events(), 1);
	tell(SBX_READ, "/a", 0);
	cr_expect_eq(events(), 1);
}

Test(shim_judge, folding_begins_anew_in_a_forked_child)
{
	pid_t pid;
	int status;

	policy_at(SBX_AUDIT_FOLDED);
	tell(SBX_READ, "/a", 0);
	pid = fork();
	if (pid == 0) {
		struct sbx_event ev;
		const char *path, *path2;

		tell(SBX_READ, "/a", 0);
		if (!test_event(&ev, &path, &path2) || ev.pid == (uint32_t)getpid())
			_exit(1); /* the parent's */
		if (!test_event(&ev, &path, &path2))
			_exit(2); /* folded into it */
		_exit(ev.pid == (uint32_t)getpid() && ev.ppid == (uint32_t)getppid() ? 0 : 3);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "child: %d", WEXITSTATUS(status));
}

Test(shim_judge, modify_denied_and_none_tell_what_they_say)
{
	static const struct {
		enum sbx_audit_level level;
		unsigned read, modify, denied;
	} rows[] = {{SBX_AUDIT_MODIFY, 0, 1, 1},
		    {SBX_AUDIT_DENIED, 0, 0, 1},
		    {SBX_AUDIT_NONE, 0, 0, 0}};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		policy_at(rows[i].level);
		tell(SBX_READ, "/a", 0);
		cr_expect_eq(events(), rows[i].read);
		tell(SBX_MODIFY, "/a", 0);
		cr_expect_eq(events(), rows[i].modify);
		tell(SBX_READ, "/denied", EACCES);
		cr_expect_eq(events(), rows[i].denied);
	}
}

Test(shim_judge, programs_are_told_at_every_level)
{
	struct shim_told t = {.call = SBX_CALL_execve,
			      .op = SBX_EXEC,
			      .path = "/p",
			      .len = 2,
			      .path2 = "/interp",
			      .len2 = 7,
			      .aux = SBX_EXEC_STATIC};
	struct sbx_event ev;
	const char *path, *path2;

	policy_at(SBX_AUDIT_NONE);
	shim_tell_exec(SBX_EV_EXEC, &t, 4711);
	cr_assert(test_event(&ev, &path, &path2));
	cr_expect_eq(ev.pid, 4711);
	cr_expect_eq(ev.ppid, (uint32_t)getpid());
	cr_expect_eq(ev.aux, SBX_EXEC_STATIC);
	cr_expect_str_eq(path, "/p");
	cr_expect_str_eq(path2, "/interp");
}

Test(shim_judge, events_are_dated_in_order)
{
	struct sbx_event a, b;
	const char *path, *path2;

	policy_at(SBX_AUDIT_ALL);
	tell(SBX_READ, "/a", 0);
	tell(SBX_READ, "/b", 0);
	cr_assert(test_event(&a, &path, &path2) && test_event(&b, &path, &path2));
	cr_expect(b.time_ns >= a.time_ns && a.time_ns > UINT64_C(1600000000000000000));
}
