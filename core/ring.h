/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - many writers, one reader, one shared mapping, no system call, no lock.
 *
 * Positions (`head`, `tail`) count bytes and never wrap; position p lies at data[p % size].
 * The data is made of units of 64 bytes. A frame is a whole number of units; the first word of
 * its first unit is its state word: (lap, pid, units, state), where lap = p / size.
 *
 *	EMPTY  of lap(p)   may be claimed at position p. Zeroed memory is EMPTY of lap 0.
 *	CLAIMED            a writer is filling the frame
 *	READY              complete: survives SIGKILL of its writer
 *
 * The second word is a sum over the state word and all that follows, see ring_priv.h.
 *
 * A writer moves `head` by compare-and-swap when `tail` leaves room, turns its state word from
 * EMPTY to CLAIMED, fills the frame, turns it to READY. The reader sets every unit it is done
 * with to EMPTY of the next lap and then moves `tail`. Because both steps of a writer are
 * compare-and-swap against a word that names the lap, neither a writer that was given up for
 * dead, nor a lying `head` or `tail`, can overwrite a frame that was not read yet: the swap fails
 * and the event is counted as lost. A writer that was stopped (SIGSTOP, a frozen cgroup) while it
 * filled its frame, and goes on after the place was given up, still stores what is left of it
 * into frames of a later lap: the sum then is wrong, and the reader counts the frame as corrupt
 * instead of reporting an event that no writer wrote. A writer that died between `head` and
 * CLAIMED leaves a hole of EMPTY units; the next state word that is not EMPTY is the next frame.
 *
 * When there is no room the writer spins shortly, then counts the loss exactly in the header.
 *
 * The mapping is hostile. A process that maps it takes the size from the size of the file
 * (sbx_ring_check), and never again from the header. The reader copies a frame out before it
 * looks at it, keeps its own tail, and repairs an invalid `head`.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define SBX_RING_MAGIC	   UINT64_C(0x31474e5258425301) /* "\1SBXRNG1" */
#define SBX_RING_VERSION   2u
#define SBX_RING_UNIT	   64u
#define SBX_RING_MIN	   16384u /* the least data size: holds the longest frame */
#define SBX_RING_FRAME_MAX 8704	  /* state word, sum, event, two paths of PATH_MAX, rounded up */

struct sbx_ring {
	uint64_t magic;
	uint32_t version;
	uint32_t level; /* enum sbx_audit_level */
	uint64_t size;	/* bytes of data, a power of two */
	/* A broker looks through directories that are moved: shims leave to it what the automata
	 * alone must refuse. A liar here only sends such moves to the floor. */
	uint32_t judges_moves;
	/* `--require shim`: shims start no program that would run without one. */
	uint32_t witnesses_all;
	/* Shims mark calls. A liar here only sends calls to the kernel's own rules, or to the
	 * broker. */
	uint32_t marks;
	_Alignas(64) _Atomic uint64_t head;	/* writers: next byte to claim */
	_Alignas(64) _Atomic uint64_t tail;	/* reader: bytes before this may be overwritten */
	_Alignas(64) _Atomic uint64_t lost;	/* events dropped: ring full, or writer given up */
	_Alignas(64) _Atomic uint64_t internal; /* failures inside shims, passed to the floor */
	/* Directories renamed in this run: what a process remembers of its directories' paths is
	 * stale when this has moved. A liar here only makes shims forget, or remember too long. */
	_Alignas(64) _Atomic uint64_t moves;
	/* Preload-only mode: no reader, no floor; every shim appends its events to a log, and this
	 * is the number of the last line. */
	_Atomic uint64_t lines;
	uint32_t is_alone;
	_Alignas(64) unsigned char data[];
};

/* Takes the place of a directory's descriptor, which the kernel ignores with an absolute path: the
 * path was found while `moves` had this value. If a directory has moved since, the broker answers
 * ESTALE. No descriptor has such a number, and AT_FDCWD differs, too. */
#define SBX_AT_SINCE(moves) ((int)(UINT32_C(1) << 31 | ((uint32_t)(moves)&SBX_AT_SINCE_MASK)))
#define SBX_AT_SINCE_MASK   0x3fffffffu
static inline bool sbx_at_is_since(int at)
{
	return (uint32_t)at >> 30 == 2;
}

/*
 * A marked call (docs/adr/016): the upper half of the argument that is its first directory
 * descriptor, of which the kernel looks at the lower half alone. It says that the shim found the
 * directory clean (core/decide.h): the filter lets it pass, and Landlock decides.
 */
#define SBX_MARK UINT32_C(0x5b78a16c)

/* Bytes to allocate for a ring of `data_size` (rounded up to a power of two, SBX_RING_MIN at
 * least). The data size of a ring of so many bytes is bytes - sizeof(struct sbx_ring). */
size_t sbx_ring_bytes(size_t data_size);
/* Prepares zeroed shared memory of sbx_ring_bytes(data_size) bytes. */
void sbx_ring_init(struct sbx_ring *, size_t data_size, enum sbx_audit_level);
/* Then: nobody will read it, `lines` lines of the log are written. */
void sbx_ring_set_alone(struct sbx_ring *, uint64_t lines);
/* Is this mapping of `bytes` a ring we may write to? *out_size = its data size, to be kept
 * outside the mapping and handed to sbx_ring_write(). */
bool sbx_ring_check(const struct sbx_ring *, size_t bytes, uint64_t *out_size);

/* Paths are not NUL-terminated: their lengths are those of the event; longer than PATH_MAX - 1
 * is cut and flagged. `path2` may be NULL when path2_len is 0. false = dropped and counted.
 * [AS-safe] [MT-safe] [no-alloc], good after fork and in a vfork child; errno untouched. */
bool sbx_ring_write(struct sbx_ring *, uint64_t size, const struct sbx_event *, const char *path,
		    const char *path2);

/* Whether `more` bytes fit beside those that were written and not read yet. Only writers use up
 * room. [AS-safe] */
bool sbx_ring_has_room(const struct sbx_ring *, uint64_t size, uint64_t more);

/* Counts a failure inside a shim. [AS-safe] */
static inline void sbx_ring_internal(struct sbx_ring *r)
{
	atomic_fetch_add_explicit(&r->internal, 1, memory_order_relaxed);
}

/* How long an unfinished frame may hold up the reader. A hole names no writer; a claimed frame
 * does, and its writer may be stopped (SIGSTOP) in the middle. */
#define SBX_RING_HOLE_MS  100
#define SBX_RING_CLAIM_MS 1000

/* The most events a run can lose, or failures it can have: twelve days of a million a second. */
#define SBX_RING_COUNT_MAX (UINT64_C(1) << 40)

/* The reader, in the supervisor; core/ring_read.c, which the shim does not link. */
struct sbx_ring_reader {
	struct sbx_ring *ring;
	uint64_t size; /* bytes, from the reader, never from the header */
	uint64_t tail;
	uint64_t tail_shown; /* the tail in the header, written in steps: its cache line is busy */
	uint64_t lost_seen, lost_total;
	uint64_t internal_seen, internal_total;
	uint64_t head_seen; /* the last valid one */
	struct {
		uint64_t magic;
		uint32_t version, level, judges_moves, witnesses_all, marks, is_alone;
	} header;		 /* as it was before any other process had it */
	uint64_t stuck_since_ms; /* when the unfinished frame at `tail` was first met */
	bool is_stuck;
	uint64_t corrupt; /* invalid frames and heads */
	uint64_t skipped; /* frames never finished: writer dead, or the grace time over */
	/* Whether the writer is certainly dead. NULL = unknown (another pid namespace): grace time
	 * only. */
	bool (*is_dead)(uint32_t pid);
	/* All writers are trusted: the reader waits for an unfinished frame until the end. */
	bool is_patient;
};
/* `data_size` as given to sbx_ring_init(), rounded the same way. */
void sbx_ring_reader_init(struct sbx_ring_reader *, struct sbx_ring *, size_t data_size);

/* Takes the next frame into buf (SBX_RING_FRAME_MAX bytes). Returns 1 and sets *out_ev,
 * *out_path, *out_path2 (into buf, NUL-terminated, free of other NULs, lengths as in *out_ev), 0
 * when there is nothing to read now, -1 when something was skipped (corrupt, or its writer died:
 * counted). Every call ends after work bounded by the size of the ring, but a hostile writer can
 * make 1 and -1 go on for ever: bound the calls. `now_ms` is monotonic time; `final` = no
 * writer is left, do not wait for unfinished frames. */
int sbx_ring_read(struct sbx_ring_reader *, unsigned char *buf, uint64_t now_ms, bool final,
		  struct sbx_event *out_ev, const char **out_path, const char **out_path2);
/* Exact number of events lost since the last call. A count that comes to more than
 * SBX_RING_COUNT_MAX in all was written by someone: 0, and counted as corrupt. */
uint64_t sbx_ring_take_lost(struct sbx_ring_reader *);
/* Failures inside shims since the last call, held to the same. */
uint64_t sbx_ring_take_internal(struct sbx_ring_reader *);
/* Compares the header with what it was and has to be, and puts it right: `magic` and what follows
 * it, `tail` which only the reader moves, `head` which goes forward only. Any difference is one
 * corrupt. To be called before each round of reads. */
void sbx_ring_inspect(struct sbx_ring_reader *);
/* Bytes waiting, as far as the header can be believed; at most `size`. */
uint64_t sbx_ring_pending(const struct sbx_ring_reader *);
