/* program.c - see program.h. */
#include "launcher/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

/* _PATH_STDPATH of glibc's execvp(3) when PATH is unset: the current directory is not in it. */
static const char default_path[] = "/bin:/usr/bin";

/* 0, or the errno execve(2) would give for what can be known without trying. */
static int why_not(const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return b_access(file, X_OK) < 0 ? errno : 0;
}

static int refuse(struct b_err *err, const char *name, int why)
{
	switch (why) {
	case ENOENT:
	case ENOTDIR:
		return b_fail(err, B_NOTFOUND, why, "`%s`: command not found", name);
	default:
		return b_fail(err, B_NOEXEC, why, "`%s`: %s", name,
			      why == EACCES ? "not executable" : strerror(why));
	}
}

int lau_program_find(const char *name, const char *path, char **out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str file = {0};
	int worst = ENOENT, why;

	if (!*name)
		return refuse(err, name, ENOENT);
	if (strchr(name, '/')) {
		why = why_not(name);
		if (why)
			return refuse(err, name, why);
		*out = b_strdup(name);
		return 0;
	}
	for (path = path ? path : default_path;; path++) {
		size_t n = strcspn(path, ":");

		b_str_reset(&file);
		/* an empty element is the current directory */
		b_str_addn(&file, n ? path : ".", n ? n : 1);
		b_str_addc(&file, '/');
		b_str_add(&file, name);
		why = why_not(file.s);
		if (!why) {
			*out = b_str_take(&file);
			return 0;
		}
		/* as execvp: EACCES is remembered, the search goes on */
		if (why == EACCES)
			worst = why;
		path += n;
		if (!*path)
			return refuse(err, name, worst);
	}
}

int lau_program_is_text(const char *file)
{
	char head[128];
	b_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : b_read_full(fd, head, sizeof head), i;

	for (i = 0; i < n && head[i] != '\n'; i++)
		if (head[i] == '\0')
			return 0;
	return n >= 0;
}
