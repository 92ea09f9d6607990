/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - limits and processors of another process of the run, set by the broker: the kernel
 * would find the process by its number once more, and a process outside may have got that by then.
 *
 * ptrace(2) makes the number the process's own for as long as the tracer lives: what ends meanwhile
 * is waited for by the tracer first, and the number is given away after that. Nothing is stopped. A
 * thread of its own traces, because its end lets go of a process that runs; PTRACE_DETACH would
 * have to stop it. Landlock lets the broker trace nothing but the run.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/linux/broker/others.h"

#define MASK_MAX 1024 /* bytes: as many processors as a kernel may be built for */

struct pinned {
	struct br_call *c;
	pid_t number;
	union {
		uint64_t limit[2]; /* struct rlimit64 */
		unsigned char mask[MASK_MAX];
	} to;
	size_t size;
	struct br_answer answer;
};

static struct br_answer set_limit(const struct pinned *p)
{
	struct br_call *c = p->c;
	uint64_t was[2];

	if (syscall(SYS_prlimit64, p->number, (unsigned)br_arg(c, 1), p->to.limit, was) < 0)
		return br_fail(errno);
	if (br_arg(c, 3) && br_write(c, br_arg(c, 3), was, sizeof was) < 0)
		return br_fail(EFAULT);
	return br_value(0);
}

static struct br_answer set_processors(const struct pinned *p)
{
	return br_result(syscall(SYS_sched_setaffinity, p->number, p->size, p->to.mask));
}

/* Checks again that the process is of the run: its number may have been reused before it was
 * traced. */
static void *act_pinned(void *arg)
{
	struct pinned *p = arg;
	pid_t pid;

	if (ptrace(PTRACE_SEIZE, p->number, NULL, NULL) < 0) {
		p->answer = br_fail(errno);
		return NULL;
	}
	pid = br_process_of(p->c, p->number);
	if (!pid || (pid != br_tgid(p->c) && !br_is_of_run(p->c, pid)))
		p->answer = br_fail(ESRCH);
	else if (!br_is_alive(p->c))
		p->answer = br_fail(EINTR);
	else if (p->c->n.data.nr == SYS_prlimit64)
		p->answer = set_limit(p);
	else
		p->answer = set_processors(p);
	return NULL;
}

/* A caller with other credentials may do less than the broker. */
struct br_answer br_limit_other(struct br_call *c, pid_t number)
{
	bool is_limit = c->n.data.nr == SYS_prlimit64;
	uint64_t size = is_limit ? sizeof(uint64_t[2]) : br_arg(c, 1);
	struct pinned p = {.c = c, .number = number};
	pthread_t thread;
	int rc;

	if (c->w->is_other && c->w->caller_creds.uid != c->b->uid)
		return br_fail(EPERM);
	p.size = size < sizeof p.to ? (size_t)size : sizeof p.to;
	rc = br_read(c, br_arg(c, 2), &p.to, p.size);
	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	rc = pthread_create(&thread, NULL, act_pinned, &p);
	if (rc)
		return br_fail(rc);
	pthread_join(thread, NULL);
	return p.answer;
}
