/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - EINTR handled in one place; whole reads and writes; limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct b_err;
struct b_str;

/* First of all in a program: descriptors 0 to 2 that are closed become /dev/null, until exec, or
 * what is opened next would be taken for a standard stream, written to and replaced. 0 or -1. */
int b_fill_stdio(void);

/* All of it, or -1 with errno. [AS-safe] [no-alloc] */
int b_write_all(int fd, const void *buf, size_t n);
/* Up to n bytes, short only at end of file; -1 with errno. [AS-safe] [no-alloc] */
ssize_t b_read_full(int fd, void *buf, size_t n);

/* Reads a regular file of at most `limit` bytes. Refuses (B_FORMAT/B_LIMIT/B_SYSTEM
 * errors naming the path) directories, FIFOs, devices: opened O_NONBLOCK|O_NOCTTY,
 * never blocks. Appends to *out. */
int b_read_file(const char *path, size_t limit, struct b_str *out, struct b_err *err);

/* mkdir -p of every component, mode 0700 for those created. */
int b_mkdirs(const char *path, struct b_err *err);

/* Writes a file atomically: temporary beside it, fsync only if `durable`, rename. */
int b_write_file(const char *path, unsigned mode, const void *p, size_t n, bool durable,
		 struct b_err *err);
/* The same for a file that a person names, durable: where a link leads, and in place of nothing
 * but a regular file, which keeps its owner. A link to a pipe (/dev/stdout) is written to.
 * *mode NULL = 0600. */
int b_replace_file(const char *path, const unsigned *mode, const void *p, size_t n,
		   struct b_err *err);

uint64_t b_now_ms(void);      /* CLOCK_MONOTONIC [AS-safe] */
uint64_t b_now_real_ns(void); /* CLOCK_REALTIME [AS-safe] */
/* b_now_ms() plus a duration; UINT64_MAX instead of an overflow. */
uint64_t b_deadline_ms(uint64_t ms);

/* access(2) for the effective ids, also where a container's filter refuses faccessat2(2), which the
 * C library uses for them: 0 or -1 with errno. */
int b_access(const char *path, int mode);

/* Writes "PROGRAM: E_CODE: message\n" to descriptor 2, control bytes escaped,
 * always exactly one line; returns b_kind_status(). */
int b_report(const char *program, const struct b_err *err);
