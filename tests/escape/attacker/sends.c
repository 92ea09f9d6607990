/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sends.c - signals by all calls that send one, to what is the run's and to what is not. Only such
 * as hurt nobody where a hole lets them pass: to a group, and to all, SIGCONT alone.
 */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIDFD_THREAD O_EXCL

/* One of the run's processes, that waits; 0: none. */
static pid_t make_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(1);
		for (;;)
			pause();
	}
	return pid < 0 ? 0 : pid;
}

static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	(void)syscall(SYS_tgkill, pid, pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t target_of(uint32_t v, pid_t child)
{
	switch (v % 8) {
	case 0:
	case 1:
		return child;
	case 2:
		return getpid();
	case 3:
		return getppid();
	case 4:
		return ak_launcher;
	case 5: /* numbers that nobody has: no other process of the host's */
		return ak.has_pid_ns ? 99 : 0x3ffff0;
	}
	return ak.has_pid_ns ? ak_some_pid(v >> 3) : ak.host_pid;
}

static long by_pidfd(pid_t pid, int sig, uint32_t v, siginfo_t *info)
{
	static const unsigned flags[] = {0, 0, 0, 1, 2, 8, 4};
	int fd = (int)syscall(SYS_pidfd_open, pid, v % 5 ? 0 : PIDFD_THREAD);
	/* of another's descriptor that is no pidfd */
	long rc = syscall(SYS_pidfd_send_signal, v % 11 ? fd : AK_SLOT + 3, sig,
			  v % 3 ? NULL : info, flags[v / 11 % 7]);

	if (fd >= 0)
		close(fd);
	return rc;
}

static long send_one(pid_t pid, int sig, uint32_t how, uint32_t v)
{
	siginfo_t info = {.si_signo = sig, .si_code = v % 4 ? SI_QUEUE : SI_USER};
	siginfo_t *from = v % 13 ? &info : (siginfo_t *)0x1000;
	pid_t thread = v % 3 ? pid : (pid_t)syscall(SYS_gettid);

	info.si_pid = getpid();
	switch (how % 7) {
	case 0:
		return syscall(SYS_kill, pid, sig);
	case 1:
		return syscall(SYS_tkill, v % 9 ? pid : 0, sig);
	case 2:
		return syscall(SYS_tgkill, pid, v % 9 ? thread : -1, sig);
	case 3:
		return syscall(SYS_rt_sigqueueinfo, v % 9 ? pid : 0, sig, from);
	case 4:
		return syscall(SYS_rt_tgsigqueueinfo, pid, v % 9 ? thread : 0, sig, from);
	}
	return by_pidfd(pid, sig, v, from);
}

long ak_op_signal(struct ak_thread *t, const struct ak_op *op)
{
	static const int signals[] = {SIGUSR1, SIGUSR2, SIGCONT, 0, 0, 99, SIGUSR1};
	pid_t child = make_child();
	long rc = 0;

	(void)t;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t v = op->v[i] >> 8 ^ op->v[3];

		rc = send_one(target_of(op->v[i], child), signals[op->v[i] / 8 % 7], v / 7, v);
	}
	end_child(child);
	return rc;
}

long ak_op_signal_group(struct ak_thread *t, const struct ak_op *op)
{
	const pid_t groups[] = {-1, 0, -getpgid(0), -ak.host_pid, -0x7fffffff - 1, -0x3ffff0};
	pid_t child = make_child(), host = getpgid(ak.host_pid);
	pid_t group = op->v[0] % 7 == 6 && host > 0 ? -host : groups[op->v[0] % 6];
	long rc;

	(void)t;
	rc = syscall(SYS_kill, group, op->v[2] % 3 ? SIGCONT : 0);
	end_child(child);
	return rc;
}

/* What the kernel sends for a descriptor: to its owner. */
long ak_op_signal_owner(struct ak_thread *t, const struct ak_op *op)
{
	const int to = ak.has_pid_ns ? ak_some_pid(op->v[0]) : ak.host_pid;
	const struct {
		int type;
		pid_t pid;
	} owner = {1 /* F_OWNER_PID */, to};
	int fd[2];
	long rc = -1;

	(void)t;
	if (pipe2(fd, O_NONBLOCK) < 0)
		return -1;
	switch (op->v[1] % 4) {
	case 0:
		rc = syscall(SYS_fcntl, fd[0], F_SETOWN, to);
		break;
	case 1:
		rc = syscall(SYS_fcntl, fd[0], 15 /* F_SETOWN_EX */, &owner);
		break;
	case 2:
		rc = syscall(SYS_ioctl, fd[0], FIOSETOWN, &to);
		break;
	default:
		rc = syscall(SYS_ioctl, fd[0], SIOCSPGRP, &to);
	}
	(void)fcntl(fd[0], 10 /* F_SETSIG */, SIGUSR1);
	(void)fcntl(fd[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	(void)!write(fd[1], "x", 1);
	close(fd[0]);
	close(fd[1]);
	return rc;
}

/* ---- a run inside of the run ---- */

/* It shares the locks of the outer one, and is ended in the middle. */
long ak_op_run_inside(struct ak_thread *t, const struct ak_op *op)
{
	static const char *const does[] = {
		"mkdir -p src/in/a && mv src/in/a src/in/b; mv src/in/b src/in/a",
		"mv src/sub pub/sub; mv pub/sub src/sub", "cat app.env ../home/.ssh/id"};
	char name[] = "sbx-launch", quiet[] = "-qq", end[] = "--", sh[] = "/bin/sh", c[] = "-c",
	     home[96], state[96], runtime[96], lines[128], text[128];
	char *argv[] = {name, quiet, end, sh, c, text, NULL};
	char *envp[] = {home, state, runtime, lines, NULL};
	int pipes[2], status;
	ssize_t n;
	pid_t pid;

	snprintf(text, sizeof text, "%s", does[op->v[0] % 3]);
	snprintf(home, sizeof home, "HOME=%s/ws/pub", ak.base);
	snprintf(state, sizeof state, "XDG_STATE_HOME=%s/ws/pub/.state", ak.base);
	snprintf(lines, sizeof lines, "LLVM_PROFILE_FILE=%s/" AK_INSIDE_LINES, ak.base);
	snprintf(runtime, sizeof runtime, "PATH=/usr/bin:/bin");
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		alarm(1);
		syscall(SYS_execve, ak.sbx, argv, envp);
		_exit(9);
	}
	close(pipes[1]);
	while (pid > 0 && (n = read(pipes[0], t->room, AK_ROOM)) > 0)
		ak_scan(t->room, (size_t)n, t->op, "a run inside");
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return pid;
}
