/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths_check.h - the calls of SHIM_PATH_CALLS: find the object, judge it, act on it by its parent.
 *
 *	SHIM_PATHS(1);
 *	struct shim_op op = { .call = SBX_CALL_unlink, .nends = 1, .end = { { buf[0], d, path,
 *			      SHIM_LAST } } };
 *	switch (shim_begin(&op)) { case SHIM_PASS: ... case SHIM_AT: ... case SHIM_REFUSE: ... }
 *	return shim_end(&op, ret);
 *
 * [AS-safe] [MT-safe] [no-alloc]; errno is the call's own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"
#include "core/path.h"

#define SHIM_LAST	0x01u /* the name itself, no last symlink followed */
#define SHIM_FOLLOW	0x02u
#define SHIM_NEW	0x04u  /* fails with EEXIST when it exists */
#define SHIM_A_DIR	0x08u  /* fails with ENOTDIR on anything but a directory */
#define SHIM_NO_DIR	0x10u  /* fails with EISDIR on a directory */
#define SHIM_JUDGE_ONLY 0x20u  /* with SHIM_LAST: the call is made as asked */
#define SHIM_EMPTY	0x80u  /* "" is the descriptor itself */
#define SHIM_NULL	0x100u /* so is NULL */
#define SHIM_SOURCE	0x200u /* of a link: a file without a name is about to get one */
#define SHIM_NUMBER	0x400u /* fails with EBADF for an O_PATH descriptor */
#define SHIM_FD		(SHIM_FOLLOW | SHIM_EMPTY | SHIM_NUMBER) /* on a descriptor, path "" */
#define SHIM_ATTRS	0x40u /* with SHIM_LAST: "link/" and "." name a directory all the same */

enum shim_moving { SHIM_STAYS, SHIM_MOVES, SHIM_SWAPS, SHIM_LINKS };

enum shim_way {
	SHIM_PASS,  /* make the call as the program asked for it */
	SHIM_AT,    /* make it on call_at, call_name of the ends, while shim_again() says so */
	SHIM_REFUSE /* do not make it: errno is set */
};

struct shim_end {
	char *path; /* SBX_PATH_MAX bytes, or `deep`; canonical when the way is known */
	int dirfd;
	const char *asked;
	unsigned how;
	/* set by shim_begin() */
	size_t len;
	int at;
	bool is_at_ours; /* `at` is to be closed */
	bool is_text;	 /* `path` says where it is, if the cwd is its first `base` bytes now */
	size_t base;
	const char *name;
	int call_at; /* SHIM_AT: what the call is made on */
	const char *call_name;
	char *deep; /* mapped for a path that is longer, shim/where.h */
};

struct shim_op {
	unsigned call;
	enum sbx_op op; /* SBX_MODIFY; SBX_READ: one end, never SHIM_AT */
	enum shim_moving moving;
	unsigned nends;
	struct shim_end end[2];
	/* set by shim_begin() */
	bool is_told; /* shim_end() has something to tell */
	bool is_dir;  /* a directory moves, or may do so */
	bool is_left; /* what lies in it decides: the broker's to judge and to deny */
	int err;
	unsigned flags, aux;
	uint64_t key;	 /* of the verdict cache, where equal events fold */
	bool is_marked;	 /* it is tried marked first: shim/marks.h */
	bool is_by_text; /* the call is made on the whole paths, found since: */
	uint64_t since;
	int saved_errno;
};

enum shim_way shim_begin(struct shim_op *);
/* The call on SHIM_AT came out as `ret`: is it to be made again, on ends that are now named by
 * what is held? */
bool shim_again(struct shim_op *, int ret);
/* Closes what begin opened, tells the event, returns `ret`; errno as the call left it. */
int shim_end(struct shim_op *, int ret);

/* access(2) and its kin, after the kernel has said yes: the answer of the policy for the object
 * named. A directory that something may be created in is writable. 0, or EACCES. */
int shim_access_denied(int dirfd, const char *path, int mode, int flags);
/* Tells, at the audit level `all`, that a path was asked about. `failed`: errno says how. */
void shim_query(unsigned call, int dirfd, const char *path, bool failed);
/* Both: the kernel was asked first, so that its refusals come out as without us, and said `ret`. */
int shim_access_answer(unsigned call, int dirfd, const char *path, int mode, int flags, int ret);

/* `how` of calls with AT_SYMLINK_NOFOLLOW, and of linkat with AT_SYMLINK_FOLLOW. */
unsigned shim_how(int flags);
unsigned shim_how_link(int flags);
/* remove(3) by descriptor and name. */
int shim_remove_at(int at, const char *name);

/* Finds the canonical path of the object an end names: 0, -errno of the kernel's own refusal,
 * or SHIM_UNKNOWN when the shim cannot tell. Sets len, and with SHIM_LAST at and name. */
#define SHIM_UNKNOWN 1
#define SHIM_AS_IS   2 /* no object by path: the kernel answers without side effects */
int shim_find(struct shim_end *);
void shim_end_close(struct shim_end *);
