/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - limits of a run, enforced by a cgroup or by setrlimit(2). */
#include "launcher/supervise/supervise.h"

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
#include "launcher/linux/process/process.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"
#include "launcher/run/confine.h"

/* Setrlimit(2). */

/* Raising a soft limit needs no privilege. */
static void raise_one(int which, struct rlimit *found)
{
	struct rlimit more;

	if (getrlimit(which, found) < 0)
		return;
	more = (struct rlimit){found->rlim_max, found->rlim_max};
	if (found->rlim_cur < found->rlim_max)
		(void)setrlimit(which, &more);
}

/* Our files have no bits of a group or of others, and the umask of those stays. */
mode_t lau_umask_relax(void)
{
	mode_t found = umask(S_IRWXG | S_IRWXO);

	(void)umask(found & ~(mode_t)S_IRWXU);
	return found;
}

int lau_limits_raise(struct lau_limits *l, struct b_err *err)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	*l = (struct lau_limits){.files = {RLIM_INFINITY, RLIM_INFINITY},
				 .size = {RLIM_INFINITY, RLIM_INFINITY},
				 .umask = lau_umask_relax()};
	sigaction(SIGXFSZ, &ignore, &l->xfsz);
	sigaction(SIGPIPE, &ignore, &l->pipe);
	raise_one(RLIMIT_FSIZE, &l->size);
	if (getrlimit(RLIMIT_NOFILE, &l->files) < 0 || l->files.rlim_cur >= LAU_FILES_NEEDED)
		return 0;
	raise_one(RLIMIT_NOFILE, &l->files);
	if (l->files.rlim_max >= LAU_FILES_NEEDED)
		return 0;
	return b_fail(err, B_LIMIT, EMFILE,
		      "a process may have only %llu files open (ulimit -Hn), and a run needs %d: "
		      "raise the hard limit (limits.conf(5), or LimitNOFILE= of the service)",
		      (unsigned long long)l->files.rlim_max, LAU_FILES_NEEDED);
}

/* Processes are counted where they are made; the mark is the run's (supervise.h). */
bool lau_limits_keeps(int which)
{
	return which != RLIMIT_NPROC && which != RLIMIT_LOCKS;
}

void lau_limits_restore(const struct lau_limits *l)
{
	sigaction(SIGXFSZ, &l->xfsz, NULL);
	sigaction(SIGPIPE, &l->pipe, NULL);
	for (int which = 0; l->given && which < (int)RLIM_NLIMITS; which++)
		if (lau_limits_keeps(which))
			(void)setrlimit((enum __rlimit_resource)which, &l->given[which]);
	if (l->given)
		return;
	if (l->size.rlim_cur != l->size.rlim_max)
		(void)setrlimit(RLIMIT_FSIZE, &l->size);
	if (l->files.rlim_cur < LAU_FILES_NEEDED)
		(void)setrlimit(RLIMIT_NOFILE, &l->files);
}

void lau_limits_share(const struct lau_limits *l)
{
	if (l->given)
		(void)setrlimit(RLIMIT_FSIZE, &l->given[RLIMIT_FSIZE]);
}

int lau_limits_enter(const struct lau_limits *l, struct b_err *err)
{
	lau_guard_put(l->mark); /* which the filter forbids; and it traps the next */
	if (l->umask & S_IRWXU)
		(void)umask(l->umask);
	if (!l->has_cgroup || lau_cgroup_enter(l->cgroup) == 0)
		return 0;
	return b_fail(err, B_LIMIT, errno, "cgroup: cannot be entered: %s", strerror(errno));
}

/* RLIMIT_DATA, not RLIMIT_AS: node, Java and sanitizers reserve terabytes that they never use
 * (since Linux 4.7 it counts all private memory that can be written). */
static const int resources[LAU_BOUND_COUNT] = {
	[LAU_BOUND_MEMORY] = RLIMIT_DATA,   [LAU_BOUND_CPU] = RLIMIT_CPU,
	[LAU_BOUND_NPROC] = RLIMIT_NPROC,   [LAU_BOUND_FSIZE] = RLIMIT_FSIZE,
	[LAU_BOUND_NOFILE] = RLIMIT_NOFILE,
};

int lau_limits_apply(const struct lau_limits *l, struct b_err *err)
{
	for (int b = 0; b < LAU_BOUND_COUNT; b++) {
		rlim_t most = l->bounds.v[b];
		struct rlimit found, lim;

		if (l->bounds.by[b] != LAU_HELD_RLIMIT)
			continue;
		if (b == LAU_BOUND_NPROC)
			most += l->beside;
		if (getrlimit(resources[b], &found) < 0)
			found.rlim_max = RLIM_INFINITY;
		if (most > found.rlim_max)
			most = found.rlim_max;
		lim = (struct rlimit){most, most};
		/* one second between SIGXCPU, which can be handled, and SIGKILL */
		if (b == LAU_BOUND_CPU && most < found.rlim_max)
			lim.rlim_max = most + 1;
		if (setrlimit(resources[b], &lim) < 0)
			return b_fail(err, B_LIMIT, errno, "--%s: %s",
				      lau_bound_name((enum lau_bound)b), strerror(errno));
	}
	return 0;
}

/* Who holds a limit of plan.h: lau_bounds_plan(), lau_bounds_make(). */

/* setrlimit(2): of processes that are really root's none are counted. */
static bool is_counted(const struct lau_host *host, const struct lau_plan *p)
{
	return !host->is_root || p->identity.is_set;
}

/* In a user namespace of the run's own, which an ordinary user needs for any other, the kernel
 * counts what is in it (Linux 5.14). */
static bool counts_run(const struct lau_host *host, const struct lau_plan *p)
{
	return !host->is_root && (p->want_net_ns || p->isolate || p->is_wrapped);
}

void lau_bounds_plan(const struct lau_options *o, const struct lau_host *host, unsigned cgroup,
		     struct lau_plan *p)
{
	p->bounds = o->bounds;
	for (int b = 0; b < LAU_BOUND_COUNT; b++)
		if (o->bounds.v[b])
			p->bounds.by[b] = cgroup >> b & 1 ? LAU_HELD_CGROUP : LAU_HELD_RLIMIT;
	if (p->bounds.by[LAU_BOUND_MEMORY] == LAU_HELD_RLIMIT)
		lau_plan_limit(p, "--memory: limits each process alone, and only its private "
				  "writable memory: to limit the whole run, start it in a "
				  "delegated cgroup (systemd-run --user --scope)");
	if (p->bounds.by[LAU_BOUND_NPROC] != LAU_HELD_RLIMIT)
		return;
	if (!is_counted(host, p)) {
		p->bounds.by[LAU_BOUND_NPROC] = LAU_HELD_NOT;
		lau_plan_loss(p,
			      "--nproc: the kernel does not count root's processes: run as an "
			      "ordinary user, or in a delegated cgroup with the controller pids");
	} else if (!counts_run(host, p)) {
		lau_plan_limit(p, "--nproc: the kernel counts all processes of the user, not only "
				  "those of the run");
	}
}

int lau_bounds_make(const struct lau_plan *p, struct lau_cgroup *cgroup, struct lau_limits *l,
		    struct b_err *err)
{
	l->bounds = p->bounds;
	/* Of an ordinary user's processes ours are counted with its own: the first of the pid
	 * namespace, the broker and its thread, or bubblewrap's two. */
	l->beside = (p->isolate & LAU_ISOLATE_PID ? 1 : 0) +
		    (p->floor.uses_broker || p->is_wrapped ? 2 : 0);
	if (!p->cgroup)
		return 0;
	if (lau_cgroup_make(p->cgroup, &p->bounds, cgroup, err) < 0)
		return -1;
	l->has_cgroup = true;
	l->cgroup = cgroup->procs;
	return 0;
}

/* ---- the cgroup ---- */

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
