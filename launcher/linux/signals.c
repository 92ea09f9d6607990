/* signals.c - see signals.h; signalfd(2). */
#include "launcher/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

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
		return b_fail(err, B_SYSTEM, errno, "signalfd: %s", strerror(errno));
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
