/* SPDX-License-Identifier: Apache-2.0 */
#include "core/path.h"

#include <string.h>

struct joint {
	char *buf;
	size_t size, len;
	unsigned flags;
};

/* ".." of the root is the root, as in path_resolution(7). */
static void drop_last(struct joint *j)
{
	while (j->len > 0 && j->buf[j->len - 1] != '/')
		j->len--;
	if (j->len > 0)
		j->len--;
}

static bool add_component(struct joint *j, const char *p, size_t n)
{
	if (n == 1 && p[0] == '.')
		return true;
	if (n == 2 && p[0] == '.' && p[1] == '.') {
		j->flags |= SBX_PATH_DOTDOT;
		drop_last(j);
		return true;
	}
	/* One byte for the slash, one for the final NUL. */
	if (n + 2 > j->size - j->len)
		return false;
	j->buf[j->len++] = '/';
	memcpy(j->buf + j->len, p, n);
	j->len += n;
	return true;
}

static bool add_all(struct joint *j, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t len = (size_t)((slash ? slash : end) - p);

		if (len > 0 && !add_component(j, p, len))
			return false;
		p += len + (slash ? 1 : 0);
	}
	return true;
}

static bool ends_as_directory(const char *path, size_t n)
{
	return path[n - 1] == '/' || (path[n - 1] == '.' && (n == 1 || path[n - 2] == '/')) ||
	       (n >= 2 && !memcmp(path + n - 2, "..", 2) && (n == 2 || path[n - 3] == '/'));
}

/* Only where the lexical text of the result leads; "/x/../proc" has DOTDOT as well. */
static bool is_magic(const char *path, size_t len)
{
	static const char *const dirs[] = {"/proc", "/dev/fd"};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (sbx_path_under(path, len, dirs[i], strlen(dirs[i])))
			return true;
	return len >= 8 && !memcmp(path, "/dev/std", 8);
}

size_t sbx_path_join(char *buf, size_t size, const char *cwd, size_t cwd_len, const char *path,
		     unsigned *out_flags)
{
	struct joint j = {.buf = buf, .size = size};
	size_t n = strlen(path);

	if (n == 0 || size < 2 || (path[0] != '/' && cwd_len == 0))
		return 0;
	if (path[0] != '/') {
		if (!add_all(&j, cwd, cwd_len))
			return 0;
		j.flags = 0; /* the kernel reported cwd, so a ".." in it is not from the program */
	}
	if (!add_all(&j, path, n))
		return 0;
	if (j.len == 0)
		j.buf[j.len++] = '/';
	j.buf[j.len] = '\0';
	if (ends_as_directory(path, n))
		j.flags |= SBX_PATH_TRAILING;
	if (is_magic(j.buf, j.len))
		j.flags |= SBX_PATH_MAGIC;
	*out_flags = j.flags;
	return j.len;
}

bool sbx_path_under(const char *path, size_t path_len, const char *dir, size_t dir_len)
{
	if (dir_len == 1) /* "/": everything is below the root */
		return path_len > 0 && path[0] == '/';
	if (path_len < dir_len || (path_len > dir_len && path[dir_len] != '/'))
		return false;
	return memcmp(path, dir, dir_len) == 0;
}

size_t sbx_path_parent(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : 1;
}

/* Compares from the end: the names agree as long as no symlink was followed. */
bool sbx_path_is_led(const char *asked, const char *path, size_t len)
{
	size_t n = 0;

	while (asked[n])
		n++;
	for (;;) {
		size_t end, size;

		while (n && asked[n - 1] == '/')
			n--;
		if (!n)
			return *asked == '/' && len > 1;
		for (end = n; n && asked[n - 1] != '/';)
			n--;
		size = end - n;
		if (size == 1 && asked[n] == '.')
			continue;
		if (size == 2 && asked[n] == '.' && asked[n + 1] == '.')
			return true;
		if (len < size + 1 || path[len - size - 1] != '/')
			return true;
		for (size_t i = 0; i < size; i++)
			if (path[len - size + i] != asked[n + i])
				return true;
		len -= size + 1;
		len += !len; /* the root keeps its slash */
	}
}
