/* SPDX-License-Identifier: Apache-2.0 */
/* git_marks.c - see git_marks.h. */
#include "views/git_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "policy/approve/approve.h"

extern char **environ;

enum { ANSWER_MAX = 64 << 20 };

static bool is_setting(const char *entry)
{
	size_t n = strcspn(entry, "=");

	if (strncmp(entry, "GIT_", 4) == 0)
		return true; /* another repository, index or configuration than the workspace's */
	for (const char *const *s = pol_approve_settings; *s; s++)
		if (strncmp(*s, entry, n + 1) == 0)
			return true;
	return false;
}

/* NULL-terminated; the array is the caller's. */
static char **environment(void)
{
	size_t n = 0, have = 0, i;
	char **env;

	while (environ[have])
		have++;
	for (i = 0; pol_approve_settings[i]; i++)
		;
	env = b_calloc(have + i + 1, sizeof *env);
	for (i = 0; i < have; i++)
		if (!is_setting(environ[i]))
			env[n++] = environ[i];
	for (i = 0; pol_approve_settings[i]; i++)
		memcpy(&env[n++], &pol_approve_settings[i],
		       sizeof *env); /* execve(2) lacks a const */
	return env;
}

static void read_all(int fd, struct b_str *out)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && out->len + (size_t)n <= ANSWER_MAX)
			b_str_addn(out, buf, (size_t)n);
}

static pid_t start(char *const *argv, int in, int out)
{
	b_auto_free char **env = environment();
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, "git", &fa, NULL, argv, env) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&fa);
	return pid;
}

/* Its exit status, -1 = it did not come to that. */
static int ask(char *const *argv, int in, struct b_str *out)
{
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = start(argv, in, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		read_all(ends[0], out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define WORD(text)                                                                                 \
	(char[])                                                                                   \
	{                                                                                          \
		text                                                                               \
	}

static bool ask_tracked(struct git_marks *m, char *root)
{
	char *const argv[] = {WORD("git"),	WORD("-C"), root,
			      WORD("ls-files"), WORD("-z"), WORD("--cached"),
			      WORD("--sparse"), NULL};
	b_auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return null >= 0 && ask(argv, null, &m->tracked) == 0;
}

/* 1: none of them is. What lies beyond a symlink ends the answer. */
static void ask_ignored(struct git_marks *m, char *root, const char *const *names, size_t n)
{
	char *const argv[] = {WORD("git"), WORD("-C"),	    root, WORD("check-ignore"),
			      WORD("-z"),  WORD("--stdin"), NULL};
	b_auto(b_str_release) struct b_str list = {0};
	FILE *f = tmpfile();

	for (size_t i = 0; i < n; i++)
		b_str_addn(&list, names[i], strlen(names[i]) + 1);
	if (f && fwrite(b_str_c(&list), 1, list.len, f) == list.len && fflush(f) == 0 &&
	    lseek(fileno(f), 0, SEEK_SET) == 0)
		(void)ask(argv, fileno(f), &m->ignored);
	if (f)
		fclose(f);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An answer that was cut has no NUL at its end: the last name is left out. */
static size_t list_names(const struct b_str *text, const char **v)
{
	const char *at = text->s, *end = at + text->len, *nul;
	size_t n = 0;

	for (; text->len && at < end && (nul = memchr(at, 0, (size_t)(end - at))); at = nul + 1) {
		if (v)
			v[n] = at;
		n++;
	}
	if (v)
		qsort(v, n, sizeof *v, by_name);
	return n;
}

void git_marks_ask(struct git_marks *m, const char *root, const char *const *names, size_t n)
{
	b_auto(b_str_release) struct b_str git = {0};
	b_auto_free char *dir = b_strdup(root);
	struct stat st;

	b_str_addf(&git, "%s/.git", root);
	if (!n || lstat(b_str_c(&git), &st) < 0 || !ask_tracked(m, dir))
		return;
	ask_ignored(m, dir, names, n);
	m->is_there = true;
	m->v = b_calloc(list_names(&m->tracked, NULL) + list_names(&m->ignored, NULL) + 1,
			sizeof *m->v);
	m->ntracked = list_names(&m->tracked, m->v);
	m->nignored = list_names(&m->ignored, m->v + m->ntracked);
}

const char *git_mark_of(const struct git_marks *m, const char *name)
{
	if (!m->is_there)
		return NULL;
	if (bsearch(&name, m->v, m->ntracked, sizeof *m->v, by_name))
		return "tracked";
	return bsearch(&name, m->v + m->ntracked, m->nignored, sizeof *m->v, by_name) ? "ignored"
										      : "untracked";
}

void git_marks_release(struct git_marks *m)
{
	b_str_release(&m->tracked);
	b_str_release(&m->ignored);
	free(m->v);
	*m = (struct git_marks){0};
}
