/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - the one error object, threaded upwards.
 *
 * A function that can fail takes `struct b_err *err` last, returns 0 or -1 and
 * fills *err on -1. Libraries never print; main() prints once:
 *
 *	struct b_err err;
 *	if (pol_load(path, &doc, &err) < 0)
 *		return b_report("sbx-policy", &err);   (prints one line, gives the exit status)
 *
 * Fixed size, no allocation: usable between fork and exec. [AS-safe] [no-alloc]
 * except b_report().
 */
#pragma once

#include <stddef.h>

/* kind, stable code printed in messages and in --status-fd */
#define B_KINDS(X)                                                                                 \
	X(USAGE, "E_USAGE")                                                                        \
	X(POLICY, "E_POLICY")                                                                      \
	X(PROFILE, "E_PROFILE")                                                                    \
	X(WORKSPACE, "E_WORKSPACE")                                                                \
	X(FLOOR, "E_FLOOR")                                                                        \
	X(SHIM, "E_SHIM")                                                                          \
	X(AUDIT, "E_AUDIT")                                                                        \
	X(NOTFOUND, "E_NOTFOUND")                                                                  \
	X(NOEXEC, "E_NOEXEC")                                                                      \
	X(APPROVAL, "E_APPROVAL")                                                                  \
	X(LIMIT, "E_LIMIT")                                                                        \
	X(FORMAT, "E_FORMAT")                                                                      \
	X(SYSTEM, "E_SYSTEM")

enum b_kind {
	B_OK,
#define X(name, code) B_##name,
	B_KINDS(X)
#undef X
		B_KIND_COUNT
};

#define B_ERR_MAX 1024 /* bytes of message, NUL included; longer text is cut and ends in "..." */

struct b_err {
	enum b_kind kind;
	int sys; /* errno, 0 when none */
	char msg[B_ERR_MAX];
};

/* Fills *err (may be NULL) and returns -1. */
int b_fail(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "context: " before the message of an error already set; returns -1. */
int b_wrap(struct b_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "E_POLICY" etc.; a static string. */
const char *b_kind_code(enum b_kind kind);

/* Exit status of the kind in sbx-launch's grammar: 126 for NOEXEC and APPROVAL, 127 for NOTFOUND,
 * else 125. */
int b_kind_status(enum b_kind kind);

/* An impossible state: prints file:line and aborts. */
_Noreturn void b_bug(const char *file, int line, const char *what);
#define B_ASSERT(x) ((x) ? (void)0 : b_bug(__FILE__, __LINE__, #x))
