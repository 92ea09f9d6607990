/*
 * require.h - what a host may lack, what that costs, and `--require`, which does without nothing.
 * One table: the man page has its rows, and a test holds it against the planner.
 */
#pragma once

#include "launcher/host.h"

struct b_err;
struct lau_options;
struct lau_plan;
struct aud_counts;

/* What a run does on a host without. */
enum lau_lack {
	LAU_LACK_RUNS,	/* goes on; what is lost is told with -v and in run.json */
	LAU_LACK_RULES, /* refused where a rule needs it */
	LAU_LACK_REFUSED,
};
/* "runs", "refused where a rule needs it", "refused" */
const char *lau_lack_text(enum lau_lack);

enum lau_need {
	LAU_NEED_LANDLOCK, /* and each ABI, as landlock=N */
	LAU_NEED_ABI2,
	LAU_NEED_ABI3,
	LAU_NEED_ABI4,
	LAU_NEED_ABI5,
	LAU_NEED_ABI6,
	LAU_NEED_BROKER,
	LAU_NEED_NET,
	LAU_NEED_PID,
	LAU_NEED_SHM,
	LAU_NEED_SHIM,
	LAU_NEED_COUNT
};

struct lau_need_row {
	const char *name;     /* of --require */
	const char *lost;     /* without it */
	enum lau_lack strict; /* --best-effort always runs */
	const char *lax;      /* what --best-effort still keeps, "" = all the rest */
	const char *remedy;
};
extern const struct lau_need_row lau_needs[LAU_NEED_COUNT];

/* `--require NAME`: its row, or -1. */
int lau_need_find(const char *name);
/* What is required, and can be known before the spawn, is there: 0, or -1 with B_FLOOR that names
 * ability and remedy. Namespaces are tried by the spawn (lau_confine.isolate_must, bpf_no_inet). */
int lau_require_check(const struct lau_options *, const struct lau_host *, const struct lau_plan *,
		      struct b_err *err);
/* `--require shim`, when the run is over: every program that started was witnessed, and no event
 * is missing; else B_AUDIT, which says what is. */
int lau_require_witnessed(const struct aud_counts *, struct b_err *err);
