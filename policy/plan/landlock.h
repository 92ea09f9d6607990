/* SPDX-License-Identifier: Apache-2.0 */
/*
 * landlock.h - floor plan -> exact Landlock rule list for one ABI. Pure; printed by
 * `sbx-policy show --plan landlock [--abi N]`, applied by launcher/linux/confine/landlock.c.
 *
 *	struct pol_ll_plan plan;
 *	pol_ll_plan(&floor, lau_landlock_abi(), &plan);
 *	lau_landlock_prepare(&plan, &fd, &err);
 *	pol_ll_plan_release(&plan);
 *
 * A plan for a newer kernel than we know is the plan of POL_LL_ABI_MAX; for an older one the
 * rights that it lacks are left out, and pol_ll_lost() says what that means.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct b_str;
struct pol_floor;

/* Bits of the kernel ABI (linux/landlock.h), here because plans are made on any host. */
#define POL_LL_RIGHTS(X)                                                                           \
	X(EXECUTE, 0, 1, "execute")                                                                \
	X(WRITE_FILE, 1, 1, "write_file")                                                          \
	X(READ_FILE, 2, 1, "read_file")                                                            \
	X(READ_DIR, 3, 1, "read_dir")                                                              \
	X(REMOVE_DIR, 4, 1, "remove_dir")                                                          \
	X(REMOVE_FILE, 5, 1, "remove_file")                                                        \
	X(MAKE_CHAR, 6, 1, "make_char")                                                            \
	X(MAKE_DIR, 7, 1, "make_dir")                                                              \
	X(MAKE_REG, 8, 1, "make_reg")                                                              \
	X(MAKE_SOCK, 9, 1, "make_sock")                                                            \
	X(MAKE_FIFO, 10, 1, "make_fifo")                                                           \
	X(MAKE_BLOCK, 11, 1, "make_block")                                                         \
	X(MAKE_SYM, 12, 1, "make_sym")                                                             \
	X(REFER, 13, 2, "refer")	 /* 5.19 */                                                \
	X(TRUNCATE, 14, 3, "truncate")	 /* 6.2 */                                                 \
	X(IOCTL_DEV, 15, 5, "ioctl_dev") /* 6.10 */

enum pol_ll_right {
#define X(name, bit, abi, text) POL_LL_##name = 1u << (bit),
	POL_LL_RIGHTS(X)
#undef X
};

#define POL_LL_NET_TCP	    0x3u /* bind and connect, ABI 4 */
#define POL_LL_SCOPE_UNIX   0x1u /* abstract sockets, ABI 6 */
#define POL_LL_SCOPE_SIGNAL 0x2u /* ABI 6 */
#define POL_LL_ABI_MAX	    7	 /* what this table was tried on; newer kernels get this */

struct pol_ll_rule {
	const char *path;
	uint64_t access; /* POL_LL_*, clamped to the ABI and to files when it is one */
};
struct pol_ll_plan {
	struct b_arena arena;
	int abi;
	uint64_t handled_fs, handled_net, scoped;
	struct pol_ll_rule *rules;
	size_t nrules;
};
/* Grants marked `lax` are left out unless the floor's gaps were accepted (floor.h). */
void pol_ll_plan(const struct pol_floor *, int abi, struct pol_ll_plan *out);
void pol_ll_plan_release(struct pol_ll_plan *);
void pol_ll_show(const struct pol_ll_plan *, struct b_str *out);

/* Other mechanisms of the run, besides Landlock. */
#define POL_LL_BESIDE_BROKER 0x1u
#define POL_LL_BESIDE_NET    0x2u /* a network namespace */
#define POL_LL_BESIDE_PID    0x4u /* a pid namespace */
#define POL_LL_BESIDE_UNIX   0x8u /* nothing: abstract Unix sockets are open (--unix host) */
#define POL_LL_ABI_REFER                                                                           \
	2 /* below, a process in a domain cannot move files between directories                    \
	   */
#define POL_LL_ABI_TRUNCATE 3 /* below, truncation is not seen */
#define POL_LL_ABI_SCOPES   6 /* below, signals and abstract sockets are not */
/* POL_TRAP_* that the broker needs on a kernel of this ABI, whatever the policy says. */
unsigned pol_ll_traps(int abi);
/* Line `i` of the losses: neither a kernel of this ABI nor another mechanism (POL_LL_BESIDE_*)
 * enforces it. NULL after the last. Static strings. */
const char *pol_ll_lost(int abi, unsigned beside, size_t i);
