/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remedy.h - a failed system call of the launcher's own, and what the user can do about it.
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

/* b_fail() with "TEXT: the text of errno", and the remedy if one is known. Returns -1. [AS-safe]
 * [no-alloc] */
int b_fail_sys(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The remedy for such an errno, NULL = none is known. `is_confined`: this process has an outer
 * filter or profile, which may have refused the call. Static. [AS-safe] [no-alloc] */
const char *b_remedy(int sys, bool is_confined);
