/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - finds the file that a command starts, reads a script's first line, and finds the
 * shim. */
#include "launcher/plan/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "core/path.h"
#include "launcher/run/os.h"
#include "places.h"

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

/* ---- scripts ---- */

bool lau_script_parse(struct b_arena *arena, const char *head, size_t n, struct lau_script *out)
{
	const char *end = memchr(head, '\n', n);
	char *s, *tail;

	if (n < 2 || memcmp(head, "#!", 2) != 0 || !end)
		return false;
	s = b_arena_strndup(arena, head + 2, (size_t)(end - head) - 2);
	s += strspn(s, " \t");
	out->interpreter = s;
	s += strcspn(s, " \t");
	out->argument = NULL;
	if (*s) {
		*s++ = '\0';
		s += strspn(s, " \t");
		tail = s + strlen(s);
		while (tail > s && (tail[-1] == ' ' || tail[-1] == '\t'))
			*--tail = '\0';
		out->argument = *s ? s : NULL;
	}
	return *out->interpreter == '/';
}

const char *lau_script_env(const struct lau_script *s)
{
	if (strcmp(s->interpreter, "/usr/bin/env") != 0 || !s->argument ||
	    strpbrk(s->argument, " \t=") || s->argument[0] == '-')
		return NULL;
	return s->argument;
}

char **lau_script_argv(struct b_arena *arena, const struct lau_script *s, const char *file,
		       char *const *argv)
{
	size_t n = 0, at = 0;
	char **out;

	while (argv[n])
		n++;
	out = b_arena_alloc(arena, (n + 4) * sizeof *out);
	out[at++] = s->interpreter;
	if (s->argument)
		out[at++] = s->argument;
	out[at++] = b_arena_strndup(arena, file, strlen(file));
	for (size_t i = 1; i < n; i++)
		out[at++] = argv[i];
	out[at] = NULL;
	return out;
}

/* ---- where the shim lies ---- */

#define SELFTEST "sbx-selftest"
#define ADOPT	 "sbx-adopt"
#define EGRESS	 "sbx-egress"
#define SHIP	 "sbx-ship"
#define BUNDLE	 "sbx-bundle"

/* Root's or the caller's; or as this very program, whose owner can do no more by the other file. In
 * a user namespace that knows neither, both look as nobody's. */
static bool is_owned_well(const struct stat *st)
{
	char self[4096];
	struct stat own;

	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       (lau_os_own_path(self, sizeof self) && stat(self, &own) == 0 &&
		st->st_uid == own.st_uid && !(st->st_mode & S_IWGRP));
}

/* Every process of the run loads it: nobody but root and the caller may have written it. */
static bool is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && is_owned_well(&st) &&
	       !(st.st_mode & S_IWOTH) &&
	       (!(st.st_mode & S_IWGRP) || st.st_gid == 0 || st.st_gid == getegid()) &&
	       access(path, R_OK) == 0;
}

/* "/usr/bin/", of the program that runs; "" when nothing tells. */
static void own_directory(struct b_str *out)
{
	char self[4096];

	if (lau_os_own_path(self, sizeof self))
		b_str_addn(out, self, (size_t)(strrchr(self, '/') + 1 - self));
}

/* Beside the program (a build directory), where `make install` puts it for any PREFIX, or where
 * it was configured to be. Its canonical path, malloc'ed, NULL = nowhere. */
static char *look(const char *name)
{
	static const char *const places[] = {"", "../libexec/sbx-launch/"};
	b_auto(b_str_release) struct b_str self = {0};

	own_directory(&self);
	for (size_t i = 0; self.len && i < sizeof places / sizeof *places; i++) {
		b_auto(b_str_release) struct b_str path = {0};

		b_str_addf(&path, "%s%s%s", self.s, places[i], name);
		if (is_trusted(path.s))
			return realpath(path.s, NULL);
	}
	b_str_reset(&self);
	b_str_addf(&self, SBX_LIBEXECDIR "/sbx-launch/%s", name);
	return is_trusted(self.s) ? realpath(self.s, NULL) : NULL;
}

int lau_shim_find(char **out, struct b_err *err)
{
	b_auto_free char *path = look(SBX_SHIM_SONAME);

	if (!path)
		return b_fail(err, B_SHIM, 0,
			      "%s was not found (owned by root or you, and not writable by others) "
			      "beside sbx-launch, in ../libexec/sbx-launch or in %s: install it, "
			      "or run without events (--no-shim)",
			      SBX_SHIM_SONAME, SBX_LIBEXECDIR "/sbx-launch");
	/* ld.so(8) splits there, and has no quoting */
	if (strpbrk(path, ": "))
		return b_fail(err, B_SHIM, 0,
			      "%s cannot be preloaded: its path has a blank or colon: move it, or "
			      "run without events (--no-shim)",
			      path);
	*out = path;
	path = NULL;
	return 0;
}

static int find_helper(const char *name, char **out, struct b_err *err)
{
	*out = look(name);
	if (*out)
		return 0;
	return b_fail(err, B_SYSTEM, 0,
		      "%s was not found (owned by root or you, and not writable by others) beside "
		      "sbx-launch, in ../libexec/sbx-launch or in " SBX_LIBEXECDIR
		      "/sbx-launch: install it",
		      name);
}

int lau_selftest_find(char **out, struct b_err *err)
{
	return find_helper(SELFTEST, out, err);
}

int lau_bundle_find(char **out, struct b_err *err)
{
	return find_helper(BUNDLE, out, err);
}

int lau_ship_find(char **out, struct b_err *err)
{
	return find_helper(SHIP, out, err);
}

int lau_audit_find(char **out, struct b_err *err)
{
	return find_helper("sbx-audit", out, err);
}

int lau_adopt_find(char **out, struct b_err *err)
{
	return find_helper(ADOPT, out, err);
}

int lau_egress_find(char **out, struct b_err *err)
{
	return find_helper(EGRESS, out, err);
}

static bool lies_in(const char *path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sbx_path_under(path, strlen(path), dirs[i], strlen(dirs[i])))
			return true;
	return false;
}

size_t lau_own_files(struct b_arena *a, const char *const *workspaces, size_t nworkspaces,
		     const char *out[LAU_OWN_MAX])
{
	static const char *const beside[] = {"sbx-launch", "sbx-shell", "sbx-policy",
					     "sbx-audit",  SELFTEST,	ADOPT,
					     EGRESS,	   SHIP,	BUNDLE};
	b_auto(b_str_release) struct b_str dir = {0};
	b_auto_free char *shim = NULL;
	size_t n = 0;

	own_directory(&dir);
	if (!dir.len || !lies_in(dir.s, workspaces, nworkspaces))
		return 0;
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		const char *path = b_arena_printf(a, "%s%s", dir.s, beside[i]);

		if (access(path, F_OK) == 0)
			out[n++] = path;
	}
	shim = look(SBX_SHIM_SONAME);
	if (shim) {
		out[n++] = b_arena_strndup(a, shim, strlen(shim));
#ifdef SBX_SHIM_SIBLING
		out[n++] = b_arena_printf(a, "%.*s/%s", (int)sbx_path_parent(shim, strlen(shim)),
					  shim, SBX_SHIM_SIBLING);
#endif
	}
	return n;
}
