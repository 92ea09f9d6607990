/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - see proc.h. */
#include "shim/proc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "core/channel.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/next.h"

struct shim_proc shim;

/* The one function of the C library we bind to by name: where errno is. NULL without one. */
extern int *__errno_location(void) __attribute__((weak));

void shim_set_errno(int err)
{
	if (__errno_location)
		*__errno_location() = err;
}

int shim_get_errno(void)
{
	return __errno_location ? *__errno_location() : 0;
}

long shim_result(long ret)
{
	if (ret >= 0 || ret < -4095)
		return ret;
	shim_set_errno((int)-ret);
	return -1;
}

const char *shim_channel_dir(void)
{
	const size_t n = sizeof SBX_CHANNEL_DENY - 1;

	return shim_has_prefix(shim.channel, SBX_CHANNEL_DENY) ? shim.channel + n : shim.channel;
}

uint32_t shim_ask_pid(void)
{
	return (uint32_t)sys0(SYS_getpid);
}

uint32_t shim_ask_ppid(void)
{
	return (uint32_t)sys0(SYS_getppid);
}

bool shim_is_own_memory(void)
{
	struct shim_life *life = shim_life();

	return shim_ask_pid() == atomic_load_explicit(&life->pid, memory_order_relaxed);
}

bool shim_is_open_foreign(void)
{
	enum { UNKNOWN, LIBC, FOREIGN };
	static _Atomic int owner;
	int o = atomic_load_explicit(&owner, memory_order_relaxed);

	if (o == UNKNOWN) {
		o = shim_next_is_foreign(NEXT_open) || shim_next_is_foreign(NEXT_openat) ? FOREIGN
											 : LIBC;
		atomic_store_explicit(&owner, o, memory_order_relaxed);
	}
	return o == FOREIGN;
}

bool shim_trouble(void)
{
	if (!shim_is_ready())
		return false;
	sbx_ring_internal(shim.ring);
	return shim.on_error != 0;
}

/* The C library's clock_gettime is not asked: libraries that fake the
 * time are preloaded too, and an audit log wants the true one. */

typedef int gettime_fn(clockid_t, struct timespec *);

#if defined(__aarch64__)
#define VDSO_GETTIME "__kernel_clock_gettime"
#else
#define VDSO_GETTIME "__vdso_clock_gettime"
#endif

static int gettime_by_call(clockid_t clock, struct timespec *out)
{
	return (int)sys2(SYS_clock_gettime, clock, out);
}

static uint64_t in_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * UINT64_C(1000000000) + (uint64_t)t->tv_nsec;
}

uint64_t shim_now_ns_cold(void)
{
	struct timespec t = {0};

	gettime_by_call(CLOCK_REALTIME, &t);
	return in_ns(&t);
}

uint64_t shim_now_ns(void)
{
	static _Atomic(void *) found;
	void *fn = atomic_load_explicit(&found, memory_order_relaxed);
	struct timespec t = {0};

	if (!fn) {
		fn = shim_vdso(VDSO_GETTIME);
		if (!fn)
			fn = (void *)gettime_by_call;
		atomic_store_explicit(&found, fn, memory_order_relaxed);
	}
	((gettime_fn *)fn)(CLOCK_REALTIME, &t);
	return in_ns(&t);
}
