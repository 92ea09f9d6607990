/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker - what the broker adds to single calls: an open to read at level all beside the
 * same trapped and left to the kernel (CONTINUE, the least any listener costs), a file made and
 * removed, a pair of renames. Modes take turns, a fresh child each; one JSON line a mode and
 * call: median of the rounds in nanoseconds per operation.
 *
 *	bench_broker [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"
#include "tests/support/broker.h"

enum { BATCH = 400, ROUNDS = 15, CALLS = 4 };

static const char *const calls[CALLS] = {"open-absolute", "open-relative", "create-unlink",
					 "rename-pair"};
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

static void one(unsigned call, const char *file)
{
	int fd;

	switch (call) {
	case 0:
	case 1:
		fd = open(call ? "file" : file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("open");
		close(fd);
		return;
	case 2:
		fd = open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			die("create");
		close(fd);
		if (unlink("new") < 0)
			die("unlink");
		return;
	case 3:
		if (rename("file", "elif") < 0 || rename("elif", "file") < 0)
			die("rename");
		return;
	}
}

static int measure(void *arg)
{
	char file[96];

	(void)arg;
	snprintf(file, sizeof file, "%s/file", dir);
	if (chdir(dir) < 0)
		return 1;
	for (unsigned c = 0; c < CALLS; c++) {
		double start;

		for (int i = 0; i < BATCH / 8; i++)
			one(c, file);
		start = now_ns();
		for (int i = 0; i < BATCH; i++)
			one(c, file);
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

enum mode { BARE, CONTINUED, WRITES, ALL, MODES };
static const char *const modes[MODES] = {"bare", "continue", "broker, writes", "broker, all opens"};

static void run(enum mode mode)
{
	const struct sb_options o = {
		.bare = mode == BARE,
		.level = mode == ALL ? POL_READ_ALL : POL_READ_NONE,
		.traps = POL_TRAP_FILES,
	};

	if (mode == CONTINUED)
		run_continue();
	else if (sb_run(&policy, &o, measure, NULL))
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
	char path[96];

	if (rounds < 1 || rounds > 256)
		return 2;
	result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (result == MAP_FAILED)
		die("mmap");
	make_dir();
	snprintf(path, sizeof path, "%s/file", dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	sb_policy_make(&policy, (const char *const[]){"rmx+ T /", "rm- G / **/*.env", NULL});
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned m = 0; m < MODES; m++) {
			run((enum mode)m);
			memcpy(all[r][m], *result, sizeof *result);
		}
	report(all, rounds);
	sb_policy_release(&policy);
	unlink(path);
	(void)umount(dir);
	return rmdir(dir) < 0;
}
