/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - a child under a policy, held by Landlock and the broker alone, without launcher and
 * shim: what the floor tests and benches run their acts in.
 *
 *	struct sb_policy p;
 *	sb_policy_make(&p, lines);		"r+ T /", "m- G /tmp/x **" "/" "*.env"
 *	rc = sb_run(&p, &opts, act, arg);	act's result, 1000 + signal, or SB_BROKEN
 *	sb_policy_release(&p);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/image.h"
#include "launcher/linux/broker/public.h"
#include "policy/plan/seccomp.h"
#include "policy/compile/ruleset.h"

#define SB_BROKEN 250 /* the child could not confine itself */

struct sb_policy {
	struct pol_ruleset rules;
	struct sbx_image image;
	void *data;
};
/* Lines: operations (r read, m modify, x exec, c connect), + or -, E exact / T tree / G glob, the
 * base, and with G the glob. NULL ends them. */
#define SB_NEXT_DOCUMENT                                                                           \
	"=" /* a line: what follows is another document, which must allow as well */
void sb_policy_make(struct sb_policy *, const char *const *lines);
void sb_policy_release(struct sb_policy *);

struct sbx_ring;
struct pol_floor;
struct sb_options {
	enum pol_read_level level;
	unsigned traps;	      /* 0: all */
	uid_t uid;	      /* 0: as who we are */
	bool no_read;	      /* Landlock grants no reading of `dir` and below */
	bool bare;	      /* no broker, no Landlock: the positive control */
	unsigned tree_budget; /* of the broker's plan */
	bool no_filter;	      /* the broker's own filter is left out */
	const char *dir;      /* for no_read: its siblings are granted instead */
	/* Both domains, level and traps of a plan; NULL: as above. */
	const struct pol_floor *floor;
	struct sbx_ring *ring; /* events, shared memory */
	size_t ring_size;
	_Atomic uint64_t *proceeded; /* of the broker's plan, as the three below */
	_Atomic uint64_t *moves;
	bool lies;
	void (*test_point)(enum lau_broker_point);
	const struct lau_movelock *lock;
	struct lau_images apart; /* of the broker's plan, as the next */
	struct lau_givens given;
	/* Of a floor with pol_floor_mark(): marked calls pass. The positive control: the broker is
	 * not told that names change without it. */
	enum { SB_UNMARKED, SB_MARKED, SB_MARKED_BLINDLY } marks;
	const char *caps; /* kept by a target of root; NULL: the launcher's default */
};
/* Landlock's ABI here, or the older one that SBX_ABI in the environment asks for: what a newer
 * kernel is not asked to see, it does not see. */
int sb_abi(void);
int sb_run(const struct sb_policy *, const struct sb_options *, int (*act)(void *), void *arg);
