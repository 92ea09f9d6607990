/*
 * twins.h - one call, told by two: the broker tells what it performed, the shim what its program
 * asked for. The log has it once, as the shim tells it, which knows the name of the call.
 *
 *	aud_twins_broker(&t, &ev, path, path2, now)	kept back, unless the shim was faster
 *	aud_twins_shim(&t, &ev, path, path2, now)	its twin of the broker's is dropped
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
	char *path, *path2; /* NULL: taken back, or told by the shim */
};

struct aud_told_list {
	struct aud_told *v; /* a ring of AUD_TWIN_MAX */
	size_t first, n;
};

struct aud_twins {
	struct aud_told_list broker, shim;
};

void aud_twins_release(struct aud_twins *);
void aud_twins_broker(struct aud_twins *, const struct sbx_event *, const char *path,
		      const char *path2, uint64_t now_ms);
void aud_twins_shim(struct aud_twins *, const struct sbx_event *, const char *path,
		    const char *path2, uint64_t now_ms);
/* The oldest event of the broker's that has waited long enough (`final`: any). Its paths are to
 * be freed. */
bool aud_twins_alone(struct aud_twins *, uint64_t now_ms, bool final, struct aud_told *out);
