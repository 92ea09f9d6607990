/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a run reports: abilities required, losses, the plan, the summary, variables. */
#pragma once

#include <stdbool.h>

#include "launcher/report/host.h"

struct aud_counts;
struct b_err;
struct b_str;
struct lau_environment;
struct lau_options;
struct lau_outcome;
struct lau_plan;
struct lau_record;

/* Text for the user about a run: what confines it, what is not enforced, how it ended. */

/* "confined by: ...; policy ..." for -v, before the command. */
void lau_summary_start(struct lau_plan *, int lost, struct b_str *out);
/* Counts, coverage, log and final hash for -v, after it. */
void lau_summary_end(const struct lau_record *, const struct lau_outcome *, struct b_str *out);

/* The plan as text, for --dry-run. */

void lau_dryrun_show(const struct lau_options *, struct lau_plan *, const struct lau_environment *,
		     const char *program, struct b_str *out);

/* Rules that cannot be enforced, and notes of the policy engine, printed before the command. */

/* "sbx-launch: WHAT: TEXT" on standard error, control characters made visible. */
void lau_say(const char *what, const char *text);
/* Prints the parts of the policy that are left out or lost, before there is a floor: for a command
 * that may not be executed. */
void lau_losses_foreign(const struct lau_options *, const struct lau_plan *);
/* Prints notes and losses, one a line, on standard error. 0, or -1 with B_FLOOR if one of them is a
 * reason not to run. If there are several, the last is in *err, and the others are printed. */
int lau_losses_tell(const struct lau_options *, const struct lau_plan *, struct b_err *err);

/*
 * The abilities that a host may lack, what each costs, and `--require`, which refuses to run
 * without one. One table: the man page has its rows, and a test compares it with the planner.
 */

/* The consequence for a run on a host without the ability. */
enum lau_lack {
	LAU_LACK_RUNS,	/* it runs; -v and run.json report what is lost */
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
	LAU_NEED_TMP,
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
/* How a user gets namespaces for runs. Root makes them without a user namespace: one text helps
 * both. */
#define LAU_NAMESPACES_REMEDY                                                                      \
	"allow user namespaces for ordinary users, or grant root CAP_SYS_ADMIN"
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

/*
 * Preload-only mode, for harnesses that start programs and cannot put a prefix
 * before them: `eval "$(sbx-launch --print-env ...)"`.
 *
 * Makes a run directory with the compiled policy, the shims' shared counters and the log, and
 * prints the variables as a shell's export commands. Every dynamic program started from there on
 * is checked and witnessed by its shim, and by nothing else: the first line of the log says that
 * no floor stands below. A failure prints commands that stop the shell which evaluates them.
 */

/* Exit status. */
int lau_print_env(const struct lau_options *);
/* Printed at each failure, those that come before that as well. In a function, a sourced file or a
 * script: wherever the text is evaluated, it goes no further. */
#define LAU_PRINT_ENV_STOP "return 125 2>/dev/null || exit 125\n"
