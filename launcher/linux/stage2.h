/* stage2.h - what the first stage tells the second, in a file in memory: only ever written by a
 * launcher and read by one of the same build. Private to wrap.h. */
#pragma once

#include "launcher/spawn.h"

struct b_err;
struct b_str;
struct lau_wrap;

#define LAU_STAGE2 "--stage2"

/* What the second stage says on the socket, behind its hello: nothing, when it became the command. */
struct lau_stage2_report {
	enum lau_spawn_step step;
	struct b_err err;
};

/* `hello`: the socket, as the second stage inherits it. */
void lau_stage2_spec(const struct lau_wrap *, const struct lau_spawn *, int hello,
		     struct b_str *out);
