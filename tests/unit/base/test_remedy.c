/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/remedy.c. */
#include "base/remedy.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#include <criterion/criterion.h>

Test(base_remedy, the_text_the_errno_and_the_remedy)
{
	struct b_err err;

	cr_assert_eq(b_fail_sys(&err, B_SYSTEM, EMFILE, "pipe of %d", 3), -1);
	cr_expect_eq(err.kind, B_SYSTEM);
	cr_expect_eq(err.sys, EMFILE);
	cr_expect_str_eq(
		err.msg,
		"pipe of 3: Too many open files: raise the limit on open files (ulimit -n)");
}

Test(base_remedy, an_errno_of_many_causes_has_none)
{
	struct b_err err;

	(void)b_fail_sys(&err, B_FLOOR, EINVAL, "x");
	cr_expect_str_eq(err.msg, "x: Invalid argument");
}

Test(base_remedy, errno_survives_and_nobody_has_to_take_the_error)
{
	errno = EXDEV;
	cr_expect_eq(b_fail_sys(NULL, B_SYSTEM, ENOSPC, "%s", "x"), -1);
	cr_expect_eq(errno, EXDEV);
}

Test(base_remedy, a_container_is_named_where_one_can_have_refused)
{
	static const int calls[] = {EPERM, ENOSYS};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		cr_expect(strstr(b_remedy(calls[i], true), "in a container"));
		cr_expect(!b_remedy(calls[i], false) ||
			  !strstr(b_remedy(calls[i], false), "container"));
	}
	cr_expect_null(b_remedy(EPERM, false));
	for (int sys = 1; sys < 134; sys++) /* what is no matter of a profile is the same in both */
		if (sys != EPERM && sys != ENOSYS)
			cr_expect_eq(b_remedy(sys, true), b_remedy(sys, false), "%d", sys);
}

Test(base_remedy, the_process_is_asked_whether_a_filter_is_around_it)
{
	static struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {1, pass};
	struct b_err err;

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		cr_skip_test("no filter can be had");
	(void)b_fail_sys(&err, B_FLOOR, EPERM, "x");
	cr_expect_str_eq(err.msg, "x: Operation not permitted: in a container, a profile "
				  "(seccomp, AppArmor) that allows it");
}
