/*
 * collector.h - drains the ring into audit.jsonl, names the deciding rule, folds denials,
 * pairs exec intents with hellos, and keeps the run's counts. Lives in the supervisor.
 * Everything from the ring is untrusted input.
 *
 *	aud_collector_new(&cfg, &c, &err);
 *	... while running: aud_collector_drain(c, now, false) whenever it asks to be polled
 *	aud_collector_drain(c, now, true); aud_collector_finish(c, ...); aud_collector_free(c);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/event.h"
#include "core/image.h"

struct b_err;
struct b_str;
struct aud_collector;

/* One denial for the person on stderr. */
typedef void aud_denial_fn(void *ctx, const char *line);

struct aud_config {
	const struct sbx_image *image;
	const char *run_id;
	const char *const *workspaces; /* paths below are shown as ./x */
	size_t nworkspaces;
	int log_fd;	    /* audit.jsonl, O_APPEND; -1 = none */
	bool required;	    /* a failed write is an error of drain() */
	void *ring;	    /* struct sbx_ring, mapped */
	size_t ring_data;   /* its data size */
	aud_denial_fn *denial; /* NULL = quiet */
	void *denial_ctx;
};

struct aud_counts {
	uint64_t events, allowed, denied, modifies, reads, execs, lost, corrupt, internal;
	uint64_t processes, witnessed; /* images started / images that said hello */
	uint64_t unwitnessed_by_class[SBX_EXEC_CLASS_COUNT];
};

int aud_collector_new(const struct aud_config *, struct aud_collector **out, struct b_err *err);
/* Records the start of the command itself (an exec seen by the launcher). */
void aud_collector_started(struct aud_collector *, pid_t pid, const char *program,
			   enum sbx_exec_class);
/* Takes what is there; *out_poll_ms = when to come back. -1 only when `required` and the log
 * cannot be written. */
int aud_collector_drain(struct aud_collector *, uint64_t now_ms, bool final, int *out_poll_ms,
			struct b_err *err);
/* Our own denials and notices (layer kernel). */
void aud_collector_counts(const struct aud_collector *, struct aud_counts *out);
/* Hash of the last line (chain), 64 hex digits. */
const char *aud_collector_hash(const struct aud_collector *);
/* The rate limiter's closing line, if denials were suppressed. Flushes the log. */
int aud_collector_finish(struct aud_collector *, struct b_err *err);
void aud_collector_free(struct aud_collector *);
