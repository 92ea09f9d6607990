/* SPDX-License-Identifier: Apache-2.0 */
/* worldstate.h - what an inventory of the world holds: worldstate.c makes it, worldchanges.c
 * compares two of them. */
#pragma once

#include "attack.h"

#include <sys/stat.h>

#define AK_ENTRIES 4096

struct ak_entry {
	char *path;
	struct stat st;
	uint64_t born; /* with the inode's number: which object it is; 0 = not known */
	uint64_t hash; /* content, or target */
	uint64_t attrs;
	bool has_canary;
};
struct ak_state {
	struct ak_entry v[AK_ENTRIES];
	unsigned n;
};

/* NULL: not there. */
const struct ak_entry *ak_find_entry(const struct ak_state *, const char *path);
/* What differs between the two, for the record to be compared with. */
void ak_world_changes(const struct ak_state *before, const struct ak_state *now,
		      struct ak_changes *out);
