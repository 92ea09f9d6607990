/* person.h - what the person at the terminal reads of denials: one line each, rate-limited, with
 * a closing count. Private to the audit module. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit/collector.h"
#include "core/image.h"

#define AUD_PERSON_SEEN 512u

struct aud_person {
	aud_denial_fn *fn; /* NULL = quiet */
	void *ctx;
	uint64_t window_start_ms;
	unsigned in_window;
	uint64_t suppressed;
	uint64_t seen[AUD_PERSON_SEEN]; /* hashes of operation and path, told once */
};

struct aud_denial {
	enum sbx_op op;
	const char *path;
	size_t path_len;
	const char *matched, *origin;
	unsigned call;	/* SBX_CALL_* */
	bool is_unseen; /* a move: what lies below could not be looked through */
	bool is_root;	/* the root of a grant, which keeps its place */
	bool is_git_link; /* a symlink in a git directory */
};

/* What opens a class of calls instead of a path is named as that: "allow with --allow debug".
 * "denied read /home/u/.ssh/id (rule .ssh, preset:secrets:3:5): allow with --read
 * /home/u/.ssh/id"; counted instead when too many came lately; nothing when the same operation on
 * the same path was told already, whatever call it was, or when it is a secret history. */
void aud_person_denial(struct aud_person *, const struct aud_denial *, uint64_t now_ms);
/* A notice that is never held back. */
void aud_person_say(struct aud_person *, const char *text);
/* "37 more denials not shown: sbx-audit lists them" */
void aud_person_close(struct aud_person *);
