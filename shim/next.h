/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h - the function a program would have called without us: the next definition of the
 * name in the order of loading, be it the C library's or another preloaded library's.
 *
 * Found by walking the loader's list of objects ourselves: dlsym() takes locks and may call
 * malloc, which programs replace. [AS-safe] [MT-safe] [no-alloc], usable before any
 * constructor ran and in a vfork child (what it stores is the same in the parent).
 *
 *	return NEXT(unlink)(path);
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "shim/calls.h"

enum shim_next_id {
#define X(name, ...) NEXT_##name,
	SHIM_EXPORTS(X) SHIM_BORROWED(X)
#undef X
		SHIM_NEXT_COUNT
};

extern _Atomic(void *) shim_next_found[SHIM_NEXT_COUNT];
/* Never NULL: a name the C library lacks gets a function that fails with ENOSYS. */
void *shim_next_find(enum shim_next_id);

static inline void *shim_next(enum shim_next_id id)
{
	void *fn = atomic_load_explicit(&shim_next_found[id], memory_order_relaxed);

	return fn ? fn : shim_next_find(id);
}

#ifdef __APPLE__
#define NEXT(name) (name) /* dyld leaves the interposing library's own calls alone */
#else
#define NEXT(name) ((__typeof__(&name))shim_next(NEXT_##name))
#endif

/* The version of the next definition that only programs linked long ago ask for, where there is
 * exactly one such; NULL = there is none. */
void *shim_next_old(enum shim_next_id);
/* Is the next definition some other preloaded library's, which wants to see the call? */
bool shim_next_is_foreign(enum shim_next_id);
/* The path of a library that stands before this one, defines a name of ours, and has no way to hand
 * such a call on: the calls never come here. NULL = none. Libraries made to be preloaded ask
 * dlsym() for the next definition, which is ours. */
const char *shim_next_usurper(void);
/* The path this library was loaded from; "" when the loader's list cannot be read. */
const char *shim_own_path(void);
/* A symbol of the kernel's vdso, or NULL. */
void *shim_vdso(const char *name);
