/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - see places.h. */
#include "audit/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tree.h"
#include "core/channel.h"

#define PRINTED_RUN "/run"
#define PRINTED_TMP "/tmp"

/* ---- where ---- */

static char *usable(const char *dir)
{
	struct stat st;
	char *real;

	if (!dir || *dir != '/')
		return NULL;
	real = realpath(dir, NULL);
	if (real && stat(real, &st) == 0 && S_ISDIR(st.st_mode) && access(real, W_OK | X_OK) == 0)
		return real;
	free(real);
	return NULL;
}

char *aud_place_temporary(void)
{
	char *real = usable(getenv("TMPDIR"));

	if (!real)
		real = usable("/tmp");
	return real ? real : usable("/var/tmp");
}

void aud_place_temporaries(void (*each)(void *ctx, const char *path), void *ctx)
{
	static const char *const usual[] = {"/tmp", "/var/tmp"};
	b_auto_free char *base = aud_place_temporary();

	if (base)
		each(ctx, base);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		b_auto_free char *real = usable(usual[i]);

		if (real && (!base || strcmp(real, base) != 0))
			each(ctx, real);
	}
}

/* "sbx-launch-UID", and with a number. */
static bool is_channels_name(const char *name)
{
	char first[64];
	size_t n;

	if (!b_has_prefix(name, "sbx-launch-")) /* nothing more is spent on a crowded /tmp */
		return false;
	snprintf(first, sizeof first, "sbx-launch-%u", (unsigned)geteuid());
	n = strlen(first);
	return strncmp(name, first, n) == 0 &&
	       (!name[n] || (name[n] == '-' && name[n + 1] &&
			     !name[n + 1 + strspn(name + n + 1, "0123456789")]));
}

static void each_named(const char *parent, void (*each)(void *ctx, const char *path), void *ctx)
{
	DIR *list = opendir(parent);
	const struct dirent *e;

	while (list && (e = readdir(list))) {
		b_auto(b_str_release) struct b_str path = {0};

		if (!is_channels_name(e->d_name))
			continue;
		b_str_addf(&path, "%s/%s", parent, e->d_name);
		each(ctx, b_str_c(&path));
	}
	if (list)
		closedir(list);
}

void aud_place_channels(void (*each)(void *ctx, const char *path), void *ctx)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	b_auto_free char *temporary = aud_place_temporary();
	char session[64];

	snprintf(session, sizeof session, "/run/user/%u", (unsigned)geteuid());
	for (int i = 0; i < 2; i++) {
		const char *dir = i ? session : runtime;
		b_auto_free char *real = dir && *dir == '/' ? realpath(dir, NULL) : NULL;
		b_auto(b_str_release) struct b_str path = {0};

		if (!real || strcmp(real, "/") == 0)
			continue;
		b_str_addf(&path, "%s/sbx-launch", real);
		each(ctx, b_str_c(&path));
	}
	each_named("/dev/shm", each, ctx);
	if (temporary)
		each_named(temporary, each, ctx);
}

struct aud_place_name aud_place_kept(void)
{
	struct aud_place_name out;

	snprintf(out.s, sizeof out.s, "sbx-launch-%u.empty-for-next-run", (unsigned)geteuid());
	return out;
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_private(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 077);
}

int aud_place_open(int at, const char *name)
{
	b_auto_fd int fd = open_dir(at, name);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && is_private(&st) ? b_take_fd(&fd) : -1;
}

int aud_place_lock(int at, const char *name)
{
	int fd = open_dir(at, name), why;
	struct stat st;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
		if (is_private(&st) && aud_place_is_named(at, name, fd))
			return fd;
		errno = EWOULDBLOCK;
	}
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

bool aud_place_is_named(int at, const char *name, int fd)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && fstatat(at, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* ---- what --print-env leaves ---- */

/* A directory that is ours alone, made when it is not there. */
static bool is_made(const char *path)
{
	struct stat st;

	return (mkdir(path, 0700) == 0 || errno == EEXIST) && lstat(path, &st) == 0 &&
	       is_private(&st);
}

static void printed_dir(const char *base, struct b_str *out)
{
	b_str_addf(out, "%s/sbx-print-env-%u", strcmp(base, "/") == 0 ? "" : base,
		   (unsigned)geteuid());
}

/* Calls each() for what has a name in `dir`, which is closed; how many those were. By descriptors
 * alone: commands may write where it lies (--modify /tmp), and exchange it for a link meanwhile. */
static size_t for_entries(int dir, void (*each)(int at, const char *name))
{
	DIR *list = dir < 0 ? NULL : fdopendir(dir);
	const struct dirent *e;
	size_t n = 0;

	while (list && (e = readdir(list))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n++;
		if (each)
			each(dirfd(list), e->d_name);
	}
	if (list)
		closedir(list);
	else if (dir >= 0)
		close(dir);
	return n;
}

static void remove_open(int at, const char *name, int fd)
{
	if (b_tree_clear_at(fd, NULL) == 0 && aud_place_is_named(at, name, fd))
		(void)unlinkat(at, name, AT_REMOVEDIR);
}

/* One that has no record yet may be about to get it. */
static void remove_unrecorded(int at, const char *name)
{
	b_auto_fd int fd = aud_place_open(at, name);
	struct stat st;

	if (fd >= 0 && fstatat(fd, &PRINTED_RUN[1], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstatat(fd, &PRINTED_RUN[1], &st, 0) < 0 && errno == ENOENT)
		remove_open(at, name, fd);
}

char *aud_place_printed(void)
{
	b_auto_free char *base = aud_place_temporary();
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_free char *top = NULL;

	if (!base)
		return NULL;
	printed_dir(base, &path);
	if (is_made(b_str_c(&path))) {
		(void)for_entries(aud_place_open(AT_FDCWD, b_str_c(&path)), remove_unrecorded);
		b_str_add(&path, "/XXXXXX");
	} else { /* another user was first: a name that nobody can know before */
		b_str_add(&path, ".XXXXXX");
	}
	if (!mkdtemp(path.s))
		return NULL;
	top = b_strdup(path.s);
	b_str_add(&path, PRINTED_TMP);
	if (mkdir(b_str_c(&path), 0700) == 0)
		return b_str_take(&path);
	(void)rmdir(top);
	return NULL;
}

static void beside(const char *tmp, const char *name, struct b_str *out)
{
	b_str_addf(out, "%.*s%s", (int)(strlen(tmp) - (sizeof PRINTED_TMP - 1)), tmp, name);
}

int aud_place_printed_by(const char *tmp, const char *rundir)
{
	b_auto(b_str_release) struct b_str link = {0};

	beside(tmp, PRINTED_RUN, &link);
	return symlink(rundir, b_str_c(&link));
}

void aud_place_printed_undo(const char *tmp)
{
	b_auto(b_str_release) struct b_str link = {0}, top = {0};

	beside(tmp, PRINTED_RUN, &link);
	beside(tmp, "", &top);
	(void)rmdir(tmp);
	(void)unlink(b_str_c(&link));
	(void)rmdir(b_str_c(&top));
}

/* ---- channels ---- */

/* Two sweepers, or a sweeper and a run that has made its directory and not locked it yet, may
 * meet: who gets the lock removes, and a new run looks whether its directory still has a name. */
void aud_place_sweep(const char *channels)
{
	static const char *const files[] = {SBX_CHANNEL_IMAGE, SBX_CHANNEL_RING,
					    SBX_CHANNEL_CONTROL};
	int top = aud_place_open(AT_FDCWD, channels);
	DIR *dir = top < 0 ? NULL : fdopendir(top);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		b_auto_fd int fd = e->d_name[0] == '.' ? -1 : open_dir(dirfd(dir), e->d_name);

		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		for (size_t i = 0; i < sizeof files / sizeof *files; i++)
			(void)unlinkat(fd, files[i], 0);
		(void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	else if (top >= 0)
		close(top);
}

/* ---- all of it ---- */

struct listing {
	void (*each)(void *ctx, const char *path, size_t n, const char *what);
	void *ctx;
};

static void list_dir(const struct listing *l, const char *path, const char *what)
{
	size_t n = for_entries(aud_place_open(AT_FDCWD, path), NULL);

	if (n)
		l->each(l->ctx, path, n, what);
}

static void list_temporary(void *ctx, const char *base)
{
	b_auto(b_str_release) struct b_str kept = {0}, printed = {0};

	b_str_addf(&kept, "%s/%s", base, aud_place_kept().s);
	printed_dir(base, &printed);
	list_dir(ctx, b_str_c(&kept), "empty, for the next runs");
	list_dir(ctx, b_str_c(&printed), "TMPDIR of --print-env, removed with its record");
}

static void list_channels(void *ctx, const char *path)
{
	list_dir(ctx, path, "channels of runs that have not ended, and their common lock");
}

void aud_left_each(void (*each)(void *ctx, const char *path, size_t n, const char *what), void *ctx)
{
	struct listing l = {each, ctx};

	aud_place_temporaries(list_temporary, &l);
	aud_place_channels(list_channels, &l);
}

/* A scratch directory, unless a run lives in it. */
static void remove_scratch(int at, const char *name)
{
	b_auto_fd int fd = aud_place_lock(at, name);

	if (fd >= 0)
		remove_open(at, name, fd);
}

/* "sbx-launch-UID.N": nobody else lives in those that killed runs left. */
static void remove_numbered(int at, const char *name)
{
	char prefix[64];
	const char *rest;

	snprintf(prefix, sizeof prefix, "sbx-launch-%u.", (unsigned)geteuid());
	rest = name + strlen(prefix);
	if (b_has_prefix(name, prefix) && *rest && !rest[strspn(rest, "0123456789abcdef")])
		remove_scratch(at, name);
}

static void prune_temporary(void *ctx, const char *base)
{
	b_auto_fd int dir = open_dir(AT_FDCWD, base);
	b_auto(b_str_release) struct b_str path = {0};
	const char *printed;

	(void)ctx;
	printed_dir(base, &path);
	printed = strrchr(b_str_c(&path), '/') + 1;
	if (dir < 0)
		return;
	(void)for_entries(open_dir(dir, "."), remove_numbered);
	(void)for_entries(aud_place_open(dir, aud_place_kept().s), remove_scratch);
	(void)for_entries(aud_place_open(dir, printed), remove_unrecorded);
	(void)unlinkat(dir, aud_place_kept().s, AT_REMOVEDIR);
	(void)unlinkat(dir, printed, AT_REMOVEDIR);
}

/* The lock of moves stays: a run that is about to take it would be alone with one that has no name.
 */
static void prune_channels(void *ctx, const char *path)
{
	(void)ctx;
	aud_place_sweep(path);
}

void aud_left_prune(void)
{
	aud_place_temporaries(prune_temporary, NULL);
	aud_place_channels(prune_channels, NULL);
}
