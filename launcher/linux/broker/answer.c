/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - the answer of a call.
 *
 * A descriptor and the answer go to the caller in one ioctl(2) where that can be: it saves two
 * switches between caller and broker, a third of an open. The caller then runs while the broker
 * still has its copy. For a file that is open for writing, execve(2) could notice this (ETXTBSY).
 * Therefore only files without any execute bit are sent so, and a call that sets one waits until no
 * such copy is left (br_wait_lent()).
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- copies that the caller may outrun ---- */

/*
 * Two counts, of which one is current. A waiter makes the other one current, then waits until the
 * first is 0. A worker that used the wrong one notices, and counts itself again.
 */
void br_lend(struct br_worker *w)
{
	struct br_broker *b = w->b;
	unsigned turn;

	if (w->lends)
		return;
	for (;;) {
		turn = b->lend_turn;
		b->lent[turn & 1]++;
		if (b->lend_turn == turn)
			break;
		b->lent[turn & 1]--;
	}
	w->lends = 1 + (turn & 1);
}

static void end_lending(struct br_worker *w)
{
	if (w->lends)
		w->b->lent[w->lends - 1]--;
	w->lends = 0;
}

void br_wait_lent(struct br_broker *b)
{
	unsigned turn;

	pthread_mutex_lock(&b->lend_wait);
	turn = b->lend_turn++;
	while (b->lent[turn & 1])
		sched_yield();
	pthread_mutex_unlock(&b->lend_wait);
}

/* ---- answers ---- */

static void answer_with(struct br_call *c, struct seccomp_notif_resp *resp)
{
	/* ENOENT: the caller has ended, or got a fatal signal */
	(void)ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_SEND, resp);
}

/* The host has frozen or stopped the broker in the middle of an answer: the caller was answered 0
 * and has no descriptor of it. It must not go on with its standard input instead. EINPROGRESS: it
 * has not taken the answer yet. ENOENT: it has taken it, or it is about to end; then nothing is
 * done. */
static void end_caller(struct br_call *c, int err)
{
	pid_t tgid = br_tgid(c);

	if (err == ENOENT && br_is_ending(c))
		return;
	syscall(SYS_tgkill, tgid, (pid_t)c->n.pid, SIGKILL);
	dprintf(STDERR_FILENO,
		"sbx-launch: E_FLOOR: broker: process %d was killed: the host stopped the broker "
		"during an open of this process, which would have continued with a wrong "
		"descriptor\n",
		(int)tgid);
}

/* Puts the descriptor into the caller and answers with its number. Does both at once, unless a
 * program could notice the broker's copy: a pipe does not end while a writer has it open. */
static void give_fd(struct br_call *c, const struct br_answer *a)
{
	struct seccomp_notif_addfd add = {
		.id = c->n.id,
		.flags = a->is_alone ? 0 : SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (unsigned)a->fd,
		.newfd_flags = a->fd_flags,
	};
	struct seccomp_notif_resp resp = {.id = c->n.id};
	int rc;

	do
		rc = ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 && (errno == EINPROGRESS || errno == ENOENT) && !a->is_alone)
		end_caller(c, errno), resp.error = -EINTR;
	else if (rc < 0) /* the caller's table is full: EMFILE */
		resp.error = -errno;
	else
		resp.val = rc;
	br_test_point(c->b, BR_POINT_GIVEN);
	close(a->fd);
	if (rc < 0 || a->is_alone)
		answer_with(c, &resp);
}

static void give_answer(struct br_call *c, const struct br_answer *a)
{
	struct seccomp_notif_resp resp = {.id = c->n.id};

	switch (a->kind) {
	case BR_KIND_FD:
		give_fd(c, a);
		return;
	case BR_KIND_CONTINUE:
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case BR_KIND_ERROR:
		resp.error = -a->err;
		break;
	case BR_KIND_VALUE:
		resp.val = a->value;
		break;
	}
	answer_with(c, &resp);
}

void br_answer(struct br_call *c, const struct br_answer *a)
{
	give_answer(c, a);
	end_lending(c->w);
}
