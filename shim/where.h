/* SPDX-License-Identifier: Apache-2.0 */
/*
 * where.h - what a path of a call means: absolute text, from the remembered paths of the
 * current directory and of directory descriptors. [AS-safe] [MT-safe] [no-alloc]
 *
 * A remembered path is wrong when the directory was renamed, when the descriptor was closed
 * behind our back, or when somebody changed directory inside the C library. Each such case
 * either is hooked and forgets, or stops the remembering for good (shim_where_distrust): a
 * slower right answer is better than a fast wrong one. A number is forgotten twice: when it is
 * closed, and when it is given anew, so that neither end has to be seen. Left over: renames by
 * processes without a shim that no broker performs, and a number closed and given anew both by
 * inline system calls; the floor judges objects, not texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/deep.h"
#include "core/path.h"

#define SHIM_TEXT_ABSOLUTE 0x100u /* open by the text itself: absolute, or led through an alias */

struct shim_text {
	size_t len;  /* 0 = not known */
	size_t base; /* length of the directory's part; the rest, without '/', is relative to it */
	unsigned flags; /* SBX_PATH_*, SHIM_TEXT_* */
};

/* Writes the absolute lexical text of (dirfd, path) to buf (SBX_PATH_MAX bytes). Known
 * symlinks of the system (/bin) are replaced. With ".." the text is no more than a guess. */
struct shim_text shim_text(char *buf, int dirfd, const char *path);

/* The kernel's path of an open descriptor; 0 when it has none (a pipe, no /proc), or when it does
 * not fit (shim/where.h). A deleted
 * file's " (deleted)" stays: nothing can be opened by that name. */
size_t shim_fd_text(int fd, char *buf);

/* A directory was opened as `fd`, and `text` is its canonical path, found after `since`. */
void shim_where_learn(int fd, uint64_t since, const char *text, size_t len);
/* How often directories have moved; to be asked before a path is looked up. */
uint64_t shim_where_since(void);
void shim_where_closed(int fd);
/* `fd` has just been given to the program; -1, -errno: it has not. Returns it. */
int shim_where_given(int fd);
void shim_where_closed_all(void);
/* chdir and the like succeeded. */
void shim_where_moved(void);
/* Are the first `base` bytes of `text` ("/": 0) the path of the current directory at this moment?
 * The kernel is asked anew. False as well where it is long, or was found to lead nowhere. */
bool shim_cwd_is(const char *text, size_t base);
/* Do they lead to a directory? Not below one that is closed to us, nor when it was moved. `text` is
 * as it was afterwards. */
bool shim_cwd_leads(char *text, size_t base);
/* Looks the current directory up now, while it is free to. */
void shim_where_fill(void);
/* From now on nothing is remembered: the process or the C library changes directories, or
 * shares of descriptors, where we cannot see it. */
void shim_where_distrust(void);

/*
 * Holding the object a path leads to and knowing its canonical path, without /proc:
 * the first look of a new process into /proc costs the kernel some 20 us, and programs are
 * mostly started by new processes. [AS-safe] [MT-safe] [no-alloc]
 */

/* An O_PATH descriptor of what (dirfd, path) leads to, last symlinks followed, or -errno. `buf`
 * (SBX_PATH_MAX bytes) gets its canonical path, *out_len 0 when it has none that is known. */
int shim_hold(int dirfd, const char *path, char *buf, size_t *out_len);

/*
 * Objects below the depth that the kernel has a text for (core/deep.h): held by their
 * parent, with their whole path in a mapping of their own, for programs get there on stacks of
 * 16 KiB. All of it is rare and slow. [AS-safe] [MT-safe] [no-alloc]
 *
 *	struct shim_deep d;
 *	rc = shim_deep_find(&d, dirfd, path, true);
 *	if (rc == 0) { judge d.room, d.len; act on d.at, d.name }
 *	shim_deep_release(&d);
 */

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
/* The same for an open directory: room and len. */
int shim_deep_text(struct shim_deep *, int dir);
void shim_deep_release(struct shim_deep *);
