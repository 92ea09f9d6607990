/* paths.c - the wrappers of SHIM_PATH_CALLS, SHIM_READ_CALLS and SHIM_QUERY_CALLS, each made
 * from its row in shim/calls.h; and access(2) with its kin. */
#include "shim/linux/export.h"

#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "core/attr.h"
#include "shim/judge.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/wrap.h"

#define END SHIM_END

#define X(fn, event, proto, args, ends, moves, first, second, go)                                  \
	SHIM_EXPORT int fn proto SHIM_BODY(event, ends, moves, NEXT(fn) args, go, first, second)
SHIM_PATH_CALLS(X)
#undef X

/* Only what can be read is looked at, as for paths. */
static bool shim_attr_is_free(const char *name)
{
	return !shim_is_no_pointer(name) && sbx_attr_is_free(name);
}

#define X(fn, type, failure, event, proto, args, where, is_free)                                            \
	SHIM_EXPORT type fn proto                                                                  \
	{                                                                                          \
		SHIM_PATHS(1);                                                                     \
		struct shim_op op = {                                                              \
			.call = SBX_CALL_##event, .op = SBX_READ, .nends = 1, .end = {where}};     \
		type ret = (failure);                                                              \
		if (is_free) {                                                                     \
			ret = NEXT(fn) args;                                                       \
			shim_query(op.call, op.end[0].dirfd, op.end[0].asked, ret == (failure));   \
			return ret;                                                                \
		}                                                                                  \
		if (shim_begin(&op) == SHIM_PASS)                                                  \
			ret = NEXT(fn) args;                                                       \
		shim_end(&op, ret == (failure) ? -1 : 0);                                          \
		return ret;                                                                        \
	}
SHIM_READ_CALLS(X)
#undef X

#define X(fn, type, failure, event, proto, args, dirfd, path)                                      \
	SHIM_EXPORT type fn proto                                                                  \
	{                                                                                          \
		type ret;                                                                          \
		if (__builtin_expect(shim.level != SBX_AUDIT_ALL, 1))                              \
			return NEXT(fn) args;                                                      \
		ret = NEXT(fn) args;                                                               \
		shim_query(SBX_CALL_##event, dirfd, path, ret == (failure));                       \
		return ret;                                                                        \
	}
SHIM_QUERY_CALLS(X)
#undef X

/* ---- access ---- */

SHIM_EXPORT int access(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_access, AT_FDCWD, path, mode, 0, NEXT(access)(path, mode));
}

SHIM_EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	return shim_access_answer(SBX_CALL_faccessat, dirfd, path, mode, flags,
		      NEXT(faccessat)(dirfd, path, mode, flags));
}

SHIM_EXPORT int euidaccess(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_euidaccess, AT_FDCWD, path, mode, 0, NEXT(euidaccess)(path, mode));
}

SHIM_EXPORT int eaccess(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_euidaccess, AT_FDCWD, path, mode, 0, NEXT(eaccess)(path, mode));
}
