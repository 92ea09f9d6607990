/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brokertree.h - a small tree of files and the policy over it that the live tests of the broker
 * share: what an act answers in it, as who we are and as an ordinary user.
 *
 *	TestSuite(s, .init = sb_tree_set_up, .fini = sb_tree_tear_down);
 *	sb_expect_at(act, POL_READ_NONE, EACCES);	act opens sb_in("a.env")
 *
 * In it: f (text); a.env, of which nothing may be read or changed, as of every *.env; deny/, in
 * which nothing may be changed; tool may not be executed; open.sock may be connected to.
 */
#pragma once

#include <sys/types.h>

#include "tests/support/broker.h"

#define SB_NOBODY 65534
#define SB_OK	  0

extern char sb_root[64];
extern struct sb_policy sb_tree_policy;

void sb_tree_set_up(void);
void sb_tree_tear_down(void);
/* An absolute path in the tree; the last four of a thread stay valid. */
const char *sb_in(const char *name);
void sb_make_file(const char *name, const char *text);
/* errno of a failure, else SB_OK: what an act returns. */
int sb_result(long rc);
int sb_run_in_tree(int (*act)(void *), enum pol_read_level level, uid_t uid);
/* The act's answer is `want`, also for an ordinary user when we are root. */
void sb_expect_at(int (*act)(void *), enum pol_read_level level, int want);
