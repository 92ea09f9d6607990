/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - one run of sbx-launch, from parsed options to exit status, and what every system
 * does alike. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/collector.h"
#include "audit/rundir.h"
#include "base/sha256.h"
#include "launcher/plan/environment.h"
#include "launcher/run/origin.h"
#include "launcher/run/prompt.h"
#include "policy/engine.h"

struct b_err;
struct lau_channel;
struct lau_ends;
struct lau_dirs;
struct lau_family;
struct lau_options;
struct lau_outcome;
struct lau_plan;
struct lau_record;
struct lau_spawned;
struct sbx_ring;
struct sbx_tally;

/* One run of sbx-launch, from parsed options to exit status. */

/* Runs the command, and returns the exit status. Prints messages on standard error, and --dry-run
 * on standard output. */
int lau_run(const struct lau_options *);

/* Steps that are the same on every system; launcher/linux/run/run.c and launcher/macos/run.c order
 * them. */

/* A request and the values that it borrows: keep it while the engine is made. */
struct lau_request {
	struct pol_request rq;
	struct pol_stdio stdio[POL_STDIO_MAX];
};
/* Fills it from options and directories. The caller adds what depends on the host. */
void lau_parts_request(const struct lau_options *, struct lau_dirs *, struct lau_request *out);

/* --chdir: 0, or -1 with B_WORKSPACE, whose message begins with the error's name, as agents know
 * it. */
int lau_parts_chdir(const struct lau_options *, struct b_err *err);

/* A copy of --status-fd to be written to, -1 = not asked for. The command does not inherit the
 * descriptor, which would keep its reader waiting, unless it is one of 0 to 2. */
int lau_parts_status_fd(const struct lau_options *, int *out_fd, struct b_err *err);

/* May this file be executed? B_NOEXEC, naming the rule. */
int lau_parts_may_exec(struct pol_engine *, const char *file, struct b_err *err);

/* The shim for `program`, NULL when none is wanted. B_NOEXEC when it is required and would not be
 * loaded. malloc'ed. */
int lau_parts_shim(const struct lau_options *, const char *program, char **out, struct b_err *err);
bool lau_parts_requires_shim(const struct lau_options *);

/* Closes the record. -1: the run counts as ended by us (outcome->phase), because the log was
 * required and failed, or the shim was and missed something. */
int lau_parts_end(const struct lau_options *, struct lau_record *, struct lau_outcome *,
		  struct b_err *err);

/*
 * The run's memory: its directory, its log, its run.json. Started before the
 * command, fed by the supervisor's loop, closed with how it ended.
 */

struct lau_record {
	const struct lau_options *options;
	struct lau_plan *plan;
	const struct lau_dirs *dirs;
	const char *parent;	     /* run that this one is inside of, NULL = none */
	struct lau_family *family;   /* the outermost run's, which frees it; NULL = no record */
	uint64_t room;		     /* of a run inside: taken of the family's, for the log */
	struct lau_channel *channel; /* NULL = none */
	struct aud_rundir dir;
	bool has_dir;
	bool is_started;  /* else the directory goes: a refused start leaves none */
	bool has_no_info; /* run.json could not be written at the start: that was reported */
	int log_fd;	  /* -1 = none */
	bool log_is_torn; /* it ended in the middle of a line before */
	struct aud_infofile info;
	struct aud_collector *collector; /* NULL = no events in this run */
	uint64_t started_ms;
	int lost; /* LAU_NET_FILTERED, LAU_NO_* */
	struct sbx_ring
		*broker_ring; /* memory that only broker and supervisor share; NULL = none */
	size_t broker_ring_data;
	struct sbx_tally *tally;    /* behind that ring */
	struct lau_ends *ends;	    /* of processes, NULL = not reported */
	struct lau_prompt prompt;   /* of denials, while the command runs */
	struct lau_secrets secrets; /* removed from the lines on standard error */
	char *const *shown_argv;    /* without them, in the plan's arena */
	struct lau_secrets words;   /* and out of the words programs are started with */
	struct lau_origin origin;
	unsigned char key[B_HMAC_KEY]; /* of the log's chain */
};

/* The run that one is inside of, and the family of that. */
struct lau_record_outer {
	const char *run_id;
	struct lau_family *family;
};
/* With --audit-level none there is no directory and no log. `channel` may be NULL, and `outer` is
 * for a run of its own. B_AUDIT. */
int lau_record_open(const struct lau_options *, struct lau_plan *, const struct lau_dirs *,
		    struct lau_channel *channel, const struct lau_record_outer *outer,
		    struct lau_record *out, struct b_err *err);
/* The command runs: `program` is what was executed. Writes run.json. */
int lau_record_started(struct lau_record *, const struct lau_spawned *, const char *program,
		       struct b_err *err);
/* lau_drain_fn, ctx = the record. */
int lau_record_drain(void *record, bool final, int *out_poll_ms, struct b_err *err);
/* The end: last lines of the log, run.json. Counts and hash are final from here. */
int lau_record_finish(struct lau_record *, const struct lau_outcome *, struct b_err *err);
/* Members of a JSON object, for --result-json: run_id, and where events are collected `denied`,
 * `denials` and `denials_beyond`. After lau_record_finish(), or of a run that never started.
 * Appends. */
void lau_record_refused(const struct lau_record *, struct b_str *out);
void lau_record_release(struct lau_record *);
/* --anchor-fd and --anchor-command: "RUN HASH", the whole MAC of the last line, to something that
 * the user cannot change afterwards. B_AUDIT. */
int lau_anchor(const struct lau_options *, const char *id, const char *hash, struct b_err *err);
/* --learn: sbx-audit's proposal on standard error. B_AUDIT. */
int lau_learn(const char *id, struct b_err *err);

/*
 * A run with all runs inside of it, which one command may make as many of as it likes:
 * together they have so much room for their records, and are counted. Memory that the outermost
 * supervisor shares with its guests, and theirs; no command has it.
 */

#define LAU_FAMILY_RUNS	 5000		/* runs inside of one */
#define LAU_FAMILY_BYTES (512ull << 20) /* of their logs */

struct lau_family {
	char id[40];		/* of the outermost run */
	_Atomic unsigned runs;	/* inside, so far */
	_Atomic uint64_t bytes; /* of their logs, and what those that live may still write */
};

/* NULL when there is no memory. */
struct lau_family *lau_family_new(const char *id);
void lau_family_free(struct lau_family *);
/* One more run inside: *out_room is what its log may have, to be given back. B_AUDIT when there is
 * no room left. */
int lau_family_join(struct lau_family *, uint64_t *out_room, struct b_err *err);
/* Its log is complete and has `used` bytes. */
void lau_family_leave(struct lau_family *, uint64_t room, uint64_t used);
