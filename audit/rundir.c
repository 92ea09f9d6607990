/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.c - see rundir.h. */
#include "audit/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum { ALREADY_GONE = -2 };

/* Shape of a run's name: d = digit, x = lower-case hex digit, the rest literal. */
static const char id_shape[] = "ddddddddTddddddZ-xxxxxx";

bool aud_run_id_valid(const char *name)
{
	size_t i;

	if (strlen(name) != sizeof id_shape - 1)
		return false;
	for (i = 0; id_shape[i]; i++) {
		char want = id_shape[i], c = name[i];
		bool digit = c >= '0' && c <= '9';

		if (want == 'd'	  ? !digit
		    : want == 'x' ? !digit && !(c >= 'a' && c <= 'f')
				  : c != want)
			return false;
	}
	return true;
}

/* A home that does not exist is nobody's: daemons' accounts name such. It is not made. */
static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *aud_runs_root(struct b_err *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME"), *below = "";
	b_auto(b_str_release) struct b_str account = {0};
	struct b_str s = {0};

	if (!state || state[0] != '/') { /* the XDG specification: a relative one is ignored */
		below = "/.local/state";
		state = home;
	}
	if (!state || state[0] != '/')
		state = b_account_home(geteuid(), &account) ? account.s : NULL;
	if (!state || state[0] != '/') {
		b_fail(err, B_AUDIT, 0,
		       "no place for the run's log: neither XDG_STATE_HOME, HOME nor the user "
		       "database names a directory: set XDG_STATE_HOME or use --audit-level none");
		return NULL;
	}
	if (*below && !is_dir(state)) {
		b_fail(err, B_AUDIT, 0,
		       "no place for the run's log: the home directory %s does not exist: set "
		       "XDG_STATE_HOME or use --audit-level none",
		       state);
		return NULL;
	}
	b_str_addf(&s, "%s%s/sbx-launch/runs", strcmp(state, "/") == 0 ? "" : state, below);
	return b_str_take(&s);
}

/* Whoever can write the root can take the log away. */
static int check_owner(const char *path, struct b_err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return b_fail(err, B_AUDIT, 0,
			      "%s: others can change this directory: chmod go-w it, or set "
			      "XDG_STATE_HOME",
			      path);
	return 0;
}

static int make_root(const char *root, struct b_err *err)
{
	struct b_err why;

	if (b_mkdirs(root, &why) < 0)
		return b_fail(err, B_AUDIT, why.sys,
			      "no place for the run's log: %s: set XDG_STATE_HOME or use "
			      "--audit-level none",
			      why.msg);
	return check_owner(root, err);
}

/* Seconds, then microseconds in five hex digits, so that runs of one second sort too; the last
 * digit is chance. mkdir() settles who comes first when all are equal. */
static int make_id(char *id, size_t size, struct b_err *err)
{
	struct timespec now;
	unsigned char r;
	struct tm tm;
	char stamp[32];

	clock_gettime(CLOCK_REALTIME, &now);
	if (getentropy(&r, 1) < 0 || !gmtime_r(&now.tv_sec, &tm) ||
	    !strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm))
		return b_fail(err, B_AUDIT, errno, "no run id: %s", strerror(errno));
	snprintf(id, size, "%s-%05x%x", stamp, (unsigned)(now.tv_nsec / 1000), r & 15u);
	return 0;
}

/* Before it is locked, who removes starts that were cut short may take it for one. */
static int open_locked(const char *path)
{
	b_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == EWOULDBLOCK ? ALREADY_GONE : -1;
	return st.st_nlink ? b_take_fd(&fd) : ALREADY_GONE;
}

/* With errno of what was tried there: a file system that is read-only, full or has no locks. */
static int no_place(const char *path, struct b_err *err)
{
	return b_fail(err, B_AUDIT, errno,
		      "no place for the run's log: %s: %s: set XDG_STATE_HOME or use "
		      "--audit-level none",
		      path, strerror(errno));
}

int aud_rundir_new(struct aud_rundir *out, struct b_err *err)
{
	b_auto_free char *root = aud_runs_root(err);
	b_auto(b_str_release) struct b_str path = {0};
	struct aud_rundir d = {.dirfd = -1};

	if (!root || make_root(root, err) < 0)
		return -1;
	for (int tries = 0; tries < 100; tries++) {
		if (make_id(d.id, sizeof d.id, err) < 0)
			return -1;
		b_str_reset(&path);
		b_str_addf(&path, "%s/.%s", root, d.id);
		if (mkdir(path.s, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return no_place(path.s, err);
		}
		d.dirfd = open_locked(path.s);
		if (d.dirfd == ALREADY_GONE)
			continue;
		if (d.dirfd < 0) {
			no_place(path.s, err);
			(void)rmdir(path.s);
			return -1;
		}
		d.path = b_str_take(&path);
		*out = d;
		return 0;
	}
	return b_fail(err, B_AUDIT, EEXIST, "%s: no free run id", root);
}

int aud_rundir_join(struct aud_rundir *d, const char *outermost, struct b_err *err)
{
	b_auto_fd int fd = -1;

	snprintf(d->inside, sizeof d->inside, AUD_INSIDE "%s", outermost);
	fd = openat(d->dirfd, d->inside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return b_fail(err, B_AUDIT, errno, "%s/%s: %s", d->path, d->inside,
			      strerror(errno));
	return 0;
}

/* A run of the same name has something in it: rename(2) does not replace that. */
int aud_rundir_show(struct aud_rundir *d, struct b_err *err)
{
	size_t root = strlen(d->path) - strlen(d->id) - 1;
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%.*s%s", (int)root, d->path, d->id);
	if (rename(d->path, path.s) < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", path.s, strerror(errno));
	free(d->path);
	d->path = b_str_take(&path);
	return 0;
}

void aud_rundir_release(struct aud_rundir *d)
{
	if (d->dirfd >= 0)
		close(d->dirfd); /* and with it the lock */
	free(d->path);
	*d = (struct aud_rundir){.dirfd = -1};
}

void aud_rundir_discard(struct aud_rundir *d)
{
	unlinkat(d->dirfd, AUD_LOG_NAME, 0);
	unlinkat(d->dirfd, AUD_INFO_NAME, 0);
	if (*d->inside)
		unlinkat(d->dirfd, d->inside, 0);
	rmdir(d->path);
	aud_rundir_release(d);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int aud_runs_list(const char *runs_root, char ***out, size_t *out_n, struct b_err *err)
{
	DIR *dir = opendir(runs_root);
	char **names = NULL;
	size_t n = 0, cap = 0;
	struct dirent *e;

	if (!dir && errno != ENOENT)
		return b_fail(err, B_AUDIT, errno, "%s: %s", runs_root, strerror(errno));
	while (dir && (e = readdir(dir))) {
		if (!aud_run_id_valid(e->d_name))
			continue;
		b_grow(names, n, cap);
		names[n++] = b_strdup(e->d_name);
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(names, n, sizeof *names, by_name);
	*out = names;
	*out_n = n;
	return 0;
}

void aud_runs_free(char **names, size_t n)
{
	while (n--)
		free(names[n]);
	free(names);
}

static int open_run(const char *runs_root, const char *id)
{
	b_auto_fd int root = open(runs_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -1;
	return openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool aud_run_is_live(const char *runs_root, const char *id)
{
	b_auto_fd int fd = open_run(runs_root, id);

	/* shared: two who look at the same time do not take each other for the supervisor */
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Runs `each` on the names in a run's directory. */
static void for_files(int dirfd, void (*each)(int dirfd, const char *name, void *ctx), void *ctx)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			each(dirfd, e->d_name, ctx);
	closedir(dir);
}

/* What is kept or removed: one run of a family. */
struct member {
	char id[sizeof id_shape], family[sizeof id_shape]; /* the outermost run's id */
	unsigned long long bytes;			   /* on disk */
};

static void look_at(int dirfd, const char *name, void *ctx)
{
	struct member *m = ctx;
	struct stat st;

	if (b_has_prefix(name, AUD_INSIDE) && aud_run_id_valid(name + sizeof AUD_INSIDE - 1))
		memcpy(m->family, name + sizeof AUD_INSIDE - 1, sizeof m->family);
	else if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		m->bytes += (unsigned long long)st.st_blocks * 512;
}

static void remove_file(int dirfd, const char *name, void *ctx)
{
	(void)ctx;
	unlinkat(dirfd, name, 0); /* a directory nobody of ours made keeps the run's alive */
}

static void weigh(const char *runs_root, const char *id, struct member *out)
{
	b_auto_fd int fd = open_run(runs_root, id);

	memcpy(out->id, id, sizeof out->id);
	memcpy(out->family, id, sizeof out->family);
	if (fd >= 0)
		for_files(fd, look_at, out);
}

/* Newest families first, each together. */
static int by_family(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(y->family, x->family);

	return order ? order : strcmp(y->id, x->id);
}

static void remove_run(const char *runs_root, const char *id)
{
	b_auto_fd int fd = open_run(runs_root, id);
	b_auto(b_str_release) struct b_str path = {0};

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return; /* live */
	for_files(fd, remove_file, NULL);
	b_str_addf(&path, "%s/%s", runs_root, id);
	rmdir(path.s);
}

/* The key of the chain (chain.c), by the name that it has while it is written: of a launcher that
 * was killed. It takes no second to write. */
static bool is_torn_key(int dirfd, const char *name)
{
	struct stat st;

	return strncmp(name, ".sbx-", 5) == 0 &&
	       fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtim.tv_sec > 2;
}

/* Directories that never became a run, whose launcher was killed. */
static void remove_hidden(const char *runs_root)
{
	DIR *dir = opendir(runs_root);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_torn_key(dirfd(dir), e->d_name))
			unlinkat(dirfd(dir), e->d_name, 0);
		else if (e->d_name[0] == '.' && aud_run_id_valid(e->d_name + 1))
			remove_run(runs_root, e->d_name);
	if (dir)
		closedir(dir);
}

static void remove_family(const char *runs_root, const struct member *v, size_t n)
{
	if (aud_run_is_live(runs_root, v->family))
		return;
	for (size_t i = 0; i < n; i++)
		remove_run(runs_root, v[i].id);
}

/* Of `n` members, all families. */
static void retain(const char *runs_root, const struct member *v, size_t n, size_t keep_runs,
		   unsigned long long keep_bytes)
{
	unsigned long long bytes = 0;
	size_t kept = 0, end;

	for (size_t i = 0; i < n; i = end) {
		unsigned long long own = 0;

		for (end = i; end < n && strcmp(v[end].family, v[i].family) == 0; end++)
			own += v[end].bytes;
		bytes += own < keep_bytes / 4 ? own : keep_bytes / 4;
		if (kept > 0 && (kept >= keep_runs || bytes > keep_bytes))
			remove_family(runs_root, v + i, end - i);
		else
			kept++;
	}
}

void aud_rundir_retain_to(const char *runs_root, size_t keep_runs, unsigned long long keep_bytes)
{
	b_auto_free struct member *v = NULL;
	char **names = NULL;
	struct b_err err;
	size_t n = 0;

	remove_hidden(runs_root);
	if (aud_runs_list(runs_root, &names, &n, &err) < 0)
		return;
	v = b_calloc(n + 1, sizeof *v);
	for (size_t i = 0; i < n; i++)
		weigh(runs_root, names[i], &v[i]);
	qsort(v, n, sizeof *v, by_family);
	retain(runs_root, v, n, keep_runs, keep_bytes);
	aud_runs_free(names, n);
}

void aud_rundir_retain(const char *runs_root)
{
	aud_rundir_retain_to(runs_root, AUD_KEEP_RUNS, AUD_KEEP_BYTES);
}

bool aud_rundir_is_due(void)
{
	unsigned char drawn;

	return getentropy(&drawn, sizeof drawn) < 0 || drawn % AUD_RETAIN_TURNS == 0;
}
