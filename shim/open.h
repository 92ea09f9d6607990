/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - opening a path under the policy.
 *
 * The usual case is one system call: the text is judged and openat2(RESOLVE_NO_SYMLINKS) opens
 * it, which proves that the object opened is the text judged, created files included. A
 * symlink or ".." on the way: the object is held by O_PATH, which has no side effects, its own
 * path is judged, then it is opened. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>

#include <sys/types.h>

/* open(2) ignores what it does not know, openat2(2) refuses it. */
#define SHIM_OPEN_FLAGS                                                                            \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC |      \
	 O_DSYNC | O_ASYNC | O_DIRECT | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME |       \
	 O_CLOEXEC | O_PATH | O_TMPFILE)

/* Descriptor or -errno; errno untouched. */
int shim_open(unsigned call, int dirfd, const char *path, int flags, mode_t mode);
/* Does this library open files by itself now? No: another library wants to see open(), there
 * is no policy, or a filter of the program's own is in force: ask shim_may_open() and then
 * make the call as the program asked for it. */
bool shim_opens(void);
/* Judges without opening: 0 or -errno. The event is told by the caller's shim_opened(). */
struct shim_asked {
	unsigned call;
	int dirfd;
	const char *path;
	int flags;
	char *buf; /* SBX_PATH_MAX bytes: the canonical path when len is set */
	unsigned long len;
	unsigned op;
	unsigned long key;
	bool is_told;
	bool is_cut;   /* buf holds the beginning of the path only ... */
	unsigned rule; /* ... and this is what decided, for struct sbx_event */
};
int shim_may_open(struct shim_asked *);
void shim_opened(const struct shim_asked *, int err);
