/* clock.c - see clock.h. The C library's clock_gettime is not asked: libraries that fake the
 * time are preloaded too, and an audit log wants the true one. */
#include "shim/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "shim/linux/sys.h"
#include "shim/next.h"

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
