/* paths.c - the rows of SHIM_PATH_CALLS that macOS has, each a wrapper and a pair. A row that is
 * not named below does not build: whoever adds one says whether macOS has the call. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/callnames.h"
#include "shim/calls.h"
#include "shim/guard.h"
#include "shim/macos/interpose.h"
#include "shim/macos/sys.h"
#include "shim/next.h"

/* In parentheses, for a row goes through two macros here. */
#define END(d, p, h) (d, p, h)
#define THE_END(d, p, h)                                                                           \
	{                                                                                          \
		.path = buf[0], .dirfd = (d), .asked = (p), .how = (h)                             \
	}
#define SECOND_1(end)
#define SECOND_2(end) , THE_END end
#define AT(i)	      op.end[i].at, op.end[i].name
#define AS_ASKED      (-1)

#define WRAP(fn, event, proto, args, ends, moves, first, second, go)                               \
	static int shim_##fn proto                                                                 \
	{                                                                                          \
		char buf[ends][SBX_PATH_MAX];                                                      \
		struct shim_op op = {.call = SBX_CALL_##event,                                     \
				     .op = SBX_MODIFY,                                             \
				     .moving = (moves),                                            \
				     .nends = (ends),                                              \
				     .end = {THE_END first SECOND_##ends(second)}};                \
		int ret = -1;                                                                      \
		op.end[1].path = buf[(ends)-1];                                                    \
		switch (shim_begin(&op)) {                                                         \
		case SHIM_PASS:                                                                    \
			ret = fn args;                                                             \
			break;                                                                     \
		case SHIM_AT:                                                                      \
			ret = go;                                                                  \
			break;                                                                     \
		case SHIM_REFUSE:                                                                  \
			break;                                                                     \
		}                                                                                  \
		return shim_end(&op, ret);                                                         \
	}                                                                                          \
	SHIM_INTERPOSE(shim_##fn, fn);

#define SKIP(...)
#define HAS_rename     WRAP
#define HAS_renameat   WRAP
#define HAS_link       WRAP
#define HAS_linkat     WRAP
#define HAS_symlink    WRAP
#define HAS_symlinkat  WRAP
#define HAS_unlink     WRAP
#define HAS_unlinkat   WRAP
#define HAS_rmdir      WRAP
#define HAS_remove     WRAP
#define HAS_mkdir      WRAP
#define HAS_mkdirat    WRAP
#define HAS_mknod      WRAP
#define HAS_mknodat    WRAP
#define HAS_mkfifo     WRAP
#define HAS_mkfifoat   WRAP
#define HAS_truncate   WRAP
#define HAS_chmod      WRAP
#define HAS_fchmodat   WRAP
#define HAS_lchmod     WRAP
#define HAS_chown      WRAP
#define HAS_lchown     WRAP
#define HAS_fchownat   WRAP
#define HAS_utimes     WRAP
#define HAS_lutimes    WRAP
#define HAS_utimensat  WRAP
#define HAS_renameat2  SKIP
#define HAS___xmknod   SKIP
#define HAS___xmknodat SKIP
#define HAS_truncate64 SKIP
#define HAS_utime      SKIP /* libSystem's calls utimes(), which is seen */
#define HAS_futimesat  SKIP
#define HAS_fchmod     WRAP
#define HAS_fchown     WRAP
#define HAS_futimes    WRAP
#define HAS_futimens   WRAP
/* macOS's have two arguments more, and no l-forms: below. */
#define HAS_setxattr	 SKIP
#define HAS_lsetxattr	 SKIP
#define HAS_fsetxattr	 SKIP
#define HAS_removexattr	 SKIP
#define HAS_lremovexattr SKIP
#define HAS_fremovexattr SKIP

#define X(fn, ...) HAS_##fn(fn, __VA_ARGS__)
SHIM_PATH_CALLS(X)
#undef X

/* ---- what only macOS has ---- */

#define RENAMEX(fn, proto, args, d1, from, d2, to)                                                 \
	WRAP(fn, renameat, proto, args, 2, flags &RENAME_SWAP ? SHIM_SWAPS : SHIM_MOVES,           \
	     END(d1, from, SHIM_LAST),                                                             \
	     END(d2, to, flags &RENAME_EXCL ? SHIM_LAST | SHIM_NEW : SHIM_LAST),                   \
	     renameatx_np(AT(0), AT(1), flags))
RENAMEX(renamex_np, (const char *from, const char *to, unsigned flags), (from, to, flags), AT_FDCWD,
	from, AT_FDCWD, to)
RENAMEX(renameatx_np, (int d1, const char *from, int d2, const char *to, unsigned flags),
	(d1, from, d2, to, flags), d1, from, d2, to)
/* A clone shares content as a hard link does. */
WRAP(clonefileat, link, (int d1, const char *from, int d2, const char *to, uint32_t flags),
     (d1, from, d2, to, flags), 2, SHIM_LINKS, END(d1, from, SHIM_LAST),
     END(d2, to, SHIM_LAST | SHIM_NEW), clonefileat(AT(0), AT(1), flags))
WRAP(clonefile, link, (const char *from, const char *to, uint32_t flags), (from, to, flags), 2,
     SHIM_LINKS, END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST | SHIM_NEW),
     clonefileat(AT(0), AT(1), flags))
WRAP(exchangedata, renameat, (const char *from, const char *to, unsigned flags), (from, to, flags),
     2, SHIM_SWAPS, END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST),
     exchangedata(op.end[0].path, op.end[1].path, flags))
WRAP(chflags, chmod, (const char *path, uint32_t flags), (path, flags), 1, SHIM_STAYS,
     END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED)
WRAP(setxattr, setxattr,
     (const char *path, const char *name, const void *value, size_t size, uint32_t position,
      int options),
     (path, name, value, size, position, options), 1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW),
     , AS_ASKED)
WRAP(removexattr, removexattr, (const char *path, const char *name, int options),
     (path, name, options), 1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED)
