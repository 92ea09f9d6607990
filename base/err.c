/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - see err.h. vsnprintf() is not on signal-safety(7)'s list; glibc and musl take no lock
 * and allocate nothing for the conversions used here (%s %c %d %u %x and their lengths), which
 * is what makes b_fail() fit for use between fork and exec. No floats, no wide characters. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_OURS = 125, EXIT_NOEXEC = 126, EXIT_NOTFOUND = 127 };

/* Length of the text in buf after a formatting call that wanted `want` bytes; a cut text ends
 * in "..." and never in half a UTF-8 character. */
static size_t settle(char *buf, size_t size, int want)
{
	size_t cut = size - sizeof "...";

	if (want < 0) {
		buf[0] = '\0';
		return 0;
	}
	if ((size_t)want < size)
		return (size_t)want;
	while (cut > 0 && ((unsigned char)buf[cut] & 0xc0) == 0x80)
		cut--;
	memcpy(buf + cut, "...", sizeof "...");
	return cut + 3;
}

int b_fail(struct b_err *err, enum b_kind kind, int sys, const char *fmt, ...)
{
	char text[B_ERR_MAX]; /* an argument may be err->msg itself */
	int saved = errno;
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	va_start(ap, fmt);
	len = settle(text, sizeof text, vsnprintf(text, sizeof text, fmt, ap));
	va_end(ap);
	memcpy(err->msg, text, len + 1);
	err->kind = kind;
	err->sys = sys;
	errno = saved;
	return -1;
}

int b_wrap(struct b_err *err, const char *fmt, ...)
{
	char text[B_ERR_MAX];
	int saved = errno;
	va_list ap;
	size_t len;

	if (!err)
		return -1;
	va_start(ap, fmt);
	len = settle(text, sizeof text, vsnprintf(text, sizeof text, fmt, ap));
	va_end(ap);
	if (len + sizeof ": ..." < sizeof text) {
		size_t room = sizeof text - len;

		len += settle(text + len, room, snprintf(text + len, room, ": %s", err->msg));
	}
	memcpy(err->msg, text, len + 1);
	errno = saved;
	return -1;
}

const char *b_kind_code(enum b_kind kind)
{
#define X(name, text) [B_##name] = text,
	static const char *const code[B_KIND_COUNT] = {[B_OK] = "OK", B_KINDS(X)};
#undef X

	B_ASSERT((unsigned)kind < B_KIND_COUNT);
	return code[kind];
}

int b_kind_status(enum b_kind kind)
{
	if (kind == B_NOEXEC || kind == B_APPROVAL)
		return EXIT_NOEXEC;
	return kind == B_NOTFOUND ? EXIT_NOTFOUND : EXIT_OURS;
}

_Noreturn void b_bug(const char *file, int line, const char *what)
{
	char text[B_ERR_MAX];
	int n = snprintf(text, sizeof text, "%s:%d: impossible: %s", file, line, what);
	size_t len = settle(text, sizeof text, n);

	text[len] = '\n'; /* overwrites the NUL */
	if (write(STDERR_FILENO, text, len + 1) < 0)
		abort(); /* nobody reads it */
	abort();
}
