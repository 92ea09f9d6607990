/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp.c - see seccomp.h. */
#include "policy/plan/seccomp.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

/* Numbers of the Linux ABI, spelled out: this file must give the same plan on every host. */
#define L_AF_UNIX    1
#define L_AF_INET    2
#define L_AF_INET6   10
#define L_AF_NETLINK 16
#define L_SOCK_TYPE  0xf
#define L_SOCK_DGRAM 2
#define L_SOCK_RAW   3 /* unix(7) sockets of this type are made datagram sockets */

#define L_O_ACCMODE 03
#define L_O_CREAT   0100
#define L_O_TRUNC   01000
#define L_O_TMPFILE 020000000

#define L_MSG_FASTOPEN	       0x20000000
#define L_IPPROTO_TCP	       6
#define L_TCP_FASTOPEN_CONNECT 30

#define L_PUNCH_HOLE  0x2
#define L_MADV_REMOVE 9

#define L_F_SETOWN    8
#define L_F_SETOWN_EX 15
#define L_F_SETLEASE  1024

#define L_SUID 04000
#define L_SGID 02000

/* NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#define L_NEW_NAMESPACE 0x7e020000
#define L_NEWTIME	0x80 /* for clone(2) a bit of the exit signal */

#define L_PRIO_PROCESS	  0
#define L_IOPRIO_PROCESS  1
#define L_RLIMIT_LOCKS	  10
#define L_SET_MODE_FILTER 1
#define L_NEW_LISTENER	  8

/* Errno numbers differ between systems; a plan speaks Linux. */
#define L_EPERM		  1
#define L_EACCES	  13
#define L_EINVAL	  22
#define L_ENOTTY	  25
#define L_ENOSYS	  38
#define L_ENOPROTOOPT	  92
#define L_EPROTONOSUPPORT 93
#define L_EOPNOTSUPP	  95
#define L_EAFNOSUPPORT	  97

#define LOW32 UINT64_C(0xffffffff)

#define IS(i, v)                                                                                   \
	{                                                                                          \
		.index = (i), .cmp = '&', .mask = LOW32, .value = (v)                              \
	}
#define BITS(i, b)                                                                                 \
	{                                                                                          \
		.index = (i), .cmp = '|', .mask = (b)                                              \
	}
#define BETWEEN(i, lo, hi)                                                                         \
	{                                                                                          \
		.index = (i), .cmp = '-', .value = (lo), .mask = (hi)                              \
	}
#define PART(i, m, v)                                                                              \
	{                                                                                          \
		.index = (i), .cmp = '&', .mask = (m), .value = (v)                                \
	}
#define NOT(i, v)                                                                                  \
	{                                                                                          \
		.index = (i), .cmp = '!', .value = (v)                                             \
	}
/* The kernel reads an int: any but 0. */
#define SOME(i) BETWEEN(i, 1, LOW32)

#define TEXT_OF(n) #n
#define ORIGIN(n)  "builtin:filter:" TEXT_OF(n)
#define ROW(c, e, w, ...)                                                                          \
	{                                                                                          \
		.call = (c), .err = (e), .why = (w), .origin = ORIGIN(__LINE__), __VA_ARGS__       \
	}
#define WHEN(a)	     .nargs = 1, .arg = {a}
#define WHEN2(a, b)  .nargs = 2, .arg = {a, b}
#define DENY(c, w)   ROW(c, L_EPERM, w)
#define ABSENT(c, w) ROW(c, L_ENOSYS, w)
#define ROOTS(c, w)  ROW(c, L_EPERM, w, .is_root = true)
#define DEBUG(c, w)  ROW(c, L_EPERM, w, .unless = POL_SC_ALLOW_DEBUG)
/* the broker tells the run's own processes from others */
#define OTHERS(c, arg_no) ROW(c, L_EPERM, why_others, WHEN(SOME(arg_no)), .unless = POL_SC_BROKER)
#define NAMESPACE(c, flags)                                                                        \
	/* the broker refuses it as well, and says so */                                           \
	ROW(c, L_EPERM, why_ns, WHEN(BITS(0, flags)),                                              \
	    .unless = POL_SC_ALLOW_NAMESPACES | POL_SC_BROKER)
#define IOCTL(cmd, e, w)  ROW("ioctl", e, w, WHEN(IS(1, cmd)))
#define PASSES(lo, hi, w) ROW("ioctl", 0, w, WHEN(BETWEEN(1, lo, hi)))
/* All of one magic number. */
#define KIND(k, w)                                                                                 \
	ROW("ioctl", L_ENOTTY, w, WHEN(PART(1, 0xff00, (k) << 8)), .only = POL_SC_DEVICES)
#define INET(f) ROW("socket", L_EACCES, why_inet, WHEN(IS(0, f)), .only = POL_SC_NO_INET)
#define ENDPOINT(f)                                                                                \
	ROW("socket", L_EPROTONOSUPPORT, why_endpoint, WHEN(IS(0, f)), .only = POL_SC_ENDPOINTS)
/* The flag is an argument: what struct msghdr says of flags is for answers (sendmsg(2)). */
#define FASTOPEN(c, f)                                                                             \
	ROW(c, L_EOPNOTSUPP, why_fastopen, WHEN(BITS(f, L_MSG_FASTOPEN)),                          \
	    .only = POL_SC_APART | POL_SC_ENDPOINTS, .is_told = true)
/* The host's, where no namespace is made. Without a network namespace that was asked for there is
 * none of another kind, either. */
#define IPC(c) ROW(c, L_EACCES, why_ipc, .only = POL_SC_NO_INET | POL_SC_NO_IPC)
/* the broker sees what kind of object it is: directories may be set-gid */
#define SETID(c, m)                                                                                \
	ROW(c, L_EPERM, why_setid, WHEN(BITS(m, L_SUID | L_SGID)), .unless = POL_SC_BROKER)
/* The mode register holds anything unless the flags ask for a new file. */
#define SETID_OPEN(c, f, m)                                                                        \
	ROW(c, L_EPERM, why_setid,                                                                 \
	    WHEN2(BITS(f, L_O_CREAT | L_O_TMPFILE), BITS(m, L_SUID | L_SGID)),                     \
	    .unless = POL_SC_BROKER)
/* open(O_RDONLY | O_TRUNC) truncates without any write right below ABI 3. */
#define NO_TRUNC(c, f)                                                                             \
	ROW(c, L_EACCES, why_trunc, WHEN(PART(f, L_O_TRUNC | L_O_ACCMODE, L_O_TRUNC)),             \
	    .only = POL_SC_NO_TRUNCATE)

static const char why_mount[] = "mounts would move files under other names";
static const char why_newmount[] = "new mount calls; callers fall back to mount(2)";
static const char why_trace[] = "reads or steers other processes";
static const char why_others[] = "limits and priorities of other processes";
static const char why_mark[] = "the mark by which a guard ends what is left of the run";
static const char why_ns[] = "a new namespace brings new privileges over the kernel";
static const char why_setid[] = "a set-id file gives its rights to programs outside";
static const char why_family[] = "socket family outside unix, inet, inet6 and netlink route";
static const char why_inet[] = "no network";
static const char why_endpoint[] = "rules on endpoints cover only TCP and UDP";
static const char why_fastopen[] = "fast open connects without connect(2), which is what is judged";
static const char why_owner[] =
	"the kernel signals the owner that a descriptor names, without a check";
static const char why_ipc[] = "IPC of the host, without an IPC namespace";
static const char why_trunc[] = "Landlock below ABI 3 does not see truncation";
static const char why_xattr[] = "metadata by a new call; callers fall back";
static const char why_keys[] = "keyrings are shared with processes outside";
static const char why_kernel[] = "administration of the kernel";
static const char why_clock[] = "the system clock";
static const char why_surface[] = "kernel surface that a command does not need";
static const char why_handle[] = "opens files without a path check";
static const char why_lease[] = "a lease makes other programs wait when they open the file";
static const char why_tty[] = "types into the terminal";
static const char why_inode[] = "changes inodes through a read-only descriptor";
static const char why_subvolume[] = "a snapshot shows denied files under names that are allowed, a "
				    "subvolume is made or removed";
static const char why_dedupe[] = "compares a file that is open to write alone with another";
static const char why_terminal[] = "terminals";
static const char why_flags[] = "flags of the descriptor itself";
static const char why_clone[] = "copies what may be read to what may be written";
static const char why_asks[] = "asks";
static const char why_ioctl[] = "changes, or shows more than bytes, through any descriptor";
static const char why_hole[] =
	"holes in the run's ring take its events; callers write zeros instead";
static const char why_dgram[] = "a datagram socket reaches any socket path by sendto(2)";
static const char why_uring[] = "calls made by a ring are not filtered; callers fall back";

static const struct pol_sc_rule rules[] = {
	/* mounts and namespaces */
	ROOTS("mount", why_mount),
	ROOTS("umount2", why_mount),
	ROOTS("pivot_root", why_mount),
	ROW("chroot", L_EPERM, why_mount, .unless = POL_SC_ALLOW_NAMESPACES, .is_root = true),
	ROW("setns", L_EPERM, why_ns, .unless = POL_SC_ALLOW_NAMESPACES, .is_root = true),
	ABSENT("fsopen", why_newmount),
	ABSENT("fsconfig", why_newmount),
	ABSENT("fsmount", why_newmount),
	ABSENT("fspick", why_newmount),
	ABSENT("move_mount", why_newmount),
	ABSENT("open_tree", why_newmount),
	ABSENT("open_tree_attr", why_newmount),
	ABSENT("mount_setattr", why_newmount),
	ABSENT("clone3", "its flags lie in memory; callers fall back to clone(2)"),
	NAMESPACE("clone", L_NEW_NAMESPACE),
	NAMESPACE("unshare", L_NEW_NAMESPACE | L_NEWTIME),

	/* other processes */
	/* the broker refuses it as well, and says so */
	ROW("ptrace", L_EPERM, why_trace, .unless = POL_SC_ALLOW_DEBUG | POL_SC_BROKER),
	DEBUG("process_vm_readv", why_trace),
	DEBUG("process_vm_writev", why_trace),
	DENY("process_madvise", why_trace),
	DENY("pidfd_getfd", why_trace),
	DENY("kcmp", why_trace),
	/* From ADDR_NO_RANDOMIZE up, the query 0xffffffff included: a range with a hole is no
	 * row, and who asks wants to set. */
	ROW("personality", L_EPERM, "disables hardening", WHEN(BETWEEN(0, 0x40000, LOW32)),
	    .unless = POL_SC_ALLOW_DEBUG),
	ROW("prlimit64", L_EPERM, why_others, WHEN2(SOME(0), NOT(2, 0)), .unless = POL_SC_BROKER),
	ROW("prlimit64", L_EPERM, why_mark, WHEN2(IS(1, L_RLIMIT_LOCKS), NOT(2, 0))),
	ROW("setrlimit", L_EPERM, why_mark, WHEN(IS(0, L_RLIMIT_LOCKS))),
	/* PRIO_PGRP and PRIO_USER reach the supervisor even with who = 0. */
	ROW("setpriority", L_EPERM, why_others, WHEN(SOME(0))),
	OTHERS("setpriority", 1),
	ROW("ioprio_set", L_EPERM, why_others, WHEN(BETWEEN(0, L_IOPRIO_PROCESS + 1, LOW32))),
	OTHERS("ioprio_set", 1),
	OTHERS("sched_setaffinity", 0),
	OTHERS("sched_setattr", 0),
	OTHERS("sched_setparam", 0),
	OTHERS("sched_setscheduler", 0),
	OTHERS("move_pages", 0),
	OTHERS("migrate_pages", 0),
	ROW("seccomp", L_EPERM, "a second listener would replace the broker's",
	    WHEN2(IS(0, L_SET_MODE_FILTER), BITS(1, L_NEW_LISTENER))),

	/* files past Landlock */
	ROOTS("open_by_handle_at", why_handle),
	DENY("name_to_handle_at", why_handle),
	DENY("fanotify_init", "watches whole mounts"),
	DENY("fanotify_mark", "watches whole mounts"),
	ABSENT("setxattrat", why_xattr),
	ABSENT("getxattrat", why_xattr),
	ABSENT("listxattrat", why_xattr),
	ABSENT("removexattrat", why_xattr),
	ABSENT("file_setattr", why_xattr),
	ABSENT("lsm_set_self_attr", "labels by a new call; callers write to /proc/self/attr"),
	ABSENT("listns", "namespaces of the host; callers look into /proc"),
	ABSENT("io_uring_setup", why_uring),
	ABSENT("io_uring_enter", why_uring),
	ABSENT("io_uring_register", why_uring),
	/* mkdir(2) drops these bits itself; openat2(2) hides its mode in memory and stays a
	 * known limit without a broker. */
	SETID("chmod", 1),
	SETID("fchmod", 1),
	SETID("fchmodat", 2),
	SETID("fchmodat2", 2),
	SETID("creat", 1),
	SETID("mknod", 1),
	SETID("mknodat", 2),
	SETID_OPEN("open", 1, 2),
	SETID_OPEN("openat", 2, 3),
	/* open(2) waits for who has a lease, the broker's in a run's name, too: fcntl(2),
	   F_SETLEASE */
	ROW("fcntl", L_EACCES, why_lease, WHEN(IS(1, L_F_SETLEASE))),
	ROW("fcntl", L_EPERM, why_owner, WHEN(IS(1, L_F_SETOWN)), .only = POL_SC_SIGNALS),
	ROW("fcntl", L_EPERM, why_owner, WHEN(IS(1, L_F_SETOWN_EX)), .only = POL_SC_SIGNALS),
	/* fallocate(1), qemu-img, cp(1) and databases take this answer from many file systems. */
	ROW("fallocate", L_EOPNOTSUPP, why_hole, WHEN(BITS(1, L_PUNCH_HOLE))),
	ROW("madvise", L_EINVAL, why_hole, WHEN(IS(2, L_MADV_REMOVE))),
	ROW("truncate", L_EACCES, why_trunc, .only = POL_SC_NO_TRUNCATE),
	NO_TRUNC("open", 1),
	NO_TRUNC("openat", 2),
	ROW("openat2", L_ENOSYS, why_trunc, .only = POL_SC_NO_TRUNCATE),

	/* ioctl: the command is an unsigned int, so low 32 bits. A descriptor that is open to read
	 * must neither change what it leads to nor show more than its bytes; so what is known
	 * passes, and the rest finds a file system, or a device, without it. */
	IOCTL(0x5412, L_EPERM, why_tty),	     /* TIOCSTI */
	IOCTL(0x541c, L_EPERM, why_tty),	     /* TIOCLINUX */
	IOCTL(0x40086602, L_EPERM, why_inode),	     /* FS_IOC_SETFLAGS */
	IOCTL(0x401c5820, L_EPERM, why_inode),	     /* FS_IOC_FSSETXATTR, project ids too */
	IOCTL(0xc0189436, L_EOPNOTSUPP, why_dedupe), /* FIDEDUPERANGE */
	ROW("ioctl", L_EPERM, why_owner, WHEN(BETWEEN(1, 0x8901, 0x8902)), /* FIOSETOWN */
	    .only = POL_SC_SIGNALS),
	/* not TIOCCONS, TIOCSETD, TIOCSSERIAL, nor the keyboards and screens of consoles */
	PASSES(0x5401, 0x5411, why_terminal),	      /* TCGETS to TIOCOUTQ */
	PASSES(0x5413, 0x541b, why_terminal),	      /* TIOCGWINSZ to FIONREAD */
	PASSES(0x5420, 0x5422, why_terminal),	      /* TIOCPKT, FIONBIO, TIOCNOTTY */
	PASSES(0x5424, 0x5429, why_terminal),	      /* TIOCGETD to TIOCGSID */
	PASSES(0x5441, 0x5441, why_terminal),	      /* TIOCGPTPEER */
	PASSES(0x5450, 0x5452, why_flags),	      /* FIONCLEX, FIOCLEX, FIOASYNC */
	PASSES(0x5460, 0x5460, why_flags),	      /* FIOQSIZE */
	PASSES(0x802c542a, 0x802c542a, why_terminal), /* TCGETS2 */
	PASSES(0x402c542b, 0x402c542d, why_terminal), /* TCSETS2, TCSETSW2, TCSETSF2 */
	PASSES(0x80045430, 0x80045440, why_terminal), /* TIOCGPTN to TIOCGEXCL */
	PASSES(0x40045431, 0x40045436, why_terminal), /* TIOCSPTLCK, TIOCSIG */
	PASSES(0x8901, 0x8970, "queries sockets and interfaces; a change needs a capability"),
	PASSES(0x80108906, 0x80108907, "asks sockets"), /* SIOCGSTAMP_NEW */
	/* FICLONE and FICLONERANGE read from a descriptor that is open to read, and write to one
	 * that is open to write: copy_file_range(2) does no more. */
	PASSES(0x40049409, 0x40049409, why_clone),
	PASSES(0x4020940d, 0x4020940d, why_clone),
	PASSES(2, 2, why_asks),			  /* FIGETBSZ */
	PASSES(0x80086601, 0x80086601, why_asks), /* FS_IOC_GETFLAGS */
	PASSES(0x80087601, 0x80087601, why_asks), /* FS_IOC_GETVERSION */
	PASSES(0x801c581f, 0x801c581f, why_asks), /* FS_IOC_FSGETXATTR */
	PASSES(0x81009431, 0x81009431, why_asks), /* FS_IOC_GETFSLABEL */
	PASSES(0xc020660b, 0xc020660b, why_asks), /* FS_IOC_FIEMAP: where it lies on the disk */
	PASSES(0x80045200, 0x80045200, why_asks), /* RNDGETENTCNT */
	/* nsfs: what it gives a descriptor for is the caller's own, or below it */
	ROW("ioctl", 0, "asks namespaces", WHEN(BETWEEN(1, 0xb701, 0xb704)),
	    .only = POL_SC_ALLOW_NAMESPACES),
	ROW("ioctl", L_ENOTTY, why_ioctl, .unless = POL_SC_DEVICES),
	/* Where a rule opens devices Landlock limits their calls to those; what file systems know
	 * stays shut. Among it: FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_ENABLE_VERITY,
	 * FS_IOC_SETFSLABEL, FS_IOC_SHUTDOWN, EXT4_IOC_MOVE_EXT; FS_IOC_UNRESVSP, which is
	 * FALLOC_FL_PUNCH_HOLE, XFS_IOC_SWAPEXT, XFS_IOC_EXCHANGE_RANGE; BTRFS_IOC_SNAP_CREATE. */
	KIND('f', why_ioctl),
	KIND('v', why_ioctl),
	KIND('X', why_ioctl),
	KIND('r', why_ioctl),	   /* vfat */
	KIND('n', why_ioctl),	   /* nilfs2 */
	KIND('o', why_ioctl),	   /* ocfs2: OCFS2_IOC_REFLINK makes a name */
	KIND('K', why_tty),	   /* keyboards of consoles */
	KIND(0x94, why_subvolume), /* btrfs */
	KIND(0xbc, why_subvolume), /* bcachefs */
	KIND(0xf5, why_ioctl),	   /* f2fs */
	KIND(0xb7, "namespaces of the host"),
	KIND(0xff, "namespaces of other processes"), /* pidfd */

	/* sockets */
	ROW("socket", L_EAFNOSUPPORT, why_family, WHEN(BETWEEN(0, 3, 9))),
	ROW("socket", L_EAFNOSUPPORT, why_family, WHEN(BETWEEN(0, 11, 15))),
	ROW("socket", L_EAFNOSUPPORT, why_family, WHEN(BETWEEN(0, L_AF_NETLINK + 1, LOW32))),
	INET(L_AF_INET),
	INET(L_AF_INET6),
	INET(L_AF_NETLINK),
	ROW("socket", L_EACCES, "sockets by path reach services outside", WHEN(IS(0, L_AF_UNIX)),
	    .unless = POL_SC_UNIX_HOST | POL_SC_BROKER),
	ROW("socket", L_EACCES, why_dgram,
	    WHEN2(IS(0, L_AF_UNIX), PART(1, L_SOCK_TYPE, L_SOCK_DGRAM)), .only = POL_SC_BROKER,
	    .unless = POL_SC_UNIX_HOST),
	ROW("socket", L_EACCES, why_dgram,
	    WHEN2(IS(0, L_AF_UNIX), PART(1, L_SOCK_TYPE, L_SOCK_RAW)), .only = POL_SC_BROKER,
	    .unless = POL_SC_UNIX_HOST),
	ROW("socketpair", L_EACCES, why_dgram,
	    WHEN2(IS(0, L_AF_UNIX), PART(1, L_SOCK_TYPE, L_SOCK_DGRAM)),
	    .unless = POL_SC_UNIX_HOST | POL_SC_BROKER),
	ROW("socketpair", L_EACCES, why_dgram,
	    WHEN2(IS(0, L_AF_UNIX), PART(1, L_SOCK_TYPE, L_SOCK_RAW)),
	    .unless = POL_SC_UNIX_HOST | POL_SC_BROKER),
	ROW("socket", L_EPROTONOSUPPORT, "netlink beyond the routing tables",
	    WHEN2(IS(0, L_AF_NETLINK), SOME(2))),
	/* of protocols that Landlock and the relay do not know: the broker's filter says which */
	ENDPOINT(L_AF_INET),
	ENDPOINT(L_AF_INET6),
	FASTOPEN("sendto", 3),
	FASTOPEN("sendmsg", 2),
	FASTOPEN("sendmmsg", 3),
	/* for MPTCP it is the same level */
	ROW("setsockopt", L_ENOPROTOOPT, why_fastopen,
	    WHEN2(IS(1, L_IPPROTO_TCP), IS(2, L_TCP_FASTOPEN_CONNECT)),
	    .only = POL_SC_APART | POL_SC_ENDPOINTS, .is_told = true),
	IPC("shmget"),
	IPC("shmat"),
	IPC("shmctl"),
	IPC("semget"),
	IPC("semop"),
	IPC("semtimedop"),
	IPC("semctl"),
	IPC("msgget"),
	IPC("msgsnd"),
	IPC("msgrcv"),
	IPC("msgctl"),
	IPC("mq_open"),
	IPC("mq_unlink"),

	/* the kernel itself */
	ROOTS("bpf", why_surface),
	DENY("perf_event_open", why_surface),
	DENY("userfaultfd", why_surface),
	DENY("modify_ldt", why_surface),
	ROOTS("iopl", why_surface),
	ROOTS("ioperm", why_surface),
	ROOTS("vhangup", why_tty),
	DENY("keyctl", why_keys),
	DENY("add_key", why_keys),
	DENY("request_key", why_keys),
	ROOTS("init_module", why_kernel),
	ROOTS("finit_module", why_kernel),
	ROOTS("delete_module", why_kernel),
	ROOTS("kexec_load", why_kernel),
	ROOTS("kexec_file_load", why_kernel),
	ROOTS("reboot", why_kernel),
	ROOTS("swapon", why_kernel),
	ROOTS("swapoff", why_kernel),
	ROOTS("acct", why_kernel),
	DENY("quotactl", why_kernel),
	DENY("quotactl_fd", why_kernel),
	DENY("syslog", why_kernel),
	ROOTS("sethostname", why_kernel),
	ROOTS("setdomainname", why_kernel),
	ROOTS("settimeofday", why_clock),
	ROOTS("clock_settime", why_clock),
	DENY("adjtimex", why_clock),
	DENY("clock_adjtime", why_clock),
};

const struct pol_sc_rule *pol_sc_rules(size_t *out_n)
{
	*out_n = sizeof rules / sizeof *rules;
	return rules;
}

bool pol_sc_applies(const struct pol_sc_rule *rule, unsigned flags)
{
	if (rule->unless & flags)
		return false;
	return !rule->only || (rule->only & flags);
}

/* What Landlock does not see is the broker's own affair, by other calls as well. */
bool pol_sc_is_told(const struct pol_sc_rule *rule, unsigned flags)
{
	if (!(flags & POL_SC_BROKER) || rule->only == POL_SC_NO_TRUNCATE)
		return false;
	return rule->is_told || rule->err == L_EPERM || rule->err == L_EACCES ||
	       rule->err == L_EAFNOSUPPORT || rule->err == L_EPROTONOSUPPORT;
}

static bool meets(const struct pol_sc_arg *a, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	switch (a->cmp) {
	case '&':
		return (low & a->mask) == a->value;
	case '|':
		return low & a->mask;
	case '-':
		return low >= a->value && low <= a->mask;
	default: /* '!' */
		return value != a->value;
	}
}

bool pol_sc_holds(const struct pol_sc_rule *rule, const uint64_t *args)
{
	for (unsigned i = 0; i < rule->nargs; i++)
		if (!meets(&rule->arg[i], args[rule->arg[i].index]))
			return false;
	return true;
}

const struct pol_sc_rule *pol_sc_row(const char *origin)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strcmp(rules[i].origin, origin) == 0)
			return &rules[i];
	return NULL;
}

/* For namespaces alone no option helps: the kernel wants capabilities for the rest. */
const char *pol_sc_remedy(const struct pol_sc_rule *rule)
{
	if (rule->unless & POL_SC_ALLOW_DEBUG)
		return "--allow debug";
	if (rule->unless & POL_SC_UNIX_HOST)
		return "--unix host";
	return rule->only == POL_SC_NO_INET || rule->only & POL_SC_APART ? "--network host" : NULL;
}

static const char *err_text(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
		{L_EPERM, "EPERM"},
		{L_EACCES, "EACCES"},
		{0, "allowed"},
		{L_EINVAL, "EINVAL"},
		{L_ENOTTY, "ENOTTY"},
		{L_ENOSYS, "ENOSYS"},
		{L_ENOPROTOOPT, "ENOPROTOOPT"},
		{L_EPROTONOSUPPORT, "EPROTONOSUPPORT"},
		{L_EOPNOTSUPP, "EOPNOTSUPP"},
		{L_EAFNOSUPPORT, "EAFNOSUPPORT"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].err == err)
			return names[i].name;
	return "?";
}

static void show_arg(const struct pol_sc_arg *arg, struct b_str *out)
{
	if (arg->cmp == '!')
		b_str_addf(out, "arg%u != %#" PRIx64, arg->index, arg->value);
	else if (arg->cmp == '>')
		b_str_addf(out, "arg%u >= %#" PRIx64, arg->index, arg->value);
	else if (arg->cmp == '|')
		b_str_addf(out, "arg%u & %#" PRIx64, arg->index, arg->mask);
	else if (arg->cmp == '-' && arg->value == arg->mask)
		b_str_addf(out, "arg%u == %#" PRIx64, arg->index, arg->value);
	else if (arg->cmp == '-')
		b_str_addf(out, "arg%u in %#" PRIx64 "..%#" PRIx64, arg->index, arg->value,
			   arg->mask);
	else if (arg->mask == LOW32)
		b_str_addf(out, "arg%u == %#" PRIx64, arg->index, arg->value);
	else
		b_str_addf(out, "arg%u & %#" PRIx64 " == %#" PRIx64, arg->index, arg->mask,
			   arg->value);
}

void pol_sc_show(unsigned flags, struct b_str *out)
{
	b_str_add(out, "foreign architecture, 32-bit calls  kill\n"
		       "x32 calls                           ENOSYS\n");
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		const struct pol_sc_rule *rule = &rules[i];

		if (!pol_sc_applies(rule, flags))
			continue;
		b_str_addf(out, "%-20s %-15s", rule->call, err_text(rule->err));
		if (pol_sc_is_told(rule, flags))
			b_str_add(out, " by the broker");
		for (unsigned k = 0; k < rule->nargs; k++) {
			b_str_add(out, k ? ", " : " when ");
			show_arg(&rule->arg[k], out);
		}
		b_str_addf(out, "  # %s\n", rule->why);
	}
	if (flags & POL_SC_BROKER && !(flags & POL_SC_ALLOW_DEBUG))
		b_str_add(out,
			  "ptrace               by the broker   # EPERM, and a line says why\n");
	if (flags & POL_SC_BROKER && !(flags & POL_SC_ALLOW_NAMESPACES))
		b_str_add(out, "clone, unshare       by the broker   when a namespace is made  "
			       "# EPERM, and a line says why\n");
	if (flags & POL_SC_BROKER)
		b_str_add(out, "setpriority, ioprio_set, sched_set*, prlimit64, move_pages, "
			       "migrate_pages  "
			       "by the broker   # of the run's own processes, EPERM for others\n");
	if (flags & POL_SC_BROKER)
		b_str_add(out,
			  "chmod, open, mknod   by the broker   of files with set-id bits  # EPERM "
			  "unless --allow setid; directories may have them\n");
	if (flags & POL_SC_BROKER && !(flags & POL_SC_UNIX_HOST))
		b_str_add(out,
			  "socketpair           by the broker   of datagrams  "
			  "# a pair that keeps messages apart, and can be sent nowhere else\n");
	b_str_add(out, "other calls up to    " POL_SYSCALLS_OF " are allowed\n"
		       "unknown calls        ENOSYS\n");
}

/* ---- names of system calls ---- */

static const struct pol_syscall syscalls[] = {
#define X(name_, x86_64_, aarch64_)                                                                \
	{#name_, {[POL_X86_64] = (x86_64_), [POL_AARCH64] = (aarch64_)}},
	POL_SYSCALLS(X)
#undef X
};

const struct pol_syscall *pol_syscalls(size_t *out_n)
{
	*out_n = sizeof syscalls / sizeof *syscalls;
	return syscalls;
}
