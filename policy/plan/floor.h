/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor.h - the planner: which mechanism enforces each rule (docs/ARCHITECTURE.md).
 *
 *	struct pol_floor floor;
 *	pol_floor_plan(&engine->rules, &engine->image, pol_fsview_host(), &floor, &err);
 *	pol_floor_grant(&floor, "/run/user/0/sbx/ring", POL_GRANT_RING, false);
 *	fatal gaps:  --strict       refuse, naming them
 *	             --best-effort  print them, pol_floor_accept_gaps(&floor)
 *	pol_ll_plan(&floor, abi, &plan);
 *
 * A subtree is *clean* for an operation when no rule can change the verdict at or below it:
 * clean and allowed, it is granted. A directory that lies above a rule is *carved*: its
 * existing entries are judged one by one. Everything else gets no right, which fails closed,
 * and is reported as a gap.
 *
 * Gaps that are fatal are rules the kernel does not enforce exactly. Where a broad allow is
 * pierced by denies that cannot be carved, a grant marked `lax` waits beside the fatal gap:
 * without pol_floor_accept_gaps() it is never applied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"
#include "policy/plan/seccomp.h"
#include "policy/rules/fsview.h"

struct b_err;
struct b_str;
struct pol_ruleset;

/* Classes of Landlock rights; policy/plan/landlock.c maps them to bits by ABI. */
#define POL_GRANT_READ	0x01u /* open for reading, list */
#define POL_GRANT_LIST	0x02u /* list; Landlock rights inherit, so it lists beneath, too */
#define POL_GRANT_WRITE 0x04u /* everything that modifies, moves and truncation included */
#define POL_GRANT_EXEC	0x08u
#define POL_GRANT_DEV	0x10u /* ioctl on device nodes */
#define POL_GRANT_RING	0x20u /* read and write a file of fixed size: no truncation */
#define POL_GRANT_PUT	0x40u /* write to files that are there: device nodes */
/* Files and directories, and no other kinds, made, written, moved and removed by the kernel alone:
 * pol_floor_mark() */
#define POL_GRANT_CLEAN 0x80u

struct pol_grant {
	const char *path;
	unsigned rights; /* POL_GRANT_* */
	bool is_dir;
	bool lax; /* more than the rules allow: see above */
};

/* A rule the plan cannot enforce, or not wholly, in the kernel. */
struct pol_gap {
	enum sbx_op op;
	const char *rule;   /* matched text, or what it is about in <> */
	const char *origin; /* "" when it is about no single rule */
	const char *why;    /* "a deny inside a writable directory needs the broker" */
	const char *remedy;
	bool fatal; /* refused under --strict; else a known, printed limit */
};

#define POL_CARVE_MAX 1000 /* entries of a carved directory granted one by one */

struct pol_floor {
	struct b_arena arena;
	struct pol_grant *grants; /* sorted by path after planning; one per path and laxness */
	size_t ngrants, grants_cap;
	struct pol_gap *gaps;
	size_t ngaps, gaps_cap;
	const char **carved; /* directories whose entries were granted one by one */
	size_t ncarved, carved_cap;
	const char **held; /* denied reads that are left to file permissions */
	size_t nheld, held_cap;
	bool gaps_accepted;
	/* The directories in which the broker performs calls, if one is used, and which calls. */
	bool uses_broker;
	struct pol_grant *brokered; /* sorted by path after planning */
	size_t nbrokered, brokered_cap;
	enum pol_read_level read_level;
	unsigned traps; /* POL_TRAP_* */
};
void pol_floor_release(struct pol_floor *);

/* The ruleset and the image compiled from it. *out is released by pol_floor_release() on success.
 */
int pol_floor_plan(const struct pol_ruleset *, const struct sbx_image *, const struct pol_fsview *,
		   struct pol_floor *out, struct b_err *err);
/*
 * The same where a broker can be had (launcher/linux/broker/public.h): what would be a fatal gap is
 * performed by it. When nothing is, uses_broker stays false, unless the host needs `traps`
 * (POL_TRAP_*) whatever the policy says. When something is, its filter stops all calls that modify,
 * wherever they go, so that a right to write to a directory would save nothing and be a second way:
 * such rights become the broker's, too.
 */
int pol_floor_plan_broker(const struct pol_ruleset *, const struct sbx_image *,
			  const struct pol_fsview *, unsigned traps, struct pol_floor *out,
			  struct b_err *err);
/* The grants of the broker's own domain: all of its target's, and the calls that it performs. */
void pol_floor_union(const struct pol_floor *, struct pol_floor *out);
/* An exact grant beside the rules: the run's ring and image, never a user's path. */
void pol_floor_grant(struct pol_floor *, const char *path, unsigned rights, bool is_dir);
/*
 * Grants the directories that are there and clean (core/decide.h), in what the broker performs:
 * there the kernel may decide marked calls (docs/adr/016). Not those with a mount below them, nor
 * git directories. How many, POL_CLEAN_MAX at most. `mounts`: where file systems are mounted. After
 * planning for a broker, whose own domain needs no such grant.
 */
#define POL_CLEAN_MAX 128
size_t pol_floor_mark(struct pol_floor *, const struct sbx_image *, const struct pol_fsview *,
		      const char *const *mounts, size_t nmounts);
/* Whether devices are open beyond those that every command has: the command may use their drivers.
 */
bool pol_floor_opens_devices(const struct pol_floor *);
/* --best-effort: the rules named by fatal gaps are left to the shim. */
void pol_floor_accept_gaps(struct pol_floor *);
bool pol_floor_has_fatal(const struct pol_floor *);
/* limits.c: known limit `i` that holds for any policy, with or without a broker; false after the
 * last. The name is that of docs/THREAT-MODEL.md. Static. */
bool pol_limit(bool with_broker, size_t i, const char **out_name, const char **out_text);
void pol_floor_show(const struct pol_floor *, struct b_str *out);
