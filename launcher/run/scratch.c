/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - see dirs.h. */
#include "launcher/run/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "launcher/plan/environment.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "policy/rules/workspace.h"

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

int lau_scratch_base(char **out, struct b_err *err)
{
	const char *const candidates[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
	size_t i;

	for (i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		char *real = usable(candidates[i]);

		if (real) {
			*out = real;
			return 0;
		}
	}
	return b_fail(err, B_SYSTEM, errno,
		      "no directory for temporary files: set TMPDIR to a writable one");
}

enum { MAX_SLOTS = 1000, KEPT_SLOTS = 8, RETRIES = 3, LOOKED_AT = 8 };

/* A directory that is ours alone, locked; -1 when it is not, or somebody's run lives in it
 * (EWOULDBLOCK), or with another errno of open(2) and flock(2). */
static int lock_slot(int base, const char *name)
{
	int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why;
	struct stat st;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
		if (st.st_uid == geteuid() && !(st.st_mode & 077))
			return fd;
		errno = EWOULDBLOCK;
	}
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

static bool is_named(int base, const char *name, int fd)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && fstatat(base, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* What a run that was killed left. The directory goes, too: processes that outlived that run
 * still have Landlock rights on the inode (which they keep from being used anew). One that goes
 * on filling it keeps its number, and we take the next. */
static bool remove_stale(int base, const char *name)
{
	b_auto_fd int fd = lock_slot(base, name);

	return fd >= 0 && lau_tree_clear_at(fd, NULL) == 0 && is_named(base, name, fd) &&
	       unlinkat(base, name, AT_REMOVEDIR) == 0;
}

/*
 * A run that ended with all its processes leaves its directory empty, under another name, so that
 * nobody takes it for that of a killed one. Making and removing a directory costs ext4 more than
 * the rest of what a run does with it: it looks at each inode that was freed in the last minutes.
 * The lowest numbers alone: that many runs at the same time are usual.
 */
#define FREE ".free"
struct slot {
	char name[64], kept[64 + sizeof FREE];
};

static void name_slot(const char *name, struct slot *out)
{
	snprintf(out->name, sizeof out->name, "%s", name);
	snprintf(out->kept, sizeof out->kept, "%s" FREE, name);
}

/* A directory that held many names keeps their blocks (ext4): each later run would read them. */
enum { KEPT_BYTES = 64 << 10 };

static bool is_as_new(int fd)
{
	struct stat st;

	return lau_os_is_plain_dir(fd) && fstat(fd, &st) == 0 && st.st_size <= KEPT_BYTES;
}

/* What is not as it was left is not handed on, nor left to be looked at again. */
static bool take_kept(int base, const struct slot *slot, struct lau_scratch *out)
{
	b_auto_fd int fd = lock_slot(base, slot->kept);

	if (fd < 0 || lau_tree_clear_at(fd, NULL) < 0 || !is_named(base, slot->kept, fd))
		return false;
	if (!is_as_new(fd)) {
		(void)unlinkat(base, slot->kept, AT_REMOVEDIR);
		return false;
	}
	if (lau_os_rename_new(base, slot->kept, slot->name) < 0 || !is_named(base, slot->name, fd))
		return false;
	out->lock = b_take_fd(&fd);
	return true;
}

/* Empty, and nobody is left who has rights on it. */
static bool leave_kept(const struct lau_scratch *s, const struct slot *slot)
{
	return s->keeps && lau_processes_none() && is_as_new(s->lock) &&
	       lau_os_rename_new(s->base, slot->name, slot->kept) == 0;
}

/* Makes one number. Before we lock it another may find it stale, and remove it: once more. Where
 * nothing can be locked (flock(2) refused by a filter, or unknown to the file system) no other
 * number helps: out->no_locks is the errno, and nothing is left. */
static bool take_slot(int base, const char *name, struct lau_scratch *out)
{
	struct slot slot;
	unsigned i;

	name_slot(name, &slot);
	if (out->keeps && take_kept(base, &slot, out))
		return true;
	for (i = 0; i < RETRIES; i++) {
		b_auto_fd int fd = -1;

		if (mkdirat(base, name, 0700) < 0) {
			if (errno != EEXIST || !remove_stale(base, name))
				return false;
			continue;
		}
		fd = lock_slot(base, name);
		if (fd < 0 && errno != EWOULDBLOCK && errno != ENOENT) {
			out->no_locks = errno;
			(void)unlinkat(base, name, AT_REMOVEDIR);
			return false;
		}
		if (fd < 0 || !is_named(base, name, fd))
			continue;
		out->lock = b_take_fd(&fd);
		return true;
	}
	return false;
}

/* Somebody was first everywhere: a name nobody can know before. */
static void random_name(struct b_str *name)
{
	unsigned char raw[16] = {0};
	size_t i;

	if (getentropy(raw, sizeof raw) < 0)
		raw[0] = 0; /* mkdir(2) tells whether the name was free */
	b_str_reset(name);
	b_str_addf(name, "sbx-launch-%u.", (unsigned)geteuid());
	for (i = 0; i < sizeof raw; i++)
		b_str_addf(name, "%02x", raw[i]);
}

/* Numbers are taken from the lowest on: those of runs that were killed beside others might not be
 * looked at again for a long time. */
static void remove_later(int base, unsigned slot)
{
	for (unsigned i = 1; i <= LOOKED_AT; i++) {
		char name[64];

		snprintf(name, sizeof name, "sbx-launch-%u.%u", (unsigned)geteuid(), slot + i);
		(void)remove_stale(base, name);
	}
}

int lau_scratch_take(bool make, struct lau_scratch *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, name = {0};
	b_auto_free char *base = NULL;
	b_auto_fd int at = -1;
	bool is_everybodys;
	unsigned slot;

	*out = (struct lau_scratch){.base = -1, .lock = -1};
	if (lau_scratch_base(&base, err) < 0)
		return -1;
	is_everybodys = strcmp(base, "/tmp") == 0 || strcmp(base, "/var/tmp") == 0;
	at = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0) /* writable and not readable: w and x suffice for the rest */
		at = open(base, LAU_O_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (slot = 0; at >= 0 && slot <= MAX_SLOTS && !out->no_locks; slot++) {
		b_str_reset(&name);
		b_str_addf(&name, "sbx-launch-%u.%u", (unsigned)geteuid(), slot);
		if (slot == MAX_SLOTS)
			random_name(&name);
		/* not as many as there once were at the same time */
		out->keeps = is_everybodys && slot < KEPT_SLOTS;
		if (make && !take_slot(at, name.s, out))
			continue;
		if (make)
			remove_later(at, slot);
		b_str_addf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base, name.s);
		out->path = b_str_take(&path);
		out->base = b_take_fd(&at);
		return 0;
	}
	if (out->no_locks)
		return b_fail(
			err, B_SYSTEM, out->no_locks,
			"cannot lock a directory in %s: %s: flock(2) must be allowed, and TMPDIR "
			"lie on a file system that has it",
			base, strerror(out->no_locks));
	return b_fail(err, B_SYSTEM, errno, "cannot make a directory in %s: %s", base,
		      strerror(errno));
}

int lau_scratch_lend(const struct lau_scratch *s, uid_t uid, gid_t gid, struct b_err *err)
{
	if (s->lock >= 0 && fchown(s->lock, uid, gid) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", s->path, strerror(errno));
	return 0;
}

/* By descriptors alone: the command may have had the directories of the path to itself, and put
 * others there. */
void lau_scratch_release(struct lau_scratch *s)
{
	if (s->lock >= 0) {
		bool is_empty = lau_tree_clear_at(s->lock, NULL) == 0;
		struct slot slot;

		/* if it was lent; else, as when that fails, it is not kept for others */
		is_empty &= fchown(s->lock, geteuid(), getegid()) == 0;
		name_slot(strrchr(s->path, '/') + 1, &slot);
		if (is_named(s->base, slot.name, s->lock) && !(is_empty && leave_kept(s, &slot)))
			(void)unlinkat(s->base, slot.name, AT_REMOVEDIR);
		close(s->lock);
	}
	if (s->base >= 0)
		close(s->base);
	free(s->path);
	*s = (struct lau_scratch){.base = -1, .lock = -1};
}

enum { OTHERS = 32 }; /* runs at once whose directories are closed to each other beforehand */

static void each_there(const char *base, const char *own, void (*each)(void *ctx, const char *path),
		       void *ctx)
{
	b_auto(b_str_release) struct b_str path = {0};
	DIR *list = opendir(base);
	const struct dirent *e;
	char prefix[64];
	size_t n, at;

	snprintf(prefix, sizeof prefix, "sbx-launch-%u.", (unsigned)geteuid());
	n = strlen(prefix);
	b_str_addf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base, prefix);
	at = path.len;
	for (unsigned i = 0; i < OTHERS; i++) {
		path.len = at;
		b_str_addf(&path, "%u", i);
		if (!own || strcmp(b_str_c(&path), own) != 0)
			each(ctx, b_str_c(&path));
	}
	while (list && (e = readdir(list))) {
		const char *rest = e->d_name + n;

		if (strncmp(e->d_name, prefix, n) != 0 ||
		    (rest[strspn(rest, "0123456789")] == '\0' && atoi(rest) < OTHERS))
			continue;
		path.len = at;
		b_str_add(&path, rest);
		if (!own || strcmp(b_str_c(&path), own) != 0)
			each(ctx, b_str_c(&path));
	}
	if (list)
		closedir(list);
}

void lau_scratch_others(const char *own, void (*each)(void *ctx, const char *path), void *ctx)
{
	static const char *const usual[] = {"/tmp", "/var/tmp"};
	b_auto_free char *base = NULL;
	struct b_err none;

	if (lau_scratch_base(&base, &none) == 0)
		each_there(base, own, each, ctx);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		b_auto_free char *real = usable(usual[i]);

		if (real && (!base || strcmp(real, base) != 0))
			each_there(real, own, each, ctx);
	}
}

void lau_scratch_export(const char *path, struct lau_environment *env)
{
	b_auto(b_str_release) struct b_str prefix = {0};

	lau_environment_offer(env, "TMPDIR", path);
	lau_environment_offer(env, "TMP", path);
	lau_environment_offer(env, "TEMP", path);
	/* a prefix of file names, not a directory: zshparam(1) */
	b_str_addf(&prefix, "%s/zsh", path);
	lau_environment_offer(env, "TMPPREFIX", prefix.s);
}

char *lau_cache_dir(const char *workspace)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	b_auto(b_arena_release) struct b_arena arena = {0};
	b_auto(b_str_release) struct b_str path = {0};
	char hash[B_SHA256_HEX];
	struct stat st;

	if (xdg && *xdg == '/') {
		b_str_add(&path, xdg);
	} else {
		const char *home = pol_home(&arena);

		if (!home || stat(home, &st) < 0 || !S_ISDIR(st.st_mode))
			return NULL; /* a home that does not exist is not made */
		b_str_addf(&path, "%s/.cache", home);
	}
	b_sha256_hex(workspace, strlen(workspace), hash);
	b_str_addf(&path, "/sbx-launch/%.16s", hash);
	return b_str_take(&path);
}

bool lau_cache_make(const char *path)
{
	return b_mkdirs(path, NULL) == 0;
}

void lau_cache_export(const char *path, struct lau_environment *env)
{
	static const char *const names[][2] = {
		{"XDG_CACHE_HOME", ""}, {"GOCACHE", "/go-build"}, {"CCACHE_DIR", "/ccache"}};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		b_auto(b_str_release) struct b_str value = {0};

		b_str_add(&value, path);
		b_str_add(&value, names[i][1]);
		lau_environment_offer(env, names[i][0], value.s);
	}
	/* It knows no XDG directory. Its variables count in any case (npm-config(7)). */
	if (!getenv("npm_config_cache") && !getenv("NPM_CONFIG_CACHE")) {
		b_auto(b_str_release) struct b_str value = {0};

		b_str_addf(&value, "%s/npm", path);
		lau_environment_offer(env, "npm_config_cache", value.s);
	}
}

/* ---- removing a tree ---- */

enum { DEEPEST = 32, MAX_PASSES = 4096 };

struct removal {
	int top;	 /* the tree's root */
	unsigned hoists; /* directories moved up to the root because they lay too deep */
};

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		fd = lau_os_open_closed_dir(at, name);
	/* entries of a directory without w or x cannot be removed */
	if (fd >= 0)
		(void)fchmod(fd, 0700);
	return fd;
}

static int empty_dir(struct removal *r, int fd, unsigned depth);

static int remove_subdir(struct removal *r, int at, const char *name, unsigned depth)
{
	char hoisted[32];
	int fd;

	if (depth >= DEEPEST) {
		snprintf(hoisted, sizeof hoisted, ".hoisted-%u", r->hoists);
		r->hoists++;
		return renameat(at, name, r->top, hoisted);
	}
	fd = open_dir(at, name);
	if (fd < 0)
		return -1;
	if (empty_dir(r, fd, depth + 1) < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR);
}

/* Takes over fd. */
static int empty_dir(struct removal *r, int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (e->d_type != DT_DIR && unlinkat(fd, e->d_name, 0) == 0)
			continue;
		if (e->d_type != DT_DIR && errno != EISDIR)
			rc = -1;
		else if (remove_subdir(r, fd, e->d_name, depth) < 0)
			rc = -1;
	}
	closedir(dir);
	return rc;
}

int lau_tree_clear_at(int top, struct b_err *err)
{
	struct removal r = {.top = top};
	struct stat st;
	unsigned pass;

	/* whatever happened to the descriptor: nothing else is made ours */
	if (fstat(top, &st) < 0 || !S_ISDIR(st.st_mode))
		return b_fail(err, B_SYSTEM, ENOTDIR, "cannot empty a directory: %s",
			      strerror(ENOTDIR));

	/* entries of a directory without w or x cannot be removed */
	(void)fchmod(top, 0700);
	for (pass = 0; pass < MAX_PASSES; pass++) {
		unsigned before = r.hoists;
		/* an offset of its own: a copy would share it, and see nothing the second time */
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int rc = again < 0 ? -1 : empty_dir(&r, again, 0);

		/* What a pass hoisted lies at the root now: once more. */
		if (rc == 0 && r.hoists == before)
			return 0;
		if (r.hoists == before)
			break;
	}
	return b_fail(err, B_SYSTEM, errno, "cannot empty a directory: %s", strerror(errno));
}

int lau_tree_clear(const char *path, struct b_err *err)
{
	b_auto_fd int top = open_dir(AT_FDCWD, path);

	if (top >= 0 && lau_tree_clear_at(top, NULL) == 0)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "cannot empty %s: %s", path, strerror(errno));
}

int lau_tree_remove(const char *path, struct b_err *err)
{
	/* The usual case: nothing was left in it. */
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	if (lau_tree_clear(path, err) < 0)
		return -1;
	if (rmdir(path) < 0 && errno != ENOENT)
		return b_fail(err, B_SYSTEM, errno, "cannot remove %s: %s", path, strerror(errno));
	return 0;
}
