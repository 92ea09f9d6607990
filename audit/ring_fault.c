/* SPDX-License-Identifier: Apache-2.0 */
/* ring_fault.c - see collect_priv.h. */
#include "audit/collect_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

/* Written while no fault can happen, read by the handler. */
static struct {
	_Atomic uintptr_t start, end; /* 0: nothing is guarded */
	_Atomic uint64_t damaged;
	uintptr_t page;
} guard;

/* mmap(2) is a plain system call here: async-signal-safe on Linux, though POSIX does not say so. */
static bool replace_page(uintptr_t at)
{
	void *page = (void *)(at & ~(guard.page - 1)); // NOLINT(performance-no-int-to-ptr)

	return mmap(page, guard.page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	int saved = errno;

	(void)context;
	/* a positive code is the kernel's: kill(2) cannot name an address */
	if (info->si_code > 0 && at >= guard.start && at < guard.end && replace_page(at)) {
		atomic_fetch_add_explicit(&guard.damaged, 1, memory_order_relaxed);
		errno = saved;
		return;
	}
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig); /* a fault comes again by itself */
	errno = saved;
}

int aud_guard_start(void *map, size_t bytes, struct b_err *err)
{
	struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESTART};

	guard.page = (uintptr_t)sysconf(_SC_PAGESIZE);
	guard.damaged = 0;
	guard.start = (uintptr_t)map;
	guard.end = (uintptr_t)map + bytes;
	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGBUS, &sa, NULL) < 0)
		return b_fail(err, B_AUDIT, errno, "cannot guard the ring: %s", strerror(errno));
	return 0;
}

uint64_t aud_guard_damaged(void)
{
	return guard.damaged;
}

void aud_guard_stop(const void *map)
{
	if (guard.start != (uintptr_t)map)
		return;
	guard.start = guard.end = 0;
	signal(SIGBUS, SIG_DFL);
}
