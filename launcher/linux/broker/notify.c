/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.c - the loop: receive, serve, answer (answer.c); and the threads that run it.
 *
 * One worker serves most runs: it stays beside its caller, and a second one would take turns with
 * it on another processor, at twice the price of a call. A call that may wait (a FIFO without its
 * other end, a connect) says so, gives its lock back, and another worker takes its place; one that
 * is slow without saying so gets help after a few milliseconds. A worker that finishes when another
 * waits for calls is parked, or exits when enough are. A worker that waits for a caller which is
 * gone, or has a signal to handle, is interrupted. The main thread only watches over them while
 * there is something to serve, and over the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"
#include "launcher/linux/process/process.h"

#define SPARE	3     /* so many may be parked */
#define ROOM_MS 10    /* until the ring may have room again */
#define END_MS	10000 /* for calls that were being done when the last caller ended */

/* Newer than the headers of Debian 12 in part; include/uapi/linux/seccomp.h. */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ul << 0) /* 6.6 */
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define KERNEL_RESTARTSYS 512 /* ERESTARTSYS: the call is made again after the signal's handler */

/* ---- locks ---- */

void br_unlock(struct br_call *c)
{
	c->w->shares = false;
	if (c->locked == BR_LOCK_SHARED)
		lau_movelock_share_end(c->b->lock);
	if (c->locked == BR_LOCK_MOVES)
		lau_movelock_move_end(c->b->lock);
	c->locked = BR_LOCK_NONE;
}

/* Refused after a while, as it cannot be known when the other one goes on. */
static int locked(struct br_call *c, int rc, enum br_lock how, pid_t who)
{
	if (rc == -EBUSY && !atomic_exchange(&c->b->said_blocked, true))
		dprintf(STDERR_FILENO,
			"sbx-launch: E_FLOOR: broker: calls are refused (EBUSY): the broker of "
			"another run is stopped and holds the lock of moves: continue or end "
			"process %d\n",
			(int)who);
	if (rc < 0)
		return rc;
	c->locked = how;
	c->w->shares = how == BR_LOCK_SHARED;
	c->locked_ns = br_now_ns();
	if (br_texts_hold(c))
		return 0;
	br_unlock(c);
	return -ESTALE;
}

int br_lock_shared(struct br_call *c)
{
	pid_t who = 0;

	return locked(c, lau_movelock_share(c->b->lock, &who), BR_LOCK_SHARED, who);
}

int br_lock_moves(struct br_call *c)
{
	pid_t who = 0;

	return locked(c, lau_movelock_move(c->b->lock, &who), BR_LOCK_MOVES, who);
}

void br_lock_fs(struct br_call *c)
{
	if (!c->b->shares_fs || c->has_fs)
		return;
	pthread_mutex_lock(&c->b->fs);
	c->has_fs = true;
}

static void unlock_fs(struct br_call *c)
{
	if (c->has_fs)
		pthread_mutex_unlock(&c->b->fs);
	c->has_fs = false;
}

/* ---- one call ---- */

static struct br_answer serve(struct br_call *c)
{
	unsigned row;
	int rc;

	if (br_refusal(c, &row)) { /* before anything that could let the kernel continue the call */
		c->row = &br_refused_row;
		rc = br_take_place(c);
		return rc < 0 ? br_fail(-rc) : c->row->handler(c);
	}
	c->row = br_row_find(c->n.data.nr);
	if (!c->row || !c->row->handler)
		return br_fail(ENOSYS);
	if (br_lies(c))
		return br_proceed_unseen(c);
	rc = br_take_place(c);
	if (rc < 0)
		return br_fail(-rc);
	c->flags = c->row->flags_arg == BR_NO_ARG ? 0 : (unsigned)br_arg(c, c->row->flags_arg);
	c->mode = c->row->mode_arg == BR_NO_ARG ? 0 : (mode_t)br_arg(c, c->row->mode_arg);
	rc = br_check(c);
	if (rc == BR_NOTHING_TO_DO)
		return br_value(0);
	if (rc == 0)
		rc = br_ends_read(c);
	if (rc == 0 && c->b->mixed_creds)
		rc = br_become(c);
	if (rc == BR_UNREADABLE)
		return br_proceed_unseen(c);
	if (rc < 0)
		return br_fail(-rc);
	return c->row->handler(c);
}

/* The watch leaves the worker alone meanwhile. Why it was interrupted. */
static int end_wait(struct br_worker *w)
{
	w->waits = false;
	w->b->waiting--;
	return atomic_exchange(&w->signal, BR_SIGNAL_NONE);
}

static enum sbx_fate fate_of(const struct br_call *c, const struct br_answer *a)
{
	if (c->has_fate)
		return c->fate;
	if (!c->row || c->row->call == SBX_CALL_unknown)
		return SBX_FATE_OTHER;
	if (a->kind == BR_KIND_CONTINUE)
		return SBX_FATE_KERNEL;
	return a->kind == BR_KIND_ERROR ? SBX_FATE_FAILED : SBX_FATE_READ;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void handle(struct br_call *c)
{
	struct br_worker *w = c->w;
	struct br_answer a;

	c->cwd_len = 0;
	c->did = 0;
	c->has_fate = false;
	c->has_text = false;
	c->task = NULL;
	c->root = c->end[0].at = c->end[0].fd = c->end[1].at = c->end[1].fd = -1;
	w->caller = (pid_t)c->n.pid;
	w->busy = c->n.id;
	w->phase = BR_PHASE_SERVING;
	if (c->b->plan->tally)
		count(&c->b->plan->tally->calls);
	a = serve(c);
	if (c->b->plan->tally)
		count(&c->b->plan->tally->fate[fate_of(c, &a)]);
	br_give_place(c);
	br_unlock(c);
	unlock_fs(c);
	br_test_point(c->b, BR_POINT_SERVED);
	br_settle(w);
	br_test_point(c->b, BR_POINT_SETTLED);
	w->busy = 0;
	/* not a failure of the call: the program's handler runs, then it goes on waiting */
	if (w->waits && end_wait(w) == BR_SIGNAL_OWN && a.kind == BR_KIND_ERROR && a.err == EINTR)
		a.err = KERNEL_RESTARTSYS;
	br_become_self(w);
	/* Before the answer: the caller's next call should find this worker waiting for it. */
	br_ends_release(c);
	br_answer(c, &a);
}

/* ---- workers ---- */

static void wake_main(struct br_broker *b)
{
	if (!b->is_watched && !atomic_exchange(&b->is_watched, true))
		(void)!write(b->wake[1], "", 1);
}

static void *work(void *arg);

/*
 * One worker waits for calls. A second one in the kernel's queue would be woken by each call as
 * well (since Linux 6.6), or take turns with the first (before): both know less of the caller, and
 * are on another processor. So whoever finds another one waiting is parked, and comes back when
 * there are more calls than workers: the last that was parked first, whose memory of callers is the
 * freshest.
 */
static void park(struct br_worker *w)
{
	struct br_broker *b = w->b;

	pthread_mutex_lock(&b->park);
	w->below = b->top;
	b->top = w;
	w->is_parked = 1;
	b->parked++;
	pthread_mutex_unlock(&b->park);
	while (w->is_parked)
		syscall(SYS_futex, &w->is_parked, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

bool br_unpark(struct br_broker *b)
{
	struct br_worker *w;

	pthread_mutex_lock(&b->park);
	w = b->top;
	if (w) {
		b->top = w->below;
		b->parked--;
		w->is_parked = 0;
	}
	pthread_mutex_unlock(&b->park);
	if (w)
		syscall(SYS_futex, &w->is_parked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return w;
}

/* Before a call is served, with which nobody may be left that receives: are there more? */
static void call_for_help(struct br_broker *b)
{
	struct pollfd p = {.fd = b->listener, .events = POLLIN};

	if (b->parked && !b->idle && poll(&p, 1, 0) > 0 && p.revents & POLLIN)
		(void)br_unpark(b);
}

void br_start_worker(struct br_broker *b)
{
	struct br_worker *w;
	pthread_attr_t attr;

	if (b->nworkers == BR_WORKERS_MAX)
		return;
	w = b_calloc(1, sizeof *w);
	w->b = b;
	w->call = b_calloc(1, sizeof *w->call);
	w->call->b = b;
	w->call->w = w;
	for (unsigned i = 0; i < BR_TASKS; i++)
		w->tasks[i].dir = w->tasks[i].pidfd = -1;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256u << 10);
	b->workers[b->nworkers] = w;
	if (pthread_create(&w->thread, &attr, work, w) == 0) {
		b->nworkers++;
	} else { /* tried again at each look, for as long as the callers use up all threads */
		b->workers[b->nworkers] = NULL;
		free(w->call);
		free(w);
	}
	pthread_attr_destroy(&attr);
}

bool br_may_block(struct br_call *c)
{
	if (++c->b->waiting > BR_WAITING_MAX) {
		c->b->waiting--;
		return false;
	}
	br_unlock(c);
	unlock_fs(c);
	c->w->waits = true;
	if (!c->b->idle)
		(void)br_unpark(c->b);
	/* at once, also when it watches already and sleeps */
	c->b->is_watched = true;
	(void)!write(c->b->wake[1], "", 1);
	return true;
}

void br_end_block(struct br_call *c)
{
	struct br_worker *w = c->w;

	br_settle(w);
	(void)end_wait(w);
	w->phase = BR_PHASE_SERVING;
}

static void prepare_thread(struct br_worker *w)
{
	sigset_t set;

	/* its own umask and working directory */
	if (!w->b->shares_fs && unshare(CLONE_FS) < 0)
		_exit(1);
	w->umask = umask(0);
	umask(w->umask);
	sigemptyset(&set);
	sigaddset(&set, BR_INTERRUPT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	w->tid = (pid_t)syscall(SYS_gettid);
	br_watch_me(w);
}

/* Has the last process under the filter ended? */
static bool is_over(int listener)
{
	struct pollfd p = {.fd = listener};

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

/* Callers would wait for ever for a broker that lives and receives nothing. */
static _Noreturn void give_up(int sys)
{
	dprintf(STDERR_FILENO,
		"sbx-launch: E_FLOOR: broker: calls can no longer be received: ioctl(2): %s\n",
		strerror(sys));
	_exit(1);
}

static void *work(void *arg)
{
	struct br_worker *w = arg;
	struct br_broker *b = w->b;

	prepare_thread(w);
	for (;;) {
		int rc;

		memset(&w->call->n, 0, sizeof w->call->n);
		b->idle++;
		rc = ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &w->call->n);
		b->idle--;
		wake_main(b);
		if (rc < 0) {
			/* ENOENT: the caller died meanwhile, or the last one did: then it would
			 * come again and again until main_loop() ends us */
			if (errno == EINTR || errno == EAGAIN ||
			    (errno == ENOENT && !is_over(b->listener)))
				continue;
			if (!is_over(b->listener))
				give_up(errno);
			break; /* no caller is left */
		}
		b->served++;
		call_for_help(b);
		handle(w->call);
		if (b->idle && b->parked >= SPARE)
			break;
		if (b->idle)
			park(w);
	}
	br_tasks_drop(w);
	w->has_ended = true; /* the last we do with it */
	return NULL;
}

/* Until the last process that the filter is on has ended: then the listener hangs up. */
static void main_loop(struct br_broker *b)
{
	struct pollfd p[5] = {{.fd = b->listener}, {.fd = b->wake[0], .events = POLLIN}};
	char bytes[64];

	for (;;) {
		lau_wards_poll(b->plan->wards, p + 2);
		br_net_poll(b, p + 4);
		if (poll(p, 5, b->is_full ? BR_ROOM_MS : -1) < 0 && errno != EINTR)
			return;
		br_net_take(b, p + 4);
		if (p[2].revents || p[3].revents)
			lau_wards_take(b->plan->wards);
		if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return;
		if (!(p[1].revents & POLLIN))
			continue;
		(void)!read(b->wake[0], bytes, sizeof bytes);
		br_watch(b);
		br_bury(b);
		b->is_watched = false;
		/* a worker that became busy before the flag was cleared has woken no other */
		if (b->idle + b->parked < b->nworkers)
			wake_main(b);
	}
}

static bool one_serves(const struct br_broker *b)
{
	for (int i = 0; i < b->nworkers; i++)
		if (b->workers[i]->busy)
			return true;
	return false;
}

/* Nobody waits for these calls any more, but what they do is done: a change has its line, and a
 * move its second look. A call that is not begun by now finds its caller gone. */
static void finish_calls(struct br_broker *b, uint64_t end)
{
	uint64_t now = b_now_ms(), look = now;

	for (; one_serves(b) && now < end; now = b_now_ms()) {
		if (now >= look) {
			br_look_after_all(b);
			look = now + BR_WATCH_MS;
		}
		(void)poll(NULL, 0, 1);
	}
}

/* ---- start ---- */

static int make_locks(struct br_broker *b, struct b_err *err)
{
	pthread_mutex_init(&b->fs, NULL);
	pthread_mutex_init(&b->lend_wait, NULL);
	pthread_mutex_init(&b->park, NULL);
	b->lock = b->plan->lock ? b->plan->lock : &b->own_lock;
	return b->plan->lock ? 0 : lau_movelock_alone(&b->own_lock, err);
}

static bool links_are_protected(void)
{
	int fd = open("/proc/sys/fs/protected_symlinks", O_RDONLY | O_CLOEXEC);
	char c = '1';

	if (fd < 0)
		return true;
	if (read(fd, &c, 1) != 1)
		c = '1';
	close(fd);
	return c == '1';
}

static int open_views(struct br_broker *b, struct b_err *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

	b->root = open("/", flags);
	b->proc = open("/proc", flags);
	b->self_fd = open("/proc/self/fd", flags);
	if ((b->root < 0 || b->proc < 0 || b->self_fd < 0) && errno == ENOENT)
		return b_fail(err, B_FLOOR, errno, "broker: /proc: it must be mounted");
	if (b->root < 0 || b->proc < 0 || b->self_fd < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: /proc");
	br_find_dev(b);
	if (br_find_other_procs(b) < 0)
		return b_fail(err, B_FLOOR, errno, "broker: /proc/self/mountinfo: %s",
			      strerror(errno));
	if (pipe2(b->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: pipe");
	br_find_memory(b);
	br_find_fchmodat2(b);
	return 0;
}

/* Every caller may have a few of our descriptors open at once. */
static void raise_limits(struct br_broker *b)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
		b->held_max = lim.rlim_max < UINT_MAX ? (unsigned)lim.rlim_max / 4 : UINT_MAX;
	}
	b->held_max += !b->held_max;
}

static void set_up(struct br_broker *b)
{
	const struct sigaction act = {.sa_handler = br_on_interrupt};
	uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;

	b->pid = getpid();
	b->uid = geteuid();
	b->gid = getegid();
	b->caps = b->uid == 0 ? b->plan->keep_caps & br_file_caps() : 0;
	b->creds_age = 1;
	b->shares_fs = unshare(CLONE_FS) < 0;
	b->mixed_creds = b->plan->is_other;
	b->links_protected = links_are_protected();
	raise_limits(b);
	sigaction(BR_INTERRUPT, &act, NULL);
	/* the caller and we take turns: stay on its processor; EINVAL before 6.6 */
	(void)ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	(void)br_row_find(0); /* fills its index */
}

int lau_broker_serve(const struct lau_broker_plan *plan, int listener, struct b_err *err)
{
	/* never freed: detached workers may still look at it when the process ends */
	struct br_broker *b = b_calloc(1, sizeof *b);
	uint64_t end;
	sigset_t all;

	b->plan = plan;
	b->listener = listener;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (make_locks(b, err) < 0 || open_views(b, err) < 0)
		return -1;
	set_up(b);
	if (br_confine_threads(plan, err) < 0)
		return -1;
	while (b->nworkers < BR_WORKERS_MIN) {
		int before = b->nworkers;

		br_start_worker(b);
		if (b->nworkers == before)
			return b_fail_sys(err, B_FLOOR, errno, "broker: no thread can be started");
	}
	main_loop(b);
	end = b_now_ms() + END_MS;
	finish_calls(b, end);
	br_net_finish(b, end);
	if (plan->wards)
		lau_wards_finish(plan->wards);
	return 0;
}
