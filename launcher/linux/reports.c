/* reports.c - see reports.h. */
#include "launcher/linux/reports.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

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
	const int changes = WEXITED | WSTOPPED;

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

	if (!w->is_told && waitid(P_PID, (id_t)w->command, &info, WEXITED | WNOWAIT) == 0) {
		w->is_told = true;
		tell(w, &info);
	}
	if (!w->may_reap)
		take_answer(w, -1);
	reap(w);
}
