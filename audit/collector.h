/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.h - drains the ring into audit.jsonl, names the deciding rule, folds denials,
 * pairs exec intents with hellos, and keeps the run's counts. Lives in the supervisor.
 * Everything from the ring is untrusted input: the verdict of each event is recomputed from
 * the image, and where the shim said otherwise the line says so (`shim_disagrees`).
 *
 *	aud_collector_new(&cfg, &c, &err);
 *	aud_collector_started(c, pid, ppid, program, cls);
 *	... while running: aud_collector_drain(c, now, false, &poll_ms, &err), again after poll_ms
 *	aud_collector_drain(c, now, true, &poll_ms, &err);
 *	aud_collector_finish(c, &err);	(counts and hash are final from here)
 *	aud_collector_free(c);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/event.h"
#include "core/image.h"
#include "core/tally.h"

struct b_err;
struct aud_collector;

/* One kind of denial: operation, path, rule. */
struct aud_refusal {
	enum sbx_op op;
	char *path; /* path_len bytes, then NUL */
	size_t path_len;
	char *matched, *origin;
	char *line; /* what the person reads of it */
	uint64_t count, hash;
};

/* The first kinds of denials that a rule could open, with a count of each. `beyond` counts denials
 * of kinds that had no place. Claims of the command are not among them. */
#define AUD_REFUSALS_MAX 50
struct aud_refusals {
	struct aud_refusal v[AUD_REFUSALS_MAX];
	size_t n;
	uint64_t beyond;
};

/* A line for the person on stderr, without the program's name and newline; control bytes are
 * escaped. */
typedef void aud_denial_fn(void *ctx, const char *line);

/* Is this a process of the run? */
enum aud_kin { AUD_KIN_OURS, AUD_KIN_STRANGER, AUD_KIN_GONE };
typedef enum aud_kin aud_kin_fn(uint32_t pid);
/* By the parents in /proc up to us: right in the supervisor, whose children all orphans become. */
enum aud_kin aud_kin_of(uint32_t pid);

/* User, machine and terminal of the run, for the first line of the log. Borrowed; NULL = unknown.
 */
struct aud_origin {
	const char *host, *tty, *cwd, *bundle;
	uint64_t uid, pid;
	char *const *argv; /* NULL-terminated */
};

/* The kernel's reports of how processes ended. Process numbers are those of events. */
struct aud_ends {
	void (*watch)(void *ctx, uint32_t pid);
	/* The next one that has ended since it was watched: its status as of wait(2). */
	bool (*next)(void *ctx, uint32_t *out_pid, int *out_status);
	void *ctx;
};

/* Writes a word of a command line without its secrets. `before`: the word before it, or "". */
struct b_str;
typedef void aud_redact_fn(void *ctx, const char *before, const char *word, struct b_str *out);

/* Does the file end in the middle of a line? The first of a run then needs a newline before it. */
bool aud_log_is_torn(const char *path);

/* Bytes of an ordinary run's log: later events are counted, not written. With a broker, the shims'
 * events may take three quarters of it. */
#define AUD_LOG_LIMIT (UINT64_C(256) << 20)

struct aud_config {
	const struct sbx_image *image; /* borrowed */
	const char *run_id;
	const char *const *workspaces; /* borrowed; paths below are shown as ./x */
	size_t nworkspaces;
	int log_fd;	  /* audit.jsonl, O_APPEND; borrowed; -1 = none */
	bool required;	  /* a failed write is an error of drain() */
	void *ring;	  /* struct sbx_ring, mapped, initialised; NULL = no shim in this run */
	size_t ring_data; /* its data size, as given to sbx_ring_init() */
	/* The broker's events, in a ring that only broker and supervisor have; NULL = no broker. A
	 * call that the shim reports as well is logged once, with the broker's facts. */
	void *broker_ring;
	size_t broker_ring_data;
	const struct sbx_tally *tally; /* of the broker, shared with it; borrowed, NULL = none */
	aud_denial_fn *denial;	       /* NULL = quiet */
	void *denial_ctx;
	bool keeps_refusals;	    /* for aud_collector_refusals() */
	enum sbx_audit_level level; /* ALL: denials are not folded; NONE: nothing is logged */
	bool foreign_pids;	    /* the numbers of its events mean nothing out here */
	aud_kin_fn *kin;	    /* NULL: what the events say of their processes is believed */
	uint64_t log_limit;	    /* bytes of the log; 0 = none */
	const unsigned char *key;   /* B_HMAC_KEY bytes; NULL: the chain can be made by anyone */
	bool is_shared;		    /* the log is not this run's alone: each line has its id */
	bool is_torn;		    /* aud_log_is_torn() */
	const struct aud_origin *origin; /* NULL: nothing is known */
	const char *const *context;	 /* "KEY=VALUE", of every line; borrowed for the call */
	size_t ncontext;
	aud_redact_fn *redact; /* of what programs are started with; NULL: nothing is secret */
	void *redact_ctx;
};

/* The calls that passed the broker, and what the log has of them: calls is the sum of all fates,
 * and performed + refused + asked = lines + folded + unwritten + aud_counts.broker_lost. */
struct aud_broker_counts {
	bool is_there;
	uint64_t calls, asked, fate[SBX_FATE_COUNT];
	uint64_t lines, folded; /* in the log; folded: in the counts of lines of others */
	uint64_t unwritten;	/* that it had no room for, or could not be written */
};
bool aud_broker_counts_agree(const struct aud_broker_counts *, uint64_t broker_lost);

struct aud_counts {
	uint64_t events, allowed, denied, modifies, reads, execs, lost, corrupt, internal;
	uint64_t connects;
	uint64_t broker_lost; /* of `lost`: the broker's events; 0 unless it was killed */
	uint64_t queries;     /* questions about paths, which no rule decides */
	uint64_t losses;      /* losses that shims reported */
	uint64_t refused;     /* of those: programs that would run without the shim */
	uint64_t abandoned;   /* frames whose writer died before it finished them */
	uint64_t damaged;     /* pages of the ring that were taken away: events are missing */
	uint64_t unverified;  /* events of processes that could not be found in the run */
	uint64_t disagreed;   /* events whose verdict was not the policy's */
	uint64_t processes, witnessed; /* images started / images that said hello */
	uint64_t unwitnessed_by_class[SBX_EXEC_CLASS_COUNT];
	struct aud_broker_counts broker;
	/* Calls that only shims reported, and the number of images that made them: Landlock alone
	 * decided those calls. */
	uint64_t shim_calls, shim_images;
};
/* `n` calls with the event's operation and verdict. */
void aud_counts_add(struct aud_counts *, const struct sbx_event *, uint64_t n);

int aud_collector_new(const struct aud_config *, struct aud_collector **out, struct b_err *err);
/* The run has a pid namespace of its own: its events have the numbers of that. `proc`: its /proc,
 * taken over; below 0 = not to be had. */
void aud_collector_enter(struct aud_collector *, int proc);
/* From here on ends are asked for. */
void aud_collector_watch(struct aud_collector *, const struct aud_ends *);
/* Records the start of the command itself (an exec seen by the launcher). `program`: canonical
 * absolute path. */
void aud_collector_started(struct aud_collector *, pid_t pid, pid_t ppid, const char *program,
			   enum sbx_exec_class);
/* Other rules on endpoints were asked for while the run lasts. */
struct aud_reload {
	const char *policy; /* SHA-256 of the compiled policy that holds from here on */
	const char *error;  /* why it is still the one before; NULL: it is a new one */
	uint64_t closed;    /* connections that it ended */
};
/* From here on rules are named by this image, which knows the numbers of all before it; borrowed,
 * as the first one. */
void aud_collector_name_by(struct aud_collector *, const struct sbx_image *);
void aud_collector_reloaded(struct aud_collector *, const struct aud_reload *);
/* How the command ended, for a line at the end: -1 = not known. */
void aud_collector_ended(struct aud_collector *, int status, int signal);
/* Reads a bounded number of events. *out_poll_ms: milliseconds until the next call (0: at once,
 * there are more). `final`: no writer is left, and the call reads all. Returns 0, or -1 with
 * B_AUDIT if the log is `required` and cannot be written, or an event of the broker was lost.
 * Otherwise the run continues without these lines: the call reports that once, and counts.lost
 * grows. */
int aud_collector_drain(struct aud_collector *, uint64_t now_ms, bool final, int *out_poll_ms,
			struct b_err *err);
void aud_collector_counts(const struct aud_collector *, struct aud_counts *out);
/* Borrowed, until the collector is freed. NULL: they were not asked for. */
const struct aud_refusals *aud_collector_refusals(const struct aud_collector *);
/* MAC of the last line (chain.h), 64 hex digits; of no line: 64 zeros. */
const char *aud_collector_hash(const struct aud_collector *);
/* Folded counts, unwitnessed images, the rate limiter's closing line. Flushes the log; errors
 * as drain(). */
int aud_collector_finish(struct aud_collector *, struct b_err *err);
void aud_collector_free(struct aud_collector *);
