/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - the parts of a run that only Linux has: reports of the broker, the terminal,
 * the cgroup. */
#pragma once

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "launcher/plan/plan.h"
#include "launcher/supervise/supervise.h"

struct b_err;
struct b_str;
struct lau_limits;
struct lau_plan;

/*
 * Who is the command? It may be no child of ours, and live among other numbers: it
 * writes a byte to a socket, and the kernel translates the number of who wrote (unix(7)).
 */

/* socks[0] ours, socks[1] to be inherited; both CLOEXEC. 0 or -1 with errno. */
int lau_hello_open(int socks[2]);
/* Waits. 0: nobody said anything, and all who could are gone. */
pid_t lau_hello_read(int sock);

/*
 * Where the command is a child of the broker (Yama lets only ancestors look into a
 * process), the broker waits for it and tells the supervisor, which acts as if it were its own
 * child. docs/adr/012.
 *
 * Over one socket: the broker writes a status as wait(2) gives it, for a stop or the end; the
 * supervisor answers the end with a byte. Until then the broker does not reap the command: its
 * number, to which the supervisor sends signals, stays its own.
 */

/* The supervisor's end. */
struct lau_reports {
	struct lau_watch watch; /* first; fd -1 = none */
	bool has_ended;
};
/* Takes the socket. */
void lau_reports_open(struct lau_reports *, int sock);
void lau_reports_close(struct lau_reports *);

/* What the first process of a pid namespace says: it is alone, and ends. */
struct lau_alone {
	struct lau_watch watch; /* first; fd -1 = none */
};
/* Takes the pipe. */
void lau_alone_open(struct lau_alone *, int pipe);
void lau_alone_close(struct lau_alone *);

/* The broker's. Its children are the command and what that has left. */
struct lau_wards {
	int sock;    /* -1: nobody listens any more */
	int signals; /* readable when a child has changed */
	pid_t command;
	bool is_told, may_reap; /* of the command's end */
};
/* With SIGCHLD blocked. 0 or -1 with errno. */
int lau_wards_open(struct lau_wards *, int sock, pid_t command);
/* What to poll(2) for; NULL = nothing, and so for the next. */
void lau_wards_poll(const struct lau_wards *, struct pollfd out[2]);
/* When one of the two can be read: takes what has changed. */
void lau_wards_take(struct lau_wards *);
/* Nobody is served any more: the end is told, if it was not, and heard of. */
void lau_wards_finish(struct lau_wards *);

/* Ends a child, which may be ending or have been waited for, and waits for it: two seconds at most.
 */
void lau_processes_bury(pid_t);

/* The umask that takes nothing from a file's owner: our files can be opened again. What it was. */
mode_t lau_umask_relax(void);

/*
 * The modes of the controlling terminal, for a command that could not put them back.
 *
 * A shell puts them back when its job died by a signal; it sees ours exit with 128+n, which says
 * to it that all is as it should be.
 */

struct lau_terminal {
	bool is_known;
	/* Of those of descriptors 0 to 2 that are terminals: a copy, and what all who share it
	 * share. Others than terminals are let go, so that their readers see an end. */
	int fd[3];	       /* -1: none */
	int flags[3];	       /* fcntl(F_GETFL) */
	bool was_exclusive[3]; /* TIOCEXCL */
	struct termios modes;
};

/* Before the command starts; without a terminal nothing is known. */
void lau_terminal_look(struct lau_terminal *);
/* When nobody of the run is left: unless another job has the terminal now. */
void lau_terminal_restore(const struct lau_terminal *);
/* However the command ended: status flags and exclusive mode of descriptors 0 to 2, where they are
 * terminals and the command left them otherwise. */
void lau_terminal_return(const struct lau_terminal *);

/*
 * A cgroup of the run's own, where one may be made: beside ours, below a parent that is
 * ours to change and hands controllers down (cgroups(7), "Delegation"). Below our own none can be:
 * a cgroup with processes in it hands nothing down.
 */

/* The parent, as a path; what it can hold as bits of 1 << enum lau_bound; 0 with no path. */
unsigned lau_cgroup_parent(struct b_str *out);

struct lau_cgroup {
	char *path; /* malloc'ed; NULL = none was made */
	int procs;  /* who writes "0" to it is in */
};
/* Makes one there, with the limits that are held by LAU_HELD_CGROUP. Removes those that dead
 * launchers left. B_LIMIT. */
int lau_cgroup_make(const char *parent, const struct lau_bounds *, struct lau_cgroup *out,
		    struct b_err *err);
/* The calling process, and what it will start. [AS-safe] */
int lau_cgroup_enter(int procs);
/* Removes it, when nothing lives in it. */
void lau_cgroup_release(struct lau_cgroup *);

/* Of a plan: the cgroup, where it wants one, and what the command's side is told. */
int lau_bounds_make(const struct lau_plan *, struct lau_cgroup *, struct lau_limits *,
		    struct b_err *err);

/* SIGINT and SIGTERM of this process, for as long as somebody waits for a run.
 * Private to exec.h. */

/* The first puts the handlers in place, the last puts the old ones back. *out_mark: from here on.
 * B_SYSTEM, and nothing is changed. [MT-safe] */
int lau_exec_signals_hold(uint64_t *out_mark, struct b_err *err);
void lau_exec_signals_drop(void);
/* The latest signal that came after the mark, or 0. [MT-safe] */
int lau_exec_signals_since(uint64_t mark);

/* What else the kernel starts or maps when it executes a file: execve(2), elf(5). */

/* Interpreters of interpreters that execve(2) follows, and the loader of the last. */
#define LAU_INTERP_DEPTH 6

enum lau_interp { LAU_INTERP_NONE, LAU_INTERP_SCRIPT, LAU_INTERP_LOADER };

/* The interpreter that the open file names: behind "#!", or in PT_INTERP of an ELF file, also of a
 * 32-bit one: the filter ends that at its first call, unless its code has left the 32-bit mode. Its
 * path, as written, to `out`. */
enum lau_interp lau_interp_read(int fd, char out[PATH_MAX]);
