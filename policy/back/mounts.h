/*
 * mounts.h - the floor as mounts, for a host that wants a file system of its own for the command.
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
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "core/image.h"
#include "policy/back/floor.h"

struct pol_ruleset;

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
void pol_mounts_plan(const struct pol_ruleset *, const struct sbx_image *, const struct pol_fsview *,
		     struct pol_floor *floor, struct pol_mounts *out);
void pol_mounts_release(struct pol_mounts *);
const char *pol_mount_kind_name(enum pol_mount_kind);
