/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what the supervisor waits for: signals, the deadline, the terminal, reports of
 * the broker. */
#include "launcher/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"

/* Signalfd(2). */

/* Faults of our own must still kill us, not wait to be read. */
static void watched(sigset_t *set)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	size_t i;

	sigfillset(set);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(set, faults[i]);
}

int lau_signals_open(struct lau_signals *s, struct b_err *err)
{
	/* Started with SIGCHLD ignored, children would vanish before they can be waited for. */
	const struct sigaction chld = {.sa_handler = SIG_DFL};
	sigset_t set;

	watched(&set);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "signalfd");
	sigprocmask(SIG_SETMASK, &set, &s->old_mask);
	sigaction(SIGCHLD, &chld, &s->old_chld);
	return 0;
}

void lau_signals_restore(const struct lau_signals *s)
{
	sigaction(SIGCHLD, &s->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

int lau_signals_next(const struct lau_signals *s, struct lau_signal *out)
{
	struct signalfd_siginfo info;
	bool is_queued;
	ssize_t n;

	do
		n = read(s->fd, &info, sizeof info);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof info)
		return 0;
	is_queued = info.ssi_signo == SIGTERM && info.ssi_code == SI_QUEUE;
	*out = (struct lau_signal){
		.signo = (int)info.ssi_signo,
		.is_stop = is_queued && info.ssi_int == LAU_STOP_VALUE,
		.is_over = is_queued && info.ssi_int == LAU_OVER_VALUE,
		.from_kernel = info.ssi_code == SI_KERNEL,
		.sender = (pid_t)info.ssi_pid,
	};
	return 1;
}

void lau_signals_stop_self(int signo)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	raise(signo); /* SIGSTOP acts here, the others when unblocked */
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}

void lau_signals_close(struct lau_signals *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* ---- the deadline ---- */

/* Again and again: what continued may be stopped once more before it has done its work. */
enum { AGAIN_MS = 100 };

static void sleep_ms(uint64_t ms)
{
	struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0)
		;
}

static _Noreturn void wait_and_continue(pid_t supervisor, uint64_t end)
{
	uint64_t now;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sbx-timer", 0, 0, 0);
	(void)setsid();
	/* what others wait for the end of */
	lau_fdclose_range(0, ~0u);
	while ((now = b_now_ms()) < end && getppid() == supervisor)
		sleep_ms(end - now);
	while (getppid() == supervisor) {
		(void)kill(supervisor, SIGCONT);
		sleep_ms(AGAIN_MS);
	}
	_exit(0);
}

pid_t lau_timer_start(uint64_t deadline_ms)
{
	pid_t supervisor = getpid(), pid;
	int ready[2];
	char none;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	/* Without a signal at its end wait(2) does not see it (__WALL), and so "no child is left"
	 * still means that the command's tree is gone. */
	pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (pid == 0)
		wait_and_continue(supervisor, deadline_ms);
	close(ready[1]);
	/* Its end closes once it has left our group: what stops that must not stop it. */
	(void)b_read_full(ready[0], &none, 1);
	close(ready[0]);
	return pid;
}

void lau_timer_stop(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, __WALL);
}

/* Termios(3). */

static int open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

static bool is_exclusive(int fd)
{
	int on = 0;

	return ioctl(fd, TIOCGEXCL, &on) == 0 && on;
}

void lau_terminal_look(struct lau_terminal *t)
{
	b_auto_fd int fd = open_terminal();

	for (int i = 0; i < 3; i++) {
		t->fd[i] = isatty(i) ? fcntl(i, F_DUPFD_CLOEXEC, 3) : -1;
		t->flags[i] = fcntl(i, F_GETFL);
		t->was_exclusive[i] = is_exclusive(i);
	}
	t->is_known = fd >= 0 && tcgetattr(fd, &t->modes) == 0;
}

/* Ours, or of a group that the command had made and that is gone. */
static bool is_free(int fd)
{
	pid_t front = tcgetpgrp(fd);

	return front == getpgrp() || (front > 1 && kill(-front, 0) < 0 && errno == ESRCH);
}

/* TIOCEXCL keeps all but root from opening the terminal by its name. */
void lau_terminal_return(const struct lau_terminal *t)
{
	for (int i = 0; i < 3; i++) {
		int fd = t->fd[i];

		if (fd < 0)
			continue;
		if (is_exclusive(fd) && !t->was_exclusive[i])
			(void)ioctl(fd, TIOCNXCL);
		if (t->flags[i] >= 0 && fcntl(fd, F_GETFL) != t->flags[i])
			(void)fcntl(fd, F_SETFL, t->flags[i]);
	}
}

void lau_terminal_restore(const struct lau_terminal *t)
{
	b_auto_fd int fd = t->is_known ? open_terminal() : -1;
	sigset_t stop, before;

	if (fd < 0 || !is_free(fd))
		return;
	/* who is in no foreground group is stopped for it, unless the signal is blocked */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stop, &before);
	(void)tcsetattr(fd, TCSANOW, &t->modes);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- the supervisor ---- */

/* Without an end the broker is gone, and the command was killed with it (PR_SET_PDEATHSIG). */
static enum lau_watched ready(struct lau_watch *w, struct lau_signal *out)
{
	struct lau_reports *r = (struct lau_reports *)w;
	bool had_ended = r->has_ended;
	int status;

	if (b_read_full(w->fd, &status, sizeof status) != (ssize_t)sizeof status) {
		status = SIGKILL;
		lau_reports_close(r);
	}
	if (!WIFSTOPPED(status)) {
		r->has_ended = true;
		if (w->fd >= 0)
			(void)b_write_all(w->fd, "", 1);
	}
	out->signo = status;
	return had_ended ? LAU_WATCH_NOTHING : LAU_WATCH_CHANGED;
}

void lau_reports_open(struct lau_reports *r, int sock)
{
	*r = (struct lau_reports){.watch = {.fd = sock, .ready = ready}};
}

void lau_reports_close(struct lau_reports *r)
{
	if (r->watch.fd >= 0)
		close(r->watch.fd);
	r->watch.fd = -1;
}

static enum lau_watched hear_alone(struct lau_watch *w, struct lau_signal *out)
{
	char byte;
	bool is_said = b_read_full(w->fd, &byte, 1) == 1; /* else it was killed */

	(void)out;
	lau_alone_close((struct lau_alone *)w);
	return is_said ? LAU_WATCH_ALONE : LAU_WATCH_NOTHING;
}

void lau_alone_open(struct lau_alone *a, int pipe)
{
	*a = (struct lau_alone){.watch = {.fd = pipe, .ready = hear_alone}};
}

void lau_alone_close(struct lau_alone *a)
{
	if (a->watch.fd >= 0)
		close(a->watch.fd);
	a->watch.fd = -1;
}

/* ---- the broker ---- */

int lau_wards_open(struct lau_wards *w, int sock, pid_t command)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGCHLD);
	*w = (struct lau_wards){.sock = sock, .command = command};
	w->signals = signalfd(-1, &one, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? -1 : 0;
}

/* wait(2)'s word for waitid(2)'s. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	case CLD_STOPPED:
	case CLD_TRAPPED:
		return (info->si_status & 0xff) << 8 | 0x7f;
	default:
		return info->si_status;
	}
}

static void tell(struct lau_wards *w, const siginfo_t *info)
{
	int status = status_of(info);

	if (w->sock >= 0 && b_write_all(w->sock, (const char *)&status, sizeof status) == 0)
		return;
	w->may_reap = true; /* there is nobody who could send it anything */
}

/* An answer, or the end of who would give one. */
static void take_answer(struct lau_wards *w, int wait_ms)
{
	struct pollfd p = {.fd = w->sock, .events = POLLIN};
	char byte;

	if (w->sock < 0 || poll(&p, 1, wait_ms) <= 0)
		return;
	w->may_reap = true;
	if (b_read_full(w->sock, &byte, 1) == 1)
		return;
	close(w->sock);
	w->sock = -1;
}

static bool has_ended(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

static void reap(struct lau_wards *w)
{
	/* not those that another thread traces (launcher/linux/broker/limits.c) */
	const int changes = WEXITED | WSTOPPED | __WNOTHREAD;

	for (;;) {
		siginfo_t info = {0};
		bool is_end;

		if (waitid(P_ALL, 0, &info, changes | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
			return;
		is_end = info.si_pid == w->command && has_ended(&info);
		if (is_end && !w->is_told) {
			w->is_told = true;
			tell(w, &info);
		}
		/* others that have ended wait as long */
		if (is_end && !w->may_reap)
			return;
		if (waitid(P_PID, (id_t)info.si_pid, &info, changes | WNOHANG) == 0 && !is_end &&
		    info.si_pid == w->command)
			tell(w, &info);
	}
}

void lau_wards_poll(const struct lau_wards *w, struct pollfd p[2])
{
	p[0] = (struct pollfd){.fd = w ? w->signals : -1, .events = POLLIN};
	p[1] = (struct pollfd){.fd = w ? w->sock : -1, .events = POLLIN};
}

void lau_wards_take(struct lau_wards *w)
{
	struct signalfd_siginfo ignored[8];

	while (read(w->signals, ignored, sizeof ignored) > 0)
		;
	take_answer(w, 0);
	reap(w);
}

void lau_wards_finish(struct lau_wards *w)
{
	siginfo_t info = {0};
	int rc = 0;

	while (!w->is_told &&
	       (rc = waitid(P_PID, (id_t)w->command, &info, WEXITED | WNOWAIT)) < 0 &&
	       errno == EINTR)
		;
	if (!w->is_told && rc == 0) {
		w->is_told = true;
		tell(w, &info);
	}
	/* who was told nothing answers nothing: the end of the broker tells the supervisor */
	if (!w->may_reap && w->is_told)
		take_answer(w, -1);
	reap(w);
}

/* ---- who is the command ---- */

int lau_hello_open(int socks[2])
{
	const int on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -1;
	return setsockopt(socks[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

pid_t lau_hello_read(int sock)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(struct ucred))];
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof room};
	const struct cmsghdr *c;
	struct ucred who;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_CREDENTIALS)
		return 0;
	memcpy(&who, CMSG_DATA(c), sizeof who);
	return who.pid;
}
