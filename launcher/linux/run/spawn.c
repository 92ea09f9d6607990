/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c - see spawn.h. */
#include "launcher/run/spawn.h"

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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/plan/program.h"

/* The child's report. Nothing: success. Only the first byte: success, except for what it names. All
 * of it: failure. */
struct report {
	char lost; /* LAU_NET_FILTERED, LAU_NO_* */
	enum lau_spawn_step step;
	struct b_err err;
};

/* ---- the child: system calls only ---- */

/* After the credentials changed: that clears the death signal (prctl(2)). A launcher that died
 * before sends none: so look. */
int lau_spawn_die_with(pid_t parent, struct b_err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "PR_SET_PDEATHSIG");
	if (getppid() != parent)
		return b_fail(err, B_SYSTEM, 0, "the launcher has ended");
	return 0;
}

/* The descriptors given are above 2. */
int lau_spawn_place(const struct lau_spawn *sp, struct b_err *err)
{
	for (int fd = 0; sp->stdio && fd <= STDERR_FILENO; fd++)
		if (sp->stdio[fd] >= 0 && dup2(sp->stdio[fd], fd) < 0)
			return b_fail_sys(err, B_SYSTEM, errno, "dup2");
	if (sp->own_group && setpgid(0, 0) < 0)
		return b_fail(err, B_SYSTEM, errno, "setpgid: %s", strerror(errno));
	if (sp->cwd && chdir(sp->cwd) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", sp->cwd, strerror(errno));
	return 0;
}

int lau_spawn_no_process(struct b_err *err)
{
	return b_fail_sys(err, errno == EAGAIN ? B_LIMIT : B_SYSTEM, errno,
			  "no process can be made");
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

int lau_spawn_exec(const struct lau_spawn *sp, char *const *shell_argv, struct b_err *err)
{
	execve(sp->program, sp->argv, sp->envp);
	if (errno == ENOEXEC && lau_program_is_text(sp->program)) {
		/* a script that names no interpreter, as execvp(3) and the shells run it */
		execve(shell_argv[0], shell_argv, sp->envp);
		errno = ENOEXEC;
	}
	return exec_failed(sp, errno, err);
}

/* The first byte, when it was sent, is not sent again. */
static _Noreturn void give_up(const struct report *r, int out)
{
	size_t skip = r->step == LAU_SPAWN_EXEC && r->lost;

	(void)b_write_all(out, (const char *)r + skip, sizeof *r - skip);
	_exit(127);
}

/* The stages from the launcher to the command. */
struct way {
	const struct lau_spawn *sp;
	char **shell_argv;
	pid_t parent;	/* the launcher */
	int out;	/* for a struct report */
	int hello;	/* the command says here that it is there; -1 = it needs not */
	int alone;	/* the first process of the namespace says here that it is; -1 = none */
	bool in_pid_ns; /* where the launcher has no number, and whose first process ends all */
};

static _Noreturn void command(const struct way *w, const struct lau_confine *c, int lost,
			      struct report *r)
{
	r->lost = (char)lost;
	if (lau_spawn_place(w->sp, &r->err) < 0 ||
	    (w->sp->limits && lau_limits_enter(w->sp->limits, &r->err) < 0))
		give_up(r, w->out);
	if (w->hello >= 0 && b_write_all(w->hello, "", 1) < 0)
		b_fail(&r->err, B_SYSTEM, errno, "hello: %s", strerror(errno));
	else if ((!c || lau_confine_apply_in(c, lost, &r->err) == 0) &&
		 (w->in_pid_ns || lau_spawn_die_with(w->parent, &r->err) == 0)) {
		lau_signals_restore(w->sp->signals);
		if (w->sp->limits)
			lau_limits_restore(w->sp->limits);
		if (w->sp->limits && lau_limits_apply(w->sp->limits, &r->err) < 0)
			give_up(r, w->out);
		r->step = LAU_SPAWN_EXEC;
		if (!r->lost || b_write_all(w->out, &r->lost, 1) == 0)
			(void)lau_spawn_exec(w->sp, w->shell_argv, &r->err);
	}
	give_up(r, w->out);
}

/* ---- the broker ---- */

enum { KEPT = 6 }; /* of its descriptors */

static bool is_kept(const int keep[KEPT], int fd)
{
	for (int i = 0; i < KEPT; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

/* Closes its copies of descriptors, which would keep pipes open; the process opens its own.
 * Standard error stays open for its error messages. -1 entries of `keep` are ignored. */
static void let_go(const int keep[KEPT], int null)
{
	unsigned from = 3;
	int last = -1;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	for (int i = 0; i < KEPT; i++)
		last = keep[i] > last ? keep[i] : last;
	for (int fd = 3; fd <= last; fd++)
		if (is_kept(keep, fd)) {
			if ((unsigned)fd > from)
				lau_fdclose_range(from, (unsigned)fd - 1);
			from = (unsigned)fd + 1;
		}
	lau_fdclose_range(from, ~0u);
}

static _Noreturn void serve(struct lau_broker_plan *plan, int sock, int null)
{
	const struct lau_wards *w = plan->wards;
	struct b_err err = {0};
	int listener = lau_fd_receive(sock);

	if (listener < 0)
		_exit(0);		      /* the command told why */
	plan->ring_fd = lau_fd_receive(sock); /* none: the command may not write to it */
	let_go((int[KEPT]){listener, plan->ring_fd, plan->lock->fd, w ? w->sock : -1,
			   w ? w->signals : -1, plan->door.page ? plan->door.channel : -1},
	       null);
	prctl(PR_SET_NAME, "sbx-broker", 0, 0, 0);
	if (lau_broker_serve(plan, listener, &err) == 0)
		_exit(0);
	_exit(b_report("sbx-launch", &err));
}

/* Makes the command a child of the broker, if only an ancestor may look into a process. Otherwise
 * it becomes a child of the supervisor (CLONE_PARENT), which waits for it and signals it as without
 * a broker. */
static pid_t start_command(const struct way *w, const struct lau_confine *c, int lost, int unwanted,
			   struct report *r)
{
	bool is_parent = w->sp->broker->is_parent;
	struct way its = *w;
	pid_t pid;

	if (is_parent) {
		its.parent = getpid();
		its.in_pid_ns = false; /* it sees its parent */
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	}
	pid = (pid_t)syscall(SYS_clone, (is_parent ? 0 : CLONE_PARENT) | SIGCHLD, NULL, NULL, NULL,
			     0);
	if (pid == 0) {
		close(unwanted);
		command(&its, c, lost, r);
	}
	if (pid < 0) {
		lau_spawn_no_process(&r->err);
		give_up(r, w->out);
	}
	return pid;
}

/* Enters the broker's domain; then the command, whose domain so is a part of it. `lost`: of the
 * namespaces, which both are in. */
static _Noreturn void broker(const struct way *w, int lost, struct report *r)
{
	struct sock_filter insn[LAU_TRAP_MAX];
	struct lau_broker_plan own, *plan = w->sp->broker_room ? w->sp->broker_room : &own;
	struct lau_confine c = *w->sp->confine;
	struct lau_wards wards;
	int socks[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid;

	*plan = *w->sp->broker;
	plan->no_inet = lost & LAU_NET_FILTERED;
	plan->filter_flags |= lost & LAU_NET_FILTERED ? POL_SC_NO_INET
			      : lost & LAU_NO_IPC     ? POL_SC_NO_IPC
						      : 0;
	plan->shares_net |= plan->no_inet;
	plan->no_shm = lost & LAU_NO_SHM;
	plan->no_tmp = lost & LAU_NO_TMP;
	/* device nodes outside of /dev, which the broker keeps shut */
	plan->passes_marks = plan->passes_marks && !(lost & LAU_NO_NODEV);
	plan->own_pids = w->in_pid_ns;
	plan->net.run = plan->net.is_apart ? lau_net_cookie() : 0;
	if (plan->net.is_apart && !plan->net.run) {
		b_fail(&r->err, B_FLOOR, errno,
		       "broker: SO_NETNS_COOKIE: %s: needs Linux 5.14, and no outer filter against "
		       "getsockopt(2): --network host does without",
		       strerror(errno));
		give_up(r, w->out);
	}
	if (plan->no_inet) /* the filter refuses every socket of the network */
		plan->door.page = NULL;
	if (plan->door.page && lau_door_open(plan->door.sockets, &plan->door.port,
					     plan->door.is_published, &r->err) < 0)
		give_up(r, w->out);
	if (lau_broker_enter(plan, &r->err) < 0)
		give_up(r, w->out);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0) {
		b_fail_sys(&r->err, B_SYSTEM, errno, "socketpair");
		give_up(r, w->out);
	}
	c.trap = insn;
	c.trap_len = lau_broker_filter(plan, insn);
	c.ring = plan->ring_path;
	c.listener_to = socks[1];
	pid = start_command(w, &c, lost, socks[0], r);
	if (!plan->is_parent)
		close(w->hello);
	else if (lau_wards_open(&wards, w->hello, pid) == 0)
		plan->wards = &wards;
	else
		_exit(1); /* and the command with us */
	close(w->out);
	close(socks[1]);
	if (!w->in_pid_ns && lau_spawn_die_with(w->parent, &r->err) < 0)
		_exit(1);
	if (w->sp->limits)
		lau_limits_share(w->sp->limits);
	serve(plan, socks[0], null);
}

/* The child that is to be the broker, or the command. `lost` < 0: in no namespace yet. */
static _Noreturn void child(const struct way *w, int lost)
{
	struct report r = {.step = LAU_SPAWN_ISOLATE};

	if (lost < 0 && w->sp->confine)
		lost = lau_confine_namespaces(w->sp->confine, &r.err);
	else if (lost < 0)
		lost = 0;
	if (lost == LAU_SPOILED)
		r.step = LAU_SPAWN_USERNS;
	if (lost < 0)
		give_up(&r, w->out);
	r.step = LAU_SPAWN_CONFINE;
	if (w->sp->broker)
		broker(w, lost, &r);
	command(w, w->sp->confine, lost, &r);
}

/* ---- into a pid namespace ---- */

/* Runs in the launcher's memory (CLONE_VM, CLONE_VFORK), so that no page tables are copied for
 * three calls. unshare(CLONE_NEWPID) moves only children into the namespace, hence the extra
 * process. These become children of the launcher. */
struct entry {
	struct way *way;
	struct lau_spawned *out;
	int lost;
	struct b_err *err;
};

static int enter_namespaces(void *ctx)
{
	struct entry *e = ctx;
	struct way *w = e->way;
	const struct lau_confine *c = w->sp->confine;
	pid_t pid;

	e->lost = lau_confine_namespaces(c, e->err);
	if (e->lost < 0)
		return 1;
	w->in_pid_ns = !(e->lost & LAU_NO_PID);
	if (w->in_pid_ns && lau_confine_init(c, w->parent, w->alone, &e->out->init, e->err) < 0)
		return 1;
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0)
		child(w, e->lost);
	if (pid < 0)
		return lau_spawn_no_process(e->err), 1;
	*(w->sp->broker ? &e->out->broker : &e->out->pid) = pid;
	return 0;
}

static int spawn_isolated(struct way *w, struct lau_spawned *out, struct b_err *err)
{
	_Alignas(16) char stack[65536];
	struct entry e = {w, out, 0, err};
	/* SIGCHLD: children made for our parent are waited for as we are (clone(2)) */
	pid_t pid =
		clone(enter_namespaces, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &e);
	int status;

	if (pid < 0)
		return lau_spawn_no_process(err);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return b_fail(err, B_SYSTEM, errno, "waitpid: %s", strerror(errno));
	if (status == 0)
		return 0;
	out->step = e.lost == LAU_SPOILED ? LAU_SPAWN_USERNS : LAU_SPAWN_ISOLATE;
	if (WIFSIGNALED(status)) /* nothing told why */
		b_fail(err, B_SYSTEM, 0, "a process of the launcher was killed by signal %d",
		       WTERMSIG(status));
	return -1;
}

/* ---- the parent ---- */

/* /bin/sh PROGRAM ARGS...: made before the fork, where memory may be taken. */
char **lau_spawn_shell(const struct lau_spawn *sp)
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

void lau_spawn_shell_free(char **argv)
{
	if (!argv)
		return;
	free(argv[0]);
	free(argv[1]);
	free(argv);
}

static void reap(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The first process of a pid namespace cannot end before all of the launcher's children in it were
 * reaped, also one whose number was never reported (pid_namespaces(7)). */
static void end_all(struct lau_spawned *out)
{
	pid_t pid = 0;

	if (out->reports) /* of a command that is to have been none */
		close(out->reports);
	if (out->alone)
		close(out->alone);
	out->alone = 0;
	if (!out->init && out->reports)
		reap(out->broker); /* which was its parent; now we are */
	if (!out->init) {
		reap(out->pid);
		if (!out->reports)
			reap(out->broker);
		out->reports = 0;
		return;
	}
	out->reports = 0;
	(void)kill(out->init, SIGKILL);
	while (pid != out->init && (pid >= 0 || errno == EINTR))
		pid = waitpid(-1, NULL, 0);
}

static int wait_for_exec(int in, struct lau_spawned *out, struct b_err *err)
{
	struct report r;
	ssize_t n = b_read_full(in, &r, sizeof r);

	if ((n == 0 || n == 1) && out->pid > 0) { /* exec closed the pipe */
		out->lost = n == 1 ? r.lost : 0;
		return 0;
	}
	end_all(out);
	out->step = LAU_SPAWN_CONFINE;
	/* The broker or the command was killed before it reported its number. Signals must not go
	 * to 0, which is every process of the launcher's group (kill(2)). */
	if (n == 0)
		return b_fail(err, B_SYSTEM, 0,
			      "a process of the launcher was killed before the command began");
	if (n != (ssize_t)sizeof r)
		return b_fail(err, B_SYSTEM, errno, "the child's report was cut short");
	out->step = r.step;
	*err = r.err;
	return -1;
}

static int spawn_child(struct way *w, struct lau_spawned *out, struct b_err *err)
{
	/* not fork(3), which takes locks for a child that will not want them, and here a thread of
	 * another process may hold them for ever (launcher/exec/exec.h) */
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		child(w, -1);
	if (pid < 0)
		return lau_spawn_no_process(err);
	*(w->sp->broker ? &out->broker : &out->pid) = pid;
	return 0;
}

/* With a pipe by which its first process reports that it is the last one. */
static int set_out_isolated(struct way *w, struct lau_spawned *out, struct b_err *err)
{
	int alone[2], rc;

	if (pipe2(alone, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	w->alone = alone[1];
	rc = spawn_isolated(w, out, err);
	w->alone = -1;
	close(alone[1]);
	if (rc == 0 && out->init)
		out->alone = alone[0];
	else
		close(alone[0]);
	return rc;
}

/* As one of the ways, up to the first child. */
static int set_out(struct way *w, struct lau_spawned *out, struct b_err *err)
{
	const struct lau_confine *c = w->sp->confine;
	int hello[2] = {-1, -1}, rc;

	if (w->sp->broker && lau_hello_open(hello) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "socketpair");
	w->hello = hello[1];
	rc = (c && c->isolate & LAU_ISOLATE_PID ? set_out_isolated : spawn_child)(w, out, err);
	if (!w->sp->broker)
		return rc;
	close(hello[1]);
	if (rc == 0)
		out->pid = lau_hello_read(hello[0]);
	if (rc == 0 && w->sp->broker->is_parent)
		out->reports = hello[0];
	else
		close(hello[0]);
	return rc;
}

static int spawn_once(const struct lau_spawn *sp, char **shell_argv, struct lau_spawned *out,
		      struct b_err *err)
{
	struct way w = {.sp = sp, .shell_argv = shell_argv, .parent = getpid(), .alone = -1};
	int report[2], rc;

	*out = (struct lau_spawned){.step = LAU_SPAWN_CONFINE};
	if (pipe2(report, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	w.out = report[1];
	rc = set_out(&w, out, err);
	close(report[1]);
	if (rc == 0)
		rc = wait_for_exec(report[0], out, err);
	else
		end_all(out);
	close(report[0]);
	return rc;
}

/* A container may let namespaces be made and their /proc not be mounted: nobody leaves a pid
 * namespace, so the child gave up. Without them, if that may be. */
static int spawn_less(const struct lau_spawn *sp, char **shell_argv, struct lau_spawned *out,
		      struct b_err *err)
{
	struct lau_confine c = *sp->confine;
	struct lau_spawn less = *sp;

	less.confine = &c;
	c.lost |= (c.isolate & LAU_ISOLATE_SHM ? LAU_NO_SHM : 0) |
		  (c.isolate & LAU_ISOLATE_TMP ? LAU_NO_TMP : 0) |
		  (c.isolate & LAU_ISOLATE_PID ? LAU_NO_PID : 0) | LAU_NO_NODEV;
	c.isolate = 0;
	return spawn_once(&less, shell_argv, out, err);
}

/* The process that found this out cannot be used any more. Another one continues as on a host
 * without user namespaces.
 */
static int spawn_without_userns(const struct lau_spawn *sp, char **shell_argv,
				struct lau_spawned *out, struct b_err *err)
{
	struct lau_confine c = *sp->confine;
	struct lau_spawn less = *sp;

	less.confine = &c;
	c.no_userns = err->sys ? err->sys : EPERM;
	return spawn_once(&less, shell_argv, out, err);
}

int lau_spawn(const struct lau_spawn *sp, struct lau_spawned *out, struct b_err *err)
{
	char **own_shell = sp->shell_argv ? NULL : lau_spawn_shell(sp);
	char **shell_argv = own_shell ? own_shell : sp->shell_argv;
	int rc = spawn_once(sp, shell_argv, out, err);

	if (rc < 0 && out->step == LAU_SPAWN_USERNS)
		rc = spawn_without_userns(sp, shell_argv, out, err);
	if (rc < 0 && out->step == LAU_SPAWN_ISOLATE && sp->confine && sp->confine->isolate &&
	    !sp->confine->isolate_must)
		rc = spawn_less(sp, shell_argv, out, err);
	lau_spawn_shell_free(own_shell);
	return rc;
}
