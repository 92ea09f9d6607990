/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - see dirs.h. */
#include "launcher/run/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/places.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/tree.h"
#include "core/channel.h"
#include "launcher/plan/environment.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "policy/rules/workspace.h"

/* Programs make sockets in TMPDIR, whose path may have 107 bytes (unix(7)). Below a longer base the
 * run's directory would leave less than 35 of them for a name. */
enum { BASE_MAX = 107 - 35 - (int)(sizeof "/sbx-launch-4294967295.1" - 1) };

/* access(2) does not ask the rules of a run that we may be inside of. */
static bool can_make_in(const char *dir)
{
	char name[PATH_MAX];

	return snprintf(name, sizeof name, "%s/sbx-tried-XXXXXX", dir) < (int)sizeof name &&
	       mkdtemp(name) && rmdir(name) == 0;
}

static char *shorter(char *base)
{
	static const char *const usual[] = {"/tmp", "/var/tmp"};

	for (size_t i = 0; base && strlen(base) > BASE_MAX && i < 2; i++) {
		char *real = realpath(usual[i], NULL);

		if (real && strlen(real) <= BASE_MAX && can_make_in(real)) {
			free(base);
			return real;
		}
		free(real);
	}
	return base;
}

int lau_scratch_base(char **out, struct b_err *err)
{
	char *real = shorter(aud_place_temporary());

	if (!real)
		return b_fail(err, B_SYSTEM, errno,
			      "no directory for temporary files: set TMPDIR to a writable one");
	*out = real;
	return 0;
}

enum { MAX_SLOTS = 1000, KEPT_SLOTS = 8, RETRIES = 3, LOOKED_AT = 8 };

/* What a run that was killed left. The directory goes, too: processes that outlived that run
 * still have Landlock rights on the inode (which they keep from being used anew). One that goes
 * on filling it keeps its number, and we take the next. */
static bool remove_stale(int base, const char *name)
{
	b_auto_fd int fd = aud_place_lock(base, name);

	return fd >= 0 && b_tree_clear_at(fd, NULL) == 0 && aud_place_is_named(base, name, fd) &&
	       unlinkat(base, name, AT_REMOVEDIR) == 0;
}

/*
 * A run that ended with all its processes leaves its directory empty, in one that holds such alone
 * (audit/places.h), so that nobody takes it for that of a killed one. Making and removing a
 * directory costs ext4 more than the rest of what a run does with it: it looks at each inode that
 * was freed in the last minutes. The lowest numbers alone: that many runs at the same time are
 * usual.
 */
/* A directory that held many names keeps their blocks (ext4): each later run would read them. */
enum { KEPT_BYTES = 64 << 10 };

static bool is_as_new(int fd)
{
	struct stat st;

	return lau_os_is_plain_dir(fd) && fstat(fd, &st) == 0 && st.st_size <= KEPT_BYTES;
}

/* A directory that was changed meanwhile is neither reused nor kept. */
static bool take_kept(int base, const char *name, struct lau_scratch *out)
{
	b_auto_fd int kept = aud_place_open(base, aud_place_kept().s);
	b_auto_fd int fd = kept < 0 ? -1 : aud_place_lock(kept, name);

	if (fd < 0 || b_tree_clear_at(fd, NULL) < 0 || !aud_place_is_named(kept, name, fd))
		return false;
	if (!is_as_new(fd)) {
		(void)unlinkat(kept, name, AT_REMOVEDIR);
		return false;
	}
	if (lau_os_rename_new(kept, base, name) < 0 || !aud_place_is_named(base, name, fd))
		return false;
	out->lock = b_take_fd(&fd);
	return true;
}

/* It is empty, and no process with rights on it is left. */
static bool leave_kept(const struct lau_scratch *s, const char *name)
{
	const struct aud_place_name place = aud_place_kept();
	b_auto_fd int kept = -1;

	if (!s->keeps || !lau_processes_none() || !is_as_new(s->lock))
		return false;
	kept = aud_place_open(s->base, place.s);
	if (kept < 0 && mkdirat(s->base, place.s, 0700) == 0)
		kept = aud_place_open(s->base, place.s);
	return kept >= 0 && lau_os_rename_new(s->base, kept, name) == 0;
}

/* Makes one number. Before we lock it another may find it stale, and remove it: once more. Where
 * nothing can be locked (flock(2) refused by a filter, or unknown to the file system) no other
 * number helps: out->no_locks is the errno, and nothing is left. */
static bool take_slot(int base, const char *name, struct lau_scratch *out)
{
	unsigned i;

	if (out->keeps && take_kept(base, name, out))
		return true;
	for (i = 0; i < RETRIES; i++) {
		b_auto_fd int fd = -1;

		if (mkdirat(base, name, 0700) < 0) {
			if (errno != EEXIST || !remove_stale(base, name))
				return false;
			continue;
		}
		fd = aud_place_lock(base, name);
		if (fd < 0 && errno != EWOULDBLOCK && errno != ENOENT) {
			out->no_locks = errno;
			(void)unlinkat(base, name, AT_REMOVEDIR);
			return false;
		}
		if (fd < 0)
			continue;
		out->lock = b_take_fd(&fd);
		return true;
	}
	return false;
}

/* All places are taken: uses a random name, which no other process can predict. */
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
		return b_fail(err, B_SYSTEM, out->no_locks,
			      "cannot lock a directory in %s: %s: set TMPDIR to a directory where "
			      "flock(2) works",
			      base, strerror(out->no_locks));
	return b_fail_sys(err, B_SYSTEM, errno, "cannot make a directory in %s", base);
}

int lau_scratch_lend(const struct lau_scratch *s, uid_t uid, gid_t gid, struct b_err *err)
{
	if (s->lock >= 0 && fchown(s->lock, uid, gid) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "%s", s->path);
	return 0;
}

/* Uses only descriptors: the command may have replaced the directories of the path. */
void lau_scratch_release(struct lau_scratch *s)
{
	if (s->lock >= 0) {
		bool is_empty = b_tree_clear_at(s->lock, NULL) == 0;
		const char *name = strrchr(s->path, '/') + 1;

		/* if it was lent; else, as when that fails, it is not kept for others */
		is_empty &= fchown(s->lock, geteuid(), getegid()) == 0;
		if (aud_place_is_named(s->base, name, s->lock) &&
		    !(is_empty && leave_kept(s, name)))
			(void)unlinkat(s->base, name, AT_REMOVEDIR);
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

struct others {
	const char *own;
	void (*each)(void *ctx, const char *path);
	void *ctx;
};

static void others_there(void *ctx, const char *base)
{
	const struct others *o = ctx;

	each_there(base, o->own, o->each, o->ctx);
}

void lau_scratch_others(const char *own, void (*each)(void *ctx, const char *path), void *ctx)
{
	struct others o = {own, each, ctx};

	aud_place_temporaries(others_there, &o);
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

/* Below the directory of all caches nothing leads elsewhere: an earlier run, with that open, may
 * have put a link in the place of any workspace's. */
#define CACHES "sbx-launch"

static bool is_ours(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid();
}

/* Arena; NULL: there is no home. */
static const char *caches_spelled(struct b_arena *a)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home;
	struct stat st;

	if (xdg && *xdg == '/')
		return xdg;
	home = pol_home_spelled(a);
	if (!home || stat(home, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL; /* a home that does not exist is not made */
	return b_arena_printf(a, "%s/.cache", home);
}

char *lau_cache_dir(const char *const *workspaces, size_t n, char **out_why)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	b_auto(b_str_release) struct b_str path = {0}, why = {0};
	const char *spelled = caches_spelled(&arena), *base, *link;
	char hash[B_SHA256_HEX];
	struct stat st;

	*out_why = NULL;
	if (!spelled)
		return NULL;
	base = pol_hosts_place(&arena, spelled, workspaces, n, &link);
	if (!base) {
		b_str_addf(&why,
			   "no build cache: %s is a symlink that a run may have made: set "
			   "XDG_CACHE_HOME to the place it leads to",
			   link);
		*out_why = b_str_take(&why);
		return NULL;
	}
	b_str_addf(&path, "%s/" CACHES, strcmp(base, "/") == 0 ? "" : base);
	b_sha256_hex(workspaces[0], strlen(workspaces[0]), hash);
	for (int i = 0; i < 2; i++) {
		if (i)
			b_str_addf(&path, "/%.16s", hash);
		if (lstat(b_str_c(&path), &st) < 0 || is_ours(&st))
			continue;
		b_str_addf(&why, "no build cache: %s is %s: remove it", b_str_c(&path),
			   S_ISLNK(st.st_mode) ? "a symlink, which a run may have made"
					       : "not a directory of yours");
		*out_why = b_str_take(&why);
		return NULL;
	}
	return b_str_take(&path);
}

/* A directory in another, made if it is not there; closes `at`. */
static int enter_dir(int at, const char *name)
{
	const int flags = LAU_O_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);

	if (fd < 0 && errno == ENOENT && (mkdirat(at, name, 0700) == 0 || errno == EEXIST))
		fd = openat(at, name, flags);
	close(at);
	return fd;
}

/* As nearly every start finds it: no link led there when the kernel names it so. */
static bool is_made_already(const char *path)
{
	b_auto_fd int fd = open(path, LAU_O_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char real[PATH_MAX];
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && is_ours(&st) &&
	       lau_os_fd_path(fd, real, sizeof real) && strcmp(real, path) == 0;
}

/* By descriptors, and without links: what a run may write could be exchanged for one meanwhile. */
bool lau_cache_make(const char *path)
{
	b_auto_free char *copy = b_strdup(path);
	char *caches = strrchr(copy, '/') - strlen("/" CACHES);
	struct stat st = {0};
	bool is_made;
	int fd;

	if (is_made_already(path))
		return true;
	fd = open("/", LAU_O_SEARCH | O_DIRECTORY | O_CLOEXEC);
	for (char *name = copy, *end; fd >= 0 && *(name += strspn(name, "/")); name = end) {
		end = name + strcspn(name, "/");
		if (*end)
			*end++ = '\0';
		fd = enter_dir(fd, name);
		if (fd >= 0 && name > caches && (fstat(fd, &st) < 0 || !is_ours(&st)))
			break;
	}
	is_made = fd >= 0 && is_ours(&st);
	if (fd >= 0)
		close(fd);
	return is_made;
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
