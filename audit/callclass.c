/* callclass.c - see callclass.h. */
#include "audit/callclass.h"

#include "core/event.h"

enum call_class {
	CLASS_NONE,
	CLASS_OPEN,
	CLASS_RENAME,
	CLASS_REMOVE,
	CLASS_LINK,
	CLASS_SYMLINK,
	CLASS_MKDIR,
	CLASS_MKNOD,
	CLASS_TRUNCATE,
	CLASS_MODE,
	CLASS_OWNER,
	CLASS_TIMES,
	CLASS_SET_ATTRIBUTE,
	CLASS_REMOVE_ATTRIBUTE,
	CLASS_BIND,
};

/* Calls that change what a path names: the shim tells no others that the broker performs. */
static const unsigned char class_of[SBX_CALL_COUNT] = {
#define ROW(call, its) [SBX_CALL_##call] = CLASS_##its
	ROW(open, OPEN),
	ROW(openat, OPEN),
	ROW(openat2, OPEN),
	ROW(creat, OPEN),
	ROW(fopen, OPEN),
	ROW(freopen, OPEN),
	ROW(mkstemp, OPEN),
	ROW(tmpfile, OPEN),
	ROW(shm_open, OPEN),
	ROW(sem_open, OPEN),
	ROW(spawn_addopen, OPEN),
	ROW(rename, RENAME),
	ROW(renameat, RENAME),
	ROW(renameat2, RENAME),
	ROW(unlink, REMOVE),
	ROW(unlinkat, REMOVE),
	ROW(rmdir, REMOVE),
	ROW(remove, REMOVE),
	ROW(shm_unlink, REMOVE),
	ROW(sem_unlink, REMOVE),
	ROW(link, LINK),
	ROW(linkat, LINK),
	ROW(symlink, SYMLINK),
	ROW(symlinkat, SYMLINK),
	ROW(mkdir, MKDIR),
	ROW(mkdirat, MKDIR),
	ROW(mkdtemp, MKDIR),
	ROW(mknod, MKNOD),
	ROW(mknodat, MKNOD),
	ROW(mkfifo, MKNOD),
	ROW(mkfifoat, MKNOD),
	ROW(truncate, TRUNCATE),
	ROW(chmod, MODE),
	ROW(fchmodat, MODE),
	ROW(lchmod, MODE),
	ROW(chown, OWNER),
	ROW(lchown, OWNER),
	ROW(fchownat, OWNER),
	ROW(utime, TIMES),
	ROW(utimes, TIMES),
	ROW(utimensat, TIMES),
	ROW(lutimes, TIMES),
	ROW(futimesat, TIMES),
	ROW(setxattr, SET_ATTRIBUTE),
	ROW(removexattr, REMOVE_ATTRIBUTE),
	ROW(bind, BIND),
#undef ROW
};

bool aud_call_is_alike(unsigned call, unsigned other)
{
	if (call >= SBX_CALL_COUNT || other >= SBX_CALL_COUNT)
		return false;
	return call == other || (class_of[call] && class_of[call] == class_of[other]);
}
