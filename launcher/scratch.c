/* scratch.c - see scratch.h. */
#include "launcher/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "launcher/environment.h"
#include "launcher/tree.h"
#include "policy/workspace.h"

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

enum { MAX_SLOTS = 1000, RETRIES = 3 };

/* A directory that is ours alone, locked; -1 when it is not, or somebody's run lives in it. */
static int lock_slot(const char *path)
{
	b_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    st.st_uid != geteuid() || (st.st_mode & 077))
		return -1;
	return b_take_fd(&fd);
}

/* Makes or takes over one number. A run that found it had no use for a directory it had made
 * removes it while it holds the lock, so what we locked may have no name any more: once more. */
static bool take_slot(const char *path, struct lau_scratch *out)
{
	unsigned i;

	for (i = 0; i < RETRIES; i++) {
		b_auto_fd int fd = -1;
		struct stat st;

		out->is_new = mkdir(path, 0700) == 0;
		if (!out->is_new && errno != EEXIST)
			return false;
		fd = lock_slot(path);
		if (fd < 0)
			return false;
		if (fstat(fd, &st) < 0 || st.st_nlink == 0)
			continue;
		if (!out->is_new && lau_tree_clear(path, NULL) < 0)
			return false;
		out->lock = b_take_fd(&fd);
		return true;
	}
	return false;
}

static bool is_free_slot(const char *path)
{
	b_auto_fd int fd = -1;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return true;
	fd = lock_slot(path);
	return fd >= 0;
}

int lau_scratch_take(bool make, struct lau_scratch *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_free char *base = NULL;
	unsigned slot;

	*out = (struct lau_scratch){.lock = -1};
	if (lau_scratch_base(&base, err) < 0)
		return -1;
	for (slot = 0; slot < MAX_SLOTS; slot++) {
		b_str_reset(&path);
		b_str_addf(&path, "%s/sbx-launch-%u.%u", strcmp(base, "/") == 0 ? "" : base,
			   (unsigned)geteuid(), slot);
		if (make ? take_slot(path.s, out) : is_free_slot(path.s)) {
			out->path = b_str_take(&path);
			return 0;
		}
	}
	return b_fail(err, B_SYSTEM, errno, "cannot make a directory like %s: %s", path.s,
		      strerror(errno));
}

void lau_scratch_release(struct lau_scratch *s, bool unused)
{
	if (s->lock >= 0) {
		if (unused && s->is_new)
			(void)rmdir(s->path);
		else if (!unused)
			(void)lau_tree_clear(s->path, NULL);
		close(s->lock);
	}
	free(s->path);
	*s = (struct lau_scratch){.lock = -1};
}

void lau_scratch_export(const char *path, struct lau_environment *env)
{
	b_auto(b_str_release) struct b_str prefix = {0};

	lau_environment_set(env, "TMPDIR", path);
	lau_environment_set(env, "TMP", path);
	lau_environment_set(env, "TEMP", path);
	/* a prefix of file names, not a directory: zshparam(1) */
	b_str_addf(&prefix, "%s/zsh", path);
	lau_environment_set(env, "TMPPREFIX", prefix.s);
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
		lau_environment_set(env, names[i][0], value.s);
	}
}
