/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the table of trapped calls: which calls trap, which arguments are paths, and the
 * handler of each; and the filter made of it. */
#include "launcher/linux/broker/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "core/event.h"
#include "core/ring.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/filters/filters.h"

#define NONE  BR_NO_ARG
#define CWD   BR_NO_ARG
#define FILES POL_TRAP_FILES

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

	/* binding creates a name, whichever connections are allowed */
	TRAPROW(SYS_bind, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS | FILES, bind, NO_END, NONE, NONE,
		br_bind),
	TRAPROW(SYS_connect, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS, connect, NO_END, NONE, NONE,
		br_connect),
	TRAPROW(SYS_listen, BR_TRAP_ALWAYS, POL_TRAP_SOCKETS, listen, NO_END, NONE, NONE, br_listen),
	TRAPROW(SYS_socket, BR_TRAP_SOCKET, POL_TRAP_ENDPOINTS, unknown, NO_END, NONE, NONE,
		br_no_socket),
	TRAPROW(SYS_setsockopt, BR_TRAP_SETSOCKOPT, POL_TRAP_ENDPOINTS, unknown, NO_END, NONE, NONE,
		NULL),
	TRAPROW(SYS_socketpair, BR_TRAP_DATAGRAMS, POL_TRAP_SOCKETS, unknown, NO_END, NONE, NONE,
		br_pair),
	TRAPROW(SYS_ptrace, BR_TRAP_ALWAYS, POL_TRAP_TRACE, ptrace, NO_END, NONE, NONE, br_ptrace),
	TRAPROW(SYS_clone, BR_TRAP_NAMESPACE, POL_TRAP_NAMESPACE, clone, NO_END, 0, NONE,
		br_namespace),
	TRAPROW(SYS_unshare, BR_TRAP_NAMESPACE, POL_TRAP_NAMESPACE, unshare, NO_END, 0, NONE,
		br_namespace),
	TRAPROW(SYS_execve, BR_TRAP_ALWAYS, POL_TRAP_EXEC | POL_TRAP_PROGRAMS, execve, END(CWD, 0, BR_END_FOLLOW), NONE,
		NONE, br_exec),
	TRAPROW(SYS_execveat, BR_TRAP_ALWAYS, POL_TRAP_EXEC | POL_TRAP_PROGRAMS, execveat,
		END(0, 1, BR_END_AT | BR_END_EMPTY), 4, NONE, br_exec),

	/* Calls that change what the broker remembers about its callers. */
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

	/* Numbers of threads, for which 0 is the caller. */
	TRAPROW(SYS_setpriority, BR_TRAP_OTHER, 0, setpriority, NO_END, NONE, 1, br_priority),
	TRAPROW(SYS_ioprio_set, BR_TRAP_OTHER, 0, ioprio_set, NO_END, NONE, 1, br_priority),
	TRAPROW(SYS_sched_setaffinity, BR_TRAP_OTHER, 0, sched_setaffinity, NO_END, NONE, 0,
		br_priority),
	TRAPROW(SYS_sched_setparam, BR_TRAP_OTHER, 0, sched_setparam, NO_END, NONE, 0, br_priority),
	TRAPROW(SYS_sched_setscheduler, BR_TRAP_OTHER, 0, sched_setscheduler, NO_END, NONE, 0,
		br_priority),
	TRAPROW(SYS_sched_setattr, BR_TRAP_OTHER, 0, sched_setattr, NO_END, NONE, 0, br_priority),
	TRAPROW(SYS_move_pages, BR_TRAP_OTHER, 0, move_pages, NO_END, NONE, 0, br_priority),
	TRAPROW(SYS_migrate_pages, BR_TRAP_OTHER, 0, migrate_pages, NO_END, NONE, 0, br_priority),
	TRAPROW(SYS_prlimit64, BR_TRAP_LIMIT, 0, prlimit, NO_END, NONE, 0, br_priority),

	/* Where Landlock does not scope signals. */
	TRAPROW(SYS_kill, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE, NONE, br_kill),
	TRAPROW(SYS_tkill, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE, NONE, br_tkill),
	TRAPROW(SYS_tgkill, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE, NONE,
		br_tgkill),
	TRAPROW(SYS_rt_sigqueueinfo, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE, NONE,
		br_sigqueue),
	TRAPROW(SYS_rt_tgsigqueueinfo, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE,
		NONE, br_sigqueue),
	TRAPROW(SYS_pidfd_send_signal, BR_TRAP_ALWAYS, POL_TRAP_SIGNALS, unknown, NO_END, NONE,
		NONE, br_pidfd_signal),

	TRAPROW(SYS_prctl, BR_TRAP_PRCTL, 0, unknown, NO_END, NONE, NONE, br_greet),
	/* A domain that a program puts on itself would not bind the broker, which acts for it. The
	 * program is therefore told that the kernel has no Landlock. */
	TRAPROW(SYS_landlock_create_ruleset, BR_TRAP_ABSENT, 0, unknown, NO_END, NONE, NONE, NULL),

#ifdef SYS_open /* calls that new architectures do not have */
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

_Static_assert(sizeof br_rows / sizeof *br_rows <= BR_ROWS_MAX, "room in calls.c");

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

/*
 * The BPF program that stops calls for the broker. Pure: made from the table of
 * calls, at run time, in a few microseconds.
 *
 * A binary tree over call numbers, because open and connect, whose arguments are tested, get no
 * help from the kernel's bitmap of constant answers. Foreign architectures and x32 pass here: the
 * static filter also sees them, and its refusal takes precedence.
 */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no trap filter for this machine yet"
#endif

#define LOW(i)	  (offsetof(struct seccomp_data, args) + 8u * (i))
#define HIGH(i)	  (LOW(i) + 4u)
#define PASS	  SECCOMP_RET_ALLOW
#define NOTIFY	  SECCOMP_RET_USER_NOTIF
#define ANSWER(e) (SECCOMP_RET_ERRNO | (e))

/* O_TMPFILE without the O_DIRECTORY bit that it contains. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
/* Flags that make, empty or write to a file. */
#define WRITE_INTENT (O_ACCMODE | O_CREAT | O_TRUNC | TMPFILE_BIT)

#define SOCK_TYPE_MASK 0xf /* the rest of a type are flags */

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

struct trap {
	struct lau_bpf bpf;
	const struct lau_broker_plan *plan;
	unsigned pass, notify;
};

static unsigned when(struct trap *t, unsigned code, unsigned off, unsigned k, unsigned yes,
		     unsigned no)
{
	return lau_bpf_branch(&t->bpf, code, off, LAU_BPF_ALL, k, yes, no);
}

/* O_PATH comes first: the kernel then ignores the rest, the access mode included. */
static unsigned of_open(struct trap *t, unsigned flags_arg)
{
	unsigned trapped = WRITE_INTENT, node = t->notify;

	if (t->plan->read_level == POL_READ_DIRECTORY)
		trapped |= O_DIRECTORY;
	if (t->plan->read_level != POL_READ_ALL)
		node = when(t, BPF_JSET, LOW(flags_arg), trapped, t->notify, t->pass);
	return when(t, BPF_JSET, LOW(flags_arg), O_PATH, t->pass, node);
}

/* Where Landlock allows creating files, it would also allow set-id bits (docs/adr/016), and here
 * the mode is in memory. */
static unsigned of_openat2(struct trap *t)
{
	if (t->plan->read_level == POL_READ_ALL || t->plan->traps & POL_TRAP_TRUNCATE ||
	    t->plan->grants_clean)
		return t->notify;
	return when(t, BPF_JEQ, LOW(3), POL_QUICK_HOW_SIZE, t->pass, t->notify);
}

/* For clone(2) the bit of CLONE_NEWTIME is one of the exit signal. */
static unsigned of_namespace(struct trap *t, int nr)
{
	return when(t, BPF_JSET, LOW(0), NAMESPACES | (nr == SYS_unshare ? CLONE_NEWTIME : 0),
		    t->notify, t->pass);
}

/* The broker cannot serve a program that makes itself unreadable. The call therefore only appears
 * to succeed. It protects against inspection by other processes, which the filter refuses anyway.
 */
static unsigned of_prctl(struct trap *t)
{
	unsigned node = lau_bpf_answer(&t->bpf, ANSWER(0));

	node = when(t, BPF_JEQ, LOW(1), 0, node, t->pass);
	node = when(t, BPF_JEQ, LOW(0), PR_SET_DUMPABLE, node, t->pass);
	return when(t, BPF_JEQ, LOW(0), LAU_GREETING, t->notify, node);
}

/* SOCK_RAW of unix(7) are datagrams, too. */
static unsigned of_datagrams(struct trap *t)
{
	unsigned node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_RAW,
				       t->notify, t->pass);

	if (t->plan->unix_host)
		return t->pass;
	node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_DGRAM, t->notify,
			      node);
	return when(t, BPF_JEQ, LOW(0), AF_UNIX, node, t->pass);
}

static unsigned of_other(struct trap *t, unsigned arg)
{
	return when(t, BPF_JEQ, LOW(arg), 0, t->pass, t->notify);
}

/* Without a new limit prlimit(2) only asks. */
static unsigned of_limit(struct trap *t, unsigned arg)
{
	unsigned node = when(t, BPF_JEQ, LOW(2) + 4, 0, t->pass, t->notify);

	node = when(t, BPF_JEQ, LOW(2), 0, node, t->notify);
	return when(t, BPF_JEQ, LOW(arg), 0, t->pass, node);
}

/* Landlock and the relay know TCP; datagrams have nowhere to go but the run's resolver. MPTCP,
 * SCTP, DCCP, UDP-Lite, ICMP and raw sockets are refused. A refused MPTCP socket is not reported,
 * because programs then use TCP. */
static unsigned of_socket(struct trap *t)
{
	unsigned absent = lau_bpf_answer(&t->bpf, ANSWER(EPROTONOSUPPORT)), no = t->notify;
	unsigned stream, datagram, node;

	stream = when(t, BPF_JEQ, LOW(2), IPPROTO_MPTCP, absent, no);
	stream = when(t, BPF_JEQ, LOW(2), IPPROTO_TCP, t->pass, stream);
	stream = when(t, BPF_JEQ, LOW(2), 0, t->pass, stream);
	datagram = when(t, BPF_JEQ, LOW(2), IPPROTO_UDP, t->pass, no);
	datagram = when(t, BPF_JEQ, LOW(2), 0, t->pass, datagram);
	node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_DGRAM, datagram, no);
	node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_STREAM, stream, node);
	node = when(t, BPF_JEQ, LOW(0), AF_INET6, node,
		    when(t, BPF_JEQ, LOW(0), AF_INET, node, t->pass));
	return node;
}

/* A route in the packet leads elsewhere than the address that was judged. */
static unsigned of_setsockopt(struct trap *t)
{
	static const struct {
		unsigned level, name;
	} rows[] = {
		{IPPROTO_IP, IP_OPTIONS},
		{IPPROTO_IPV6, IPV6_RTHDR},
		{IPPROTO_IPV6, IPV6_2292RTHDR},
		{IPPROTO_IPV6, IPV6_2292PKTOPTIONS},
	};
	unsigned no = lau_bpf_answer(&t->bpf, ANSWER(ENOPROTOOPT)), node = t->pass;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		node = when(t, BPF_JEQ, LOW(1), rows[i].level,
			    when(t, BPF_JEQ, LOW(2), rows[i].name, no, node), node);
	return node;
}

static unsigned of_row(struct trap *t, const struct br_row *row)
{
	switch ((enum br_trap)row->trap) {
	case BR_TRAP_ALWAYS:
		break;
	case BR_TRAP_OPEN:
		return of_open(t, row->flags_arg);
	case BR_TRAP_OPENAT2:
		return of_openat2(t);
	case BR_TRAP_NAMESPACE:
		return of_namespace(t, row->nr);
	case BR_TRAP_PRCTL:
		return of_prctl(t);
	case BR_TRAP_ABSENT:
		return lau_bpf_answer(&t->bpf, ANSWER(EOPNOTSUPP));
	case BR_TRAP_DATAGRAMS:
		return of_datagrams(t);
	case BR_TRAP_OTHER:
		return of_other(t, row->mode_arg);
	case BR_TRAP_LIMIT:
		return of_limit(t, row->mode_arg);
	case BR_TRAP_SOCKET:
		return of_socket(t);
	case BR_TRAP_SETSOCKOPT:
		return of_setsockopt(t);
	}
	return t->notify;
}

/*
 * Marked calls, which the kernel decides by Landlock's grants (docs/adr/016). Left out, because
 * Landlock asks for no right: access mode 3, and RENAME_WHITEOUT; because the broker alone refuses
 * it: set-id bits of a new file; and, because no program needs it marked: files without a name,
 * links that follow, or of a descriptor. openat2(2) is never marked: its flags and mode lie in
 * memory.
 */
#define SETID_BITS 06000u

static unsigned of_marked(struct trap *t, int nr, unsigned node)
{
	unsigned pass = t->pass;

	switch (nr) {
	case SYS_openat:
		pass = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(2), O_ACCMODE, O_ACCMODE, node, pass);
		pass = when(t, BPF_JSET, LOW(2), TMPFILE_BIT, node, pass);
		if (!t->plan->allows_setid)
			pass = when(t, BPF_JSET, LOW(3), SETID_BITS, node, pass);
		break;
	case SYS_renameat2:
		pass = when(t, BPF_JSET, LOW(4), RENAME_WHITEOUT, node, pass);
		break;
	case SYS_linkat:
		pass = when(t, BPF_JEQ, LOW(4), 0, pass, node);
		break;
	case SYS_mkdirat:
	case SYS_unlinkat:
		break;
	default:
		return node;
	}
	return when(t, BPF_JEQ, HIGH(0), SBX_MARK, pass, node);
}

/* A call that traps: for its row, for what is refused of it, or for both. */
struct trapped {
	int nr;
	const struct br_row *row; /* NULL = none */
};

static int by_number(const void *a, const void *b)
{
	const struct trapped *x = a, *y = b;

	return x->nr - y->nr;
}

static size_t find_trapped(const struct trap *t, struct trapped *out)
{
	size_t n = 0;

	for (size_t i = 0; i < br_nrows; i++)
		if (!br_rows[i].group || (br_rows[i].group & t->plan->traps))
			out[n++] = (struct trapped){br_rows[i].nr, &br_rows[i]};
	for (unsigned i = 0; i < lau_told_n; i++) {
		int nr = lau_told_rows[i].nr;
		bool is_there =
			(i && lau_told_rows[i - 1].nr == nr) || !br_has_refusals(t->plan, nr);

		for (size_t k = 0; !is_there && k < n; k++)
			is_there = out[k].nr == nr;
		if (!is_there)
			out[n++] = (struct trapped){nr, NULL};
	}
	qsort(out, n, sizeof *out, by_number);
	return n;
}

static unsigned of_trapped(struct trap *t, const struct trapped *it)
{
	struct br_leaves leaf = {t->notify, it->row ? of_row(t, it->row) : t->pass};

	if (t->plan->passes_marks)
		leaf.other = of_marked(t, it->nr, leaf.other);
	return br_trap_refusals(&t->bpf, t->plan, it->nr, &leaf);
}

/* The trapped calls, and the ranges between them. */
static size_t make_runs(struct trap *t, struct lau_bpf_run *r)
{
	struct trapped all[BR_TRAPS_MAX];
	size_t nall = find_trapped(t, all), n = 0;
	uint32_t next = 0;

	for (size_t i = 0; i < nall; i++) {
		uint32_t nr = (uint32_t)all[i].nr;

		if (nr > next)
			r[n++] = (struct lau_bpf_run){next, t->pass};
		r[n++] = (struct lau_bpf_run){nr, of_trapped(t, &all[i])};
		next = nr + 1;
	}
	r[n++] = (struct lau_bpf_run){next, t->pass};
	return n;
}

size_t lau_broker_filter(const struct lau_broker_plan *plan, struct sock_filter *out)
{
	struct lau_bpf_run runs[2 * BR_TRAPS_MAX + 1];
	struct trap t = {.plan = plan};
	size_t n;
	unsigned root;

	t.pass = lau_bpf_answer(&t.bpf, PASS);
	t.notify = lau_bpf_answer(&t.bpf, NOTIFY);
	n = make_runs(&t, runs);
	root = lau_bpf_tree(&t.bpf, offsetof(struct seccomp_data, nr), runs, n);
	root = when(&t, BPF_JEQ, offsetof(struct seccomp_data, arch), NATIVE_ARCH, root, t.pass);
	n = lau_bpf_emit(&t.bpf, root, out, LAU_TRAP_MAX);
	B_ASSERT(n > 0);
	return n;
}

/* Installs the trap filter. */

static const char *remedy(int err)
{
	if (err == EBUSY)
		return "another program already supervises this process: run outside of it";
	if (err == EINVAL)
		return "needs Linux 5.19";
	return "the kernel needs CONFIG_SECCOMP_FILTER, and no outer filter against it";
}

int lau_broker_trap(const struct sock_filter *insn, size_t len, struct b_err *err)
{
	struct sock_fprog prog = {.len = (unsigned short)len};
	long fd;

	/* the kernel's struct lacks a const; it only copies */
	memcpy(&prog.filter, &insn, sizeof insn);
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LAU_TRAP_FLAGS, &prog);
	if (fd < 0)
		return b_fail(err, B_FLOOR, errno, "broker: listener: %s: %s", strerror(errno),
			      remedy(errno));
	return (int)fd;
}
