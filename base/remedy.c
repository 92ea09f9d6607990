/* SPDX-License-Identifier: Apache-2.0 */
/* remedy.c - see remedy.h. As err.c does, it formats without floats or wide characters. */
#include "base/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char by_profile[] = "in a container, a profile (seccomp, AppArmor) that allows it";

/* `confined`: the remedy if this process runs under a filter or profile; `free`: the one without.
 * NULL: none is known.
 */
static const struct {
	int sys;
	const char *confined, *free;
} remedies[] = {
#define ALWAYS(text) text, text
	{EAGAIN, ALWAYS("raise the limit on processes (ulimit -u, or the cgroup's)")},
	{EMFILE, ALWAYS("raise the limit on open files (ulimit -n)")},
	{ENFILE, ALWAYS("raise the limit on open files (fs.file-max)")},
	{ENOMEM, ALWAYS("raise the limit on memory (ulimit -v)")},
	{EFBIG, ALWAYS("raise the limit on files (ulimit -f)")},
	{ENOSPC, ALWAYS("free room there")},
	{EDQUOT, ALWAYS("free room there")},
	{EROFS, ALWAYS("make it writable")},
	{EPERM, by_profile, NULL},
	{ENOSYS, by_profile, "a newer kernel"},
#undef ALWAYS
};

const char *b_remedy(int sys, bool is_confined)
{
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
		if (remedies[i].sys == sys)
			return is_confined ? remedies[i].confined : remedies[i].free;
	return NULL;
}

/* The first bytes of a file of /proc; "" where it cannot be read. */
static void peek(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Is there a seccomp filter, or a profile of AppArmor? */
static bool is_confined(void)
{
	char text[4096];

	peek("/proc/self/status", text, sizeof text);
	if (strstr(text, "\nSeccomp:\t2"))
		return true;
	peek("/proc/self/attr/apparmor/current", text, sizeof text);
	return *text && strncmp(text, "unconfined", sizeof "unconfined" - 1) != 0;
}

int b_fail_sys(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
{
	char what[B_ERR_MAX / 2];
	const char *remedy;
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(what, sizeof what, fmt, ap) < 0)
		what[0] = '\0';
	va_end(ap);
	remedy = b_remedy(sys, (sys == EPERM || sys == ENOSYS) && is_confined());
	b_fail(err, kind, sys, "%s: %s%s%s", what, strerror(sys), remedy ? ": " : "",
	       remedy ? remedy : "");
	errno = saved;
	return -1;
}
