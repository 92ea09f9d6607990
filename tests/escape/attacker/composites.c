/* SPDX-License-Identifier: Apache-2.0 */
/* composites.c - operations, and the running of them all. */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARG(i) ak_argument(t, op, (i))

static uint32_t mix(const struct ak_op *op)
{
	uint32_t v = op->call;

	for (unsigned i = 0; i < AK_ARGS; i++)
		v = v * 31 + op->v[i];
	return v >> 3;
}

/* What a call says is a new descriptor goes to one of the program's. Nothing of ours is below 3
 * but what was inherited. */
void ak_take_fd(struct ak_thread *t, long fd, uint32_t v)
{
	if (fd < 3 || fcntl((int)fd, F_GETFD) < 0) {
		/* another thread of a mix may have closed it: only what cannot be is told */
		if (fd < 3)
			ak_found(AK_F_NOFD, t->op, "a call that opens answered %ld", fd);
		return;
	}
	dup2((int)fd, AK_SLOT + (int)(v % AK_SLOTS));
	if (fd < AK_SLOT || fd >= AK_SLOT + AK_SLOTS)
		close((int)fd);
}

/* May a directory be closed to the program on the way to something? Then the kernel refuses the
 * way, and nobody can tell what it led to. */
static bool may_close_ways(struct ak_thread *t)
{
	if (syscall(SYS_geteuid) == 0)
		return false; /* with the right to pass all of them */
	if (ak_now->flags & AK_DROP)
		return true;
	for (unsigned i = 0; i < ak_now->n; i++) {
		const struct ak_op *op = &ak_now->op[i];
		const char *args = ak_calls[op->call].args;

		if (ak_calls[op->call].run == ak_op_unlinked)
			return true;
		for (unsigned k = 0; args[k]; k++)
			if (args[k] == 'm' &&
			    (ak_calls[op->call].nr == SYS_umask || !(ak_argument(t, op, k) & 0100)))
				return true;
	}
	return false;
}

/* Then the descriptor itself decides, and no rule. */
static bool has_lost_its_name(long fd)
{
	char link[40], path[600];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return n >= (ssize_t)sizeof path - 1 || strstr(path, " (deleted)");
}

/* Through processes and devices what refuses is not always the broker. */
static bool is_plain_path(const char *path)
{
	return (uintptr_t)path <= 0x1000 || !(strstr(path, "/dev") || strstr(path, "/proc/"));
}

/* Does the program make no symlink into them? */
static bool makes_plain_links(struct ak_thread *t)
{
	for (unsigned i = 0; i < ak_now->n; i++) {
		const struct ak_op *op = &ak_now->op[i];
		const char *args = ak_calls[op->call].args;

		for (unsigned k = 0; args[k]; k++)
			if (args[k] == 's' && !is_plain_path((const char *)ak_argument(t, op, k)))
				return false;
	}
	return true;
}

static bool is_plain_address(const struct sockaddr_un *a)
{
	if ((uintptr_t)a <= 0x1000)
		return false;
	if (a->sun_family == AF_INET || a->sun_family == AF_INET6)
		return ak.port[0] != 0; /* by a rule on endpoints */
	return a->sun_family == AF_UNIX && a->sun_path[0] && is_plain_path(a->sun_path);
}

/* Refused, and so that the record must say it. What need not be there (docs/THREAT-MODEL.md): what
 * the static filter, modes and owners refuse to read, what Landlock alone decides, and what lies on
 * the way through processes and devices. */
static bool must_be_told(struct ak_thread *t, const struct ak_call *c, const long *a)
{
	bool reads = strstr(c->name, "getxattr") || strstr(c->name, "listxattr"), all_reads;

	/* elsewhere Landlock decides on reads, and on openat2 as the shim makes it */
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
		return false; /* nobody sees which path it was */
	all_reads = ak.policy == AK_PATTERN || ak.policy == AK_LITERAL || ak.policy == AK_SRT;
	for (unsigned i = 0; c->args[i]; i++) {
		if (c->args[i] == 'm' && a[i] & 06000)
			return false;
		if ((c->args[i] == 'f' || c->args[i] == 'd') && has_lost_its_name(a[i]))
			return false;
		if (c->args[i] == 'a' && !is_plain_address((const struct sockaddr_un *)a[i]))
			return false;
		if (c->args[i] == 'p' && !is_plain_path((const char *)a[i]))
			return false;
		if (c->args[i] == 'F')
			reads = !(a[i] & (O_ACCMODE | O_CREAT | O_TRUNC)) &&
				(a[i] & O_TMPFILE) != O_TMPFILE;
		if (c->args[i] == 'h' && !all_reads)
			return false;
	}
	return (!reads || (all_reads && syscall(SYS_geteuid) == 0)) && !may_close_ways(t) &&
	       makes_plain_links(t);
}

#define FILLS_MAX (1 << 20)
static bool fills(long nr)
{
	return nr == SYS_fallocate || nr == SYS_copy_file_range || nr == SYS_sendfile ||
	       nr == SYS_splice;
}

static long run_plain(struct ak_thread *t, const struct ak_op *op, const struct ak_call *c)
{
	long a[AK_ARGS] = {0}, rc;

	for (unsigned i = 0; c->args[i]; i++)
		a[i] = ARG(i);
	/* nothing here fills the disk: others work on it, and records are written there */
	for (unsigned i = 0; fills(c->nr) && c->args[i]; i++)
		if (c->args[i] == 'z' && (a[i] < 0 || a[i] > FILLS_MAX))
			a[i] = FILLS_MAX;
	/* the kernel takes the lower half */
	if (c->nr == SYS_close && (int)a[0] >= 0 && (int)a[0] < 3)
		return 0; /* then an open would rightly answer so */
	rc = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (rc < 0) {
		int err = errno;

		if (err == EACCES && !(ak_now->flags & AK_RACE) && must_be_told(t, c, a))
			ak_arena->outcome.refused[t->op]++;
		errno = err;
		return rc;
	}
	if (c->result == AK_R_BYTES && rc > 0)
		ak_scan(t->room, (size_t)(rc < AK_ROOM ? rc : AK_ROOM), t->op, c->name);
	if (c->result == AK_R_FD || c->result == AK_R_NEWFD) {
		if (rc >= 3 && !(ak_now->flags & AK_RACE && mix(op) % 4))
			ak_scan_fd(t, (int)rc, t->op, c->name);
		else if (rc >= 3) /* quick, in a race */
			ak_scan(t->room, (size_t)(pread((int)rc, t->room, 256, 0) > 0 ? 256 : 0),
				t->op, c->name);
		ak_take_fd(t, rc, mix(op));
	}
	return rc;
}

long ak_run_op(struct ak_thread *t, unsigned i)
{
	const struct ak_op *op = &ak_now->op[i];
	const struct ak_call *c = &ak_calls[op->call];
	uint32_t *count = ak_arena->outcome.count[op->call];
	long rc;

	t->op = i;
	errno = 0;
	rc = c->run ? c->run(t, op) : run_plain(t, op, c);
	if (rc >= 0)
		count[0]++;
	else if (errno == EACCES || errno == EPERM || errno == EXDEV)
		count[1]++;
	else
		count[2]++;
	return rc;
}

/* ---- reading ---- */

long ak_op_scan(struct ak_thread *t, const struct ak_op *op)
{
	ak_scan_fd(t, (int)ARG(0), t->op, "a descriptor");
	return 0;
}

/* Opens, reads and closes: the quickest of races. */
long ak_op_slurp(struct ak_thread *t, const struct ak_op *op)
{
	int flags = (int)ARG(1) & ~(O_PATH | O_CREAT | O_TRUNC | O_EXCL);
	const char *path = (const char *)ARG(0);
	long fd;
	ssize_t n;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		flags = O_RDONLY;
	fd = op->v[1] >> 31 ? syscall(SYS_open, path, flags)
			    : syscall(SYS_openat, AT_FDCWD, path, flags);
	if (fd < 0)
		return fd;
	if (fd < 3) {
		ak_take_fd(t, fd, 0);
		return fd;
	}
	n = pread((int)fd, t->room, 256, 0);
	if (n > 0)
		ak_scan(t->room, (size_t)n, t->op, "slurp");
	close((int)fd);
	return 0;
}

long ak_op_list(struct ak_thread *t, const struct ak_op *op)
{
	long fd = syscall(SYS_openat, AT_FDCWD, ARG(0),
			  O_RDONLY | O_NONBLOCK | (op->v[1] % 4 ? O_DIRECTORY : 0));

	if (fd < 0)
		return fd;
	if (fd >= 3)
		ak_scan_fd(t, (int)fd, t->op, "list");
	ak_take_fd(t, fd, op->v[2]);
	return 0;
}

long ak_op_map(struct ak_thread *t, const struct ak_op *op)
{
	int fd = (int)ARG(0);
	int prot = (int[]){PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC}[op->v[2] % 3];
	char *p = mmap(NULL, 4096, prot, op->v[1] % 2 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	int pipes[2];
	ssize_t n = -1;

	if (p == MAP_FAILED)
		return -1;
	if (pipe2(pipes, O_NONBLOCK) == 0) {
		n = write(pipes[1], p, 4096);
		n = n > 0 ? read(pipes[0], t->room, AK_ROOM) : n;
		if (n > 0)
			ak_scan(t->room, (size_t)n, t->op, "a mapping");
		if (prot & PROT_WRITE) /* through the mapping, whose end may be a fault */
			(void)!pread(AK_SLOT + 12, p, 32, 0);
		close(pipes[0]);
		close(pipes[1]);
	}
	munmap(p, 4096);
	return 0;
}

long ak_op_vm_read(struct ak_thread *t, const struct ak_op *op)
{
	struct iovec to = {t->room, 4096}, from = {(void *)0x400000, 4096};
	char path[40];
	long n = syscall(SYS_process_vm_readv, ARG(0), &to, 1, &from, 1, 0);
	int fd;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)ARG(0));
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return n;
	n = read(fd, t->room, AK_ROOM);
	if (n > 0)
		ak_scan(t->room, (size_t)n, t->op, "environ");
	close(fd);
	return n;
}

long ak_op_steal_fd(struct ak_thread *t, const struct ak_op *op)
{
	int pidfd = (int)syscall(SYS_pidfd_open, ARG(0), 0);
	long fd = pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, (int)(op->v[1] % 12), 0);

	if (pidfd >= 0)
		close(pidfd);
	if (fd < 0)
		return fd;
	ak_scan_fd(t, (int)fd, t->op, "pidfd_getfd");
	ak_take_fd(t, fd, op->v[2]);
	return 0;
}

/* A descriptor of any kind, opened once more by its name in /proc. */
long ak_op_reopen(struct ak_thread *t, const struct ak_op *op)
{
	char path[40];
	long fd;

	snprintf(path, sizeof path, op->v[2] % 2 ? "/proc/self/fd/%d" : "/proc/thread-self/fd/%d",
		 (int)ARG(0));
	fd = syscall(SYS_openat, AT_FDCWD, path, ARG(1) & ~(O_CREAT | O_EXCL | O_TRUNC), 0600);
	if (fd < 0)
		return fd;
	if (fd >= 3)
		ak_scan_fd(t, (int)fd, t->op, "reopen");
	ak_take_fd(t, fd, op->v[3]);
	return 0;
}

/* ---- programs ---- */

/* The child of a program's exec: what it writes is read and scanned. */
static long watch_child(struct ak_thread *t, pid_t pid, int out)
{
	struct pollfd p = {.fd = out, .events = POLLIN};
	int status = 0;
	ssize_t n;

	while (poll(&p, 1, 100) > 0) {
		n = read(out, t->room, AK_ROOM);
		if (n <= 0)
			break;
		ak_scan(t->room, (size_t)n, t->op, "what a program wrote");
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(out);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 213) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

static long execute(struct ak_thread *t, long dirfd, const char *path, long flags, bool at)
{
	char name[] = "x", *argv[] = {name, NULL}, *envp[] = {NULL};
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		for (int tries = ak_now->flags & AK_RACE ? 20 : 1; tries > 0; tries--)
			if (at)
				syscall(SYS_execveat, dirfd, path, argv, envp, flags);
			else
				syscall(SYS_execve, path, argv, envp);
		_exit(errno == EACCES || errno == EPERM ? 213 : 214);
	}
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return -1;
	}
	return watch_child(t, pid, pipes[0]);
}

long ak_op_exec(struct ak_thread *t, const struct ak_op *op)
{
	return execute(t, 0, (const char *)ARG(0), 0, false);
}

long ak_op_execat(struct ak_thread *t, const struct ak_op *op)
{
	return execute(t, ARG(0), (const char *)ARG(1), ARG(2), true);
}

/* From memory alone, and from a file whose name is gone. */
long ak_op_exec_memory(struct ak_thread *t, const struct ak_op *op)
{
	static const char text[] = "#!/bin/sh\necho ran\n";
	bool is_file = op->v[1] % 2;
	int fd = is_file ? (int)syscall(SYS_open, ARG(0),
					op->v[2] % 2 ? O_PATH : O_RDONLY | O_NONBLOCK)
			 : memfd_create("p", 0);
	long rc;

	if (fd < 0)
		return fd;
	if (is_file)
		syscall(SYS_unlink, ARG(0));
	else
		(void)!write(fd, text, sizeof text - 1);
	rc = execute(t, fd, "", AT_EMPTY_PATH | (op->v[3] % 4 ? 0 : AT_SYMLINK_NOFOLLOW), true);
	ak_take_fd(t, fd, op->v[4]);
	return rc;
}

/* An ELF program whose text writes the page behind it, put in front of what a file holds, without
 * reading a byte of it. */
static size_t make_elf(unsigned char *p, uint32_t size)
{
	static const unsigned char code[] = {
		0xb8, 1, 0, 0, 0,    0xbf, 1,	 0,  0, 0, 0xbe, 0,    0x10, 0x40, 0, 0xba,
		0,    0, 0, 0, 0x0f, 5,	   0xb8, 60, 0, 0, 0,	 0x31, 0xff, 0x0f, 5};
	const uint64_t load[2][6] = {{0, 0x400000, 0x400000, 4096, 4096, 4096},
				     {4096, 0x401000, 0x401000, size, size, 4096}};
	const uint32_t head[] = {1, 5, 1, 4};
	const uint64_t entry[] = {0x400100, 64, 0};
	const uint16_t tail[] = {64, 56, 2, 0, 0, 0};

	memset(p, 0, 4096);
	memcpy(p, "\177ELF\2\1\1", 7);
	memcpy(p + 16, (const uint16_t[]){2, 62}, 4);
	memcpy(p + 20, (const uint32_t[]){1}, 4);
	memcpy(p + 24, entry, sizeof entry);
	memcpy(p + 52, tail, sizeof tail);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(p + 64 + 56 * i, &head[2 * i], 8);
		memcpy(p + 64 + 56 * i + 8, load[i], 48);
	}
	memcpy(p + 0x100, code, sizeof code);
	memcpy(p + 0x100 + 16, &size, 4);
	return 4096;
}

long ak_op_make_program(struct ak_thread *t, const struct ak_op *op)
{
	unsigned char page[4096];
	struct stat st;
	long fd = syscall(SYS_openat, AT_FDCWD, ARG(0), O_WRONLY | O_NONBLOCK);
	long rc = -1;

	if (fd < 0)
		return fd;
	if (fstat((int)fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 4096 &&
	    fallocate((int)fd, FALLOC_FL_INSERT_RANGE, 0, 4096) == 0) {
		make_elf(page, (uint32_t)st.st_size);
		rc = pwrite((int)fd, page, sizeof page, 0);
		if (op->v[1] % 2)
			rc = fchmod((int)fd, 0755);
	}
	close((int)fd);
	if (rc >= 0 && op->v[1] % 2 == 0)
		rc = syscall(SYS_chmod, ARG(0), 0755);
	if (rc >= 0)
		execute(t, 0, (const char *)ARG(0), 0, false);
	return rc;
}

/* A script whose interpreter, or the loader it names, is another file. */
long ak_op_make_script(struct ak_thread *t, const struct ak_op *op)
{
	const char *path = (const char *)ARG(0), *by = (const char *)ARG(1);
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK,
			  0755);
	char text[300];

	if (fd < 0)
		return fd;
	if (by && by != (const char *)0x1000) {
		int n = snprintf(text, sizeof text, "#!%.200s\n", by);

		(void)!write((int)fd, text, (size_t)n);
	}
	close((int)fd);
	syscall(SYS_chmod, path, 0755);
	return execute(t, 0, path, 0, false);
}

/* ---- files without a name, deep ones, FIFOs ---- */

long ak_op_tmpfile_link(struct ak_thread *t, const struct ak_op *op)
{
	long fd =
		syscall(SYS_openat, AT_FDCWD, ARG(0), O_TMPFILE | O_RDWR | (ARG(1) & O_EXCL), 0644);
	char path[40];
	long rc;

	if (fd < 0)
		return fd;
	(void)!write((int)fd, "made inside\n", 12);
	snprintf(path, sizeof path, "/proc/self/fd/%ld", fd);
	rc = op->v[3] % 3 ? syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, ARG(2), AT_SYMLINK_FOLLOW)
			  : syscall(SYS_linkat, fd, "", AT_FDCWD, ARG(2), AT_EMPTY_PATH);
	ak_take_fd(t, fd, op->v[4]);
	return rc;
}

/* A descriptor whose file loses its name, is replaced, and is opened again. */
long ak_op_unlinked(struct ak_thread *t, const struct ak_op *op)
{
	static const int how[] = {O_RDONLY, O_WRONLY, O_RDWR, O_PATH};
	long fd = syscall(SYS_openat, AT_FDCWD, ARG(0), how[op->v[1] % 4] | O_NONBLOCK);
	char path[40];
	int again;

	if (fd < 0)
		return fd;
	if (op->v[2] % 3 == 0)
		syscall(SYS_unlink, ARG(0));
	else
		syscall(SYS_rename, op->v[2] % 3 == 1 ? "src/b" : "pub/x", ARG(0));
	snprintf(path, sizeof path, "/proc/self/fd/%ld", fd);
	again = (int)syscall(SYS_openat, AT_FDCWD, path, how[op->v[3] % 3] | O_NONBLOCK);
	if (again >= 0) {
		ak_scan_fd(t, again, t->op, "a file without a name");
		close(again);
	}
	syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, "src/named-again", AT_SYMLINK_FOLLOW);
	syscall(SYS_fchmod, fd, 0640);
	syscall(SYS_truncate, path, 8192);
	ak_take_fd(t, fd, op->v[4]);
	return 0;
}

/* Works below where no path reaches: directories of 250 bytes each. */
long ak_op_go_deep(struct ak_thread *t, const struct ak_op *op)
{
	unsigned depth = 14 + op->v[1] % 6, at;
	char name[251], buf[8];
	int fd;

	(void)t;
	if (chdir((const char *)ARG(0)) < 0 && op->v[1] % 2)
		return -1;
	memset(name, 'd', 250);
	if (op->v[2] % 5 == 0) /* what the kernel writes otherwise */
		name[7] = '\n';
	name[250] = '\0';
	for (at = 0; at < depth; at++) {
		if (syscall(SYS_mkdir, name, 0755) < 0 && errno != EEXIST)
			break;
		if (chdir(name) < 0)
			break;
	}
	fd = (int)syscall(SYS_open,
			  op->v[2] % 7 == 0 ? "f\n (deleted)"
			  : op->v[2] % 3    ? "f"
					    : "f.env",
			  O_RDWR | O_CREAT, 0644);
	syscall(SYS_mkdir, "e", 0755);
	syscall(SYS_rename, "f", "e/g");
	syscall(SYS_link, "e/g", "h");
	syscall(SYS_symlink, "h", "l");
	syscall(SYS_chmod, "l", 0600);
	syscall(SYS_truncate, "h", 5);
	syscall(SYS_fchmod, fd, 0644);
	syscall(SYS_setxattr, "h", "user.ak", "x", 1, 0);
	syscall(SYS_fgetxattr, fd, "user.ak", buf, sizeof buf);
	syscall(SYS_unlink, "h");
	if (fd >= 0)
		ak_take_fd(t, fd, op->v[3]);
	fd = (int)syscall(SYS_open, op->v[4] % 2 ? "e/g" : "l", O_RDONLY);
	if (fd >= 0)
		ak_take_fd(t, fd, op->v[5]);
	if (op->v[4] % 4 == 0)
		fchdir(AK_SLOT + 1);
	return at;
}

/* A directory with many names, moved: what lies below is looked through. */
long ak_op_many_names(struct ak_thread *t, const struct ak_op *op)
{
	char name[80];

	(void)t;
	syscall(SYS_mkdir, "src/many", 0755);
	for (unsigned i = 0; i < 40 + op->v[1] % 40; i++) {
		snprintf(name, sizeof name, "src/many/%u", i);
		if (i % 7 == 0)
			syscall(SYS_mkdir, name, 0755);
		else if (i % 11 == 0)
			syscall(SYS_symlink, "../a", name);
		else
			syscall(SYS_mknod, name, S_IFREG | 0644, 0);
	}
	if (op->v[2] % 2)
		syscall(SYS_chmod, "src/many/0", 0);
	return syscall(SYS_rename, "src/many", ARG(0));
}
