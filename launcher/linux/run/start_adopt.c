/* SPDX-License-Identifier: Apache-2.0 */
/* start_adopt.c - `--hook` and `--setup` are another program's work (adopt/): see adopt.h. */
#include "launcher/linux/run/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/program.h"
#include "launcher/run/os.h"

enum { HOOK_SECONDS = 8, ANSWER_MAX = 32 << 20 };

static const char me[] = "sbx-launch";

/* Options of the question itself, which are not passed on to the runs of commands. */
static bool is_asking(const char *name)
{
	static const char *const names[] = {"hook", "setup", "project", "undo", "dry-run"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* PROGRAM, what is asked, our own path, our other options. */
struct words {
	struct b_strlist v;
	struct b_arena arena;
};

static void release(struct words *w)
{
	b_strlist_release(&w->v);
	b_arena_release(&w->arena);
}

static int make_words(const struct lau_options *o, const char *const *front, struct words *out,
		      struct b_err *err)
{
	char own[4096];

	if (!lau_os_own_path(own, sizeof own))
		return b_fail(err, B_SYSTEM, 0,
			      "/proc does not show where sbx-launch is installed");
	while (*front)
		b_strlist_add(&out->v, *front++);
	b_strlist_add(&out->v, b_arena_strndup(&out->arena, own, strlen(own)));
	for (const struct b_opt_use *use = o->uses.v; use < o->uses.v + o->uses.n; use++)
		if (!is_asking(use->name))
			b_strlist_add(&out->v, b_arena_printf(&out->arena, "--%s%s%s", use->name,
							      use->value ? "=" : "",
							      use->value ? use->value : ""));
	b_strlist_add(&out->v, NULL);
	return 0;
}

static char *const *argv_of(const struct words *w)
{
	return (char *const *)(const void *)w->v.v; /* as execv(3) has it for history's sake */
}

/* The program's own end is an answer only where it is whole and the status 0. */
static int wait_for(pid_t pid, int from, struct b_str *answer)
{
	ssize_t n;
	int status;

	while ((n = read(from, b_str_room(answer, 65536), 65536)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || answer->len > ANSWER_MAX)
			break;
		b_str_advance(answer, (size_t)n);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return n == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* In a process of its own: whatever becomes of it, the agent gets an answer or the status that
 * refuses the call. */
static int run_hook(char *const *words, struct b_err *err)
{
	b_auto(b_str_release) struct b_str answer = {0};
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "--hook: a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		/* the alarm stays across the exec, and ends a program that waits for input */
		alarm(HOOK_SECONDS);
		if (dup2(ends[1], STDOUT_FILENO) >= 0)
			execv(words[0], words);
		_exit(LAU_HOOK_BLOCKS);
	}
	close(ends[1]);
	if (pid > 0 && wait_for(pid, ends[0], &answer) == 0 &&
	    b_write_all(STDOUT_FILENO, b_str_c(&answer), answer.len) == 0)
		return 0;
	return b_fail(err, B_SYSTEM, 0, "--hook: sbx-adopt gave no answer: the command is refused");
}

int lau_hook(const struct lau_options *o)
{
	b_auto(release) struct words words = {0};
	b_auto_free char *program = NULL;
	struct b_err err;

	if (lau_adopt_find(&program, &err) == 0) {
		const char *const front[] = {program, "hook", lau_agent_names[o->hook], NULL};

		if (make_words(o, front, &words, &err) == 0 && run_hook(argv_of(&words), &err) == 0)
			return 0;
	}
	(void)b_report(me, &err);
	return LAU_HOOK_BLOCKS;
}

int lau_setup(const struct lau_options *o)
{
	const char flags[] = {'-', o->project ? 'p' : '-', o->undo ? 'u' : '-',
			      o->dry_run ? 'd' : '-', '\0'};
	b_auto(release) struct words words = {0};
	b_auto_free char *program = NULL;
	struct b_err err;

	if (lau_adopt_find(&program, &err) == 0) {
		const char *const front[] = {program, "setup", lau_agent_names[o->setup], flags,
					     NULL};

		if (make_words(o, front, &words, &err) == 0) {
			execv(program, argv_of(&words));
			b_fail(&err, B_SYSTEM, errno, "%s: %s", program, strerror(errno));
		}
	}
	return b_report(me, &err);
}

bool lau_hook_is_asked(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "--hook", 6) == 0)
			return true;
	return false;
}
