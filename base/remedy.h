/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remedy.h - a system call of ours that failed, and what a person can do about it.
 *
 *	if (pipe2(fds, O_CLOEXEC) < 0)
 *		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
 *
 * says "pipe: Too many open files: raise the limit on open files (ulimit -n)". It is for what a
 * launch needs for itself, where an errno has one cause that a user can change; not for files that
 * a user names.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* b_fail() of "TEXT: what errno says", with the remedy where one is known. [AS-safe] [no-alloc] */
int b_fail_sys(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* What helps after such an errno, NULL = nobody knows; `is_confined`: a filter or a profile is
 * around us, which may have refused the call. Static. [AS-safe] [no-alloc] */
const char *b_remedy(int sys, bool is_confined);
