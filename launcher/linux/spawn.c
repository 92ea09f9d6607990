/* spawn.c - see spawn.h. */
#include "launcher/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "launcher/broker.h"
#include "launcher/linux/fdpass.h"
#include "launcher/program.h"

/* What the child says. Nothing: all is well. The first byte alone: it is, and net_filtered
 * holds. All of it: it failed. */
struct report {
	char net_filtered;
	enum lau_spawn_step step;
	struct b_err err;
};

/* ---- the child: system calls only ---- */

/* After the credentials changed: that clears the death signal (prctl(2)). A launcher that died
 * before sends none: so look. */
static int die_with(pid_t parent, struct b_err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return b_fail(err, B_SYSTEM, errno, "PR_SET_PDEATHSIG: %s", strerror(errno));
	if (getppid() != parent)
		return b_fail(err, B_SYSTEM, 0, "the launcher is gone");
	return 0;
}

/* execve(2)'s answers as env(1) and timeout(1) report them: ENOENT can also be a script's
 * interpreter or a program's loader. */
static int exec_failed(const struct lau_spawn *sp, int why, struct b_err *err)
{
	if (why == ENOENT)
		return b_fail(err, B_NOTFOUND, why,
			      "`%s`: not found, or its interpreter is missing", sp->program);
	if (why == EACCES)
		return b_fail(err, B_NOEXEC, why,
			      "`%s`: permission denied: the policy or the file's mode forbids to "
			      "execute it or its interpreter",
			      sp->program);
	return b_fail(err, B_NOEXEC, why, "`%s`: %s", sp->program, strerror(why));
}

static int step_exec(const struct lau_spawn *sp, char **shell_argv, struct b_err *err)
{
	execve(sp->program, sp->argv, sp->envp);
	if (errno == ENOEXEC && lau_program_is_text(sp->program)) {
		/* a script that names no interpreter, as execvp(3) and the shells run it */
		execve(shell_argv[0], shell_argv, sp->envp);
		errno = ENOEXEC;
	}
	return exec_failed(sp, errno, err);
}

/* The byte of net_filtered, when it was sent, is not sent again. */
static _Noreturn void give_up(const struct report *r, int out)
{
	size_t skip = r->step == LAU_SPAWN_EXEC && r->net_filtered;

	(void)b_write_all(out, (const char *)r + skip, sizeof *r - skip);
	_exit(127);
}

/* Confined already, when `rc` (0, LAU_NET_FILTERED) is not negative. */
static _Noreturn void start(const struct lau_spawn *sp, char **shell_argv, pid_t parent, int out,
			    struct report *r, int rc)
{
	r->net_filtered = rc == LAU_NET_FILTERED;
	if (rc >= 0 && die_with(parent, &r->err) == 0) {
		lau_signals_restore(sp->signals);
		if (sp->limits)
			lau_limits_restore(sp->limits);
		r->step = LAU_SPAWN_EXEC;
		if (!r->net_filtered || b_write_all(out, &r->net_filtered, 1) == 0)
			(void)step_exec(sp, shell_argv, &r->err);
	}
	give_up(r, out);
}

static _Noreturn void child(const struct lau_spawn *sp, char **shell_argv, pid_t parent, int out)
{
	struct report r = {.step = LAU_SPAWN_CONFINE};
	int rc = sp->confine ? lau_confine_apply(sp->confine, &r.err) : 0;

	start(sp, shell_argv, parent, out, &r, rc);
}

/* ---- the broker ---- */

/* Its copies would keep pipes open, and it opens its own. Standard error stays, for its last
 * words. */
static void let_go(int listener, int null)
{
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (listener > 3)
		(void)syscall(SYS_close_range, 3, listener - 1, 0);
	(void)syscall(SYS_close_range, listener + 1, ~0u, 0);
}

static _Noreturn void serve(const struct lau_broker_plan *plan, int sock, int null)
{
	struct b_err err = {0};
	int listener = lau_fd_receive(sock);

	if (listener < 0)
		_exit(0); /* the command told why */
	let_go(listener, null);
	prctl(PR_SET_NAME, "sbx-broker", 0, 0, 0);
	if (lau_broker_serve(plan, listener, &err) == 0)
		_exit(0);
	_exit(b_report("sbx-launch", &err));
}

/* Namespaces first, which a Landlock domain forbids; then the broker's domain; then the command,
 * whose domain so is a part of it. The command is made a child of our parent (CLONE_PARENT), for
 * which nothing changes: it waits, signals and stops with it as without a broker. */
static _Noreturn void broker(const struct lau_spawn *sp, char **shell_argv, pid_t parent, int out,
			     int hello)
{
	struct sock_filter insn[LAU_TRAP_MAX];
	struct lau_broker_plan plan = *sp->broker;
	struct lau_confine c = *sp->confine;
	struct report r = {.step = LAU_SPAWN_CONFINE};
	int net = lau_confine_namespaces(&c, &r.err), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int socks[2];
	pid_t pid;

	plan.no_inet = net == LAU_NET_FILTERED;
	if (net < 0 || lau_broker_enter(&plan, &r.err) < 0)
		give_up(&r, out);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0) {
		b_fail(&r.err, B_SYSTEM, errno, "socketpair: %s", strerror(errno));
		give_up(&r, out);
	}
	c.trap = insn;
	c.trap_len = lau_broker_filter(&plan, insn);
	c.listener_to = socks[1];
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0) {
		close(socks[0]);
		net = lau_confine_apply_in(&c, net, &r.err) < 0 ? -1 : net;
		start(sp, shell_argv, parent, out, &r, net);
	}
	if (pid < 0) {
		b_fail(&r.err, B_SYSTEM, errno, "clone: %s", strerror(errno));
		give_up(&r, out);
	}
	(void)b_write_all(hello, &pid, sizeof pid);
	close(hello);
	close(out);
	close(socks[1]);
	if (die_with(parent, &r.err) < 0)
		_exit(1);
	serve(&plan, socks[0], null);
}

/* ---- the parent ---- */

/* /bin/sh PROGRAM ARGS...: made before the fork, where memory may be taken. */
static char **make_shell_argv(const struct lau_spawn *sp)
{
	size_t n = 0, i;
	char **argv;

	while (sp->argv[n])
		n++;
	argv = b_calloc(n + 3, sizeof *argv);
	argv[0] = b_strdup("/bin/sh");
	argv[1] = b_strdup(sp->program);
	for (i = 1; i < n; i++)
		argv[i + 1] = sp->argv[i];
	return argv;
}

static void free_shell_argv(char **argv)
{
	free(argv[0]);
	free(argv[1]);
	free(argv);
}

static void reap(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int wait_for_exec(int in, struct lau_spawned *out, struct b_err *err)
{
	struct report r;
	ssize_t n = b_read_full(in, &r, sizeof r);

	if (n == 0 || n == 1) { /* exec closed the pipe */
		out->net_filtered = n == 1 && r.net_filtered;
		return 0;
	}
	reap(out->pid);
	reap(out->broker);
	out->step = LAU_SPAWN_CONFINE;
	if (n != (ssize_t)sizeof r)
		return b_fail(err, B_SYSTEM, errno, "the child's report was cut short");
	out->step = r.step;
	*err = r.err;
	return -1;
}

static int spawn_plain(const struct lau_spawn *sp, char **shell_argv, const int report[2],
		       struct lau_spawned *out)
{
	pid_t parent = getpid();

	out->pid = fork();
	if (out->pid == 0)
		child(sp, shell_argv, parent, report[1]);
	return out->pid < 0 ? -1 : 0;
}

/* The broker says who the command is; when it says nothing, its report will say why. */
static int spawn_brokered(const struct lau_spawn *sp, char **shell_argv, const int report[2],
			  struct lau_spawned *out)
{
	pid_t parent = getpid();
	int hello[2], saved;

	if (pipe2(hello, O_CLOEXEC) < 0)
		return -1;
	out->broker = fork();
	saved = errno;
	if (out->broker == 0)
		broker(sp, shell_argv, parent, report[1], hello[1]);
	close(hello[1]);
	if (b_read_full(hello[0], &out->pid, sizeof out->pid) != (ssize_t)sizeof out->pid)
		out->pid = 0;
	close(hello[0]);
	errno = saved;
	return out->broker < 0 ? -1 : 0;
}

int lau_spawn(const struct lau_spawn *sp, struct lau_spawned *out, struct b_err *err)
{
	char **shell_argv;
	int report[2], rc, sys;

	*out = (struct lau_spawned){.step = LAU_SPAWN_CONFINE};
	if (pipe2(report, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	shell_argv = make_shell_argv(sp);
	rc = (sp->broker ? spawn_brokered : spawn_plain)(sp, shell_argv, report, out);
	sys = errno;
	close(report[1]);
	rc = rc < 0 ? b_fail(err, B_SYSTEM, sys, "fork: %s", strerror(sys))
		    : wait_for_exec(report[0], out, err);
	close(report[0]);
	free_shell_argv(shell_argv);
	return rc;
}
