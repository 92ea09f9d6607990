/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.h - finds the path of a directory that is longer than the kernel reports.
 *
 * Neither readlink(2) on /proc/self/fd/N nor getcwd(2) gives a path that does not fit a page
 * (d_path: ENAMETOOLONG), yet programs get there by one short chdir(2) after the other. Its end
 * is found from below: the name a directory has in its "..", until the kernel knows the rest.
 * To look for a name the parent has to be listed: where that is refused, so is the path.
 *
 * A program that works in such a directory asks again and again, and each time the search would go
 * all the way up. The last path is therefore kept. It is used as far as following it, without a
 * symlink, leads to the same directory.
 *
 * No system call is made here: shim and broker bring their own. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_DEEP_MAX  61440u /* the longest path that is found, without NUL */
#define SBX_DEEP_ROOM 65536u /* room for it, and for the search */

struct sbx_deep_id {
	uint64_t dev, ino, mount; /* mount 0: not known (STATX_MNT_ID, Linux 5.8) */
	bool is_gone;		  /* it has no name left */
};

/* Results below 0 are -errno. */
struct sbx_deep_sys {
	int (*up)(int dir); /* "..", held */
	/* A directory below, no symlink followed; an absolute path from wherever. */
	int (*down)(int at, const char *path);
	int (*list)(int dir); /* opened for getdents64(2) */
	long (*entries)(int list, void *buf, size_t size);
	long (*text)(int fd, char *buf, size_t size); /* readlink(2) of /proc/self/fd/N */
	/* The calls follow no symlink; "" is `at` itself. */
	int (*identify)(int at, const char *name, struct sbx_deep_id *out);
	void (*close)(int fd);
};

/* One user at a time; all zero: nothing is kept yet. */
struct sbx_deep_memo {
	struct sbx_deep_id id;
	size_t len; /* 0: none */
	char text[SBX_DEEP_MAX + 1];
};

/*
 * Canonical path of a directory, NUL-terminated in room[SBX_DEEP_ROOM]: its length, or -errno.
 * -ENAMETOOLONG: longer than SBX_DEEP_MAX; -ENOENT: removed, or moved while we looked; -EXDEV: no
 * path in our view; -EACCES: a directory on the way may not be listed, or there are too many
 * entries to look through (SBX_DEEP_WORK). `memo` may be NULL.
 */
#define SBX_DEEP_WORK                                                                              \
	200000u /* entries by their number in a list; one that is asked for costs 8                \
		 */
long sbx_deep_text(const struct sbx_deep_sys *, int dir, char *room, struct sbx_deep_memo *);

/* Appends "/name" at *len: false when it is too long. */
bool sbx_deep_append(char *room, size_t *len, const char *name, size_t n);

/* The rule for ev->rule, from op, flags and aux. An event has only the beginning of a long path, so
 * the writer, which has all of it, finds the rule. */
struct sbx_event;
struct sbx_image;
uint32_t sbx_deep_rule(const struct sbx_image *, const struct sbx_event *, const char *path,
		       size_t len, const char *path2, size_t len2);
