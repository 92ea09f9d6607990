/* SPDX-License-Identifier: Apache-2.0 */
/* proceed.c - every answer that lets the kernel go on with a call, and what a lent descriptor
 * may do. */
#include "launcher/linux/broker/proceed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/broker.h"

static const struct {
	const char *name;
	enum br_behind behind;
	int otherwise;
} rows[] = {
#define X(row, name, behind, otherwise, why)                                                       \
	[BR_PROCEED_##row] = {name, BR_BEHIND_##behind, otherwise},
	BR_PROCEED_TABLE(X)
#undef X
};

const char *br_proceed_name(enum br_proceed row)
{
	return rows[row].name;
}

static bool stands_behind(const struct lau_broker_plan *plan, enum br_behind behind)
{
	switch (behind) {
	case BR_BEHIND_NOTHING:
	case BR_BEHIND_MODES:
		return true;
	case BR_BEHIND_NAMES:
		return !plan->grants_clean;
	case BR_BEHIND_CLEAN:
		return plan->grants_clean;
	case BR_BEHIND_TRUNCATE:
		return !(plan->traps & POL_TRAP_TRUNCATE) && !plan->grants_clean;
	case BR_BEHIND_READS:
		return plan->read_level != POL_READ_ALL && !(plan->traps & POL_TRAP_TRUNCATE) &&
		       !plan->grants_clean;
	}
	return false;
}

bool br_may_proceed(const struct br_call *c, enum br_proceed row)
{
	return stands_behind(c->b->plan, rows[row].behind);
}

/* The kernel does it in a clean directory, if the path comes to lead there. Flags and mode are
 * registers, and stay what they are. */
static bool may_be_clean(const struct br_call *c)
{
	br_handler *h = c->row->handler;

	if (h == br_rename)
		return !(c->flags & RENAME_WHITEOUT);
	return h == br_link ? !c->flags : h != br_mknod;
}

struct br_answer br_proceed(const struct br_call *c, enum br_proceed row)
{
	if (row == BR_PROCEED_NAME && c->b->plan->grants_clean && may_be_clean(c))
		row = BR_PROCEED_CLEAN;
	if (!br_may_proceed(c, row))
		return br_fail(rows[row].otherwise);
	if (c->b->plan->proceeded)
		atomic_fetch_add_explicit(&c->b->plan->proceeded[row], 1, memory_order_relaxed);
	return (struct br_answer){.kind = BR_KIND_CONTINUE};
}

/* ---- calls that Landlock stands behind ---- */

static bool is_any(br_handler *h, br_handler *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == h)
			return true;
	return false;
}

/* The row of such a call; BR_PROCEED_COUNT: the call has none. */
static enum br_proceed row_of(br_handler *h)
{
	static br_handler *const names[] = {br_mkdir,	br_mknod,  br_unlink, br_rmdir,
					    br_symlink, br_rename, br_link};
	static br_handler *const opens[] = {br_open, br_openat2, br_creat};

	if (is_any(h, names, sizeof names / sizeof *names))
		return BR_PROCEED_NAME;
	if (is_any(h, opens, sizeof opens / sizeof *opens))
		return BR_PROCEED_OPEN;
	return h == br_truncate ? BR_PROCEED_TRUNCATE : BR_PROCEED_COUNT;
}

bool br_lies(const struct br_call *c)
{
	enum br_proceed row = row_of(c->row->handler);

	return c->b->plan->lies && row != BR_PROCEED_COUNT && br_may_proceed(c, row);
}

struct br_answer br_proceed_unseen(struct br_call *c)
{
	br_handler *h = c->row->handler;
	enum br_proceed row = row_of(h);

	if (h == br_umask || h == br_credentials)
		return h(c); /* neither looks into the caller */
	return row == BR_PROCEED_COUNT ? br_fail(EACCES) : br_proceed(c, row);
}

/*
 * Descriptors of callers, and files that have lost their name.
 *
 * No rule speaks of a file without a name, and none of its former one can be trusted: the host
 * has put another in its place, the run has moved the directory it was in. What the caller may do
 * with it is what it may do anyway, by the descriptor that led to it: it is opened for no more than
 * that one was, and an O_PATH descriptor, which nobody was asked for, opens nothing.
 */

static int open_pidfd(struct br_call *c, pid_t tid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tid, BR_PIDFD_OF_THREAD);

	/* before 6.9: of the process, whose leader may have ended */
	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, tid == (pid_t)c->n.pid ? br_tgid(c) : tid, 0);
	return pidfd;
}

int br_take_fd(struct br_call *c, pid_t tid, int number)
{
	b_auto_fd int opened = -1;
	int pidfd = -1;
	long fd;

	if (tid == (pid_t)c->n.pid && br_task_find(c) == 0)
		pidfd = c->task->pidfd;
	if (pidfd < 0)
		pidfd = opened = open_pidfd(c, tid);
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

/* What was never in a file system: a memfd, System V's shared memory, a pipe. */
static bool is_memory(const struct br_call *c, const struct stat *st)
{
	return st->st_dev == (S_ISFIFO(st->st_mode) ? c->b->pipe_dev : c->b->memory_dev);
}

static bool is_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode) ||
	       S_ISBLK(st->st_mode);
}

static const struct lau_given *find_given(const struct br_call *c, const struct stat *st)
{
	const struct lau_givens *all = &c->b->plan->given;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].dev == st->st_dev && all->v[i].ino == st->st_ino)
			return &all->v[i];
	return NULL;
}

static const char deleted[] = " (deleted)";

/* Sets the path to the former one, only for the record. A directory without a name is empty and
 * stays so. */
int br_look_at_nameless(struct br_call *c, struct br_end *e)
{
	e->given = find_given(c, &e->st);
	if (e->given || !is_file(&e->st) || is_memory(c, &e->st))
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
	if (e->given)
		return op == SBX_MODIFY ? e->given->writes : e->given->reads;
	if (e->is_nameless)
		return e->lent & (op == SBX_MODIFY ? BR_LENT_WRITE : BR_LENT_READ);
	return e->is_pathless || br_allowed(c, op, e->path, e->len);
}

/* If a filter refuses memfd_create(2), no such files exist. An object that is in no file system is
 * then judged like one that has lost its name. */
void br_find_memory(struct br_broker *b)
{
	b_auto_fd int fd = memfd_create("sbx-broker", MFD_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		b->memory_dev = st.st_dev;
	if (fstat(b->wake[0], &st) == 0)
		b->pipe_dev = st.st_dev;
}
