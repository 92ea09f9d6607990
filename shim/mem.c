/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - see mem.h. Built without any C library; hidden, so that no program ever binds to
 * these instead of its own. */
#include "shim/mem.h"

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;
	uint64_t w;

	/* paths of some dozen bytes are the rule: words beat `rep movsb` there */
	for (; n >= sizeof w; n -= sizeof w, t += sizeof w, f += sizeof w) {
		__builtin_memcpy(&w, f, sizeof w);
		__builtin_memcpy(t, &w, sizeof w);
	}
	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (t <= f)
		while (n--)
			*t++ = *f++;
	else
		while (n--)
			t[n] = f[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	char *t = to;

	while (n--)
		*t++ = (char)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (; n--; p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

void *memchr(const void *s, int byte, size_t n)
{
	const unsigned char *p = s;

	for (; n--; p++)
		if (*p == (unsigned char)byte)
			return (void *)(uintptr_t)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

bool shim_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

bool shim_has_prefix(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

const char *shim_env_value(const char *entry, const char *name)
{
	while (*name)
		if (*entry++ != *name++)
			return NULL;
	return *entry == '=' ? entry + 1 : NULL;
}

const char *shim_basename(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

bool shim_append(char *buf, size_t size, size_t *pos, const char *s, size_t len)
{
	if (*pos >= size || len >= size - *pos)
		return false;
	memcpy(buf + *pos, s, len);
	*pos += len;
	buf[*pos] = '\0';
	return true;
}

const char *shim_fd_path(char buf[SHIM_FD_PATH_SIZE], int fd)
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0, pos = sizeof prefix - 1;
	unsigned v = (unsigned)fd;

	memcpy(buf, prefix, pos);
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		buf[pos++] = digits[--n];
	buf[pos] = '\0';
	return buf;
}
