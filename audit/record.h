/*
 * record.h - FsCallEvent as one JSON line (docs/schema/fs-call-event.schema.json). Pure.
 *
 * Which fields a line has follows from its kind alone, so a reader may rely on them:
 *
 *	result, denied   op path path2? allowed matched_rule rule call errno? count?
 *	exec             the same, plus `image`, the class of program started
 *	hello            path = the executable that said so
 *	unwitnessed      path, image: a program without the shim
 *	loss             path = what a shim could not see through, reason_code
 *	gap              lost, corrupt, abandoned: what is missing from the log here; broker_lost?
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/event.h"

/* kind, dotted event_type */
#define AUD_KINDS(X)                                                                               \
	X(RESULT, "result", "fs.call.result")                                                      \
	X(DENIED, "denied", "fs.call.denied")                                                      \
	X(QUERY, "query", "fs.call.query")                                                         \
	X(EXEC, "exec", "process.exec")                                                            \
	X(HELLO, "hello", "process.hello")                                                         \
	X(UNWITNESSED, "unwitnessed", "process.unwitnessed")                                       \
	X(LOSS, "loss", "audit.loss")                                                              \
	X(GAP, "gap", "audit.gap")

enum aud_kind {
#define X(name, text, type) AUD_##name,
	AUD_KINDS(X)
#undef X
		AUD_KIND_COUNT
};
const char *aud_kind_name(enum aud_kind);

#define AUD_SCHEMA_VERSION 1

/*
 * What all lines of a run share, rendered once: most of a line is the same bytes each time.
 * The workspaces are borrowed; paths below them are shown as ./x.
 */
struct aud_frame {
	const char *const *workspaces; /* canonical */
	size_t nworkspaces;
	struct b_str id_head;		   /* "evt-RUN- */
	struct b_str head[AUD_KIND_COUNT]; /* from the brace to the event's number */
	struct b_str run;		   /* from the time to the seq */
	struct b_str tail[AUD_KIND_COUNT]; /* kind and profile */
};
void aud_frame_init(struct aud_frame *, const char *run_id, const char *profile,
		    const char *const *workspaces, size_t nworkspaces);
void aud_frame_release(struct aud_frame *);

struct aud_record {
	enum aud_kind kind;
	const struct sbx_event *ev;
	const char *path, *path2; /* NUL-free bytes with the lengths of ev */
	uint64_t seq;		  /* per run, from 1 */
	uint64_t parent_seq;	  /* line of the exec that started the process; 0 = unknown */
	bool allowed;		  /* the policy's verdict, recomputed */
	bool disagrees;		  /* the shim said otherwise */
	const char *matched_rule, *rule;
	const char *exe;		   /* of the process, NULL = unknown */
	const char *layer;		   /* "shim", "broker", "kernel", "launcher" */
	const char *prev;		   /* hash of the line before */
	uint64_t count;			   /* denials folded into this line; 0 = the call itself */
	uint64_t lost, corrupt, abandoned; /* gap */
	uint64_t broker_lost;		   /* of `lost` */
};

/* Appends one line, '\n' included. */
void aud_record_json(const struct aud_frame *, const struct aud_record *, struct b_str *out);

/* Path as people see it: "./x" inside a workspace ("." for the workspace itself), absolute
 * elsewhere. Appends. */
void aud_path_shown(const char *path, size_t len, const char *const *workspaces, size_t n,
		    struct b_str *out);

/* "2026-11-27T23:24:01.123456789Z". Appends. */
void aud_add_time(uint64_t time_ns, struct b_str *out);
