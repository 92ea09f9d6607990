/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/remedy.c. */
#include "base/remedy.h"

#include <errno.h>
#include <string.h>

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
