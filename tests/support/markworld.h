/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markworld.h - the world in which marked calls (docs/adr/016) are attacked, and the calls.
 *
 *	TestSuite(s, .init = mw_set_up, .fini = mw_tear_down);
 *	mw_by_each(act, arg, SB_MARKED, 0, "name");	act answers 0, by root and by a user
 *
 * In mw_ws: src, pub and work are clean, and granted; ro may not be changed; .claude, which is not
 * there, has protected names: settings.json, hooks. mw_out lies outside.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ring.h"
#include "policy/plan/floor.h"
#include "tests/support/brokertree.h"

extern char mw_ws[80], mw_out[96];
extern struct sb_policy mw_policy;
extern struct pol_floor mw_floor;
extern _Atomic uint64_t *mw_rounds; /* shared with the sandbox */

void mw_set_up(void);
void mw_tear_down(void);
/* Anew, as nobody's, who then stands in it. */
void mw_make(void);
/* With SBX_ROUNDS prints them. */
void mw_say_rounds(const char *what, unsigned marks);
void mw_by_each(int (*act)(void *), void *arg, unsigned marks, int want, const char *what);
bool mw_is_there(const char *path);

static inline long mw_marked(int fd)
{
	return (long)((uint64_t)SBX_MARK << 32 | (uint32_t)fd);
}

#define HERE		mw_marked(AT_FDCWD)
#define OPEN(p, f, m)	syscall(SYS_openat, HERE, p, (long)(f), (long)(m))
#define UNLINK(p, f)	syscall(SYS_unlinkat, HERE, p, (long)(f))
#define MOVE(a, b, f)	syscall(SYS_renameat2, HERE, a, HERE, b, (long)(f))
#define LINK(a, b, f)	syscall(SYS_linkat, HERE, a, HERE, b, (long)(f))
#define MKDIR(p, m)	syscall(SYS_mkdirat, HERE, p, (long)(m))
#define SYMLINK(t, p)	syscall(SYS_symlinkat, t, HERE, p)
#define MKNOD(p, m, d)	syscall(SYS_mknodat, HERE, p, (long)(m), (long)(d))
#define REACH(fd, p, f) syscall(SYS_openat, mw_marked(fd), p, (long)(f), 0644L)
/* Without a mark: by the broker. */
#define PLAIN(a, b, f) syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, (long)(f))
