/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker - what the broker adds to single calls, beside the same trapped and left to the
 * kernel (CONTINUE, the least any listener costs). Paths are absolute, as the shim hands them over,
 * or relative, as a program without it has them. Modes take turns, a fresh child each; one JSON
 * line a mode and call: median of the rounds in nanoseconds per operation. After a burst of callers
 * there are workers that have nothing to do.
 *
 *	bench_broker [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"
#include "tests/support/broker.h"

enum { BATCH = 400, ROUNDS = 15, BURST = 6 };

/* The second of two rows is the first with relative paths. */
enum call {
	OPEN,
	OPEN_REL,
	WRITE,
	WRITE_REL,
	CREATE,
	CREATE_REL,
	RENAME,
	RENAME_REL,
	CHMOD,
	CHMOD_REL,
	FCHMOD,
	FUTIMENS,
	CALLS
};
static const char *const calls[CALLS] = {"open-absolute",
					 "open-relative",
					 "open-write-absolute",
					 "open-write-relative",
					 "create-unlink-absolute",
					 "create-unlink",
					 "rename-pair-absolute",
					 "rename-pair",
					 "chmod-absolute",
					 "chmod-relative",
					 "fchmod",
					 "futimens"};
static double (*result)[CALLS]; /* shared: what the child measured last */
static char dir[64] = "/tmp/bench_broker.XXXXXX";
static struct sb_policy policy;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char names[3][96]; /* file, elif, new: absolute */
static const char *const relative[3] = {"file", "elif", "new"};
static int held; /* descriptor of the file */

/* As the shim opens what it has judged. */
static int open_proven(const char *path, uint64_t flags)
{
	const struct open_how how = {.flags = flags | O_CLOEXEC,
				     .mode = flags & O_CREAT ? 0644 : 0,
				     .resolve = RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static void one(enum call call)
{
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	bool is_relative = call < FCHMOD && call % 2;
	const char *file = is_relative ? relative[0] : names[0];
	const char *elif = is_relative ? relative[1] : names[1];
	const char *new = is_relative ? relative[2] : names[2];
	int rc = 0, fd = -1;

	switch (call) {
	case OPEN:
	case OPEN_REL:
		rc = fd = open(file, O_RDONLY | O_CLOEXEC);
		break;
	case WRITE:
	case WRITE_REL:
		rc = fd = open_proven(file, O_WRONLY);
		break;
	case CREATE:
	case CREATE_REL:
		fd = open_proven(new, O_WRONLY | O_CREAT | O_EXCL);
		rc = fd < 0 ? -1 : unlink(new);
		break;
	case RENAME:
	case RENAME_REL:
		rc = rename(file, elif) < 0 ? -1 : rename(elif, file);
		break;
	case CHMOD:
	case CHMOD_REL:
		rc = chmod(file, 0644);
		break;
	case FCHMOD:
		rc = fchmod(held, 0644);
		break;
	case FUTIMENS:
		rc = futimens(held, times);
		break;
	case CALLS:
		break;
	}
	if (rc < 0)
		die(calls[call]);
	if (fd >= 0)
		close(fd);
}

/* Callers at once, each in a directory of its own name: the broker starts workers for them. */
static void burst(void)
{
	char own[16];

	for (int i = 0; i < BURST; i++)
		if (fork() == 0) {
			snprintf(own, sizeof own, "%d", i);
			for (int n = 0; n < 4 * BATCH; n++)
				if (mkdir(own, 0755) < 0 || rmdir(own) < 0)
					_exit(1);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static int measure(void *arg)
{
	if (chdir(dir) < 0)
		return 1;
	held = open("file", O_RDONLY | O_CLOEXEC);
	if (arg)
		burst();
	for (unsigned c = 0; c < CALLS; c++) {
		double start;

		for (int i = 0; i < BATCH / 8; i++)
			one((enum call)c);
		start = now_ns();
		for (int i = 0; i < BATCH; i++)
			one((enum call)c);
		(*result)[c] = (now_ns() - start) / BATCH;
	}
	return 0;
}

/* ---- every trapped call left to the kernel ---- */

static _Noreturn void leave_all(int listener)
{
	/* the structures may be longer in a newer kernel than in our headers */
	union {
		struct seccomp_notif n;
		char room[256];
	} in;

	for (;;) {
		struct seccomp_notif_resp out = {0};

		memset(&in, 0, sizeof in);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			_exit(0);
		}
		out.id = in.n.id;
		out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
	}
}

static void run_continue(void)
{
	const struct lau_broker_plan plan = {.read_level = POL_READ_ALL, .traps = POL_TRAP_FILES};
	struct sock_filter insn[LAU_TRAP_MAX];
	struct b_err err = {0};
	int socks[2], listener;
	pid_t target, server;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		die("socketpair");
	target = fork();
	if (target == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		listener = lau_broker_trap(insn, lau_broker_filter(&plan, insn), &err);
		if (listener < 0 || lau_fd_send(socks[1], listener) < 0)
			_exit(1);
		close(listener);
		_exit(measure(NULL));
	}
	listener = lau_fd_receive(socks[0]);
	if (listener < 0)
		die("listener");
	server = fork();
	if (server == 0)
		leave_all(listener);
	close(listener);
	close(socks[0]);
	close(socks[1]);
	waitpid(target, NULL, 0);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* ---- modes ---- */

/* In memory where that can be: a file system on a disk looks longer and longer for an inode that
 * was not freed just now, and that would be all there is to see. Not /dev/shm: paths below /dev
 * are never judged by their text. */
static void make_dir(void)
{
	if (!mkdtemp(dir))
		die(dir);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	(void)mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700");
}

enum mode { BARE, CONTINUED, WRITES, ALL, AFTER_BURST, MODES };
static const char *const modes[MODES] = {"bare", "continue", "broker, writes", "broker, all opens",
					 "broker, writes, after a burst"};

static void run(enum mode mode)
{
	const struct sb_options o = {
		.bare = mode == BARE,
		.level = mode == ALL ? POL_READ_ALL : POL_READ_NONE,
		.traps = POL_TRAP_FILES,
	};

	if (mode == CONTINUED)
		run_continue();
	else if (sb_run(&policy, &o, measure, mode == AFTER_BURST ? &policy : NULL))
		die(modes[mode]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(double (*all)[MODES][CALLS], unsigned rounds)
{
	double bare = 0;

	for (unsigned c = 0; c < CALLS; c++) {
		for (unsigned m = 0; m < MODES; m++) {
			double v[256];

			for (unsigned r = 0; r < rounds; r++)
				v[r] = all[r][m][c];
			qsort(v, rounds, sizeof *v, by_value);
			if (m == BARE)
				bare = v[rounds / 2];
			printf("{\"name\":\"broker "
			       "%s\",\"label\":\"%s\",\"ns\":%.0f,\"min_ns\":%.0f,"
			       "\"added_ns\":%.0f,\"ratio\":%.3f}\n",
			       calls[c], modes[m], v[rounds / 2], v[0], v[rounds / 2] - bare,
			       v[rounds / 2] / bare);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : ROUNDS;
	static double all[256][MODES][CALLS];

	if (rounds < 1 || rounds > 256)
		return 2;
	result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		die("mmap");
	make_dir();
	for (int i = 0; i < 3; i++)
		snprintf(names[i], sizeof names[i], "%s/%s", dir, relative[i]);
	close(open(names[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	sb_policy_make(&policy, (const char *const[]){"rmx+ T /", "rm- G / **/*.env", NULL});
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned m = 0; m < MODES; m++) {
			run((enum mode)m);
			memcpy(all[r][m], *result, sizeof *result);
		}
	report(all, rounds);
	sb_policy_release(&policy);
	unlink(names[0]);
	(void)umount(dir);
	return rmdir(dir) < 0;
}
