/* timer.c - see launcher/timer.h: a grandchild, so that wait(2) knows nothing of it. */
#include "launcher/timer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

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
