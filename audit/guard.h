/*
 * guard.h - the ring's pages may be taken from under us: who may write to the file may punch holes
 * into it, and on a full tmpfs our next touch of a hole is SIGBUS. The guard puts an empty page
 * of our own in the place of the one that is gone, and counts. Private to the audit module.
 *
 * One mapping at a time. A SIGBUS anywhere else keeps its default action.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct b_err;

/* B_AUDIT when the handler cannot be installed. */
int aud_guard_start(void *map, size_t bytes, struct b_err *err);
/* Pages replaced since. */
uint64_t aud_guard_damaged(void);
/* The guard of `map` ends; any other stays. */
void aud_guard_stop(const void *map);
