/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor_priv.h - the planner's inside, shared by floor.c (what is granted) and floor_gaps.c
 * (what cannot be). Paths are canonical bytes with "" for the root directory.
 */
#pragma once

#include "core/decide.h"
#include "policy/plan/floor.h"

#define POL_PLANNED_OPS 3

struct pol_bases {
	const char **v; /* sorted bases of the rules of one operation */
	size_t n;
};

struct pol_plan {
	const struct pol_ruleset *rules;
	const struct sbx_image *img;
	const struct pol_fsview *fs;
	struct pol_floor *out;
	struct pol_bases bases[POL_PLANNED_OPS];
	bool exec_is_read;   /* the two lists are one: planned once */
	bool listed_beneath; /* some carved directory was made listable */
	bool has_broker;
	unsigned host_traps; /* POL_TRAP_* needed whatever the rules */
};

/* ---- floor_gaps.c ---- */

/* May the directory be granted whole to read or execute, because permissions keep closed all that
 * is denied below it? Notes what that is. */
bool pol_plan_held(struct pol_plan *, enum sbx_op, const char *path, size_t len);

/* ---- floor_gaps.c: what is left to the broker ---- */

/* `rights` (POL_GRANT_*) at and below the directory, or the nearest one that exists. */
void pol_brokered_add(struct pol_plan *, const char *path, size_t len, unsigned rights);
/* At least this level of reads. */
void pol_brokered_read(struct pol_plan *, enum pol_read_level);
/* Once all is visited: traps, and the rights that become the broker's. */
void pol_brokered_settle(struct pol_plan *);

/* Is `base` strictly below the directory? */
bool pol_plan_is_below(const char *base, const char *path, size_t len);
bool pol_plan_allows(const struct pol_plan *, enum sbx_op, const char *path, size_t len);
/* May a name that does not exist yet be used in this directory? */
bool pol_plan_new_names(const struct pol_plan *, enum sbx_op, const char *path, size_t len);
/* What the policy says of everything beneath a directory, whatever it says of itself. */
enum sbx_subtree pol_plan_beneath(const struct pol_plan *, enum sbx_op, const char *path,
				  size_t len);

/* A directory that neither is clean nor can be carved: names the rules. True when a broad allow
 * is pierced by denies, so that a lax grant makes sense. */
bool pol_gap_complex(struct pol_plan *, enum sbx_op, const char *path, size_t len);
/* What carving a directory cannot give. */
void pol_gap_carved(struct pol_plan *, const char *path, size_t len, unsigned pending,
		    bool crowded);
/* Positive rules that name one thing: missing, or a file whose directory stays closed. */
void pol_gap_single_targets(struct pol_plan *);
/* Denied reads in writable directories. */
void pol_gap_movable(struct pol_plan *);
/* Names beneath listed directories. */
void pol_gap_names(struct pol_plan *);
