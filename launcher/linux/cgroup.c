/* cgroup.c - see cgroup.h. */
#include "launcher/linux/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#define PREFIX "sbx-launch-"
#define PROCS  "cgroup.procs"

/* File and controller of each that a cgroup can hold. */
static const struct {
	enum lau_bound bound;
	const char *controller, *file;
} rows[] = {{LAU_BOUND_MEMORY, "memory", "memory.max"}, {LAU_BOUND_NPROC, "pids", "pids.max"}};

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, " \n"), list += strspn(list, " \n"))
		if (strncmp(list, word, n) == 0 && (list[n] == ' ' || list[n] == '\n' || !list[n]))
			return true;
	return false;
}

/* Where version 2 is mounted: alone, or beside version 1. */
static const char *mount_point(void)
{
	static const char *const points[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		b_auto(b_str_release) struct b_str file = {0};

		b_str_addf(&file, "%s/cgroup.controllers", points[i]);
		if (access(b_str_c(&file), F_OK) == 0)
			return points[i];
	}
	return NULL;
}

/* Our own, of the line that begins with "0::"; in a cgroup namespace we may be outside of it. */
static bool find_own(struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	const char *mount = mount_point(), *line;
	struct b_err ignored;

	if (!mount || b_read_file("/proc/self/cgroup", 1 << 16, &text, &ignored) < 0)
		return false;
	for (line = b_str_c(&text); *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "0::/", 4) == 0)
			break;
	if (!*line || strncmp(line + 3, "/..", 3) == 0)
		return false;
	b_str_addf(out, "%s%.*s", mount, (int)strcspn(line + 3, "\n"), line + 3);
	return true;
}

static bool may(const char *dir, const char *file)
{
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s/%s", dir, file);
	return b_access(b_str_c(&path), W_OK) == 0;
}

unsigned lau_cgroup_parent(struct b_str *out)
{
	b_auto(b_str_release) struct b_str own = {0}, file = {0}, handed = {0};
	struct b_err ignored;
	unsigned can = 0;

	if (!find_own(&own))
		return 0;
	/* Beside our own; or in the root, which may have processes as well as children. Where that
	 * is a namespace's, it has handed on no controller then (cgroups(7), no internal
	 * processes). */
	*strrchr(own.s, '/') = '\0';
	b_str_addf(&file, "%s/cgroup.subtree_control", own.s);
	if (!may(own.s, ".") || !may(own.s, PROCS) ||
	    b_read_file(b_str_c(&file), 1 << 12, &handed, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (has_word(b_str_c(&handed), rows[i].controller))
			can |= 1u << rows[i].bound;
	if (can)
		b_str_add(out, own.s);
	return can;
}

/* Of launchers that were killed: empty, and nobody has their number. */
static void remove_left(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int pid = strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) == 0
				  ? atoi(e->d_name + sizeof PREFIX - 1)
				  : 0;

		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

static int put(int dir, const char *file, const char *text)
{
	b_auto_fd int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : b_write_all(fd, text, strlen(text));
}

static int set_limits(int dir, const struct lau_bounds *bounds, struct b_err *err)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str text = {0};

		if (bounds->by[rows[i].bound] != LAU_HELD_CGROUP)
			continue;
		b_str_addf(&text, "%" PRIu64, bounds->v[rows[i].bound]);
		if (put(dir, rows[i].file, b_str_c(&text)) < 0)
			return b_fail(err, B_LIMIT, errno, "cgroup: %s: %s", rows[i].file,
				      strerror(errno));
	}
	/* else what is too much would go there; a kernel without swap has no such file */
	if (bounds->by[LAU_BOUND_MEMORY] == LAU_HELD_CGROUP)
		(void)put(dir, "memory.swap.max", "0");
	return 0;
}

int lau_cgroup_make(const char *parent, const struct lau_bounds *bounds, struct lau_cgroup *out,
		    struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_fd int dir = -1;

	*out = (struct lau_cgroup){.procs = -1};
	remove_left(parent);
	b_str_addf(&path, "%s/" PREFIX "%d", parent, (int)getpid());
	if (mkdir(b_str_c(&path), 0755) < 0 && errno != EEXIST)
		return b_fail(err, B_LIMIT, errno, "%s: %s", b_str_c(&path), strerror(errno));
	out->path = b_str_take(&path);
	dir = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && set_limits(dir, bounds, err) < 0) {
		lau_cgroup_release(out);
		return -1;
	}
	out->procs = dir < 0 ? -1 : openat(dir, PROCS, O_WRONLY | O_CLOEXEC);
	if (out->procs >= 0)
		return 0;
	b_fail(err, B_LIMIT, errno, "%s: %s", out->path, strerror(errno));
	lau_cgroup_release(out);
	return -1;
}

int lau_cgroup_enter(int procs)
{
	return write(procs, "0", 1) == 1 ? 0 : -1;
}

void lau_cgroup_release(struct lau_cgroup *c)
{
	if (c->procs >= 0)
		close(c->procs);
	if (c->path)
		(void)rmdir(c->path);
	free(c->path);
	*c = (struct lau_cgroup){.procs = -1};
}
