/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - the first stage: finds bubblewrap, gives it the mounts, starts it. */
#include "launcher/linux/bwrap/wrap.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "launcher/linux/process/process.h"
#include "launcher/supervise/supervise.h"
#include "policy/plan/mounts.h"

#define OLDEST_MAJOR 0
#define OLDEST_MINOR 5
#define ANSWER_MS    5000

/* ---- finding it ---- */

/* Root's, and nobody else's to change, all the way up. */
static bool is_roots(const char *path)
{
	char at[PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof at)
		return false;
	strcpy(at, path);
	for (;;) {
		char *slash = strrchr(at, '/');

		if (lstat(*at ? at : "/", &st) < 0 || st.st_uid != 0 || S_ISLNK(st.st_mode) ||
		    st.st_mode & (S_IWGRP | S_IWOTH))
			return false;
		if (!slash)
			return true;
		*slash = '\0';
	}
}

/* "bubblewrap 0.8.0": the first token that reads as a version. */
static int parse_version(const char *text, unsigned *major, unsigned *minor)
{
	int end = 0;

	for (; *text; text += strcspn(text, " \n"), text += strspn(text, " \n"))
		/* no sign, which sscanf(3) would take */
		if (isdigit((unsigned char)*text) &&
		    sscanf(text, "%5u.%n%5u", major, &end, minor) == 2 &&
		    isdigit((unsigned char)text[end]))
			return 0;
	return -1;
}

static void ask_version(const char *path, int out)
{
	char *argv[] = {(char[]){"bwrap"}, (char[]){"--version"}, NULL};
	char *envp[] = {NULL};

	dup2(out, STDOUT_FILENO);
	execve(path, argv, envp);
	_exit(127);
}

static int check_version(const char *path, struct b_err *err)
{
	unsigned major, minor;
	char text[128];
	int out[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	pid = fork();
	if (pid == 0)
		ask_version(path, out[1]);
	close(out[1]);
	/* one that hangs would hang us; until it says something, or ends */
	n = pid < 0 || poll(&(struct pollfd){.fd = out[0], .events = POLLIN}, 1, ANSWER_MS) <= 0
		    ? -1
		    : read(out[0], text, sizeof text - 1);
	close(out[0]);
	if (pid > 0)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	text[n > 0 ? n : 0] = '\0';
	if (parse_version(text, &major, &minor) < 0)
		return b_fail(err, B_FLOOR, 0,
			      "%s: --version prints no version, expected %d.%d or later", path,
			      OLDEST_MAJOR, OLDEST_MINOR);
	if (major == OLDEST_MAJOR && minor < OLDEST_MINOR)
		return b_fail(err, B_FLOOR, 0, "%s: too old: found %u.%u, need %d.%d or later",
			      path, major, minor, OLDEST_MAJOR, OLDEST_MINOR);
	return 0;
}

/* A policy's own: what it is a link to is judged, and is what is started. */
static int find_asked(const char *asked, struct b_str *out, struct b_err *err)
{
	b_auto_free char *real = asked[0] == '/' ? realpath(asked, NULL) : NULL;
	const char *why = NULL;
	struct stat st;

	if (asked[0] != '/')
		why = "not an absolute path";
	else if (!real || access(real, X_OK) < 0)
		why = strerror(errno);
	else if (stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		why = "no program";
	else if (!is_roots(real))
		why = "users other than root can change it";
	if (why)
		return b_fail(
			err, B_FLOOR, 0,
			"sandbox backend 'bwrap' not available at %s: %s: name another in the "
			"policy, or use --backend landlock",
			*asked ? asked : "an empty path", why);
	b_str_add(out, real);
	return check_version(real, err);
}

int lau_wrap_find(const char *asked, struct b_str *out, struct b_err *err)
{
	static const char *const places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap"};

	if (asked)
		return find_asked(asked, out, err);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (access(places[i], X_OK) < 0)
			continue;
		if (!is_roots(places[i]))
			return b_fail(
				err, B_FLOOR, 0,
				"%s: users other than root can change it, or a directory above it: "
				"let only root change it, or use --backend landlock",
				places[i]);
		b_str_add(out, places[i]);
		return check_version(places[i], err);
	}
	return b_fail(err, B_FLOOR, 0,
		      "no bubblewrap in /usr/bin: install the package, or use --backend landlock");
}

/* ---- starting it ---- */

/* Inherited by what we start, under the number it has here. */
static int put_in_memory(const char *name, const struct b_str *text, struct b_err *err)
{
	/* NOLINTNEXTLINE(android-cloexec-memfd-create): bubblewrap reads it. */
	int fd = memfd_create(name, 0);

	if (fd < 0 || b_write_all(fd, b_str_c(text), text->len) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		b_fail_sys(err, B_SYSTEM, errno, "memfd");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

struct start {
	const struct lau_spawn *sp;
	const struct lau_wrap *wrap;
	int args, spec, hello[2];
	int *keep; /* these, and what the command is to have */
	size_t nkeep;
};

static void close_start(struct start *s)
{
	int fds[] = {s->args, s->spec, s->hello[0], s->hello[1]};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(s->keep);
}

static void list_kept(struct start *s)
{
	const struct lau_confine *c = s->sp->confine;
	const int own[] = {s->args, s->spec, s->hello[1]};

	s->nkeep = sizeof own / sizeof *own + c->nkeep_fds;
	s->keep = b_calloc(s->nkeep, sizeof *s->keep);
	memcpy(s->keep, own, sizeof own);
	if (c->nkeep_fds > 0)
		memcpy(s->keep + sizeof own / sizeof *own, c->keep_fds,
		       c->nkeep_fds * sizeof *s->keep);
}

static int make_files(struct start *s, struct b_err *err)
{
	b_auto(b_str_release) struct b_str args = {0}, spec = {0};

	if (lau_hello_open(s->hello) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "socketpair");
	pol_bwrap_arguments(s->wrap->mounts, s->wrap->options, &args);
	lau_stage2_spec(s->wrap, s->sp, s->hello[1], &spec);
	s->args = put_in_memory("sbx-bwrap", &args, err);
	s->spec = s->args < 0 ? -1 : put_in_memory("sbx-stage2", &spec, err);
	list_kept(s);
	return s->spec < 0 ? -1 : 0;
}

/* Only what it needs, and what the command may have: the variables are the command's. */
static _Noreturn void become_bwrap(const struct start *s, pid_t parent)
{
	char args[16], spec[16], bwrap[] = "bwrap", args_at[] = "--args", rest[] = "--",
				 stage2[] = LAU_STAGE2;
	char *argv[] = {bwrap,	args_at, args, rest, (char *)(uintptr_t)s->wrap->self,
			stage2, spec,	 NULL};
	char *envp[] = {NULL};
	struct lau_confine fds = *s->sp->confine;
	struct lau_spawn place = *s->sp;
	struct b_err err = {0};

	place.own_group = false; /* the command's affair */
	fds.keep_fds = s->keep;
	fds.nkeep_fds = s->nkeep;
	snprintf(args, sizeof args, "%d", s->args);
	snprintf(spec, sizeof spec, "%d", s->spec);
	if (lau_spawn_place(&place, &err) == 0 && lau_limits_enter(s->sp->limits, &err) == 0 &&
	    lau_confine_fds(&fds, &err) == 0 && lau_spawn_die_with(parent, &err) == 0) {
		lau_signals_restore(s->sp->signals);
		lau_limits_restore(s->sp->limits);
		if (lau_limits_apply(s->sp->limits, &err) == 0) {
			execve(s->wrap->bwrap, argv, envp);
			b_fail(&err, B_FLOOR, errno, "%s: %s", s->wrap->bwrap, strerror(errno));
		}
	}
	_exit(b_report("sbx-launch", &err));
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Nothing was said: bubblewrap did not come so far, and has told why on standard error. */
static int never_began(pid_t pid, struct b_err *err)
{
	reap(pid);
	return b_fail(
		err, B_FLOOR, 0,
		"bubblewrap could not make the mounts or namespaces (its own message is above): "
		"use --backend landlock, or --isolate none if the host refuses namespaces");
}

static int wait_for_command(const struct start *s, struct lau_spawned *out, struct b_err *err)
{
	struct lau_stage2_report report;
	ssize_t n;

	out->pid = lau_hello_read(s->hello[0]);
	if (out->pid <= 0)
		return never_began(out->wrap, err);
	n = b_read_full(s->hello[0], &report, sizeof report);
	if (n == 0)
		return 0;
	reap(out->wrap);
	if (n != (ssize_t)sizeof report)
		return b_fail(err, B_SYSTEM, 0, "the second stage's report was cut short");
	out->step = report.step;
	*err = report.err;
	return -1;
}

int lau_wrap_spawn(const struct lau_spawn *sp, const struct lau_wrap *wrap, struct lau_spawned *out,
		   struct b_err *err)
{
	struct start s = {.sp = sp, .wrap = wrap, .args = -1, .spec = -1, .hello = {-1, -1}};
	pid_t parent = getpid();
	int rc = -1;

	*out = (struct lau_spawned){.step = LAU_SPAWN_CONFINE};
	if (make_files(&s, err) < 0)
		goto out;
	out->wrap = fork();
	if (out->wrap == 0)
		become_bwrap(&s, parent);
	if (out->wrap < 0) {
		lau_spawn_no_process(err);
		goto out;
	}
	close(s.hello[1]);
	s.hello[1] = -1;
	rc = wait_for_command(&s, out, err);
out:
	close_start(&s);
	return rc;
}
