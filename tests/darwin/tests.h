/* SPDX-License-Identifier: Apache-2.0 */
/* tests.h - shared by the tests of the shim in the loader: main.c, test_names.c. */
#pragma once

#include <stdbool.h>

#include "tests/darwin/load.h"

/* One line of TAP. */
void ok(bool good, const char *what);
static inline int d_errno(void)
{
	return *libsystem_errno();
}

#define REPLACED(m, type, name) (*(type **)&(void *){macho_replacement(m, name)})

/*
 * Calls a variadic function of macOS with what stands for "..." as its last argument. There it is
 * passed on the stack on arm64, where everybody else has registers.
 */
#ifdef __aarch64__
long darwin_variadic(void *fn, long a, long b, long c, long d, long last);
#define CALL_OPEN(fn, path, flags, mode)                                                           \
	(int)darwin_variadic((void *)(fn), (long)(path), flags, 0, 0, mode)
#define CALL_OPENAT(fn, at, path, flags, mode)                                                     \
	(int)darwin_variadic((void *)(fn), at, (long)(path), flags, 0, mode)
#define CALL_PROTECTED(fn, path, flags, class, mode)                                               \
	(int)darwin_variadic((void *)(fn), (long)(path), flags, class, 0, mode)
#else
#define CALL_OPEN(fn, path, flags, mode)	     (fn)(path, flags, mode)
#define CALL_OPENAT(fn, at, path, flags, mode)	     (fn)(at, path, flags, mode)
#define CALL_PROTECTED(fn, path, flags, class, mode) (fn)(path, flags, class, 0, mode)
#endif

/* test_names.c: the calls that only macOS has, and those that are written out there. */
void test_names(const struct macho *m);
