/* SPDX-License-Identifier: Apache-2.0 */
/* others.c - calls about processes: what steers another one is refused aloud, limits and priorities
 * of the run's own are left to the kernel. */
#include "launcher/linux/broker/broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

/* Calls that the static filter would refuse as well, but in silence: who starts a
 * debugger, or a program that makes a sandbox of its own, should learn which option helps. They
 * are told as a change of what they would change. */

static struct br_answer refuse(struct br_call *c, int pid, const char *name)
{
	char path[48];
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = EPERM,
		.path = path,
		.len = (size_t)snprintf(path, sizeof path, "/proc/%d/%s", pid, name),
	};

	br_tell(c, &t);
	return br_fail(EPERM);
}

struct br_answer br_ptrace(struct br_call *c)
{
	return refuse(c, br_arg(c, 0) == PTRACE_TRACEME ? (int)br_tgid(c) : (int)br_arg(c, 1),
		      "mem");
}

struct br_answer br_namespace(struct br_call *c)
{
	return refuse(c, (int)br_tgid(c), "ns");
}

/* ---- limits and priorities ---- */

/* The process that a thread is of; 0: there is no such thread. */
static pid_t process_of(const struct br_call *c, pid_t tid)
{
	char name[32], status[4096];
	const char *at;
	b_auto_fd int fd = -1;
	ssize_t n;

	snprintf(name, sizeof name, "%d/status", (int)tid);
	fd = openat(c->b->proc, name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, status, sizeof status - 1);
	if (n <= 0)
		return 0;
	status[n] = '\0';
	at = strstr(status, "\nTgid:\t");
	return at ? (pid_t)strtol(at + 7, NULL, 10) : 0;
}

/* The broker's Landlock domain lets it look into processes of the run and into itself. */
static bool is_of_run(const struct br_call *c, pid_t pid)
{
	char name[32], none;

	if (pid == c->b->pid || c->b->plan->landlock_fd < 0)
		return false;
	snprintf(name, sizeof name, "%d/ns/user", (int)pid);
	return readlinkat(c->b->proc, name, &none, 1) >= 0;
}

/* C libraries name a thread by its number where they could say "this one": thread pools that bind
 * their threads do. Nothing is performed here: the kernel asks what the caller may do, and reads
 * what lies in memory once. */
struct br_answer br_priority(struct br_call *c)
{
	pid_t asked = (pid_t)br_arg(c, c->row->mode_arg);
	pid_t pid = asked > 0 ? process_of(c, asked) : 0;

	if (!pid)
		return br_fail(asked < 0 ? EINVAL : ESRCH);
	if (pid != br_tgid(c) && !is_of_run(c, pid))
		return refuse(c, (int)asked, "sched");
	return br_is_alive(c) ? br_proceed(c, BR_PROCEED_PRIORITY) : br_fail(EINTR);
}
