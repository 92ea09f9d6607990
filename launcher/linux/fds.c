#include "launcher/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/linux/fdclose.h"
#include "launcher/linux/inherited.h"

/* Only pipes pass unasked: they carry the make jobserver and process substitution, and lead
 * nowhere but to their other end. A directory would be a way out (openat), a socket a service,
 * a file a right that Landlock never judged, a named pipe leads to whoever opens its name. */
static bool stays(const struct lau_confine *c, int fd)
{
	if (fd <= 2 || fd == c->landlock_fd || (c->trap && fd == c->listener_to))
		return true;
	for (size_t i = 0; i < c->nkeep_fds; i++)
		if (c->keep_fds[i] == fd)
			return true;
	return lau_fd_kind(fd) == LAU_FD_PIPE;
}

static int fd_number(const char *name)
{
	int fd = 0;

	if (!*name)
		return -1;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return -1;
		fd = fd * 10 + (*name - '0');
	}
	return fd;
}

static bool is_inherited_pipe(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return fd > 2 && flags >= 0 && !(flags & FD_CLOEXEC) && lau_fd_kind(fd) == LAU_FD_PIPE;
}

void lau_pipes_find(struct lau_pipes *pipes)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	*pipes = (struct lau_pipes){.known = dir != NULL};
	while (dir && (e = readdir(dir))) {
		int fd = fd_number(e->d_name);

		if (!is_inherited_pipe(fd))
			continue;
		b_grow(pipes->v, pipes->n, pipes->cap);
		pipes->v[pipes->n++] = fd;
	}
	if (dir)
		closedir(dir);
}

void lau_pipes_release(struct lau_pipes *pipes)
{
	free(pipes->v);
	*pipes = (struct lau_pipes){0};
}

/* All but these go with the exec. False: before Linux 5.11. */
static bool mark_all(const struct lau_confine *c)
{
	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return false;
	for (size_t i = 0; i < c->pipes->n; i++)
		(void)fcntl(c->pipes->v[i], F_SETFD, 0);
	for (size_t i = 0; i < c->nkeep_fds; i++)
		(void)fcntl(c->keep_fds[i], F_SETFD, 0);
	return true;
}

/* Closing while listing is safe: procfs goes on from the number it last gave. */
static int close_listed(const struct lau_confine *c, int dir)
{
	_Alignas(struct dirent64) char buf[4096];
	ssize_t n;

	/* getdents64 itself: opendir(3) allocates. */
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(buf + at);
			int fd = fd_number(entry->d_name);

			at += entry->d_reclen;
			if (fd >= 0 && fd != dir && !stays(c, fd))
				close(fd);
		}
	}
	return (int)n;
}

/* One more than the highest number there could be. */
static int top_fd(void)
{
	struct rlimit lim;
	int top = 1 << 20;

	/* The hard limit: a descriptor may be older than a lowered soft one. */
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_max < (rlim_t)top)
		top = (int)lim.rlim_max;
	return top;
}

void lau_fdclose_range(unsigned first, unsigned last)
{
	unsigned top;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	top = (unsigned)top_fd();
	for (unsigned fd = first; fd <= last && fd < top; fd++)
		close((int)fd);
}

/* No /proc: every number there could be. */
static void close_counted(const struct lau_confine *c)
{
	int top = top_fd();

	for (int fd = 3; fd < top; fd++)
		if (!stays(c, fd))
			close(fd);
}

int lau_confine_fds(const struct lau_confine *c, struct b_err *err)
{
	int dir, rc;

	if (c->pipes && c->pipes->known && mark_all(c))
		return 0;
	dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		close_counted(c);
		return 0;
	}
	rc = close_listed(c, dir);
	if (rc < 0)
		b_fail(err, B_FLOOR, errno, "descriptors: /proc/self/fd: %s", strerror(errno));
	close(dir);
	return rc;
}
