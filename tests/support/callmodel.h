/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callmodel.h - what a call on files in a tree may do under a policy, decided by looking at every
 * name that is there: the judge of the agreement tests of the broker.
 *
 *	cm_policy, cm_tree[0] and cm_judges_programs are set
 *	if (cm_allowed(&call)) ...
 */
#pragma once

#include <stdbool.h>

#include "tests/support/broker.h"

enum kind { OPEN, MKDIR, RMDIR, UNLINK, RENAME, LINK, SYMLINK, TRUNCATE, CHMOD, UTIME, KINDS };
struct call {
	enum kind kind;
	int flags; /* of open and renameat2 */
	bool by_openat2, nofollow;
	char a[40], b[40]; /* relative to the tree */
};

extern char cm_tree[2][64]; /* canonical; the model looks into the first */
extern struct sb_policy cm_policy;
extern bool cm_judges_programs; /* execve(2) is trapped */

/* True also for a call that fails by the kernel's own refusal. */
bool cm_allowed(const struct call *);
