/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - the main thread looks after workers whose call takes long: more of them where all wait,
 * and an interrupt for one that waits in vain.
 *
 * An interrupt may only meet a call that is still to be answered. If it met a worker in the middle
 * of its answer, the kernel would keep the number to return and lose the descriptor
 * (seccomp_unotify(2), ADDFD with SEND). Therefore the two exclude each other by compare-and-swap
 * on the worker's phase:
 *
 *	SERVING -> ANSWERING	the worker, before it answers; the watch now leaves it alone
 *	SERVING -> SIGNALLED	the watch, before it asks whether the caller still waits
 *	SIGNALLED -> SERVING	the signal's handler, or the watch when it sends none
 *
 * A worker that finds SIGNALLED waits for the handler: the signal is on its way to this thread.
 */
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

#define CALM_TICKS 50 /* after this many idle checks, stop until there is a call to serve */

static _Thread_local struct br_worker *this_worker; /* the handler's */

void br_watch_me(struct br_worker *w)
{
	this_worker = w;
}

void br_on_interrupt(int signo)
{
	int phase = BR_PHASE_SIGNALLED;

	(void)signo; /* the system call that it meets ends with EINTR */
	if (this_worker)
		atomic_compare_exchange_strong(&this_worker->phase, &phase, BR_PHASE_SERVING);
}

void br_settle(struct br_worker *w)
{
	int phase = BR_PHASE_SERVING;

	while (!atomic_compare_exchange_strong(&w->phase, &phase, BR_PHASE_ANSWERING)) {
		sched_yield();
		phase = BR_PHASE_SERVING;
	}
}

struct signals {
	int tgid;
	unsigned long long own, shared, blocked, ignored;
};

static bool read_signals(const struct br_broker *b, pid_t tid, struct signals *out)
{
	char path[32], text[4096];
	const char *at, *tgid;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%d/status", tid);
	fd = openat(b->proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	tgid = strstr(text, "\nTgid:");
	at = strstr(text, "\nSigPnd:");
	return tgid && at && sscanf(tgid, " Tgid: %d", &out->tgid) == 1 &&
	       sscanf(at, " SigPnd: %llx ShdPnd: %llx SigBlk: %llx SigIgn: %llx", &out->own,
		      &out->shared, &out->blocked, &out->ignored) == 4;
}

/*
 * A signal the caller would handle now: WAIT_KILLABLE_RECV holds it back until we answer. One of
 * the whole process is the first thread's, unless that blocks it. Else it may be the caller's, or
 * another thread's that takes it before we have answered, and then KERNEL_RESTARTSYS would reach
 * the program: it gets EINTR, as if it had not asked for a restart.
 */
static enum br_signal signal_of(const struct br_broker *b, pid_t tid)
{
	struct signals s, first;
	unsigned long long shared;

	if (!read_signals(b, tid, &s))
		return BR_SIGNAL_NONE;
	if (s.own & ~s.blocked & ~s.ignored)
		return BR_SIGNAL_OWN;
	shared = s.shared & ~s.blocked & ~s.ignored;
	if (!shared || s.tgid == tid)
		return shared ? BR_SIGNAL_OWN : BR_SIGNAL_NONE;
	if (!read_signals(b, s.tgid, &first) || !(shared & ~first.blocked))
		return BR_SIGNAL_SHARED;
	return BR_SIGNAL_NONE;
}

#define EXITING 0x4u /* PF_EXITING, proc_pid_stat(5) field 9 */

bool br_is_ending(struct br_call *c)
{
	char path[32], text[512];
	struct signals s;
	const char *end;
	unsigned flags;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%d/stat", (int)c->n.pid);
	fd = openat(c->b->proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0 || !read_signals(c->b, (pid_t)c->n.pid, &s))
		return true;
	text[n] = '\0';
	end = strrchr(text, ')');
	return (s.own | s.shared) & 1ull << (SIGKILL - 1) || !end ||
	       sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 || flags & EXITING;
}

#define AWAITED_TICKS 50 /* half a second in the way of a move */

/* An open to read can wait at a FIFO that came to its name just now, with the lock of moves shared
 * (open.c): every move of the user would wait for that. */
static bool is_in_the_way(const struct br_broker *b, struct br_worker *w)
{
	if (!w->shares || !lau_movelock_is_wanted(b->lock))
		w->in_the_way = 0;
	else
		w->in_the_way++;
	return w->in_the_way > AWAITED_TICKS;
}

/* Waiting for a caller that is gone, or for longer than a signal of its should be held back. */
static bool waits_in_vain(const struct br_broker *b, struct br_worker *w, uint64_t id)
{
	enum br_signal signal;

	if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return true;
	if (!w->waits)
		return is_in_the_way(b, w);
	signal = signal_of(b, w->caller);
	if (signal)
		w->signal = signal;
	return signal;
}

static void interrupt(struct br_broker *b, struct br_worker *w, uint64_t id)
{
	int phase = BR_PHASE_SERVING;

	if (!atomic_compare_exchange_strong(&w->phase, &phase, BR_PHASE_SIGNALLED))
		return; /* it answers, or has not yet taken the last signal */
	/* Only now: an answered call has no caller that waits, either. */
	if (w->busy == id && waits_in_vain(b, w, id)) {
		br_test_point(b, BR_POINT_SIGNAL);
		if (syscall(SYS_tgkill, b->pid, w->tid, BR_INTERRUPT) == 0)
			return;
	}
	w->phase = BR_PHASE_SERVING;
}

/* The call of the last look, still there at this one. */
static void look_after(struct br_broker *b, struct br_worker *w)
{
	uint64_t id = w->busy;

	/* The interrupt may come just before it waits: repeated until it is answered. */
	if (id && id == w->seen)
		interrupt(b, w, id);
	else
		w->in_the_way = 0;
	w->seen = id;
}

void br_look_after_all(struct br_broker *b)
{
	for (int i = 0; i < b->nworkers; i++)
		look_after(b, b->workers[i]);
}

void br_bury(struct br_broker *b)
{
	for (int i = b->nworkers - 1; i >= 0; i--)
		if (b->workers[i]->has_ended) {
			free(b->workers[i]->call);
			free(b->workers[i]);
			b->workers[i] = b->workers[--b->nworkers];
		}
}

/* Is one of them at work? Then a processor is what is missing, and not one more of them. */
static bool one_runs(const struct br_broker *b)
{
	for (int i = 0; i < b->nworkers; i++) {
		char path[48], text[64] = "";
		b_auto_fd int fd = -1;

		snprintf(path, sizeof path, "%d/task/%d/stat", b->pid, b->workers[i]->tid);
		fd = openat(b->proc, path, O_RDONLY | O_CLOEXEC);
		/* TID (sbx-broker) STATE */
		if (fd >= 0 && b_read_full(fd, text, sizeof text - 1) > 0 && strstr(text, ") R "))
			return true;
	}
	return false;
}

/* Waits until the next check, or until no caller is left. */
static bool is_over_meanwhile(struct br_broker *b)
{
	uint64_t now = b_now_ms(), end = now + BR_WATCH_MS;

	for (; now <= end; now = b_now_ms()) {
		struct pollfd p[4] = {{.fd = b->listener}};
		int n;

		lau_wards_poll(b->plan->wards, p + 1);
		br_net_poll(b, p + 3);
		n = poll(p, 4, (int)(end - now));
		br_net_take(b, p + 3);
		if (n <= 0)
			return false;
		if (p[0].revents & POLLHUP)
			return true;
		if (p[1].revents || p[2].revents)
			lau_wards_take(b->plan->wards);
	}
	return false;
}

/* While there are calls to serve. */
void br_watch(struct br_broker *b)
{
	unsigned served = b->served, calm = 0;

	while (calm < CALM_TICKS) {
		bool stuck = b->idle == 0;

		br_bury(b);
		if (b->nworkers - b->waiting < BR_WORKERS_MIN)
			br_start_worker(b);
		if (is_over_meanwhile(b))
			return;
		if (stuck && b->idle == 0 && b->served == served && !one_runs(b) && !br_unpark(b))
			br_start_worker(b);
		calm = b->served == served && !b->waiting && b->idle ? calm + 1 : 0;
		served = b->served;
		br_look_after_all(b);
	}
}
