/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - see shim/proc.h; libSystem keeps the process number, so asking costs nothing. */
#include "shim/proc.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

struct shim_proc shim;

/* A child of fork() has a copy: recognised by its number. One of vfork() may not write here, and
 * macOS has made vfork() a fork() in all but name since 10.15. */
struct shim_life *shim_life(void)
{
	static struct shim_life life;
	uint32_t pid = (uint32_t)getpid();

	if (atomic_load_explicit(&life.pid, memory_order_relaxed) != pid) {
		atomic_store_explicit(&life.ppid, (uint32_t)getppid(), memory_order_relaxed);
		atomic_store_explicit(&life.seed, shim_now_ns() ^ (uint64_t)pid << 32,
				      memory_order_relaxed);
		atomic_store_explicit(&life.pid, pid, memory_order_relaxed);
	}
	return &life;
}

uint32_t shim_ask_pid(void)
{
	return (uint32_t)getpid();
}

uint32_t shim_ask_ppid(void)
{
	return (uint32_t)getppid();
}

void shim_set_errno(int err)
{
	errno = err;
}

int shim_get_errno(void)
{
	return errno;
}

long shim_result(long ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

uint64_t shim_now_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t shim_now_ns_cold(void)
{
	return shim_now_ns();
}

bool shim_trouble(void)
{
	if (!shim_is_ready())
		return false;
	sbx_ring_internal(shim.ring);
	return shim.on_error != 0;
}
