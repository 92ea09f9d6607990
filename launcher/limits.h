/*
 * limits.h - the resource limits and the two signals that would end the launcher without a word.
 *
 * A soft limit is raised to the hard one for ourselves (what we make for a run is no output of
 * the command's); the command gets back what we were started with.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "launcher/bounds.h"

struct b_err;

/* Descriptors that a launch, its broker and its record may need at once. */
#define LAU_FILES_NEEDED 64

struct lau_limits {
	struct rlimit files, size; /* RLIMIT_NOFILE, RLIMIT_FSIZE as found */
	struct sigaction xfsz, pipe;
	struct lau_bounds bounds; /* for the command; only what resource limits hold counts */
	rlim_t beside;		  /* processes of ours that are counted with its own */
	bool has_cgroup;
	int cgroup;  /* of lau_cgroup_enter() */
	rlim_t mark; /* guard.h; 0 = none */
	/* In a run inside a run, of each RLIMIT_*: the requester's, for the command. Those that
	 * lau_limits_keeps() names have not become ours: what is recorded must not end with what
	 * the command may do. NULL = no such run. */
	const struct rlimit *given;
};

/* First of all: from here a file that would grow too large is an error (EFBIG), not SIGXFSZ, and
 * that nobody reads what is said on standard error no reason to end (EPIPE), not SIGPIPE.
 * B_LIMIT when the hard limit of open files is below LAU_FILES_NEEDED. */
int lau_limits_raise(struct lau_limits *, struct b_err *err);
bool lau_limits_keeps(int which);
/* In the child, right before execve. [AS-safe] */
void lau_limits_restore(const struct lau_limits *);
/* In the broker: of what it makes larger for the command the kernel is to judge as of the command's
 * own. [AS-safe] */
void lau_limits_share(const struct lau_limits *);
/* In the child, before it is confined: into its cgroup, and marked. B_LIMIT. [AS-safe] */
int lau_limits_enter(const struct lau_limits *, struct b_err *err);
/* After lau_limits_restore(): its own limits, or tighter ones that there are. B_LIMIT. [AS-safe] */
int lau_limits_apply(const struct lau_limits *, struct b_err *err);
