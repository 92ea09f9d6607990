/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floorplan.h - plans of the floor for made-up rules on a made-up file system.
 *
 *	floorplan_make(LIST("a+ T /", "a- T /home/u/.ssh", "m+ T /w"),
 *		       LIST("/home/", "/home/u/", "/home/u/.ssh/", "/bin@", "/w/"));
 *	... floorplan.grants, floorplan.gaps ...
 *	floorplan_release();
 *
 * A rule starts with r (read), m (modify), x (exec) or a (read and exec), goes on with + or -,
 * a shape E, T or G (exact, tree, glob), the base and, for a glob, the pattern. A path of the
 * file system that ends in a slash is a directory, in @ a symlink. What is called "closed..." is
 * kept so by file permissions.
 */
#pragma once

#include <stdbool.h>

#include "core/image.h"
#include "policy/plan/floor.h"
#include "policy/plan/mounts.h"

struct b_err;

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

extern struct sbx_image floorplan_img;
extern struct pol_floor floorplan;
extern bool floorplan_broker;	 /* plan for a host that has one */
extern unsigned floorplan_traps; /* that this host needs (POL_TRAP_*) */
extern unsigned floorplan_lists; /* directories listed by the last plan */

/* Fails the test when the rules do not compile or the plan does not come about. */
void floorplan_make(const char *const *rules, const char *const *files);
/* The same for a plan that may fail: what pol_floor_plan() gives. */
int floorplan_try(const char *const *rules, const char *const *files, struct b_err *err);
/* Of the plan made last, as mounts; released by the caller. */
void floorplan_mounts(struct pol_mounts *out);
/* pol_floor_mark() of it. The files of the plan must still be there. */
size_t floorplan_mark(const char *const *mounts);
void floorplan_release(void);
/* Of an entry of the file system: length without the mark, and 'd', 'f' or 'l'. */
size_t floorplan_plain_len(const char *entry);
char floorplan_type_at(const char *entry);
