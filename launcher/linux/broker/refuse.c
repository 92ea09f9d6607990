/* refuse.c - calls that the static filter would refuse as well, but in silence: who starts a
 * debugger, or a program that makes a sandbox of its own, should learn which option helps. They
 * are told as a change of what they would change. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>

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
