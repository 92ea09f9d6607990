/* paths.c - the wrappers of SHIM_PATH_CALLS, each made from its row in shim/calls.h. */
#include "shim/linux/export.h"

#include "shim/guard.h"

#define END(d, p, h)                                                                               \
	{                                                                                          \
		.path = buf[0], .dirfd = (d), .asked = (p), .how = (h)                             \
	}
#define AT(i)	 op.end[i].at, op.end[i].name
#define AS_ASKED (-1) /* shim_begin() answers SHIM_PASS for such rows */

#define X(fn, event, proto, args, ends, moves, first, second, go)                                  \
	SHIM_EXPORT int fn proto                                                                   \
	{                                                                                          \
		char buf[ends][SBX_PATH_MAX];                                                      \
		struct shim_op op = {.call = SBX_CALL_##event,                                     \
				     .moving = (moves),                                            \
				     .nends = (ends),                                              \
				     .end = {first, second}};                                      \
		int ret = -1;                                                                      \
		op.end[1].path = buf[(ends)-1];                                                    \
		switch (shim_begin(&op)) {                                                         \
		case SHIM_PASS:                                                                    \
			ret = NEXT(fn) args;                                                       \
			break;                                                                     \
		case SHIM_AT:                                                                      \
			ret = go;                                                                  \
			break;                                                                     \
		case SHIM_REFUSE:                                                                  \
			break;                                                                     \
		}                                                                                  \
		return shim_end(&op, ret);                                                         \
	}
SHIM_PATH_CALLS(X)
#undef X
