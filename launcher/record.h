/*
 * record.h - the run's memory: its directory, its log, its run.json. Started before the
 * command, fed by the supervisor's loop, closed with how it ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/collector.h"
#include "audit/rundir.h"
#include "launcher/redact.h"

struct b_err;
struct lau_channel;
struct lau_family;
struct sbx_ring;
struct lau_dirs;
struct lau_options;
struct lau_outcome;
struct lau_plan;
struct lau_spawned;

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
	bool is_started; /* else the directory goes: a refused start leaves none */
	int log_fd;	 /* -1 = none */
	struct aud_infofile info;
	struct aud_collector *collector; /* NULL = no events in this run */
	uint64_t started_ms;
	int lost;		      /* LAU_NET_FILTERED, LAU_NO_* */
	struct sbx_ring *broker_ring; /* memory that only the broker and we share; NULL = none */
	size_t broker_ring_data;
	bool is_terminal;	    /* standard error */
	struct lau_secrets secrets; /* kept out of the lines for the person */
	char *const *shown_argv;    /* without them, in the plan's arena */
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
void lau_record_release(struct lau_record *);
