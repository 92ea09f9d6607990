#include "launcher/linux/broker/broker.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "core/event.h"
#include "launcher/linux/uapi_compat.h"

#define NONE  BR_NO_ARG
#define CWD   BR_NO_ARG
#define FILES POL_TRAP_FILES

#define SYS_fchmodat2_nr 452 /* 6.6; uapi_compat.h */

#define END(d, p, h)                                                                               \
	{                                                                                          \
		(d), (p), (h)                                                                      \
	}
#define NO_END                                                                                     \
	{                                                                                          \
		0, 0, 0                                                                            \
	}
/* Rows: number, name of the call in events, ends, flags and mode arguments, handler. */
#define ROW(nr_, call_, first, second, flags_, mode_, handler_)                                    \
	{                                                                                          \
		(nr_), BR_TRAP_ALWAYS, FILES, SBX_CALL_##call_, {first, second}, (flags_),         \
			(mode_), (handler_)                                                        \
	}
#define TRAPROW(nr_, trap_, group_, call_, first, flags_, mode_, handler_)                         \
	{                                                                                          \
		(nr_), (trap_), (group_), SBX_CALL_##call_, {first, NO_END}, (flags_), (mode_),    \
			(handler_)                                                                 \
	}

/* clang-format off */
const struct br_row br_rows[] = {
	TRAPROW(SYS_openat, BR_TRAP_OPEN, FILES, openat, END(0, 1, BR_END_FOLLOW), 2, 3, br_open),
	TRAPROW(SYS_openat2, BR_TRAP_OPENAT2, FILES, openat2, END(0, 1, BR_END_FOLLOW), NONE, NONE,
		br_openat2),
	ROW(SYS_mkdirat, mkdirat, END(0, 1, BR_END_LAST), NO_END, NONE, 2, br_mkdir),
	ROW(SYS_mknodat, mknodat, END(0, 1, BR_END_LAST), NO_END, NONE, 2, br_mknod),
	ROW(SYS_unlinkat, unlinkat, END(0, 1, BR_END_LAST), NO_END, 2, NONE, br_unlink),
	ROW(SYS_symlinkat, symlinkat, END(1, 2, BR_END_LAST), END(NONE, 0, BR_END_TEXT), NONE, NONE,
	    br_symlink),
	ROW(SYS_renameat2, renameat2, END(0, 1, BR_END_LAST), END(2, 3, BR_END_LAST), 4, NONE,
	    br_rename),
	ROW(SYS_linkat, linkat, END(0, 1, BR_END_ATLINK | BR_END_EMPTY), END(2, 3, BR_END_LAST), 4,
	    NONE, br_link),
	ROW(SYS_truncate, truncate, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_truncate),
	TRAPROW(SYS_ftruncate, BR_TRAP_ALWAYS, POL_TRAP_RING, unknown, NO_END, NONE, NONE,
		br_ftruncate),

	ROW(SYS_fchmod, fchmodat, END(0, NONE, BR_END_FD), NO_END, NONE, 1, br_chmod),
	ROW(SYS_fchmodat, fchmodat, END(0, 1, BR_END_FOLLOW), NO_END, NONE, 2, br_chmod),
	ROW(SYS_fchmodat2_nr, fchmodat, END(0, 1, BR_END_AT | BR_END_EMPTY), NO_END, 3, 2, br_chmod),
	ROW(SYS_fchown, fchownat, END(0, NONE, BR_END_FD), NO_END, NONE, NONE, br_chown),
	ROW(SYS_fchownat, fchownat, END(0, 1, BR_END_AT | BR_END_EMPTY), NO_END, 4, NONE, br_chown),
	ROW(SYS_utimensat, utimensat, END(0, 1, BR_END_AT | BR_END_EMPTY | BR_END_NULL), NO_END, 3,
	    NONE, br_utimes),
	ROW(SYS_setxattr, setxattr, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_setxattr),
	ROW(SYS_lsetxattr, setxattr, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_setxattr),
	ROW(SYS_fsetxattr, setxattr, END(0, NONE, BR_END_FD), NO_END, NONE, NONE, br_setxattr),
	ROW(SYS_removexattr, removexattr, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE,
	    br_removexattr),
	ROW(SYS_lremovexattr, removexattr, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE,
	    br_removexattr),
	ROW(SYS_fremovexattr, removexattr, END(0, NONE, BR_END_FD), NO_END, NONE, NONE,
	    br_removexattr),
	ROW(SYS_getxattr, getxattr, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_getxattr),
	ROW(SYS_lgetxattr, getxattr, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_getxattr),
	ROW(SYS_fgetxattr, getxattr, END(0, NONE, BR_END_FD), NO_END, NONE, NONE, br_getxattr),
	ROW(SYS_listxattr, listxattr, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_listxattr),
	ROW(SYS_llistxattr, listxattr, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_listxattr),
	ROW(SYS_flistxattr, listxattr, END(0, NONE, BR_END_FD), NO_END, NONE, NONE, br_listxattr),

	TRAPROW(SYS_bind, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS, bind, NO_END, NONE, NONE, br_bind),
	TRAPROW(SYS_connect, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS, connect, NO_END, NONE, NONE,
		br_connect),
	TRAPROW(SYS_listen, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS, listen, NO_END, NONE, NONE, br_listen),
	TRAPROW(SYS_socketpair, BR_TRAP_DATAGRAMS, POL_TRAP_SOCKETS, unknown, NO_END, NONE, NONE,
		br_pair),
	TRAPROW(SYS_ptrace, BR_TRAP_ALWAYS, POL_TRAP_TRACE, ptrace, NO_END, NONE, NONE, br_ptrace),
	TRAPROW(SYS_clone, BR_TRAP_NAMESPACE, POL_TRAP_NAMESPACE, clone, NO_END, 0, NONE,
		br_namespace),
	TRAPROW(SYS_unshare, BR_TRAP_NAMESPACE, POL_TRAP_NAMESPACE, unshare, NO_END, 0, NONE,
		br_namespace),
	TRAPROW(SYS_execve, BR_TRAP_ALWAYS, POL_TRAP_EXEC, execve, END(CWD, 0, BR_END_FOLLOW), NONE,
		NONE, br_exec),
	TRAPROW(SYS_execveat, BR_TRAP_ALWAYS, POL_TRAP_EXEC, execveat,
		END(0, 1, BR_END_AT | BR_END_EMPTY), 4, NONE, br_exec),

	/* What the broker remembers of its callers changes: they tell it by making the call. */
	TRAPROW(SYS_umask, BR_TRAP_ALWAYS, FILES, unknown, NO_END, NONE, NONE, br_umask),
	TRAPROW(SYS_capset, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setuid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setgid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setreuid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setregid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setresuid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setresgid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setfsuid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setfsgid, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),
	TRAPROW(SYS_setgroups, BR_TRAP_ALWAYS, 0, unknown, NO_END, NONE, NONE, br_credentials),

	TRAPROW(SYS_prctl, BR_TRAP_PRCTL, 0, unknown, NO_END, NONE, NONE, br_greet),
	/* A domain that a program puts on itself would bind it, not the broker that acts for it:
	 * better it knows that it has none. */
	TRAPROW(SYS_landlock_create_ruleset, BR_TRAP_ABSENT, 0, unknown, NO_END, NONE, NONE, NULL),

#ifdef SYS_open /* the calls that new machines do without */
	TRAPROW(SYS_open, BR_TRAP_OPEN, FILES, open, END(CWD, 0, BR_END_FOLLOW), 1, 2, br_open),
	TRAPROW(SYS_creat, BR_TRAP_ALWAYS, FILES, creat, END(CWD, 0, BR_END_FOLLOW), NONE, 1,
		br_creat),
	ROW(SYS_mkdir, mkdir, END(CWD, 0, BR_END_LAST), NO_END, NONE, 1, br_mkdir),
	ROW(SYS_mknod, mknod, END(CWD, 0, BR_END_LAST), NO_END, NONE, 1, br_mknod),
	ROW(SYS_unlink, unlink, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_unlink),
	ROW(SYS_rmdir, rmdir, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_rmdir),
	ROW(SYS_symlink, symlink, END(CWD, 1, BR_END_LAST), END(NONE, 0, BR_END_TEXT), NONE, NONE,
	    br_symlink),
	ROW(SYS_rename, rename, END(CWD, 0, BR_END_LAST), END(CWD, 1, BR_END_LAST), NONE, NONE,
	    br_rename),
	ROW(SYS_renameat, renameat, END(0, 1, BR_END_LAST), END(2, 3, BR_END_LAST), NONE, NONE,
	    br_rename),
	ROW(SYS_link, link, END(CWD, 0, BR_END_LAST), END(CWD, 1, BR_END_LAST), NONE, NONE, br_link),
	ROW(SYS_chmod, chmod, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, 1, br_chmod),
	ROW(SYS_chown, chown, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_chown),
	ROW(SYS_lchown, lchown, END(CWD, 0, BR_END_LAST), NO_END, NONE, NONE, br_chown),
	ROW(SYS_utime, utime, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_utimes),
	ROW(SYS_utimes, utimes, END(CWD, 0, BR_END_FOLLOW), NO_END, NONE, NONE, br_utimes),
	ROW(SYS_futimesat, futimesat, END(0, 1, BR_END_FOLLOW | BR_END_NULL), NO_END, NONE, NONE,
	    br_utimes),
#elif defined(SYS_renameat)
	ROW(SYS_renameat, renameat, END(0, 1, BR_END_LAST), END(2, 3, BR_END_LAST), NONE, NONE,
	    br_rename),
#endif
};
/* clang-format on */
const size_t br_nrows = sizeof br_rows / sizeof *br_rows;

_Static_assert(sizeof br_rows / sizeof *br_rows <= BR_ROWS_MAX, "room in trapfilter.c");

#define NUMBERS 512 /* calls have small numbers */

const struct br_row *br_row_find(int nr)
{
	static unsigned char index[NUMBERS]; /* row + 1; filled once, by the first thread */
	size_t i;

	if (!index[SYS_openat])
		for (i = br_nrows; i-- > 0;)
			if (br_rows[i].nr < NUMBERS)
				index[br_rows[i].nr] = (unsigned char)(i + 1);
	if (nr < 0 || nr >= NUMBERS || !index[nr])
		return NULL;
	return &br_rows[index[nr] - 1];
}
