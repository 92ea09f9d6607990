/* signals.c - see launcher/signals.h: a handler writes what came into a pipe. */
#include "launcher/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"

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
