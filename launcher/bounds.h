/*
 * bounds.h - limits on what the command may use: --memory, --cpu-time, --nproc, --fsize, --nofile.
 * From text to numbers, and to who holds them. Pure.
 *
 * A cgroup holds a limit for the run as a whole, a resource limit (setrlimit(2)) for each process,
 * but for processes, which it counts by user, and in a user namespace of the run's by that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct lau_host;
struct lau_options;
struct lau_plan;

enum lau_bound {
	LAU_BOUND_MEMORY, /* bytes */
	LAU_BOUND_CPU,	  /* seconds */
	LAU_BOUND_NPROC,  /* processes and threads */
	LAU_BOUND_FSIZE,  /* bytes, of each file */
	LAU_BOUND_NOFILE, /* descriptors */
	LAU_BOUND_COUNT
};

enum lau_holder { LAU_HELD_NOT, LAU_HELD_RLIMIT, LAU_HELD_CGROUP };

struct lau_bounds {
	uint64_t v[LAU_BOUND_COUNT]; /* 0 = none */
	enum lau_holder by[LAU_BOUND_COUNT];
};

bool lau_bounds_any(const struct lau_bounds *);
const char *lau_bound_name(enum lau_bound); /* "memory", as the option */
const char *lau_holder_name(enum lau_holder);
/* B_USAGE: the character where it goes wrong, and what is expected there. */
int lau_bound_parse(enum lau_bound, const char *text, uint64_t *out, struct b_err *err);
/* What a cgroup holds, cgroup.h; bits of 1 << enum lau_bound. */
#define LAU_CGROUP_BOUNDS (1u << LAU_BOUND_MEMORY | 1u << LAU_BOUND_NPROC)
/* Who holds each, into the plan, and what is lost. `cgroup`: those that one can hold here. */
void lau_bounds_plan(const struct lau_options *, const struct lau_host *, unsigned cgroup,
		     struct lau_plan *);
