/* trap.c - the trap filter, put on. */
#include "launcher/broker.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

static const char *remedy(int err)
{
	if (err == EBUSY)
		return "another supervisor already listens to this process: run outside of it";
	if (err == EINVAL)
		return "needs Linux 5.19";
	return "the kernel needs CONFIG_SECCOMP_FILTER, and no outer filter against it";
}

int lau_broker_trap(const struct sock_filter *insn, size_t len, struct b_err *err)
{
	struct sock_fprog prog = {.len = (unsigned short)len};
	long fd;

	/* the kernel's struct lacks a const; it only copies */
	memcpy(&prog.filter, &insn, sizeof insn);
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LAU_TRAP_FLAGS, &prog);
	if (fd < 0)
		return b_fail(err, B_FLOOR, errno, "broker: listener: %s: %s", strerror(errno),
			      remedy(errno));
	return (int)fd;
}
