/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - the rows of SHIM_PATH_CALLS that macOS has, each a wrapper and a pair, and the calls
 * only macOS has. A row that is not named below does not build: its author must say whether macOS
 * has the call. */
#include <copyfile.h>
#include <errno.h>
#include <stdio.h>
#include <sys/acl.h>
#include <sys/attr.h>
#include <sys/clonefile.h>
#include <sys/snapshot.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/event.h"
#include "shim/calls.h"
#include "shim/judge.h"
#include "shim/macos/interpose.h"
#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"
#include "shim/wrap.h"

/* In parentheses, for a row goes through two macros here. */
#define END(d, p, h) (d, p, h)
#define SECOND_1(end)
#define SECOND_2(end) , SHIM_END end

#define WRAP(fn, event, proto, args, ends, moves, first, second, go)                               \
	static int shim_##fn proto SHIM_BODY(event, ends, moves, fn args, go,                      \
					     SHIM_END first SECOND_##ends(second))                 \
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
WRAP(clonefileat, clonefile, (int d1, const char *from, int d2, const char *to, uint32_t flags),
     (d1, from, d2, to, flags), 2, SHIM_LINKS, END(d1, from, SHIM_LAST),
     END(d2, to, SHIM_LAST | SHIM_NEW), clonefileat(AT(0), AT(1), flags))
WRAP(clonefile, clonefile, (const char *from, const char *to, uint32_t flags), (from, to, flags), 2,
     SHIM_LINKS, END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST | SHIM_NEW),
     clonefileat(AT(0), AT(1), flags))
WRAP(exchangedata, exchangedata, (const char *from, const char *to, unsigned flags),
     (from, to, flags), 2, SHIM_SWAPS, END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST),
     exchangedata(op.end[0].path, op.end[1].path, flags))
/* The source is held already: what it is called now is judged, and the call is made as asked. */
WRAP(fclonefileat, clonefile, (int from, int d2, const char *to, uint32_t flags),
     (from, d2, to, flags), 2, SHIM_LINKS, END(from, "", SHIM_FD | SHIM_SOURCE),
     END(d2, to, SHIM_LAST | SHIM_NEW), AS_ASKED)

/* Calls that change what is at one end and are made as the program wrote them. */
#define CHANGES(fn, event, proto, args, end)                                                       \
	WRAP(fn, event, proto, args, 1, SHIM_STAYS, end, , AS_ASKED)
#define AT_PATH	     END(AT_FDCWD, path, SHIM_FOLLOW)
#define AT_LINK	     END(AT_FDCWD, path, LINK_ITSELF)
#define AT_FD	     END(fd, "", SHIM_FD)
#define AT_NO_OBJECT END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW | SHIM_JUDGE_ONLY)
#define LINK_ITSELF  (SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY)
/* setattrlist(2) and setxattr(2) have a flag for links, with one value. */
_Static_assert(FSOPT_NOFOLLOW == XATTR_NOFOLLOW, "how a link is spared");
#define MAY_FOLLOW(options) ((options)&FSOPT_NOFOLLOW ? LINK_ITSELF : SHIM_FOLLOW)

CHANGES(chflags, chflags, (const char *path, uint32_t flags), (path, flags), AT_PATH)
CHANGES(lchflags, chflags, (const char *path, uint32_t flags), (path, flags), AT_LINK)
CHANGES(fchflags, chflags, (int fd, uint32_t flags), (fd, flags), AT_FD)
CHANGES(setxattr, setxattr,
	(const char *path, const char *name, const void *value, size_t size, uint32_t position,
	 int options),
	(path, name, value, size, position, options), END(AT_FDCWD, path, MAY_FOLLOW(options)))
CHANGES(fsetxattr, setxattr,
	(int fd, const char *name, const void *value, size_t size, uint32_t position, int options),
	(fd, name, value, size, position, options), AT_FD)
CHANGES(removexattr, removexattr, (const char *path, const char *name, int options),
	(path, name, options), END(AT_FDCWD, path, MAY_FOLLOW(options)))
CHANGES(fremovexattr, removexattr, (int fd, const char *name, int options), (fd, name, options),
	AT_FD)
CHANGES(setattrlist, setattrlist,
	(const char *path, void *list, void *buf_, size_t size, uint32_t options),
	(path, list, buf_, size, options), END(AT_FDCWD, path, MAY_FOLLOW(options)))
CHANGES(setattrlistat, setattrlist,
	(int d, const char *path, void *list, void *buf_, size_t size, uint32_t options),
	(d, path, list, buf_, size, options), END(d, path, MAY_FOLLOW(options)))
CHANGES(fsetattrlist, setattrlist, (int fd, void *list, void *buf_, size_t size, uint32_t options),
	(fd, list, buf_, size, options), AT_FD)
CHANGES(acl_set_file, acl_set_file, (const char *path, acl_type_t type, acl_t acl),
	(path, type, acl), AT_PATH)
CHANGES(acl_set_link_np, acl_set_file, (const char *path, acl_type_t type, acl_t acl),
	(path, type, acl), AT_LINK)
/* What a whiteout of a union mount hides: there is no object by that name. */
CHANGES(undelete, undelete, (const char *path), (path), AT_NO_OBJECT)
/* Of the whole volume: asked of the directory it is named by. */
CHANGES(fs_snapshot_create, fs_snapshot_create, (int fd, const char *name, uint32_t flags),
	(fd, name, flags), AT_FD)

/* ---- copies: one end is read, the other changed ---- */

/* False: refused, errno is set. What is not there yet is judged by its name. */
static bool may(enum sbx_op op, const char *path, bool follows)
{
	char buf[SBX_PATH_MAX];
	struct shim_end e = {.path = buf,
			     .dirfd = AT_FDCWD,
			     .asked = path,
			     .how = follows ? SHIM_FOLLOW : LINK_ITSELF};
	struct shim_told t = {.call = SBX_CALL_copyfile, .op = op, .path = buf, .err = EACCES};
	int rc = shim_find(&e);

	if (rc == -ENOENT && op == SBX_MODIFY) {
		e.how = LINK_ITSELF;
		rc = shim_find(&e);
	}
	shim_end_close(&e);
	if (rc)
		return rc != SHIM_UNKNOWN || !shim_trouble(); /* copyfile() says what is wrong */
	if (shim_judge(op, buf, e.len).allowed)
		return true;
	t.len = e.len;
	shim_tell(&t, 0);
	shim_set_errno(EACCES);
	return false;
}

/* A tree is judged at its top: what lies below is Seatbelt's to refuse. */
static int shim_copyfile(const char *from, const char *to, copyfile_state_t state, uint32_t flags)
{
	bool moves = flags & COPYFILE_MOVE;

	if (shim_is_ready() &&
	    (!may(moves ? SBX_MODIFY : SBX_READ, from, !(flags & COPYFILE_NOFOLLOW_SRC)) ||
	     !may(SBX_MODIFY, to, !(flags & COPYFILE_NOFOLLOW_DST))))
		return -1;
	return copyfile(from, to, state, flags);
}
SHIM_INTERPOSE(shim_copyfile, copyfile);

/* ---- access ---- */

static int shim_access(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_access, AT_FDCWD, path, mode, 0, access(path, mode));
}
SHIM_INTERPOSE(shim_access, access);

static int shim_faccessat(int dirfd, const char *path, int mode, int flags)
{
	return shim_access_answer(SBX_CALL_faccessat, dirfd, path, mode, flags,
				  faccessat(dirfd, path, mode, flags));
}
SHIM_INTERPOSE(shim_faccessat, faccessat);
