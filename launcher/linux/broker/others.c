/* SPDX-License-Identifier: Apache-2.0 */
/* others.c - calls about processes: what steers another one is refused aloud; priorities of the
 * run's own are left to the kernel, limits.c sets what the kernel would set too late. */
#include "launcher/linux/broker/others.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

/* Calls that the static filter would refuse as well, but without a message. A user who starts a
 * debugger, or a program that makes its own sandbox, should learn which option helps. They are
 * reported as a change of what they would change. */

struct br_answer br_refuse_process(struct br_call *c, pid_t pid, const char *name)
{
	char path[48];
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = EPERM,
		.path = path,
		.len = (size_t)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name),
	};

	br_tell(c, &t);
	return br_fail(EPERM);
}

struct br_answer br_ptrace(struct br_call *c)
{
	return br_refuse_process(
		c, br_arg(c, 0) == PTRACE_TRACEME ? br_tgid(c) : (pid_t)br_arg(c, 1), "mem");
}

struct br_answer br_namespace(struct br_call *c)
{
	return br_refuse_process(c, br_tgid(c), "ns");
}

/* ---- limits and priorities ---- */

int br_read_proc(const struct br_call *c, const char *name, char *text, size_t size)
{
	b_auto_fd int fd = openat(c->b->proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : b_read_full(fd, text, size - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return 0;
}

/* What follows "\nNAME:\t" in the status of a thread; NULL: there is none. */
static const char *status_of(const struct br_call *c, pid_t tid, const char *field, char text[4096])
{
	char name[32];
	const char *at;

	snprintf(name, sizeof name, "%d/status", (int)tid);
	if (br_read_proc(c, name, text, 4096) < 0)
		return NULL;
	at = strstr(text, field);
	return at ? at + strlen(field) : NULL;
}

pid_t br_process_of(const struct br_call *c, pid_t tid)
{
	char text[4096];
	const char *at = status_of(c, tid, "\nTgid:\t", text);

	return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

int br_ids_of(const struct br_call *c, pid_t pid, struct br_ids *out)
{
	char text[4096];
	const char *at = status_of(c, pid, "\nUid:\t", text);

	return at && sscanf(at, "%u %u %u", &out->ruid, &out->euid, &out->suid) == 3 ? 0 : -1;
}

/* The broker's Landlock domain lets it look into processes of the run and into itself. */
bool br_is_of_run(const struct br_call *c, pid_t pid)
{
	char name[32], none;

	if (pid == c->b->pid || c->b->plan->landlock_fd < 0)
		return false;
	snprintf(name, sizeof name, "%d/ns/user", (int)pid);
	return readlinkat(c->b->proc, name, &none, 1) >= 0;
}

/* C libraries name a thread by its number where they could say "this one": thread pools that bind
 * their threads do. The kernel asks what the caller may do, and reads what lies in memory once. */
struct br_answer br_priority(struct br_call *c)
{
	pid_t asked = (pid_t)br_arg(c, c->row->mode_arg);
	pid_t pid = asked > 0 ? br_process_of(c, asked) : 0;
	int nr = c->n.data.nr;

	if (!pid)
		return br_fail(asked < 0 ? EINVAL : ESRCH);
	if (pid != br_tgid(c) && !br_is_of_run(c, pid))
		return br_refuse_process(c, asked, "sched");
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if ((nr == SYS_prlimit64 || nr == SYS_sched_setaffinity) && asked != (pid_t)c->n.pid &&
	    asked != br_tgid(c) && !c->b->plan->own_pids && !br_has_own_numbers(c))
		return br_limit_other(c, asked);
	return br_proceed(c, BR_PROCEED_PRIORITY);
}
