/* fold.h - equal denials become one line at once and one line with a count later. Private to
 * the audit module. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define AUD_FOLD_SLOTS 256u
#define AUD_FOLD_MS    1000u /* how often counts are written while denials keep coming */

/* A denial to be folded: borrowed texts of the lengths in `ev`. */
struct aud_denied {
	const struct sbx_event *ev;
	const char *path, *path2;
	const char *layer; /* static */
};

/* The last of some equal denials; `count` of them are in no line yet. */
struct aud_folded {
	struct sbx_event ev; /* as last seen: time, pid */
	char *path, *path2;
	const char *layer; /* who told it; static */
	uint64_t count;
	uint64_t hash;
};

struct aud_fold {
	struct aud_folded slot[AUD_FOLD_SLOTS];
};

/* Calls are equal when operation, call, paths, flags and errno are; whoever made them. What the
 * broker refused folds with nothing that the command says. */
enum aud_fold_answer {
	AUD_FOLD_FIRST,	 /* write it; it is remembered from now on */
	AUD_FOLD_COUNTED /* an equal one was written: it is in the slot's count */
};

/* `n` more events equal to this one (0 = remember only). When another denial lives in the slot and
 * has a count to write, it is moved to *out_evicted first (release it), whose count is otherwise
 * 0. */
enum aud_fold_answer aud_fold_add(struct aud_fold *, const struct aud_denied *, uint64_t n,
				  struct aud_folded *out_evicted);
void aud_folded_release(struct aud_folded *);
void aud_fold_release(struct aud_fold *);
