/* trace.c - ptrace, which the static filter would refuse as well, but in silence: a debugger's user
 * should know why. Told as a change of the memory it would open. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>

struct br_answer br_ptrace(struct br_call *c)
{
	int traced = br_arg(c, 0) == PTRACE_TRACEME ? (int)br_tgid(c) : (int)br_arg(c, 1);
	char path[32];
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = EPERM,
		.path = path,
		.len = (size_t)snprintf(path, sizeof path, "/proc/%d/mem", traced),
	};

	br_tell(c, &t);
	return br_fail(EPERM);
}
