/* SPDX-License-Identifier: Apache-2.0 */
/* caller.c - the caller: its task, memory and directories. creds.c has its umask and credentials.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"

#define PAGE	    4096u
#define FIRST_CHUNK 256u

struct br_answer br_result(long rc)
{
	return rc < 0 ? br_fail(errno) : br_value(rc);
}

/* ---- the task ---- */

static void drop(struct br_task *t)
{
	if (t->dir >= 0)
		close(t->dir);
	if (t->pidfd >= 0)
		close(t->pidfd);
	*t = (struct br_task){.dir = -1, .pidfd = -1};
}

void br_tasks_drop(struct br_worker *w)
{
	for (unsigned i = 0; i < BR_TASKS; i++)
		drop(&w->tasks[i]);
}

/* Whether the task is alive. If it is, its number still means the caller. The pidfd shows this at
 * the lowest cost, but before Linux 6.9 only for first threads; otherwise a name in /proc that only
 * a living task has shows it. */
static bool lives(const struct br_task *t)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
	struct stat st;

	return t->pidfd >= 0 ? poll(&p, 1, 0) == 0
			     : fstatat(t->dir, "status", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Once for each call. The caller waits, so that no other process gets its number meanwhile. */
int br_task_find(struct br_call *c)
{
	pid_t tid = (pid_t)c->n.pid;
	struct br_task *t = &c->w->tasks[(unsigned)tid % BR_TASKS];
	char name[16];

	if (c->task == t && t->dir >= 0)
		return 0;
	c->task = t;
	if (t->dir >= 0 && t->tid == tid && lives(t))
		return 0;
	drop(t);
	snprintf(name, sizeof name, "%d", tid);
	t->dir = openat(c->b->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		return errno == ENOENT ? -ESRCH : BR_UNREADABLE;
	t->tid = tid;
	t->pidfd = (int)syscall(SYS_pidfd_open, tid, BR_PIDFD_OF_THREAD);
	if (t->pidfd < 0)
		t->pidfd = (int)syscall(SYS_pidfd_open, tid, 0);
	return 0;
}

/* A handle of a dead task whose number was given away finds nothing: once more with a new one. */
int br_open_at_task(struct br_call *c, const char *name, int flags)
{
	int fd = -1;

	for (int tries = 0; tries < 2; tries++) {
		int rc = br_task_find(c);

		if (rc < 0)
			return rc;
		fd = openat(c->task->dir, name, flags | O_CLOEXEC);
		if (fd < 0 && errno == EACCES && c->w->is_other)
			fd = br_openat_as_self(c, c->task->dir, name, flags);
		if (fd >= 0 || (errno != ENOENT && errno != ESRCH))
			break;
		rc = errno;
		drop(c->task);
		errno = rc;
	}
	if (fd >= 0)
		return fd;
	return errno == EACCES || errno == EPERM ? BR_UNREADABLE : -errno;
}

/* ---- its memory ---- */

static ssize_t read_memory(const struct br_call *c, uint64_t addr, void *buf, size_t size)
{
	const struct iovec to = {buf, size};
	struct iovec from = {.iov_len = size};

	memcpy(&from.iov_base, &addr, sizeof addr);
	return process_vm_readv((pid_t)c->n.pid, &to, 1, &from, 1, 0);
}

static int read_error(void)
{
	return errno == EPERM || errno == EACCES ? BR_UNREADABLE : -errno;
}

int br_read(struct br_call *c, uint64_t addr, void *buf, size_t size)
{
	ssize_t n = size ? read_memory(c, addr, buf, size) : 0;

	if (n < 0)
		return read_error();
	return (size_t)n == size ? 0 : -EFAULT;
}

int br_write(struct br_call *c, uint64_t addr, const void *buf, size_t size)
{
	const struct iovec from = {(void *)(uintptr_t)buf, size};
	struct iovec to = {.iov_len = size};
	ssize_t n;

	memcpy(&to.iov_base, &addr, sizeof addr);
	n = process_vm_writev((pid_t)c->n.pid, &from, 1, &to, 1, 0);
	if (n < 0)
		return read_error();
	return (size_t)n == size ? 0 : -EFAULT;
}

/* How much of a string is read at first: not beyond the page that it may end on. */
static size_t first_chunk(uint64_t addr)
{
	size_t in_page = PAGE - (size_t)(addr % PAGE);

	return in_page < FIRST_CHUNK ? in_page : FIRST_CHUNK;
}

/* Two parts of the caller's memory in one system call; false: not all of it. */
static bool read_parts(const struct br_call *c, const uint64_t addr[2], const struct iovec to[2])
{
	struct iovec from[2] = {0};

	for (int i = 0; i < 2; i++) {
		memcpy(&from[i].iov_base, &addr[i], sizeof addr[i]);
		from[i].iov_len = to[i].iov_len;
	}
	return process_vm_readv((pid_t)c->n.pid, to, 2, from, 2, 0) ==
	       (ssize_t)(to[0].iov_len + to[1].iov_len);
}

static bool has_end(const struct iovec *text, size_t *out_len)
{
	*out_len = strnlen(text->iov_base, text->iov_len);
	return *out_len < text->iov_len;
}

bool br_read_two(struct br_call *c, const uint64_t addr[2], char *const buf[2], size_t out_len[2])
{
	const struct iovec to[2] = {{buf[0], first_chunk(addr[0])}, {buf[1], first_chunk(addr[1])}};

	return read_parts(c, addr, to) && has_end(&to[0], &out_len[0]) &&
	       has_end(&to[1], &out_len[1]);
}

bool br_read_with_text(struct br_call *c, const uint64_t addr[2], void *buf, size_t size,
		       char *text, size_t *out_len)
{
	const struct iovec to[2] = {{buf, size}, {text, first_chunk(addr[1])}};

	return read_parts(c, addr, to) && has_end(&to[1], out_len);
}

/* Not beyond the page the string may end on: the next one need not exist. */
long br_read_text(struct br_call *c, uint64_t addr, char *buf, size_t size)
{
	size_t len = 0, want = FIRST_CHUNK;

	while (len < size) {
		size_t in_page = PAGE - (size_t)((addr + len) % PAGE);
		ssize_t n;
		char *end;

		want = want < in_page ? want : in_page;
		want = want < size - len ? want : size - len;
		n = read_memory(c, addr + len, buf + len, want);
		if (n <= 0)
			return n < 0 ? read_error() : -EFAULT;
		end = memchr(buf + len, '\0', (size_t)n);
		if (end)
			return end - buf;
		len += (size_t)n;
		want = PAGE;
	}
	return -ENAMETOOLONG;
}

bool br_is_alive(const struct br_call *c)
{
	uint64_t id = c->n.id;

	br_test_point(c->b, BR_POINT_JUDGED);
	return ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ---- its directories ---- */

int br_open_caller_fd(struct br_call *c, int fd)
{
	char name[16] = "cwd";
	int rc;

	if (fd != AT_FDCWD)
		snprintf(name, sizeof name, "fd/%d", fd);
	if (fd < 0 && fd != AT_FDCWD)
		return -EBADF;
	rc = br_open_at_task(c, name, O_PATH);
	return rc == -ENOENT ? -EBADF : rc;
}

int br_text_of_caller(struct br_call *c, int fd, char *path, size_t *out_len)
{
	static const char deleted[] = " (deleted)";
	char name[16] = "cwd";
	ssize_t n = -1;

	if (fd != AT_FDCWD)
		snprintf(name, sizeof name, "fd/%d", fd);
	for (int tries = 0; tries < 2 && n < 0; tries++) {
		if (br_task_find(c) < 0)
			return -1;
		n = readlinkat(c->task->dir, name, path, PATH_MAX);
		if (n < 0 && errno == EACCES && c->w->is_other)
			return -1; /* by br_open_caller_fd(), which may look */
		if (n < 0)
			drop(c->task);
	}
	if (n <= 0 || n >= PATH_MAX || path[0] != '/')
		return -1;
	if ((size_t)n >= sizeof deleted - 1 &&
	    !memcmp(path + n - (sizeof deleted - 1), deleted, sizeof deleted - 1))
		return -1;
	path[n] = '\0';
	*out_len = (size_t)n;
	return 0;
}

int br_root(struct br_call *c)
{
	struct stat mine, its;
	int fd;

	if (c->root >= 0)
		return c->root;
	if (!c->b->plan->foreign_roots)
		return c->root = c->b->root;
	fd = br_open_at_task(c, "root", O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &its) == 0 && fstat(c->b->root, &mine) == 0 && its.st_ino == mine.st_ino &&
	    its.st_dev == mine.st_dev) {
		close(fd);
		fd = c->b->root;
	}
	return c->root = fd;
}

/* ---- what else /proc says of it ---- */

bool br_is_path_only(struct br_call *c, int fd)
{
	char name[24], text[128];
	const char *flags;
	ssize_t n;
	int info;

	snprintf(name, sizeof name, "fdinfo/%d", fd);
	info = br_open_at_task(c, name, O_RDONLY);
	if (info < 0)
		return false;
	n = b_read_full(info, text, sizeof text - 1);
	close(info);
	text[n > 0 ? n : 0] = '\0';
	flags = strstr(text, "flags:");
	return flags && strtoul(flags + 6, NULL, 8) & O_PATH;
}

long br_terminal_of(struct br_call *c)
{
	int fd = br_open_at_task(c, "stat", O_RDONLY);
	char text[512];
	const char *end;
	ssize_t n;
	long nr;

	if (fd < 0)
		return 0;
	n = b_read_full(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* the name may contain any byte, so the fields begin after the last ')' */
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %*d %*d %*d %ld", &nr) == 1 ? nr : 0;
}
