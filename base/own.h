/* own.h - cleanup attributes and hand-over, as in crun and systemd.
 *
 *	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	...
 *	*out_fd = b_take_fd(&fd);
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void b_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void b_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline int b_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define b_auto_fd __attribute__((cleanup(b_close_fd)))
#define b_auto_free __attribute__((cleanup(b_free_ptr)))
/* b_auto(struct_release) T x = {0}: calls struct_release(&x) at scope end. */
#define b_auto(fn) __attribute__((cleanup(fn)))
#define b_take_ptr(pp)                             \
	({                                         \
		__typeof__(*(pp)) b_taken = *(pp); \
		*(pp) = NULL;                      \
		b_taken;                           \
	})
