/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - the calls that the broker performs, one row each: when it traps, which arguments are
 * paths, its handler. Private to launcher/linux/broker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/linux/broker/public.h"

struct br_call;
struct br_answer;

enum br_trap {
	BR_TRAP_ALWAYS,
	BR_TRAP_OPEN,	    /* depends on the flags of open(2) */
	BR_TRAP_OPENAT2,    /* depends on the size of struct open_how */
	BR_TRAP_NAMESPACE,  /* depends on the flags of clone(2) */
	BR_TRAP_PRCTL,	    /* answered by the filter */
	BR_TRAP_ABSENT,	    /* answered by the filter: as if the kernel lacked it */
	BR_TRAP_DATAGRAMS,  /* depends on the type of socketpair(2) */
	BR_TRAP_OTHER,	    /* the thread of the mode argument is not 0, the caller */
	BR_TRAP_LIMIT,	    /* and a limit is given, prlimit(2) */
	BR_TRAP_SOCKET,	    /* protocols beside TCP and UDP, which are refused */
	BR_TRAP_SETSOCKOPT, /* answered by the filter: source routes */
};

/* How a path is meant. */
#define BR_END_LAST   0x01u /* the name itself: a symlink at its end is not followed */
#define BR_END_FOLLOW 0x02u
#define BR_END_FD     0x04u /* no path: the object is the descriptor */
#define BR_END_AT     0x08u /* BR_END_FOLLOW, unless flags hold AT_SYMLINK_NOFOLLOW */
#define BR_END_ATLINK 0x10u /* BR_END_LAST, unless flags hold AT_SYMLINK_FOLLOW */
#define BR_END_EMPTY  0x20u /* AT_EMPTY_PATH is known to this call */
#define BR_END_TEXT   0x40u /* a string, not a path (the target of a symlink) */
#define BR_END_NULL   0x80u /* a NULL path means the descriptor */

#define BR_NO_ARG 7

struct br_end_spec {
	unsigned char dirfd; /* argument, BR_NO_ARG: the working directory */
	unsigned char path;  /* argument */
	unsigned char how;   /* 0 = no such end */
};

typedef struct br_answer br_handler(struct br_call *);

struct br_row {
	int nr;
	unsigned char trap;   /* enum br_trap */
	unsigned short group; /* POL_TRAP_*, 0 = always */
	unsigned short call;  /* SBX_CALL_*, for events */
	struct br_end_spec end[2];
	unsigned char flags_arg, mode_arg; /* BR_NO_ARG = none */
	br_handler *handler;
};

#define SYS_fchmodat2_nr 452 /* Linux 6.6; newer than the headers of Debian 12 */

#define BR_ROWS_MAX  110
#define BR_TRAPS_MAX 200 /* and calls that are refused */
extern const struct br_row br_rows[];
extern const size_t br_nrows;
/* NULL: not ours. */
const struct br_row *br_row_find(int nr);

/* refused.c: calls, beside the rows, that the static filter would refuse without a word. */
struct lau_bpf;
struct br_leaves {
	unsigned notify, other; /* other: what the call's row says */
};
bool br_has_refusals(const struct lau_broker_plan *, int nr);
unsigned br_trap_refusals(struct lau_bpf *, const struct lau_broker_plan *, int nr,
			  const struct br_leaves *);
/* The row that refuses this very call; NULL: none. */
const struct pol_sc_rule *br_refusal(const struct br_call *, unsigned *out_row);
extern const struct br_row br_refused_row;

/* Handlers, by file. */
br_handler br_open, br_openat2, br_creat; /* open.c */
br_handler br_mkdir, br_mknod, br_unlink, br_rmdir, br_symlink, br_truncate,
	br_ftruncate;						       /* change.c */
br_handler br_rename, br_link;					       /* move.c */
br_handler br_chmod, br_chown, br_utimes, br_setxattr, br_removexattr; /* meta.c */
br_handler br_getxattr, br_listxattr;				       /* meta.c */
br_handler br_bind, br_connect, br_listen, br_pair;		       /* socket.c */
br_handler br_exec;						       /* exec.c */
br_handler br_no_socket;					       /* refused.c */
br_handler br_ptrace, br_namespace, br_priority;		       /* others.c */
br_handler br_kill, br_tkill, br_tgkill, br_sigqueue, br_pidfd_signal; /* signals.c */
br_handler br_umask, br_credentials;				       /* creds.c */
br_handler br_greet;						       /* confine.c */
