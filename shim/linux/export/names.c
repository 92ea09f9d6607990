/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - objects of the C library and of the kernel that are files by another name: POSIX
 * shared memory and semaphores below /dev/shm, message queues as /dev/mqueue shows them, and
 * sockets with a path. */
#include "shim/linux/export/export.h"

#include <mqueue.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/paths_check.h"
#include "shim/proc.h"

/* ---- names ---- */

struct named {
	char *path; /* SBX_PATH_MAX bytes */
	struct shim_told told;
	uint64_t key;
};

/* The library's own rules for names: one leading slash, or several, and no other. What it will
 * refuse is its own to refuse. */
static bool text_of(struct named *n, const char *dir, const char *name)
{
	size_t len;

	if (!shim_is_ready() || shim_is_no_pointer(name))
		return false;
	while (*name == '/')
		name++;
	len = strlen(name);
	if (!len || memchr(name, '/', len))
		return false;
	n->told = (struct shim_told){.path = n->path};
	return shim_append(n->path, SBX_PATH_MAX, &n->told.len, dir, strlen(dir)) &&
	       shim_append(n->path, SBX_PATH_MAX, &n->told.len, name, len);
}

/* False: denied; it was reported, and errno is set. */
static bool may(struct named *n, unsigned call, bool reads, bool modifies)
{
	struct shim_verdict v = {.allowed = true};

	n->told.call = call;
	n->told.op = modifies ? SBX_MODIFY : SBX_READ;
	if (modifies)
		v = shim_judge(SBX_MODIFY, n->path, n->told.len);
	n->key = 0;
	if (v.allowed && reads) {
		v = shim_judge(SBX_READ, n->path, n->told.len);
		if (!v.allowed)
			n->told.op = SBX_READ;
		n->key = modifies ? 0 : v.key;
	}
	if (v.allowed)
		return true;
	n->told.err = EACCES;
	shim_tell(&n->told, 0);
	shim_set_errno(EACCES);
	return false;
}

static void done(struct named *n, bool failed)
{
	int err = shim_get_errno();

	n->told.err = failed ? err : 0;
	n->told.flags = SBX_EVF_ALLOWED;
	shim_tell(&n->told, n->key);
	shim_set_errno(err);
}

static bool opens_to_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

SHIM_EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct named n = {.path = room};
	int fd;

	if (!text_of(&n, "/dev/shm/", name))
		return NEXT(shm_open)(name, flags, mode);
	if (!may(&n, SBX_CALL_shm_open, true, opens_to_write(flags)))
		return -1;
	fd = NEXT(shm_open)(name, flags, mode);
	done(&n, fd < 0);
	return fd;
}

/* A semaphore is always opened for both. The arguments behind `flags` are passed whatever they
 * are: the library looks at them when O_CREAT says so. */
SHIM_EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct named n = {.path = room};
	unsigned value;
	mode_t mode;
	va_list ap;
	sem_t *sem;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	value = va_arg(ap, unsigned);
	va_end(ap);
	if (!text_of(&n, "/dev/shm/sem.", name))
		return NEXT(sem_open)(name, flags, mode, value);
	if (!may(&n, SBX_CALL_sem_open, true, true))
		return SEM_FAILED;
	sem = NEXT(sem_open)(name, flags, mode, value);
	done(&n, sem == SEM_FAILED);
	return sem;
}

SHIM_EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
	struct mq_attr *attr;
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct named n = {.path = room};
	mode_t mode;
	va_list ap;
	mqd_t q;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	attr = va_arg(ap, struct mq_attr *);
	va_end(ap);
	if (!text_of(&n, "/dev/mqueue/", name))
		return NEXT(mq_open)(name, flags, mode, attr);
	if (!may(&n, SBX_CALL_mq_open, (flags & O_ACCMODE) != O_WRONLY, opens_to_write(flags)))
		return (mqd_t)-1;
	q = NEXT(mq_open)(name, flags, mode, attr);
	done(&n, q == (mqd_t)-1);
	return q;
}

/* glibc aborts here when the flags call for a mode; it says so itself. */
SHIM_EXPORT mqd_t __mq_open_2(const char *name, int flags)
{
	if (flags & O_CREAT)
		return NEXT(__mq_open_2)(name, flags);
	return mq_open(name, flags, 0, NULL);
}

long shim_mq_by_number(long number, const char *name, int flags, mode_t mode, const void *attr)
{
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct named n = {.path = room};
	bool is_open = number == SYS_mq_open;
	long ret;

	if (!text_of(&n, "/dev/mqueue/", name))
		return NEXT(syscall)(number, name, flags, mode, attr);
	if (!may(&n, is_open ? SBX_CALL_mq_open : SBX_CALL_mq_unlink,
		 is_open && (flags & O_ACCMODE) != O_WRONLY, !is_open || opens_to_write(flags)))
		return -1;
	ret = NEXT(syscall)(number, name, flags, mode, attr);
	done(&n, ret < 0);
	return ret;
}

#define UNLINK(name, dir)                                                                          \
	SHIM_EXPORT int name(const char *object)                                                   \
	{                                                                                          \
		char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);                              \
		struct named n = {.path = room};                                                   \
		int ret;                                                                           \
		if (!text_of(&n, dir, object))                                                     \
			return NEXT(name)(object);                                                 \
		if (!may(&n, SBX_CALL_##name, false, true))                                        \
			return -1;                                                                 \
		ret = NEXT(name)(object);                                                          \
		done(&n, ret < 0);                                                                 \
		return ret;                                                                        \
	}
UNLINK(shm_unlink, "/dev/shm/")
UNLINK(sem_unlink, "/dev/shm/sem.")
UNLINK(mq_unlink, "/dev/mqueue/")

/* ---- sockets ---- */

/* The path of an address, NUL-terminated; NULL: it has none (abstract names begin with NUL). */
static const char *socket_path(const struct sockaddr *addr, socklen_t len,
			       char path[sizeof(struct sockaddr_un)])
{
	const struct sockaddr_un *un = (const void *)addr;
	const size_t at = offsetof(struct sockaddr_un, sun_path);

	if (!shim_is_ready() || shim_is_no_pointer(addr) || len <= at || len > sizeof *un ||
	    un->sun_family != AF_UNIX || !un->sun_path[0])
		return NULL;
	memcpy(path, un->sun_path, len - at);
	path[len - at] = '\0';
	return path;
}

/* As asked: other processes see the address as it was bound. */
SHIM_EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	char path[sizeof(struct sockaddr_un)];
	struct shim_op op = {.call = SBX_CALL_bind,
			     .op = SBX_MODIFY,
			     .nends = 1,
			     .end = {{.path = buf,
				      .dirfd = AT_FDCWD,
				      .asked = socket_path(addr, len, path),
				      .how = SHIM_LAST | SHIM_NEW | SHIM_JUDGE_ONLY}}};
	int ret;

	if (!op.end[0].asked)
		return NEXT(bind)(fd, addr, len);
	if (shim_begin(&op) == SHIM_REFUSE) {
		if (op.err == EEXIST)
			shim_set_errno(EADDRINUSE);
		return shim_end(&op, -1);
	}
	ret = NEXT(bind)(fd, addr, len);
	return shim_end(&op, ret);
}

/* The image cannot know the sockets that were made in this run and are free; the floor can. An
 * allowed path is therefore reported here, and any other is left to the broker. */
SHIM_EXPORT int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	char path[sizeof(struct sockaddr_un)];
	struct shim_end e = {.path = buf,
			     .dirfd = AT_FDCWD,
			     .asked = socket_path(addr, len, path),
			     .how = SHIM_FOLLOW};
	struct shim_told t = {.call = SBX_CALL_connect, .op = SBX_CONNECT, .path = buf};
	int ret, err;

	if (!e.asked || shim_find(&e) != 0)
		return NEXT(connect)(fd, addr, len);
	t.len = e.len;
	ret = NEXT(connect)(fd, addr, len);
	if (!shim_judge(SBX_CONNECT, buf, e.len).allowed)
		return ret;
	err = shim_get_errno();
	t.err = ret < 0 ? err : 0;
	t.flags = SBX_EVF_ALLOWED;
	shim_tell(&t, 0);
	shim_set_errno(err);
	return ret;
}

/* Datagram sockets reach any path, and where there is no broker to make pairs of another type of
 * them the filter refuses these, too: one that keeps messages apart and reaches nothing else. */
SHIM_EXPORT int socketpair(int domain, int type, int protocol, int pair[2])
{
	int ret = NEXT(socketpair)(domain, type, protocol, pair), kind = type & 0xf;

	if (ret == 0 || shim_get_errno() != EACCES || domain != AF_UNIX || shim_has_filter() ||
	    !shim_is_ready() || (kind != SOCK_DGRAM && kind != SOCK_RAW))
		return ret;
	return NEXT(socketpair)(domain, SOCK_SEQPACKET | (type & ~0xf), protocol, pair);
}
