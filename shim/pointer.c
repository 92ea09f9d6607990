/*
 * pointer.c - does a program's pointer point anywhere? See mem.h.
 *
 * The kernel is asked, by a call that reads eight bytes and refuses afterwards: whatever was not
 * EFAULT was readable. Once for a page: what was mapped is taken to be so still.
 */
#include <errno.h>
#include <stdatomic.h>

#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/sys.h"

#define PAGE ((uintptr_t)4096)

#ifdef __APPLE__
static bool is_readable(uintptr_t at)
{
	(void)at; /* no call of the kind that has no effect */
	return true;
}
#else
static bool is_readable(uintptr_t at)
{
	enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };

	return sys4(SYS_rt_sigprocmask, NO_SUCH_HOW, at & ~(uintptr_t)7, 0, SET_BYTES) != -EFAULT;
}
#endif

enum { PLACES = 256 };
static _Atomic uintptr_t readable[PLACES];

static bool is_page_readable(uintptr_t at)
{
	uintptr_t page = at / PAGE;
	_Atomic uintptr_t *place = &readable[(page ^ page >> 8) % PLACES];

	if (atomic_load_explicit(place, memory_order_relaxed) == page)
		return true;
	/* under a filter of the program's own no call is made that it did not ask for */
	if (shim_has_filter())
		return true;
	if (!is_readable(at))
		return false;
	atomic_store_explicit(place, page, memory_order_relaxed);
	return true;
}

/* A string near the end of its page may go on in the next. */
enum { NEAR_END = 256 };

bool shim_is_no_pointer(const void *p)
{
	uintptr_t at = (uintptr_t)p, end = (at | (PAGE - 1)) + 1;

	if (at < PAGE || at >= -PAGE || !is_page_readable(at))
		return true;
	return end - at < NEAR_END && !memchr(p, 0, end - at) && !is_page_readable(end);
}
