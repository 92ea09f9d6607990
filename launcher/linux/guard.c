/* guard.c - see launcher/guard.h. */
#include "launcher/guard.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "launcher/linux/fdclose.h"
#include "launcher/processes.h"

#define FLOOR ((rlim_t)1 << 62) /* below RLIM_INFINITY, beyond any other use */

/* What forks while it is killed needs a further look; what cannot be killed (a disk that does not
 * answer) shall not keep us for ever. */
enum { AGAIN_MS = 5, AT_MOST_MS = 30000 };

rlim_t lau_guard_mark(void)
{
	struct rlimit found;
	uint32_t bits[2];

	if (getrlimit(RLIMIT_LOCKS, &found) < 0 || found.rlim_max != RLIM_INFINITY ||
	    getrandom(bits, sizeof bits, 0) != sizeof bits)
		return 0;
	return FLOOR | (rlim_t)(bits[0] & 0xffff) << 32 | bits[1];
}

bool lau_guard_can(void)
{
	struct rlimit found;

	return getrlimit(RLIMIT_LOCKS, &found) == 0 && found.rlim_max >= FLOOR;
}

void lau_guard_put(rlim_t mark)
{
	if (mark)
		(void)setrlimit(RLIMIT_LOCKS, &(struct rlimit){mark, mark});
}

static _Noreturn void guard(pid_t supervisor, rlim_t mark)
{
	const struct timespec a_while = {0, AGAIN_MS * 1000000};
	uint64_t end;
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sbx-guard", 0, 0, 0);
	(void)setsid();
	/* what others wait for the end of */
	lau_fdclose_range(0, ~0u);
	while (getppid() == supervisor)
		(void)sigwaitinfo(&set, NULL);
	end = b_now_ms() + AT_MOST_MS;
	while (lau_processes_kill_marked(mark) > 0 && b_now_ms() < end)
		(void)nanosleep(&a_while, NULL);
	_exit(0);
}

static void start(struct lau_guard *g)
{
	pid_t supervisor = getpid();

	/* without a signal at its end, as the timer (timer.c) */
	g->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (g->pid == 0)
		guard(supervisor, g->mark);
	if (g->pid < 0)
		g->pid = 0;
	g->watch.fd = g->pid ? (int)syscall(SYS_pidfd_open, g->pid, 0) : -1;
}

static void bury(struct lau_guard *g)
{
	(void)waitpid(g->pid, NULL, __WALL);
	if (g->watch.fd >= 0)
		close(g->watch.fd);
	g->watch.fd = -1;
	g->pid = 0;
}

/* It has ended, which it does not while we live: somebody killed it. */
static enum lau_watched ready(struct lau_watch *w, struct lau_signal *out)
{
	struct lau_guard *g = (struct lau_guard *)w;

	(void)out;
	bury(g);
	start(g);
	return LAU_WATCH_NOTHING;
}

static bool is_apart(const struct lau_watch *w, pid_t child)
{
	return ((const struct lau_guard *)w)->pid == child;
}

void lau_guard_start(struct lau_guard *g, rlim_t mark)
{
	*g = (struct lau_guard){.watch = {.fd = -1, .ready = ready, .is_apart = is_apart},
				.mark = mark};
	start(g);
}

void lau_guard_stop(struct lau_guard *g)
{
	if (g->pid == 0)
		return;
	(void)kill(g->pid, SIGKILL);
	bury(g);
}
