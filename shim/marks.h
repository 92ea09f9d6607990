/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - calls that the kernel may decide alone (docs/adr/016): made with a mark first, where no
 * rule can differ in the directory. Landlock refuses what the launcher has not granted (EACCES,
 * EXDEV between directories): the shim then makes the call without a mark, and remembers the
 * directory. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shim/proc.h"
#include "shim/where.h"

struct shim_op; /* shim/paths_check.h */

/* Is the parent of this path worth a try? */
bool shim_marks_below(const char *path, size_t len);
/* It was none. */
void shim_marks_not(const char *path, size_t len);

/* May the call be made marked, on what its ends hold? Not where a directory moves: the broker
 * counts these, with its lock. */
#ifdef __APPLE__
static inline bool shim_op_marks(const struct shim_op *op)
{
	(void)op;
	return false;
}
#else
bool shim_op_marks(const struct shim_op *);
#endif
/* The marked call came out as `rc`. False: it is to be made without; else *out is its result, errno
 * is set. */
bool shim_op_marked(const struct shim_op *, long rc, int *out);

/*
 * An open, while calls are marked: openat2(2), by which the shim proves that a text is the object's
 * own, then is the broker's. By openat(2), with a mark where it writes; what was opened behind more
 * than one name is read back. A descriptor, or -errno; SHIM_NOT_AT_ONCE: as ever.
 */
struct shim_once {
	int dirfd;
	const char *path;
	int flags;
	unsigned mode;
	bool writes;
	char *buf; /* the text of the path; where another was opened, of that */
	struct shim_text text;
	bool is_elsewhere;
};
#define SHIM_NOT_AT_ONCE (-1001)
int shim_open_at_once(struct shim_once *);

/* The answer of the marked call `nr` on the ends, or of `plain` if the call cannot be marked.
 * `last`: the arguments after the path of one end, or of both. */
#ifdef __APPLE__
#define MARKED(nr, last, plain)	    (plain)
#define MARKED_TWO(nr, last, plain) (plain)
#else
#include "shim/sys_linux.h"
#define MARKED(nr, last, plain)                                                                    \
	MARKED_CALL(sys3(nr, sys_mark(op.end[0].at), op.end[0].name, (last)), plain)
#define MARKED_TWO(nr, last, plain)                                                                \
	MARKED_CALL(sys5(nr, sys_mark(op.end[0].at), op.end[0].name, op.end[1].at, op.end[1].name, \
			 (last)),                                                                  \
		    plain)
#define MARKED_CALL(call, plain)                                                                   \
	({                                                                                         \
		int marked_ = -1;                                                                  \
		if (!op.is_marked || !shim_op_marked(&op, (call), &marked_))                       \
			marked_ = (plain);                                                         \
		marked_;                                                                           \
	})
#endif
