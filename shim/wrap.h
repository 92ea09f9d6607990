/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - the body of a wrapper made from a row of SHIM_PATH_CALLS: judge, then make the call as
 * asked, or on what was judged. Each system gives it a name and a way in. */
#pragma once

#include "shim/paths_check.h"
#include "shim/judge.h"
#include "shim/marks.h"

#define SHIM_END(d, p, h)                                                                          \
	{                                                                                          \
		.path = buf[0], .dirfd = (d), .asked = (p), .how = (h)                             \
	}
/* `buf`, an array of n paths. */
#define SHIM_PATHS(n)                                                                              \
	void *paths_ SHIM_GIVEN_BACK = SHIM_ROOM((n)*SBX_PATH_MAX);                                \
	char(*buf)[SBX_PATH_MAX] = paths_
#define AT(i)	 op.end[i].call_at, op.end[i].call_name
#define AS_ASKED (-1) /* shim_begin() answers SHIM_PASS for such rows */

/* What follows `go` are the ends. */
#define SHIM_BODY(event, ends, moves, as_asked, go, ...)                                           \
	{                                                                                          \
		SHIM_PATHS(ends);                                                                  \
		struct shim_op op = {.call = SBX_CALL_##event,                                     \
				     .op = SBX_MODIFY,                                             \
				     .moving = (moves),                                            \
				     .nends = (ends),                                              \
				     .end = {__VA_ARGS__}};                                        \
		int ret = -1;                                                                      \
		op.end[1].path = buf[(ends)-1];                                                    \
		switch (shim_begin(&op)) {                                                         \
		case SHIM_PASS:                                                                    \
			ret = as_asked;                                                            \
			break;                                                                     \
		case SHIM_AT:                                                                      \
			do                                                                         \
				ret = go;                                                          \
			while (shim_again(&op, ret));                                              \
			break;                                                                     \
		case SHIM_REFUSE:                                                                  \
			break;                                                                     \
		}                                                                                  \
		return shim_end(&op, ret);                                                         \
	}
