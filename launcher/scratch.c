/* scratch.c - see scratch.h. */
#include "launcher/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "launcher/environment.h"
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

int lau_scratch_name(char **out_path, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_free char *base = NULL;
	unsigned long long nonce;

	if (lau_scratch_base(&base, err) < 0)
		return -1;
	if (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
		return b_fail(err, B_SYSTEM, errno, "getrandom: %s", strerror(errno));
	b_str_addf(&path, "%s/sbx-launch.%016llx", strcmp(base, "/") == 0 ? "" : base, nonce);
	*out_path = b_str_take(&path);
	return 0;
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

	if (xdg && *xdg == '/') {
		b_str_add(&path, xdg);
	} else {
		const char *home = pol_home(&arena);

		if (!home)
			return NULL;
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
