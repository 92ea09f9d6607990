/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap.h - the command inside bubblewrap (--backend bwrap), Linux.
 *
 * bwrap makes mounts and namespaces and then starts our own program once more, whose second stage
 * takes the remaining steps of confine.h, says hello, and becomes the command: so statuses,
 * descriptors, capabilities, Landlock and the system-call filter are those of any other run.
 *
 *	lau_wrap_find(NULL, &path, &err);	absolute, root's, 0.5 or later
 *	lau_wrap_spawn(&sp, &wrap, &spawned, &err);
 *
 *	bwrap --args FD -- SELF --stage2 FD
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/run/spawn.h"

struct b_err;
struct b_str;
struct lau_spawn;
struct lau_spawned;
struct lau_wrap;
struct pol_bwrap;
struct pol_ll_plan;
struct pol_mounts;

struct lau_wrap {
	const char *bwrap; /* from lau_wrap_find() */
	const char *self;  /* this program, as it is called inside */
	const struct pol_mounts *mounts;
	const struct pol_bwrap *options;
	/* what the second stage is told */
	const struct pol_ll_plan *landlock; /* NULL = none */
	unsigned seccomp_flags;
	uint64_t keep_caps;
};

/* A path that nobody but root can change, version 0.5 or later: where links lead from `asked`, if
 * it is not NULL, and nowhere else then. B_FLOOR, naming the remedy. */
int lau_wrap_find(const char *asked, struct b_str *out, struct b_err *err);
/* As lau_spawn(): out->wrap is to be waited for. Of `sp` confine's descriptors are kept. */
int lau_wrap_spawn(const struct lau_spawn *, const struct lau_wrap *, struct lau_spawned *out,
		   struct b_err *err);

/* Is this the second stage? */
bool lau_stage2_asked(int argc, char *const *argv);
/* Becomes the command, or returns a status; what is wrong is told to the first stage. */
int lau_stage2(int argc, char **argv);

/* What the first stage tells the second, in a file in memory: only ever written by a
 * launcher and read by one of the same build. Private to wrap.h. */

#define LAU_STAGE2 "--stage2"

/* What the second stage says on the socket, behind its hello: nothing, when it became the command.
 */
struct lau_stage2_report {
	enum lau_spawn_step step;
	struct b_err err;
};

/* `hello`: the socket, as the second stage inherits it. */
void lau_stage2_spec(const struct lau_wrap *, const struct lau_spawn *, int hello,
		     struct b_str *out);
