/* timer.c - see timer.h. */
#include "launcher/timer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "launcher/linux/fdclose.h"

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
