/* SPDX-License-Identifier: Apache-2.0 */
/* ends.c - the exported wrappers of calls that end the process at once. They report the end before.
 */
#include "shim/linux/export/export.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/judge.h"
#include "shim/sys_linux.h"

static _Noreturn void end_by_kernel(int status)
{
	for (;;)
		sys1(SYS_exit_group, status);
}

SHIM_EXPORT void _exit(int status)
{
	shim_tell_exit(status);
	NEXT(_exit)(status);
	end_by_kernel(status);
}

SHIM_EXPORT void _Exit(int status)
{
	shim_tell_exit(status);
	NEXT(_Exit)(status);
	end_by_kernel(status);
}
