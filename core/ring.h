/*
 * ring.h - many writers, one reader, one shared mapping, no system call, no lock.
 *
 * A writer claims a frame with one fetch_add on `head` after checking `tail`, fills it and
 * publishes it by a release store of its state word. A completed frame survives SIGKILL of
 * its writer; a claimed, never published frame is skipped by the reader once its writer is
 * dead or the grace time is over. When there is no room the writer spins shortly, then
 * counts the loss exactly in the header.
 *
 * The writers are hostile: the reader copies a frame out before it looks at it, bounds every
 * length by the ring's size, bounds the work per drain, and keeps its own copy of the tail.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define SBX_RING_MAGIC	   UINT64_C(0x31474e5258425301) /* "\1SBXRNG1" */
#define SBX_RING_FRAME_MAX 8704 /* struct sbx_event + two paths of PATH_MAX, rounded up */

struct sbx_ring {
	uint64_t magic;
	uint32_t version;
	uint32_t level; /* enum sbx_audit_level */
	uint64_t size;	/* bytes of data, a power of two */
	_Alignas(64) _Atomic uint64_t head; /* writers: next byte to claim */
	_Alignas(64) _Atomic uint64_t tail; /* reader: bytes before this may be overwritten */
	_Alignas(64) _Atomic uint64_t lost; /* events dropped because the ring was full */
	_Alignas(64) _Atomic uint64_t internal; /* failures inside shims, passed to the floor */
	_Alignas(64) unsigned char data[];
};

/* Bytes to allocate for a ring of `data_size` (rounded up to a power of two). */
size_t sbx_ring_bytes(size_t data_size);
/* Prepares zeroed shared memory. */
void sbx_ring_init(struct sbx_ring *, size_t data_size, enum sbx_audit_level);
/* Is this mapping of `bytes` a ring we may write to? */
bool sbx_ring_check(const struct sbx_ring *, size_t bytes);

/* [AS-safe] [MT-safe] [no-alloc]; false = dropped and counted. */
bool sbx_ring_write(struct sbx_ring *, const struct sbx_event *, const char *path,
		    const char *path2);

/* The reader, in the supervisor. `size` comes from us, never from the header. */
struct sbx_ring_reader {
	struct sbx_ring *ring;
	uint64_t size;
	uint64_t tail;
	uint64_t lost_seen;
	uint64_t stuck_since_ms; /* when a claimed, unpublished frame was first met; 0 = none */
	uint64_t corrupt;	 /* frames that made no sense */
};
void sbx_ring_reader_init(struct sbx_ring_reader *, struct sbx_ring *, size_t data_size);

/* Takes the next frame into buf (SBX_RING_FRAME_MAX bytes). Returns 1 and sets *out_ev,
 * *out_path, *out_path2 (into buf, NUL-terminated), 0 when there is nothing to read, -1 when
 * a frame was skipped (corrupt, or its writer died: counted). `now_ms` is monotonic time;
 * `final` = no writer is left, do not wait for unpublished frames. */
int sbx_ring_read(struct sbx_ring_reader *, unsigned char *buf, uint64_t now_ms, bool final,
		  struct sbx_event *out_ev, const char **out_path, const char **out_path2);
/* Exact number of events lost since the last call. */
uint64_t sbx_ring_take_lost(struct sbx_ring_reader *);
