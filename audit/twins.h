/*
 * twins.h - one call, told by two: the broker tells what it performed, the shim what its program
 * asked for. The log has it once, as the broker tells it. A shim's event is the command's own word:
 * it adds the name of the call and the parent, and nothing else. One that differs from the broker's
 * in any other fact is no twin, and the log has both.
 *
 *	aud_twins_broker(&t, &ev, path, path2, now)	true: to be logged now, else it is kept
 *	aud_twins_shim(&t, &ev, path, path2)		true: ev is now the broker's event, to be
 *logged aud_twins_keep(&t, &ev, path, path2, now)	the shim's, while the broker's may yet come
 *	while (aud_twins_alone(&t, now, false, &e))	nobody else told it: to be logged
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

/* After the broker's answer a shim tells within so much, or never: on a machine with forty programs
 * for each processor, too. */
#define AUD_ALONE_MS 2000
#define AUD_TWIN_MS  100 /* the other way round: the broker tells before it answers */
#define AUD_TWIN_MAX 4096

struct aud_told {
	uint64_t key, at_ms;
	struct sbx_event ev;
	char *path, *path2; /* NULL: taken back */
	bool is_shims;
};

struct aud_told_list {
	struct aud_told *v; /* a ring of AUD_TWIN_MAX */
	size_t first, n;
	uint64_t patience_ms; /* how long one may wait for its twin */
	bool is_shims;
};

struct aud_twins {
	struct aud_told_list broker, shim;
};

void aud_twins_init(struct aud_twins *);
void aud_twins_release(struct aud_twins *);
/* True: its twin was kept, and is dropped; the event gets what only the shim knows. False: the
 * event is kept. */
bool aud_twins_broker(struct aud_twins *, struct sbx_event *, const char *path, const char *path2,
		      uint64_t now_ms);
/* True: its twin was kept, and is dropped; the event becomes the broker's, with what only the shim
 * knows. Its paths are the broker's, too. */
bool aud_twins_shim(struct aud_twins *, struct sbx_event *, const char *path, const char *path2);
void aud_twins_keep(struct aud_twins *, const struct sbx_event *, const char *path,
		    const char *path2, uint64_t now_ms);
/* The oldest event that has waited long enough (`final`: any). Its paths are to be freed. */
bool aud_twins_alone(struct aud_twins *, uint64_t now_ms, bool final, struct aud_told *out);
