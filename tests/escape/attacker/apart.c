/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apart.c - operations in processes of their own: with another root or user namespace, with a
 * terminal, killed in the middle of a call, or closed to whoever would look into them.
 */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ARG(i) ak_argument(t, op, (i))

/* What follows in the program, in this process. */
static void run_the_rest(struct ak_thread *t, const struct ak_op *op, unsigned most)
{
	unsigned at = (unsigned)(op - ak_now->op);

	for (unsigned i = at + 1; i < ak_now->n && most > 0; i++)
		if (ak_now->op[i].thread == op->thread && ak_now->op[i].call != op->call) {
			ak_run_op(t, i);
			most--;
		}
	ak_sweep(t);
}

/* ---- namespaces ---- */

static void say(const char *file, const char *text)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

static void map_itself(uid_t uid, gid_t gid)
{
	char text[40];

	say("/proc/self/setgroups", "deny");
	snprintf(text, sizeof text, "0 %u 1\n", uid);
	say("/proc/self/uid_map", text);
	snprintf(text, sizeof text, "0 %u 1\n", gid);
	say("/proc/self/gid_map", text);
}

/* In a user namespace there may be another root, in which paths mean other files. */
long ak_op_clone(struct ak_thread *t, const struct ak_op *op)
{
	static const char *const roots[] = {"src", ".", "..", "pub", "hidden", "/proc/self/cwd"};
	long flags = ARG(0);
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);
	int status;

	if (pid == 0) {
		alarm(1);
		if (flags & CLONE_NEWUSER) {
			map_itself(uid, gid);
			(void)!chroot(roots[op->v[1] % 6]);
			if (op->v[2] % 2)
				(void)!chdir("/");
		}
		run_the_rest(t, op, 8);
		_exit(0);
	}
	if (pid < 0)
		return -1;
	waitpid(pid, &status, 0);
	return 0;
}

/* ---- processes that end while they are served ---- */

long ak_op_doomed(struct ak_thread *t, const struct ak_op *op)
{
	struct timespec ts = {0, (long)(op->v[0] % 3000) * 1000};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (;;)
			run_the_rest(t, op, 3);
	}
	if (pid < 0)
		return -1;
	nanosleep(&ts, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

/* ---- priorities and limits of another, by its number ---- */

static long limit_it(const struct ak_op *op, int pid)
{
	const struct rlimit few = {8, 8};
	const struct sched_param param = {0};
	const uint32_t attr[12] = {sizeof attr, SCHED_IDLE};
	const unsigned long one = 1;
	struct rlimit was;

	switch (op->v[1] % 6) {
	case 0:
		return syscall(SYS_setpriority, PRIO_PROCESS, pid, 19);
	case 1:
		return syscall(SYS_prlimit64, pid,
			       (int[]){RLIMIT_NOFILE, RLIMIT_FSIZE}[op->v[1] / 6 % 2],
			       op->v[4] % 7 ? &few : (void *)0x1000, op->v[4] % 3 ? &was : NULL);
	case 2:
		return syscall(SYS_sched_setscheduler, pid, SCHED_BATCH, &param);
	case 3:
		return syscall(SYS_sched_setattr, pid, attr, 0);
	case 4:
		return syscall(SYS_sched_setaffinity, pid, sizeof one, &one);
	default: /* IOPRIO_WHO_PROCESS, the idle class */
		return syscall(SYS_ioprio_set, 1, pid, 3 << 13);
	}
}

/* Of the one process outside that is there for it: what a hole opens should hurt nobody else. */
long ak_op_limit_other(struct ak_thread *t, const struct ak_op *op)
{
	int pid = ak.has_pid_ns ? ak_some_pid(op->v[0]) : ak.host_pid;
	pid_t own = op->v[2] % 3 ? 0 : fork();
	long rc;

	(void)t;
	if (op->v[2] % 3 == 0 && own == 0) {
		alarm(1);
		for (;;)
			pause();
	}
	if (own > 0) { /* its own child it may limit, as long as that is there */
		if (op->v[3] % 5 == 0)
			kill(own, SIGKILL);
		rc = limit_it(op, own);
		kill(own, SIGKILL);
		waitpid(own, NULL, 0);
		return rc;
	}
	return pid == getpid() || pid == getppid() || pid <= 0 ? 0 : limit_it(op, pid);
}

/* ---- a terminal ---- */

long ak_op_terminal(struct ak_thread *t, const struct ak_op *op)
{
	int status, master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char name[64];
		int fd = ptsname_r(master, name, sizeof name) ? -1 : open(name, O_RDWR);

		setsid();
		(void)ioctl(fd, TIOCSCTTY, 0);
		for (unsigned i = 0; i < 3; i++)
			(void)!syscall(SYS_openat, AT_FDCWD, "/dev/tty",
				       (int[]){O_RDWR, O_RDONLY, O_WRONLY}[(op->v[0] + i) % 3]);
		run_the_rest(t, op, 2);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	close(master);
	return pid;
}

/* ---- many sockets ---- */

long ak_op_many_sockets(struct ak_thread *t, const struct ak_op *op)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	long made = 0;

	(void)t;
	for (unsigned i = 0; i < 60 + op->v[0] % 60; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		snprintf(un.sun_path, sizeof un.sun_path, "src/s%u", i);
		if (fd < 0)
			break;
		made += syscall(SYS_bind, fd, &un, sizeof un) == 0;
		close(fd);
		if (i % 3 == 0)
			syscall(SYS_unlink, un.sun_path);
	}
	return made;
}

/* ---- who cannot be looked into ---- */

/* Executed from a file that may not be read: the kernel then shows its memory to nobody. Whatever
 * it reads it writes to its output, which the program's process scans. */
static void read_out(const char *path)
{
	char room[4096];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, room, sizeof room);
	if (n > 0)
		(void)!write(1, room, (size_t)n);
	close(fd);
	n = getxattr(path, "user.secret", room, sizeof room);
	if (n > 0)
		(void)!write(1, room, (size_t)n);
}

static void change(struct ak_rng *r, const char *a, const char *b)
{
	struct open_how how = {.flags = O_RDWR | O_NONBLOCK};
	int fd;

	switch (ak_rnd(r, 14)) {
	case 0:
		fd = (int)syscall(SYS_open, a, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0755);
		break;
	case 1:
		fd = (int)syscall(SYS_openat2, AT_FDCWD, a, &how, sizeof how);
		break;
	case 2:
		syscall(SYS_rename, a, b);
		return;
	case 3:
		syscall(SYS_link, a, b);
		return;
	case 4:
		syscall(SYS_unlink, a);
		return;
	case 5:
		syscall(SYS_truncate, a, 3);
		return;
	case 6:
		syscall(SYS_chmod, a, 0777);
		return;
	case 7:
		syscall(SYS_mkdir, a, 0755);
		return;
	case 8:
		syscall(SYS_symlink, b, a);
		return;
	case 9:
		syscall(SYS_chown, a, -1, -1);
		return;
	case 10:
		syscall(SYS_mknod, a, S_IFREG | 0755, 0);
		return;
	case 11:
		syscall(SYS_utimes, a, NULL);
		return;
	case 12:
		syscall(SYS_umask, 0);
		syscall(SYS_creat, a, 0666);
		return;
	default:
		syscall(SYS_setxattr, a, "user.ak", "x", 1, 0);
		return;
	}
	if (fd >= 0) {
		(void)!write(fd, "unseen", 6);
		close(fd);
	}
}

int ak_unseen(const char *base, uint64_t seed)
{
	struct ak_rng r = {seed};
	char path[2][256];

	for (unsigned i = 0; i < 60; i++) {
		for (unsigned k = 0; k < 2; k++)
			snprintf(path[k], sizeof path[k], "%s/%s", base,
				 ak_names[ak_rnd(&r, ak_nnames - 30)]);
		read_out(path[0]);
		change(&r, path[0], path[1]);
	}
	return 0;
}

long ak_op_unseen(struct ak_thread *t, const struct ak_op *op)
{
	char file[128], base[64], seed[16], verb[] = "unseen";
	char *argv[] = {verb, verb, base, seed, NULL}, *envp[] = {NULL};
	int pipes[2], status;
	ssize_t n;
	pid_t pid;

	snprintf(file, sizeof file, "%s/bin/unseen", ak.base);
	snprintf(base, sizeof base, "%s", ak.base);
	snprintf(seed, sizeof seed, "%u", op->v[0]);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		alarm(1);
		syscall(SYS_execve, file, argv, envp);
		_exit(9);
	}
	close(pipes[1]);
	while (pid > 0 && (n = read(pipes[0], t->room, AK_ROOM)) > 0)
		ak_scan(t->room, (size_t)n, t->op, "a process that nobody looks into");
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return pid;
}
