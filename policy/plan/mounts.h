/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.h - a floor plan as mounts, and as arguments of bubblewrap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"
#include "policy/plan/floor.h"

struct b_err;
struct b_str;
struct pol_fsview;
struct pol_mounts;
struct pol_ruleset;

/*
 * The floor as mounts, for a host that wants a file system of its own for the command.
 *
 *	pol_floor_plan(rules, image, fs, &floor, &err);		(without a broker)
 *	pol_mounts_plan(rules, image, fs, &floor, &mounts);
 *
 * Everything that the floor grants is bound into an empty root; what it does not grant is not
 * there. A writable directory that holds something denied is bound whole and the denied things
 * are covered, so that gaps of the floor are closed: those are taken out of `floor`. Covers come
 * last, and before them pins: a directory above a cover is bound to itself, since a mount point
 * can be neither renamed nor removed, and by another name what it holds would be uncovered.
 *
 * A cover needs something to cover. Patterns, and names that do not exist yet, stay gaps.
 */

/* In the order in which they are made. */
#define POL_MOUNT_KINDS(X)                                                                         \
	X(RO, "read-only")                                                                         \
	X(RW, "writable")                                                                          \
	X(DEVICE, "device")                                                                        \
	X(LINK, "symlink")                                                                         \
	X(PIN, "pinned")                                                                           \
	X(HIDE_DIR, "hidden directory")                                                            \
	X(HIDE_FILE, "hidden file")

enum pol_mount_kind {
#define X(name, text) POL_MOUNT_##name,
	POL_MOUNT_KINDS(X)
#undef X
};

struct pol_mount {
	enum pol_mount_kind kind;
	const char *path;
	const char *target; /* of a LINK */
	bool is_cover;	    /* on top of what was bound before: may not be left out */
};

struct pol_mounts {
	struct b_arena arena;
	struct pol_mount *v; /* in order */
	size_t n, cap;
};

/* `floor` of pol_floor_plan() on the same rules, changed as said above. */
void pol_mounts_plan(const struct pol_ruleset *, const struct sbx_image *,
		     const struct pol_fsview *, struct pol_floor *floor, struct pol_mounts *out);
void pol_mounts_release(struct pol_mounts *);
const char *pol_mount_kind_name(enum pol_mount_kind);

/*
 * A plan of mounts as arguments of bubblewrap (bwrap(1), 0.5 and later). Pure.
 *
 *	struct pol_bwrap o = {.network = false, .pid = true, .cwd = "/w"};
 *	pol_bwrap_arguments(&mounts, &o, &args);
 *	bwrap --args FD ...	FD: args.s, each argument ended by a NUL
 */

struct pol_bwrap {
	bool network;	    /* the host's */
	bool user;	    /* a user namespace: for whoever is not root */
	bool pid;	    /* a pid namespace and its /proc; else the host's /proc is bound */
	bool cgroup;	    /* a cgroup namespace, where there are such */
	uint64_t keep_caps; /* mask, capabilities(7) */
	const char *cwd;
};

/* Appends the arguments up to, and without, `--` and the command. */
void pol_bwrap_arguments(const struct pol_mounts *, const struct pol_bwrap *, struct b_str *out);
/* Such arguments for a person: an option a line. */
void pol_bwrap_show(const struct b_str *args, struct b_str *out);

/*
 * The arguments that caliban itself gives bubblewrap for its `[sandbox]` table,
 * in its order: to compare, or for what is built on them. What this product mounts is mounts.h's.
 */

/* Appends them up to, and without, `--` and the command, each ended by a NUL. The text is checked
 * as pol_front_parse() does; `fs` says what is a directory. B_POLICY. */
int pol_caliban_bwrap(const char *name, const char *text, size_t len, const struct pol_fsview *fs,
		      struct b_str *out, struct b_err *err);
