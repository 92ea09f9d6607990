/* terminal.c - see terminal.h; termios(3). */
#include "launcher/linux/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/mem.h"

static int open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

void lau_terminal_look(struct lau_terminal *t)
{
	b_auto_fd int fd = open_terminal();

	t->is_known = fd >= 0 && tcgetattr(fd, &t->modes) == 0;
}

/* Ours, or of a group that the command had made and that is gone. */
static bool is_free(int fd)
{
	pid_t front = tcgetpgrp(fd);

	return front == getpgrp() || (front > 1 && kill(-front, 0) < 0 && errno == ESRCH);
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
