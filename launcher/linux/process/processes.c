/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - the processes of a run: found by their parents or by their mark, and ended. */
#include "launcher/supervise/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"

/* System calls only, with memory of its own: it runs in children of
 * processes with threads as well (supervise.h). */

struct proc {
	pid_t pid, parent, group;
	bool has_ended; /* and waits to be reaped */
	bool is_ours;
	char name[64]; /* as the kernel has it: at most 15 bytes, kernel threads more */
};

struct procs {
	struct proc *v; /* mapped, of whole pages */
	size_t n, cap;
};

enum { FIRST_PROCS = 256 };

/* Room for one more, or false. */
static bool grow(struct procs *all)
{
	size_t cap = all->cap ? all->cap * 2 : FIRST_PROCS;
	struct proc *v;

	if (all->n < all->cap)
		return true;
	v = mmap(NULL, cap * sizeof *v, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return false;
	if (all->v) {
		memcpy(v, all->v, all->n * sizeof *v);
		(void)munmap(all->v, all->cap * sizeof *v);
	}
	all->v = v;
	all->cap = cap;
	return true;
}

static void release(struct procs *all)
{
	if (all->v)
		(void)munmap(all->v, all->cap * sizeof *all->v);
}

void lau_processes_adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool lau_processes_can_adopt(void)
{
	return true;
}

bool lau_processes_none(void)
{
	int adopts = 0;

	return prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0) == 0 && adopts &&
	       waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

enum { BURY_MS = 2000 };

void lau_processes_bury(pid_t pid)
{
	b_auto_fd int fd = -1;
	struct pollfd p = {.events = POLLIN};
	uint64_t until;

	if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0)
		return;
	/* one that is ending already does not mind */
	(void)kill(pid, SIGKILL);
	until = b_deadline_ms(BURY_MS);
	/* without such descriptors (before Linux 5.3): again and again */
	p.fd = fd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (waitpid(pid, NULL, WNOHANG) == 0 && b_now_ms() < until)
		(void)poll(&p, 1, fd < 0 ? 1 : BURY_MS);
}

static int number(const char **s)
{
	int n = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++)
		n = n * 10 + (**s - '0');
	return n;
}

/* Field 20 of proc_pid_stat(5); `at` is behind the fifth. */
static int threads(const char *at)
{
	for (int field = 5; *at && field < 20; at++)
		field += *at == ' ';
	return number(&at);
}

/* proc_pid_stat(5): "pid (comm) state ppid pgrp"; comm may hold anything, so from its last ')'. A
 * process whose first thread has ended is Z while others of its threads go on. */
static bool parse_stat(char *text, struct proc *p)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	const char *at;
	size_t n;

	if (!open || !close || close[1] != ' ' || !close[2] || close[3] != ' ')
		return false;
	at = close + 4;
	p->parent = number(&at);
	at += *at == ' ';
	p->group = number(&at);
	p->has_ended = close[2] == 'Z' && threads(at) <= 1;
	n = (size_t)(close - open - 1);
	n = n < sizeof p->name ? n : sizeof p->name - 1;
	memcpy(p->name, open + 1, n);
	p->name[n] = '\0';
	return true;
}

static bool read_stat(int proc, const char *pid, struct proc *p)
{
	static const char stat[] = "/stat";
	char path[32], text[512];
	b_auto_fd int fd = -1;
	size_t len = strlen(pid);
	ssize_t n;

	if (len + sizeof stat > sizeof path)
		return false;
	memcpy(path, pid, len);
	memcpy(path + len, stat, sizeof stat);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	if (n <= 0)
		return false; /* it ended meanwhile */
	text[n] = '\0';
	p->pid = number(&pid);
	p->is_ours = false;
	return parse_stat(text, p);
}

/* Marks children of ours, then their children, until nothing is new. Processes that fork while
 * we look may be missed: callers repeat. */
static void mark(struct procs *all, pid_t root, const struct lau_servants *but)
{
	bool more = true;
	size_t i, j;

	for (i = 0; i < all->n; i++)
		all->v[i].is_ours = all->v[i].parent == root &&
				    !(but->is_apart && but->is_apart(but->ctx, all->v[i].pid));
	while (more) {
		more = false;
		for (i = 0; i < all->n; i++) {
			for (j = 0; !all->v[i].is_ours && j < all->n; j++) {
				if (all->v[j].is_ours && all->v[j].pid == all->v[i].parent)
					all->v[i].is_ours = more = true;
			}
		}
	}
}

/* What one look takes of /proc: many processes, or the next few, which still live when they are
 * met. */
enum { MANY = 8192, FEW = sizeof(struct dirent64) };

/* Calls `met` with the number of each process there is, below `proc`. */
static void each_process(size_t at_once, void (*met)(void *ctx, int proc, const char *pid),
			 void *ctx)
{
	b_auto_fd int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char buf[MANY];
	ssize_t n;

	/* getdents64 itself: opendir(3) allocates */
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, at_once)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(buf + at);

			at += e->d_reclen;
			if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
				met(ctx, dir, e->d_name);
		}
	}
}

static void list_one(void *ctx, int proc, const char *pid)
{
	struct procs *all = ctx;

	if (grow(all) && read_stat(proc, pid, &all->v[all->n]))
		all->n++;
}

static void look_at_all(struct procs *all)
{
	*all = (struct procs){0};
	each_process(MANY, list_one, all);
}

static void look(struct procs *all, const struct lau_servants *but)
{
	look_at_all(all);
	mark(all, getpid(), but);
}

static bool is_of_the_run(const struct proc *p, const struct lau_servants *but)
{
	return p->is_ours && !p->has_ended && p->pid != but->broker && p->pid != but->timer &&
	       p->pid != but->init && p->pid != but->wrap;
}

unsigned lau_processes_signal(int signo, const struct lau_servants *but)
{
	struct procs all;
	unsigned count = 0;
	size_t i;

	if (signo == SIGKILL && but->init) {
		(void)kill(but->init, SIGKILL); /* nobody can fork away from that */
		return 1;
	}
	if (but->group)
		(void)kill(-but->group, signo);
	look(&all, but);
	/* A number could only have been given to a stranger since look() if its process ended,
	 * was reaped by a parent other than us, and the pid space wrapped around, all within
	 * microseconds. */
	for (i = 0; i < all.n; i++) {
		if (!is_of_the_run(&all.v[i], but))
			continue;
		if (!but->group || all.v[i].group != but->group)
			(void)kill(all.v[i].pid, signo);
		count++;
	}
	release(&all);
	return count;
}

/*
 * A generation of a lineage may be born behind the place that is being read of /proc, and its
 * parent may have ended before that place: nobody is found, and somebody lives. Nobody was missed
 * where the host has made no process meanwhile. Where it always makes some, many passes in turn
 * must find nobody. What cannot be killed (a disk that does not answer) shall not keep us for ever.
 */
enum { AGAIN_MS = 1, CALM_MS = 2000, CALM_PASSES = 500, AT_MOST_MS = 30000 };

struct marked {
	rlim_t mark;
	unsigned found;
};

/* At once, before anything else is read: a process that forks and ends is not there for long. */
static void kill_one(void *ctx, int proc, const char *name)
{
	struct marked *m = ctx;
	const char *at = name;
	pid_t pid = number(&at);
	struct rlimit has;
	struct proc p;

	if (prlimit(pid, RLIMIT_LOCKS, NULL, &has) < 0 || has.rlim_max != m->mark)
		return;
	(void)kill(pid, SIGKILL);
	if (!read_stat(proc, name, &p) || !p.has_ended)
		m->found++;
}

/* One pass; how many it found. */
static unsigned kill_marked(rlim_t mark)
{
	struct marked m = {.mark = mark};

	each_process(FEW, kill_one, &m);
	return m.found;
}

/* proc_loadavg(5), last field: the number that a process or thread was given last. 0 = not known.
 */
static int last_number(void)
{
	b_auto_fd int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	const char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ' ');
	return at ? (at++, number(&at)) : 0;
}

void lau_processes_end_marked(rlim_t mark)
{
	const struct timespec a_while = {.tv_nsec = AGAIN_MS * 1000000};
	uint64_t now = b_now_ms(), end = now + AT_MOST_MS, calm = now + CALM_MS;

	/* a guard that seldom has a processor makes few passes in that time */
	for (unsigned passes = 0; now < end && (now < calm || passes < CALM_PASSES);
	     passes++, now = b_now_ms()) {
		int last = last_number();

		if (kill_marked(mark) > 0) {
			calm = b_now_ms() + CALM_MS;
			passes = 0;
		} else if (last && last == last_number()) {
			return;
		}
		(void)nanosleep(&a_while, NULL);
	}
}

void lau_processes_list(struct b_str *out, const struct lau_servants *but)
{
	struct procs all;
	size_t i, n = 0;

	look(&all, but);
	for (i = 0; i < all.n; i++) {
		if (!is_of_the_run(&all.v[i], but) || n++ >= LAU_LIST_MAX)
			continue;
		b_str_addf(out, "%d ", (int)all.v[i].pid);
		b_str_add_visible(out, all.v[i].name, strlen(all.v[i].name));
		b_str_addc(out, '\n');
	}
	if (n > LAU_LIST_MAX)
		b_str_addf(out, "and %zu more\n", n - LAU_LIST_MAX);
	release(&all);
}

/* ---- the orphan guard ---- */

#define FLOOR ((rlim_t)1 << 62) /* below RLIM_INFINITY, beyond any other use */

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
	lau_processes_end_marked(mark);
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
