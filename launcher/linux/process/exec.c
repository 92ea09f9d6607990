/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - a process between the caller and the program: it waits for orphans
 * (PR_SET_CHILD_SUBREAPER), keeps the deadline and ends everything, because it is the supervisor of
 * sbx-launch. So neither the caller's children nor its threads are touched, and only that process
 * ever signals or reaps something of the run: no number is used after its process has gone.
 *
 * It is made by clone(2) itself, from a process that may have threads, and so may not take memory
 * or locks: all it needs was made before.
 */
#include "launcher/exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/plan/program.h"
#include "launcher/run/spawn.h"
#include "launcher/supervise/supervise.h"

struct job {
	const struct lau_exec_request *rq;
	uint64_t start_ms;
	char *program;
	char **shell_argv;
	struct lau_secrets secrets;
	struct lau_exec_io io;
	struct lau_limits limits;
	sigset_t mask; /* the caller's, and the program's */
	int report[2]; /* a struct lau_outcome comes through */
	pid_t parent, group, monitor;
	uint64_t mark; /* of process.h */
	bool is_told;  /* to end */
};

/* ---- the process between ---- */

/* All but these, -1 being none: somebody waits for the end of each that stays open. */
static void close_but(const int *keep, size_t n, unsigned from)
{
	for (;;) {
		unsigned next = ~0u;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next == ~0u)
			break;
		if (next > from)
			lau_fdclose_range(from, next - 1);
		from = next + 1;
	}
	lau_fdclose_range(from, ~0u);
}

static void run(const struct job *j, const struct lau_signals *signals, struct lau_outcome *out)
{
	const int keep[] = {j->report[1], signals->fd};
	const struct lau_spawn sp = {
		.signals = signals,
		.program = j->program,
		.argv = (char *const *)(uintptr_t)j->rq->argv,
		.envp = j->rq->env ? j->rq->env : environ,
		.limits = &j->limits,
		.stdio = j->io.child,
		.cwd = j->rq->cwd,
		.own_group = true,
		.shell_argv = j->shell_argv,
	};
	struct lau_supervisor s = {
		.signals = signals,
		.deadline_ms = j->rq->timeout_ms ? j->start_ms + j->rq->timeout_ms : 0,
		.kill_after_ms = j->rq->grace_ms ? j->rq->grace_ms : LAU_EXEC_GRACE_MS,
		.is_contract = true,
		.is_hidden = true,
		.terminal_group = j->group,
	};
	struct lau_spawned child;

	if (lau_spawn(&sp, &child, &out->err) < 0) {
		out->phase = child.step == LAU_SPAWN_EXEC ? LAU_PHASE_EXEC : LAU_PHASE_SETUP;
		return;
	}
	close_but(keep, sizeof keep / sizeof *keep, 0);
	s.command = child.pid;
	lau_supervise(&s, out);
}

static _Noreturn void monitor(const struct job *j)
{
	const int keep[] = {j->report[1], j->io.child[0], j->io.child[1], j->io.child[2]};
	struct lau_outcome out = {.phase = LAU_PHASE_SETUP};
	struct lau_signals signals;

	(void)prctl(PR_SET_NAME, "sbx-exec", 0, 0, 0);
	/* what a terminal sends to the caller's group reaches the run through the caller */
	(void)setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGHUP, 0, 0, 0) < 0 || getppid() != j->parent)
		_exit(1);
	close_but(keep, sizeof keep / sizeof *keep, STDERR_FILENO + 1);
	lau_processes_adopt();
	if (lau_signals_open(&signals, &out.err) == 0) {
		signals.old_mask = j->mask;
		run(j, &signals, &out);
	}
	(void)b_write_all(j->report[1], &out, sizeof out); /* below PIPE_BUF: whole */
	_exit(0);
}

/* ---- the caller ---- */

static const char *path_of(char *const *env)
{
	for (; env && *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return getenv("PATH");
}

static int find_program(struct job *j, struct b_err *err)
{
	const struct lau_exec_request *rq = j->rq;
	const char *name = rq->argv[0];

	if (rq->cwd && *name != '/' && strchr(name, '/')) {
		j->program = b_strdup(name); /* there, not here */
		return 0;
	}
	if (lau_program_find(name, path_of(rq->env), &j->program, err) == 0)
		return 0;
	if (err->sys == 0)
		err->sys = err->kind == B_NOTFOUND ? ENOENT : EACCES;
	return lau_exec_spawn_failed(name, err);
}

static int prepare(struct job *j, struct b_err *err)
{
	const struct lau_exec_request *rq = j->rq;
	const struct lau_streams streams = {
		.in = rq->stdin_mode,
		.bytes = rq->bytes,
		.nbytes = rq->nbytes,
		.no_capture = rq->no_capture,
		.limit = rq->limit,
		.is_joint = rq->is_joint,
		.over = rq->over,
		.tee = rq->debug ? &j->secrets : NULL,
	};
	struct lau_spawn sp;

	if (find_program(j, err) < 0)
		return -1;
	sp = (struct lau_spawn){.program = j->program, .argv = (char *const *)(uintptr_t)rq->argv};
	j->shell_argv = lau_spawn_shell(&sp);
	if (rq->debug)
		lau_secrets_from(&j->secrets, rq->env ? rq->env : environ);
	(void)getrlimit(RLIMIT_NOFILE, &j->limits.files);
	(void)getrlimit(RLIMIT_FSIZE, &j->limits.size);
	(void)sigaction(SIGXFSZ, NULL, &j->limits.xfsz);
	j->limits.pipe.sa_handler = SIG_DFL;
	if (pipe2(j->report, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	return lau_exec_io_open(&streams, &j->io, err);
}

/* No signal of the caller's may meet its handlers in the child. */
static int begin(struct job *j, struct b_err *err)
{
	sigset_t all, mine;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mine);
	j->parent = getpid();
	j->group = getpgrp();
	/* without a signal at its end, and so unseen by the caller's wait(2), which has no __WALL
	 */
	j->monitor = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (j->monitor == 0)
		monitor(j);
	if (j->monitor < 0)
		lau_spawn_no_process(err);
	pthread_sigmask(SIG_SETMASK, &mine, NULL);
	close(j->report[1]);
	j->report[1] = -1;
	lau_exec_io_started(&j->io);
	return j->monitor < 0 ? -1 : 0;
}

static void tell(struct job *j, int value)
{
	if (!j->is_told)
		(void)sigqueue(j->monitor, SIGTERM, (union sigval){.sival_int = value});
	j->is_told = true;
}

static void wait_for_end(struct job *j)
{
	struct pollfd fds[1 + LAU_EXEC_IO_FDS] = {{.fd = j->report[0], .events = POLLIN}};
	bool is_passed = false;

	while (!fds[0].revents) {
		size_t n = 1 + lau_exec_io_wait(&j->io, fds + 1);
		int ready = poll(fds, n, LAU_EXEC_POLL_MS);
		int signo = is_passed ? 0 : lau_exec_signals_since(j->mark);

		if (signo) {
			(void)kill(j->monitor, signo);
			is_passed = true;
		}
		if (ready <= 0) {
			fds[0].revents = 0;
			continue;
		}
		lau_exec_io_turn(&j->io, fds + 1, n - 1);
		if (lau_exec_io_is_over(&j->io))
			tell(j, LAU_OVER_VALUE);
		else if (j->io.in_errno && j->io.in_errno != EPIPE)
			tell(j, LAU_STOP_VALUE);
	}
}

static int read_outcome(struct job *j, struct lau_outcome *out, struct b_err *err)
{
	ssize_t n = b_read_full(j->report[0], out, sizeof *out);
	int signo = lau_exec_signals_since(j->mark);

	while (waitpid(j->monitor, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof *out)
		return b_fail(err, B_SYSTEM, 0, "wait error: the process that waited was killed");
	if (signo && out->phase == LAU_PHASE_COMMAND) {
		out->phase = LAU_PHASE_INTERRUPTED;
		out->interrupted = signo;
	}
	return 0;
}

static int conclude(struct job *j, struct lau_exec_result *out, struct b_err *err)
{
	struct lau_outcome outcome;

	lau_exec_io_finish(&j->io);
	if (read_outcome(j, &outcome, err) < 0)
		return -1;
	if (outcome.phase == LAU_PHASE_SETUP || outcome.phase == LAU_PHASE_EXEC) {
		*err = outcome.err;
		return lau_exec_spawn_failed(j->rq->argv[0], err);
	}
	lau_exec_result_fill(out, &outcome, &j->io);
	if (out->error.kind == B_OK)
		return 0;
	*err = out->error;
	return -1;
}

/* A write to a pipe that nobody reads sends SIGPIPE to the thread that writes. */
static bool hold_sigpipe(sigset_t *out_before)
{
	sigset_t one, pending;

	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &one, out_before);
	return sigismember(&pending, SIGPIPE) == 1;
}

static void drop_sigpipe(const sigset_t *before, bool was_pending)
{
	const struct timespec now = {0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	while (!was_pending && sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void release(struct job *j)
{
	for (int i = 0; i < 2; i++)
		if (j->report[i] >= 0)
			close(j->report[i]);
	lau_exec_io_release(&j->io);
	lau_secrets_release(&j->secrets);
	lau_spawn_shell_free(j->shell_argv);
	free(j->program);
}

static int prepare_and_run(struct job *j, struct lau_exec_result *out, struct b_err *err)
{
	bool was_pending = hold_sigpipe(&j->mask);
	int rc = prepare(j, err);

	if (rc == 0)
		rc = lau_exec_signals_hold(&j->mark, err);
	if (rc == 0) {
		if (begin(j, err) == 0) {
			wait_for_end(j);
			rc = conclude(j, out, err);
		} else {
			rc = lau_exec_spawn_failed(j->rq->argv[0], err);
		}
		lau_exec_signals_drop();
	}
	drop_sigpipe(&j->mask, was_pending);
	return rc;
}

int lau_exec_run(const struct lau_exec_request *rq, struct lau_exec_result *out, struct b_err *err)
{
	struct job j = {.rq = rq,
			.start_ms = b_now_ms(),
			.report = {-1, -1},
			.io = {.child = {-1, -1, -1}, .in = -1, .out = {{.fd = -1}, {.fd = -1}}}};
	struct b_err unwanted;
	int rc, cancels;

	err = err ? err : &unwanted;
	*out = (struct lau_exec_result){0};
	if (!rq->argv || !rq->argv[0])
		return b_fail(err, B_USAGE, 0, "no program");
	if (rq->validate && rq->validate(rq->ctx, rq, err) < 0)
		return -1;
	/* a run that is left in the middle would hold the handlers of the process for ever */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	rc = prepare_and_run(&j, out, err);
	release(&j);
	(void)pthread_setcancelstate(cancels, NULL);
	out->duration_ms = b_now_ms() - j.start_ms;
	return rc;
}

/* The handlers are the process's, so their state is, too. */

#define HELD 2

static const int held[HELD] = {SIGINT, SIGTERM};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned holders;	      /* under the lock */
static struct sigaction before[HELD]; /* under the lock */

/* How many came, times 256, and which was the last. */
static _Atomic uint64_t came;

static void note(int signo)
{
	uint64_t old = came;

	while (!atomic_compare_exchange_weak(&came, &old, ((old >> 8) + 1) << 8 | (unsigned)signo))
		;
}

static void put_back(int n)
{
	while (n-- > 0)
		(void)sigaction(held[n], &before[n], NULL);
}

static int install(struct b_err *err)
{
	struct sigaction act = {.sa_handler = note, .sa_flags = SA_RESTART};

	sigemptyset(&act.sa_mask);
	for (int i = 0; i < HELD; i++) {
		if (sigaction(held[i], &act, &before[i]) < 0) {
			b_fail_sys(err, B_SYSTEM, errno, "handler of signal %d", held[i]);
			put_back(i);
			return -1;
		}
	}
	return 0;
}

int lau_exec_signals_hold(uint64_t *out_mark, struct b_err *err)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = holders > 0 ? 0 : install(err);
	if (rc == 0) {
		holders++;
		*out_mark = came;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void lau_exec_signals_drop(void)
{
	pthread_mutex_lock(&lock);
	if (--holders == 0)
		put_back(HELD);
	pthread_mutex_unlock(&lock);
}

int lau_exec_signals_since(uint64_t mark)
{
	uint64_t now = came;

	return now != mark ? (int)(now & 0xff) : 0;
}
