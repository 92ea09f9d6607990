/* record.h - FsCallEvent as one JSON line (docs/schema/fs-call-event.schema.json). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

struct b_str;

struct aud_record {
	const struct sbx_event *ev;
	const char *path, *path2; /* NUL-free bytes with the lengths of ev */
	const char *run_id;
	uint64_t seq;	       /* per run, from 1 */
	const char *profile;
	const char *matched_rule, *rule;
	const char *exe;       /* of the process, NULL = unknown */
	const char *layer;     /* "shim", "broker", "kernel", "launcher" */
	const char *prev;      /* hash of the line before */
	const char *const *workspaces;
	size_t nworkspaces;
};
/* Appends one line, '\n' included. */
void aud_record_json(const struct aud_record *, struct b_str *out);
/* Path as people see it: "./x" inside a workspace, absolute elsewhere. */
void aud_path_shown(const char *path, size_t len, const char *const *workspaces, size_t n,
		    struct b_str *out);
