/*
 * lent.c - descriptors of callers, and files that have lost their name.
 *
 * No rule speaks of a file without a name, and none of its former one can be trusted: the host
 * has put another in its place, the run has moved the directory it was in. What the caller may do
 * with it is what it may do anyway, by the descriptor that led to it: it is opened for no more than
 * that one was, and an O_PATH descriptor, which nobody was asked for, opens nothing.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/walk.h"

int br_take_fd(struct br_call *c, pid_t tid, int number)
{
	b_auto_fd int pidfd = (int)syscall(SYS_pidfd_open, tid, BR_PIDFD_OF_THREAD);
	long fd;

	/* before 6.9: of the process, whose leader may have ended */
	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, tid == (pid_t)c->n.pid ? br_tgid(c) : tid, 0);
	if (pidfd < 0)
		return errno == ESRCH || errno == EINVAL ? -ESRCH : -EACCES;
	fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);
	if (fd < 0)
		return errno == EBADF || errno == ESRCH || errno == EMFILE ? -errno : -EACCES;
	return (int)fd;
}

/* The description itself is asked: what its number means may change meanwhile. */
static unsigned lent_by(struct br_call *c, pid_t tid, int number, const struct stat *st)
{
	static const unsigned lent[] = {
		[O_RDONLY] = BR_LENT_READ,
		[O_WRONLY] = BR_LENT_WRITE,
		[O_RDWR] = BR_LENT_READ | BR_LENT_WRITE,
		[O_ACCMODE] = 0, /* for ioctl alone */
	};
	b_auto_fd int fd = br_take_fd(c, tid, number);
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat there;

	if (flags < 0 || flags & O_PATH || fstat(fd, &there) < 0 || there.st_dev != st->st_dev ||
	    there.st_ino != st->st_ino)
		return 0;
	return lent[flags & O_ACCMODE];
}

/* "/proc/1/fd", "/proc/1/task/2/fd": the number before the last slash. */
static pid_t owner_of(const char *dir)
{
	const char *end = strrchr(dir, '/'), *start = end;

	while (start > dir && start[-1] != '/')
		start--;
	return (pid_t)strtol(start, NULL, 10);
}

void br_note_magic(struct br_end *e, const char *dir, const char *name)
{
	e->magic = BR_MAGIC_OTHER;
	if (strcmp(name, "exe") == 0)
		e->magic = BR_MAGIC_EXE;
	if (strcmp(strrchr(dir, '/'), "/fd") != 0)
		return;
	e->magic = BR_MAGIC_FD;
	e->owner = owner_of(dir);
	e->number = (int)strtol(name, NULL, 10);
}

/* What was never in a file system: a memfd, System V's shared memory. */
static bool is_memory(const struct br_call *c, const struct stat *st)
{
	return st->st_dev == c->b->memory_dev;
}

static const char deleted[] = " (deleted)";

/* The path becomes its former one, for the record alone. A directory without a name is empty and
 * stays so; other things hold nothing either. */
int br_look_at_nameless(struct br_call *c, struct br_end *e)
{
	if (!S_ISREG(e->st.st_mode) || is_memory(c, &e->st))
		return 0;
	if (!e->is_empty && e->magic == BR_MAGIC_NONE)
		return BR_VANISHED; /* while we looked: a path leads to what has a name */
	e->is_nameless = true;
	if (e->len > sizeof deleted - 1 &&
	    !strcmp(e->path + e->len - (sizeof deleted - 1), deleted))
		e->path[e->len -= sizeof deleted - 1] = '\0';
	if (e->is_empty && e->dirfd >= 0)
		e->lent = lent_by(c, (pid_t)c->n.pid, e->dirfd, &e->st);
	else if (e->magic == BR_MAGIC_FD)
		e->lent = lent_by(c, e->owner, e->number, &e->st);
	else if (e->magic == BR_MAGIC_EXE)
		e->lent = BR_LENT_READ; /* it was read and executed, and is */
	return 0;
}

bool br_may(const struct br_call *c, enum sbx_op op, const struct br_end *e)
{
	if (e->is_nameless)
		return e->lent & (op == SBX_MODIFY ? BR_LENT_WRITE : BR_LENT_READ);
	return e->is_pathless || br_allowed(c, op, e->path, e->len);
}

/* Where a filter refuses memfd_create(2), nobody makes such files: what is none of a file system's
 * then is judged as what has lost its name. */
void br_find_memory(struct br_broker *b)
{
	b_auto_fd int fd = memfd_create("sbx-broker", MFD_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		b->memory_dev = st.st_dev;
}
