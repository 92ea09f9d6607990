/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - fork, confine, exec. All that can be prepared was prepared before: the child only
 * makes system calls.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "launcher/run/confine.h"
#include "launcher/supervise/supervise.h"

struct b_err;
struct lau_broker_plan;

struct lau_spawn {
	const struct lau_confine *confine; /* NULL = none */
	/* The broker that serves the command, NULL = none: it is forked first, makes the
	 * namespaces, and starts the command as our child, or as its own (is_parent). Needs
	 * `confine`. */
	const struct lau_broker_plan *broker;
	/* Where the broker has its plan, in memory that it shares with us; NULL = in its own. */
	struct lau_broker_plan *broker_room;
	const struct lau_signals *signals; /* put back in the child */
	const char *program;		   /* for execve(2) */
	char *const *argv;
	char *const *envp;
	const struct lau_limits *limits; /* put back in the child, NULL = none */
	const int *stdio;  /* three, to become the command's 0 to 2, -1 = its own stays; or NULL */
	const char *cwd;   /* NULL = ours */
	bool own_group;	   /* the command leads a process group of its own */
	char **shell_argv; /* lau_spawn_shell()'s, where no memory may be taken; NULL = made here */
};

/* Where a child failed. ISOLATE: after namespaces were entered; once more without may do. USERNS:
 * in a user namespace that is of no use (LAU_SPOILED). */
enum lau_spawn_step { LAU_SPAWN_CONFINE, LAU_SPAWN_USERNS, LAU_SPAWN_ISOLATE, LAU_SPAWN_EXEC };

struct lau_spawned {
	pid_t pid;
	pid_t broker; /* a child as well, 0 = none: it ends when the last process it serves has */
	pid_t wrap;   /* a child in place of the command, which then is not one; 0 = none */
	pid_t init;   /* a child as well, 0 = none: the first process of the pid namespace */
	/* The command is the broker's child, and the broker reports on it over this socket
	 * (linux/process/process.h); 0 = the command is the caller's child. The caller closes it.
	 */
	int reports;
	/* `init` writes here when it is alone in the namespace (linux/process/process.h); 0 = there
	 * is none. The caller closes it. */
	int alone;
	int lost;		  /* LAU_NET_FILTERED, LAU_NO_* */
	enum lau_spawn_step step; /* on failure */
};

/* The command's pid in a pid namespace of its own, where its parent has none: after the first
 * process, and the broker. */
#define LAU_INNER_PID(has_broker) ((has_broker) ? 3 : 2)

/* When this returns 0 the command's image runs. On failure no process is left: B_NOTFOUND or
 * B_NOEXEC from exec, or an error of confine.h. */
int lau_spawn(const struct lau_spawn *, struct lau_spawned *out, struct b_err *err);

/* Sets the error of clone(2), with the limit that applies. Returns -1. [AS-safe] */
int lau_spawn_no_process(struct b_err *err);
/* Parts of lau_spawn(). Makes the caller die with the process `parent`. [AS-safe] */
int lau_spawn_die_with(pid_t parent, struct b_err *err);
/* Sets streams, directory and group. [AS-safe] */
int lau_spawn_place(const struct lau_spawn *, struct b_err *err);
/* The words for a script that names no interpreter: {"/bin/sh", program, arguments}. The caller
 * frees it by lau_spawn_shell_free(). */
char **lau_spawn_shell(const struct lau_spawn *);
void lau_spawn_shell_free(char **);
/* Becomes the program, or returns -1: B_NOTFOUND, B_NOEXEC. [AS-safe] */
int lau_spawn_exec(const struct lau_spawn *, char *const *shell_argv, struct b_err *err);
