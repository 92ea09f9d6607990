/* SPDX-License-Identifier: Apache-2.0 */
/* os.h - what the launcher's shared parts ask of the system and each system answers its own way:
 * launcher/linux/process/os.c, launcher/macos/os.c. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "audit/collector.h"

/* Opens a directory to make entries in it, which needs no right to list it. */
#ifdef O_SEARCH
#define LAU_O_SEARCH O_SEARCH /* POSIX */
#else
#define LAU_O_SEARCH O_PATH
#endif

/* Moves `name` to another directory, and replaces nothing there: 0, or -1 with errno. */
int lau_os_rename_new(int from, int to, const char *name);
/* True if it is a directory of this user, 0700, as mkdir(2) makes it: without attributes, access
 * lists or flags that new files in it would inherit. */
bool lau_os_is_plain_dir(int fd);
/* The path by which an open file was found, from the kernel. It may lead elsewhere by now. */
bool lau_os_fd_path(int fd, char *path, size_t size);
/* 0, or the errno with which an outer filter refuses to list directories. */
int lau_os_no_listing(void);
/* Canonical path of this program; false if it is unknown. */
bool lau_os_own_path(char *path, size_t size);
/* Is `dir` on a file system in memory with room for `need` bytes? */
bool lau_os_is_memory(const char *dir, unsigned long long need);
/* Allocates the first `size` bytes of a file, so that touching them cannot fail: 0 or an errno. */
int lau_os_reserve(int fd, off_t size);
/* Distinguishes the run's processes from others; NULL = this system cannot. */
extern aud_kin_fn *const lau_os_kin;
/* The ends of the run's processes, from the kernel: aud_ends of the collector. `init`: the first
 * process of the run's pid namespace, 0 = the run has none. NULL = the kernel does not report them.
 * The caller frees it. */
struct lau_ends *lau_os_ends_new(pid_t init);
void lau_os_ends_free(struct lau_ends *);
void lau_os_ends_watch(void *ends, uint32_t pid);
bool lau_os_ends_next(void *ends, uint32_t *out_pid, int *out_status);

/* The terminal of standard error gives keys and not lines, and no shell has it: somebody draws on
 * it. False where the system is not asked. */
bool lau_os_is_screen_taken(void);

/* environ(7), which is not a variable on every system. */
char *const *lau_os_environ(void);
/* From here lau_os_environ() returns the requester's variables, in a fork that makes a run for it.
 */
void lau_os_borrow_environ(char *const *env);
