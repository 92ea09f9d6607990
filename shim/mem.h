/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - the few string functions the shim needs. The compiler may call memcpy, memmove,
 * memset and memcmp on its own account: shim/mem.c defines them hidden, so that nothing of
 * a C library is imported. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int byte, size_t n);
size_t strlen(const char *s);

/* NULL, or a pointer to what is not mapped: the kernel, or the library, is to answer. Costs a
 * system call for each page that is met the first time, and no more; a page that was unmapped since
 * is not noticed, nor is a text without an end that begins far before the end of its page. */
bool shim_is_no_pointer(const void *p);
/* For what the compiler believes to be never NULL. */
static inline bool shim_is_null(const void *p)
{
	return (uintptr_t)p < 4096;
}

bool shim_equal(const char *a, const char *b);
/* Value of the environment entry "NAME=value" when it is called `name`, else NULL. */
const char *shim_env_value(const char *entry, const char *name);
/* Last component of a path; the whole when it has no slash. */
const char *shim_basename(const char *path);
bool shim_has_prefix(const char *s, const char *prefix);
/* Appends at *pos if it fits in `size` with a NUL; false leaves buf as it was. */
bool shim_append(char *buf, size_t size, size_t *pos, const char *s, size_t len);
/* "/proc/self/fd/N" */
#define SHIM_FD_PATH_SIZE 28
const char *shim_fd_path(char buf[SHIM_FD_PATH_SIZE], int fd);
