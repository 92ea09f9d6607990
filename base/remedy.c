/* SPDX-License-Identifier: Apache-2.0 */
/* remedy.c - see remedy.h. As err.c does, it formats without floats or wide characters. */
#include "base/remedy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int sys;
	const char *text;
} remedies[] = {
	{EAGAIN, "raise the limit on processes (ulimit -u, or the cgroup's)"},
	{EMFILE, "raise the limit on open files (ulimit -n)"},
	{ENFILE, "raise the limit on open files (fs.file-max)"},
	{ENOMEM, "raise the limit on memory (ulimit -v)"},
	{EFBIG, "raise the limit on files (ulimit -f)"},
	{ENOSPC, "free room there"},
	{EDQUOT, "free room there"},
	{EROFS, "make it writable"},
	{EPERM, "in a container, a profile (seccomp, AppArmor) that allows it"},
	{ENOSYS, "in a container, a profile (seccomp, AppArmor) that allows it"},
};

int b_fail_sys(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
{
	char what[B_ERR_MAX / 2];
	const char *remedy = NULL;
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(what, sizeof what, fmt, ap) < 0)
		what[0] = '\0';
	va_end(ap);
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
		if (remedies[i].sys == sys)
			remedy = remedies[i].text;
	b_fail(err, kind, sys, "%s: %s%s%s", what, strerror(sys), remedy ? ": " : "",
	       remedy ? remedy : "");
	errno = saved;
	return -1;
}
