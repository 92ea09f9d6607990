/* foreground.c - see foreground.h; tcsetpgrp(3). */
#include "launcher/foreground.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/mem.h"

bool lau_foreground_give(pid_t from, pid_t to)
{
	b_auto_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	sigset_t one, before;
	bool done;

	if (tty < 0 || (from && tcgetpgrp(tty) != from))
		return false;
	/* who does not have it and gives it away is stopped, unless he does not listen */
	sigemptyset(&one);
	sigaddset(&one, SIGTTOU);
	sigprocmask(SIG_BLOCK, &one, &before);
	done = tcsetpgrp(tty, to) == 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return done;
}
