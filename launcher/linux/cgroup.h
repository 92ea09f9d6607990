/*
 * cgroup.h - a cgroup of the run's own, where one may be made: beside ours, below a parent that is
 * ours to change and hands controllers down (cgroups(7), "Delegation"). Below our own none can be:
 * a cgroup with processes in it hands nothing down.
 */
#pragma once

#include <stdbool.h>

#include "launcher/bounds.h"

struct b_err;
struct b_str;
struct lau_limits;
struct lau_plan;

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
