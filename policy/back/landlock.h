/* landlock.h - floor plan -> exact Landlock rule list for one ABI. Pure; printed by
 * `sbx-policy show --plan landlock [--abi N]`, applied by launcher/linux/landlock.c. */
#pragma once

#include <stdint.h>
#include <stddef.h>

#include "base/mem.h"

struct b_str;
struct pol_floor;

struct pol_ll_rule {
	const char *path;
	uint64_t access; /* LANDLOCK_ACCESS_FS_*, clamped to the ABI and to files when it is one */
};
struct pol_ll_plan {
	struct b_arena arena;
	int abi;
	uint64_t handled_fs, handled_net, scoped;
	struct pol_ll_rule *rules;
	size_t nrules;
};
void pol_ll_plan(const struct pol_floor *, int abi, struct pol_ll_plan *out);
void pol_ll_plan_release(struct pol_ll_plan *);
void pol_ll_show(const struct pol_ll_plan *, struct b_str *out);
