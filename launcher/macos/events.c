/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what the supervisor waits for: signals, the deadline; and the processes of a run. */
#include "launcher/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

/* A handler writes what came into a pipe. */

/* Those that somebody sends or that tell of a child. */
static const int watched[] = {SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
			      SIGCONT, SIGCHLD, SIGTSTP, SIGPIPE, SIGWINCH};

static int pipe_fd = -1; /* of the one supervisor of this process */

/* A full pipe drops the newest: the supervisor is late by thousands of signals then. */
static void note(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	/* the kernel sends for no process: si_pid is 0 */
	const struct lau_signal sig = {
		.signo = signo,
		.from_kernel = info->si_pid == 0,
		.sender = info->si_pid,
	};

	(void)context;
	(void)!write(pipe_fd, &sig, sizeof sig);
	errno = saved;
}

int lau_signals_open(struct lau_signals *s, struct b_err *err)
{
	struct sigaction act = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
	int fds[2];

	if (pipe(fds) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe for signals");
	for (int i = 0; i < 2; i++) {
		(void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	s->fd = fds[0];
	pipe_fd = fds[1];
	sigfillset(&act.sa_mask);
	sigprocmask(SIG_SETMASK, NULL, &s->old_mask);
	for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++) {
		struct sigaction old;

		(void)sigaction(watched[i], &act, &old);
		if (watched[i] == SIGCHLD)
			s->old_chld = old;
		else if (old.sa_handler == SIG_IGN) /* nohup: the command inherits it */
			(void)sigaction(watched[i], &old, NULL);
	}
	return 0;
}

/* Handlers fall to the default at the exec by themselves. */
void lau_signals_restore(const struct lau_signals *s)
{
	(void)sigaction(SIGCHLD, &s->old_chld, NULL);
	(void)sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

int lau_signals_next(const struct lau_signals *s, struct lau_signal *out)
{
	ssize_t n;

	do
		n = read(s->fd, out, sizeof *out);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *out;
}

void lau_signals_stop_self(int signo)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};
	struct sigaction old;

	(void)sigaction(signo, &dfl, &old);
	(void)kill(getpid(), signo);
	(void)sigaction(signo, &old, NULL);
}

void lau_signals_close(struct lau_signals *s)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};

	for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
		(void)sigaction(watched[i], &dfl, NULL);
	if (s->fd >= 0)
		close(s->fd);
	if (pipe_fd >= 0)
		close(pipe_fd);
	s->fd = pipe_fd = -1;
}

/* A grandchild, so that wait(2) knows nothing of it. */

static _Noreturn void wait_and_continue(pid_t whom, uint64_t deadline_ms)
{
	uint64_t now;

	(void)setpgid(0, 0);
	while ((now = b_now_ms()) < deadline_ms) {
		const struct timespec left = {(time_t)((deadline_ms - now) / 1000),
					      (long)((deadline_ms - now) % 1000) * 1000000};

		(void)nanosleep(&left, NULL);
	}
	(void)kill(whom, SIGCONT);
	_exit(0);
}

pid_t lau_timer_start(uint64_t deadline_ms)
{
	pid_t us = getpid(), between, timer = -1;
	int fds[2];

	if (pipe(fds) < 0)
		return -1;
	between = fork();
	if (between == 0) {
		timer = fork();
		if (timer == 0) {
			close(fds[0]);
			close(fds[1]);
			wait_and_continue(us, deadline_ms);
		}
		(void)b_write_all(fds[1], &timer, sizeof timer);
		_exit(0);
	}
	close(fds[1]);
	if (between < 0 || b_read_full(fds[0], &timer, sizeof timer) != (ssize_t)sizeof timer)
		timer = -1;
	close(fds[0]);
	if (between > 0)
		(void)waitpid(between, NULL, 0);
	return timer;
}

void lau_timer_stop(pid_t timer)
{
	if (timer > 0)
		(void)kill(timer, SIGKILL);
}

/* Libproc(3). There is no subreaper on macOS: what a
 * process of the run left to launchd is found while its group is still ours, and not after. */

enum { MAX_PIDS = 16384, MAX_DEPTH = 64 };

struct found {
	struct proc_bsdinfo *v;
	size_t n;
};

void lau_processes_adopt(void)
{
}

bool lau_processes_can_adopt(void)
{
	return false;
}

bool lau_processes_none(void)
{
	return false; /* orphans are launchd's: nothing tells */
}

static struct found look(void)
{
	pid_t *pids = b_calloc(MAX_PIDS, sizeof *pids);
	int n = proc_listallpids(pids, MAX_PIDS * (int)sizeof *pids);
	struct found f = {.v = b_calloc(n > 0 ? (size_t)n : 1, sizeof *f.v)};

	for (int i = 0; i < n; i++)
		if (proc_pidinfo(pids[i], PROC_PIDTBSDINFO, 0, &f.v[f.n], sizeof f.v[0]) ==
		    (int)sizeof f.v[0])
			f.n++;
	free(pids);
	return f;
}

static const struct proc_bsdinfo *find(const struct found *f, uint32_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].pbi_pid == pid)
			return &f->v[i];
	return NULL;
}

static bool is_below_us(const struct found *f, const struct proc_bsdinfo *p,
			const struct lau_servants * not )
{
	uint32_t us = (uint32_t)getpid();

	if (p->pbi_pid == us || p->pbi_pid == (uint32_t) not ->timer)
		return false;
	for (unsigned depth = 0; p && depth < MAX_DEPTH; depth++) {
		if (p->pbi_ppid == us)
			return true;
		p = find(f, p->pbi_ppid);
	}
	return false;
}

unsigned lau_processes_signal(int signo, const struct lau_servants * not )
{
	struct found f = look();
	unsigned n = 0;

	if (not ->group)
		(void)kill(-not ->group, signo);
	for (size_t i = 0; i < f.n; i++)
		if (is_below_us(&f, &f.v[i], not )) {
			if (!not ->group || f.v[i].pbi_pgid != (uint32_t) not ->group)
				(void)kill((pid_t)f.v[i].pbi_pid, signo);
			n++;
		}
	free(f.v);
	return n;
}

void lau_processes_list(struct b_str *out, const struct lau_servants * not )
{
	struct found f = look();
	const char *comma = "";

	for (size_t i = 0; i < f.n; i++)
		if (is_below_us(&f, &f.v[i], not )) {
			b_str_addf(out, "%s%u %.16s", comma, f.v[i].pbi_pid, f.v[i].pbi_comm);
			comma = ", ";
		}
	free(f.v);
}
