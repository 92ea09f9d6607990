/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - what the shim knows of the process it lives in. Set by the constructor, read
 * everywhere. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/image.h"
#include "core/ring.h"

#define SHIM_ENV_MAX SBX_CHANNEL_MAX /* longest value of a variable we re-inject */

struct shim_proc {
	struct sbx_image image;
	struct sbx_ring *ring;
	uint64_t ring_size;
	uint32_t level;	   /* enum sbx_audit_level, at the start of the run */
	uint32_t on_error; /* of the image */
	bool is_alone;	   /* preload-only mode: no supervisor, no floor */
	bool marks;	   /* calls are marked, and openat2(2) is the broker's: shim/marks.h */
	/* The process that reported its start; 0 = its end was reported. A child of fork() inherits
	 * the value. */
	_Atomic uint32_t image_pid;
	uint32_t alias_first[8]; /* bit set: first letters of the image's aliases */
	_Atomic bool is_ready;	 /* image and ring are mapped; false = inert, every call passes */
	/* A filter of the program's own is in force: no system call it would not make itself. */
	_Atomic bool has_own_filter;
	_Atomic bool no_openat2; /* the call itself: kernel before 5.6, or somebody's filter */
	/* For O_PATH alone: a broker that opens all that is read answers so, and performs the rest
	 */
	_Atomic bool no_openat2_path;
	char channel[SHIM_ENV_MAX]; /* value of SBX_CHANNEL */
	char preload[SHIM_ENV_MAX]; /* our own entry in LD_PRELOAD */
	char sibling[SHIM_ENV_MAX]; /* that of programs of the other word size; "" = none */
};
extern struct shim_proc shim;

/*
 * What a child of fork() must not inherit: the kernel wipes this page in it
 * (MADV_WIPEONFORK, Linux 4.14), so that no fork hook is needed and raw clone() is covered.
 * A child of vfork() shares it with its parent: shim_is_own_memory() tells.
 */
struct shim_life {
	_Atomic uint32_t pid; /* 0 = not known yet */
	_Atomic uint32_t ppid;
	_Atomic uint64_t seed; /* of the verdict cache */
};
struct shim_life *shim_life(void);

/* Of the kernel: right in a vfork child, too. */
uint32_t shim_ask_pid(void);
uint32_t shim_ask_ppid(void);

/* Costs a system call: only on rare paths. False in a vfork child, which may write no cache. */
bool shim_is_own_memory(void);

static inline bool shim_is_ready(void)
{
	return atomic_load_explicit(&shim.is_ready, memory_order_acquire);
}
static inline bool shim_has_filter(void)
{
	return atomic_load_explicit(&shim.has_own_filter, memory_order_relaxed);
}

/* Is there a broker, which performs what changes something, and counts directories that move? */
static inline bool shim_has_broker(void)
{
	return shim.ring && shim.ring->judges_moves;
}

/* Is a handle (O_PATH) by a proven name worth a try? */
static inline bool shim_holds_proven(void)
{
	return !atomic_load_explicit(&shim.no_openat2, memory_order_relaxed) &&
	       !atomic_load_explicit(&shim.no_openat2_path, memory_order_relaxed);
}
/* What the try came to: the kernel itself has neither answer for a handle. */
static inline void shim_held_proven(int fd)
{
	if (fd == -ENOSYS || fd == -EPERM)
		atomic_store_explicit(&shim.no_openat2_path, true, memory_order_relaxed);
}

/* NULL where the C library is another than glibc. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* The directory in the value of SBX_CHANNEL. */
const char *shim_channel_dir(void);

void shim_set_errno(int err);
int shim_get_errno(void);
/* -errno to -1 and errno. */
long shim_result(long ret);

/* Does another preloaded library want to see open()? Looked up at the first open. */
bool shim_is_open_foreign(void);

/* Counts a failure inside the shim. True: the image demands the answer "deny". */
bool shim_trouble(void);

/* Wall-clock time without a system call, by the kernel's vdso. */

/* CLOCK_REALTIME in nanoseconds. [AS-safe] [MT-safe] */
uint64_t shim_now_ns(void);
/* The same by system call: at the start of a program cheaper than the first touch of the vdso. */
uint64_t shim_now_ns_cold(void);
