/* numbers.c - calls that close descriptors, or give the program new ones for what is open already:
 * what we remember of a number must not outlive them. In a vfork child, whose memory is its
 * parent's, forgetting is all that is done. What no directory can come from (socket(2), pipe(2)) is
 * not here: the kernel resolves no path beneath it. */
#include "shim/linux/export.h"

#include <linux/close_range.h>
#include <stdarg.h>
#include <sys/socket.h>

#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

/* Forgotten before: once it is closed another thread may get the number. */
SHIM_EXPORT int close(int fd)
{
	shim_where_closed(fd);
	return NEXT(close)(fd);
}

SHIM_EXPORT int __close(int fd)
{
	shim_where_closed(fd);
	return NEXT(__close)(fd);
}

/* Of a stream the library closes the number by itself. */
SHIM_EXPORT int fclose(FILE *f)
{
	int saved = shim_get_errno();

	if (!shim_is_no_pointer(f))
		shim_where_closed(NEXT(fileno)(f));
	shim_set_errno(saved); /* there are streams without a number */
	return NEXT(fclose)(f);
}

SHIM_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (flags & (int)CLOSE_RANGE_UNSHARE)
		shim_where_distrust();
	else
		shim_where_closed_all();
	return NEXT(close_range)(first, last, flags);
}

SHIM_EXPORT void closefrom(int first)
{
	shim_where_closed_all();
	NEXT(closefrom)(first);
}

SHIM_EXPORT int closedir(DIR *d)
{
	if (!shim_is_no_pointer(d))
		shim_where_closed(NEXT(dirfd)(d));
	return NEXT(closedir)(d);
}

/* Forgotten after: until then another thread may use the number for what it was, and what it
 * learns of it must not outlive the change. */
static int replaced(int fd, int ret)
{
	shim_where_closed(fd);
	return ret;
}

SHIM_EXPORT int dup2(int from, int to)
{
	return replaced(to, NEXT(dup2)(from, to));
}

SHIM_EXPORT int dup3(int from, int to, int flags)
{
	return replaced(to, NEXT(dup3)(from, to, flags));
}

SHIM_EXPORT int __dup2(int from, int to)
{
	return replaced(to, NEXT(__dup2)(from, to));
}

SHIM_EXPORT int dup(int fd)
{
	return shim_where_given(NEXT(dup)(fd));
}

/* The third argument is passed on whatever it is: the command says whether it is one. */
#define FCNTL(name)                                                                                \
	SHIM_EXPORT int name(int fd, int command, ...)                                             \
	{                                                                                          \
		void *arg;                                                                         \
		va_list ap;                                                                        \
		int ret;                                                                           \
		va_start(ap, command);                                                             \
		arg = va_arg(ap, void *);                                                          \
		va_end(ap);                                                                        \
		ret = NEXT(name)(fd, command, arg);                                                \
		return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? shim_where_given(ret)    \
									: ret;                     \
	}
FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)
#if __SIZEOF_LONG__ == 4
FCNTL(__fcntl_time64)
#endif

/* ---- descriptors that arrive ---- */

/* Rare: not worth looking for the numbers. */
static void arrived(const struct msghdr *m)
{
	const struct cmsghdr *c = m->msg_control;
	size_t left = m->msg_controllen;

	while (left >= sizeof *c && c->cmsg_len >= sizeof *c) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			shim_where_closed_all();
		if (CMSG_ALIGN(c->cmsg_len) >= left)
			return;
		left -= CMSG_ALIGN(c->cmsg_len);
		c = (const void *)((const char *)c + CMSG_ALIGN(c->cmsg_len));
	}
}

#define RECVMSG(name)                                                                              \
	SHIM_EXPORT ssize_t name(int fd, struct msghdr *m, int flags)                              \
	{                                                                                          \
		ssize_t ret = NEXT(name)(fd, m, flags);                                            \
		if (ret >= 0)                                                                      \
			arrived(m);                                                                \
		return ret;                                                                        \
	}
RECVMSG(recvmsg)

#define RECVMMSG(name)                                                                             \
	SHIM_EXPORT int name(int fd, struct mmsghdr *m, unsigned n, int flags,                     \
			     struct timespec *limit)                                               \
	{                                                                                          \
		int i, ret = NEXT(name)(fd, m, n, flags, limit);                                   \
		for (i = 0; i < ret; i++)                                                          \
			arrived(&m[i].msg_hdr);                                                    \
		return ret;                                                                        \
	}
RECVMMSG(recvmmsg)
#if __SIZEOF_LONG__ == 4
RECVMSG(__recvmsg64)
RECVMMSG(__recvmmsg64)
#endif
