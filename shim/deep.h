/*
 * deep.h - objects below the depth that the kernel has a text for (core/deep.h): held by their
 * parent, with their whole path in a mapping of their own, for programs get there on stacks of
 * 16 KiB. All of it is rare and slow. [AS-safe] [MT-safe] [no-alloc]
 *
 *	struct shim_deep d;
 *	rc = shim_deep_find(&d, dirfd, path, true);
 *	if (rc == 0) { judge d.room, d.len; act on d.at, d.name }
 *	shim_deep_release(&d);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/deep.h"

struct shim_deep {
	char *room; /* SBX_DEEP_ROOM bytes, mapped; NULL: none */
	size_t len;
	int at;		  /* the parent, O_PATH; -1 */
	const char *name; /* in it; no symlink if it was to be followed; "." = the parent itself */
};

/* Has this descriptor a path that is too long for shim_fd_text()? */
bool shim_is_deep(int fd);

/* 0, -errno of the kernel's own refusal, or SHIM_DEEP_UNKNOWN. Released in any case. A last
 * symlink is followed on demand; a slash at the end demands a directory, and follows. */
#define SHIM_DEEP_UNKNOWN 1
int shim_deep_find(struct shim_deep *, int dirfd, const char *path, bool follow);
/* Of a directory that is held: room and len. As above. */
int shim_deep_text(struct shim_deep *, int dir);
void shim_deep_release(struct shim_deep *);
