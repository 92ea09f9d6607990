/* SPDX-License-Identifier: Apache-2.0 */
/* approve.c - see approve.h. */
#include "launcher/options/approve.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/program.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/run/run.h"
#include "policy/approve/approve.h"
#include "policy/engine.h"

const char *lau_approval_name(enum lau_approval a)
{
	static const char *const names[LAU_APPROVAL_COUNT] = {"allow", "ask", "deny"};

	return names[a];
}

static size_t count(char const *const *argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	return n;
}

/* The program is there, and may not be executed. */
static bool program_denied(struct pol_engine *e, const char *name, struct b_str *why)
{
	b_auto_free char *file = NULL;
	struct b_err err;

	if (lau_program_find(name, getenv("PATH"), &file, &err) < 0 ||
	    lau_parts_may_exec(e, file, &err) == 0)
		return false;
	b_str_add_visible(why, err.msg, strlen(err.msg));
	return true;
}

/*
 * The words of a command, and of those in `sh -c TEXT`, as paths: relative to each directory that a
 * `cd` in front of them may have led to.
 */

enum { PLACES_MAX = 16 };

struct words {
	struct pol_engine *e;
	struct b_arena arena;
	const char *places[PLACES_MAX];
	size_t n;
	bool are_lost; /* a cd leads where its words do not say */
	bool is_program;
	struct b_str *denied;
};

/* A word, or the value of an option that has one; NULL = it names nothing. */
static const char *path_of(const char *word)
{
	if (word[0] != '-')
		return word;
	return strchr(word, '=') ? strchr(word, '=') + 1 : strchr(word, '/');
}

/* The reason does not repeat the word: what lies behind a link is nobody's business. Without a
 * slash it is a path when something has that name. */
static bool word_denied(struct words *w, const char *word, const char *place)
{
	const char *path = path_of(word);
	struct pol_answer answer;
	struct b_err err;
	struct stat st;
	bool is_named;

	if (!path || !*path)
		return false;
	is_named = strchr(path, '/');
	if (*path != '/')
		path = b_arena_printf(&w->arena, "%s/%s", place, path);
	if ((!is_named && lstat(path, &st) < 0) ||
	    pol_engine_check(w->e, SBX_READ, path, &answer, &err) < 0 || answer.allowed ||
	    !answer.rule)
		return false;
	b_str_add(w->denied,
		  "arg-in-protected-root: an argument names a path that may not be read");
	return true;
}

/* Perhaps: it may fail, or be the one of a subshell. */
static void change_place(struct words *w, char const *const *argv, size_t n)
{
	const size_t before = w->n;

	if (n != 2 || argv[1][0] == '-' || !argv[1][0]) {
		w->are_lost = true;
		return;
	}
	for (size_t i = 0; i < before; i++) {
		const char *to = argv[1];

		if (w->n == PLACES_MAX) {
			w->are_lost = true;
			return;
		}
		if (*to != '/')
			to = b_arena_printf(&w->arena, "%s/%s", w->places[i], to);
		w->places[w->n++] = b_arena_strndup(&w->arena, to, strlen(to));
	}
}

static bool words_are_free(void *ctx, char const *const *argv, size_t n, struct b_str *why)
{
	const char *text = pol_approve_text(argv, n);
	struct words *w = ctx;

	if (w->is_program && n && program_denied(w->e, argv[0], w->denied))
		return false;
	w->is_program = true;
	if (text)
		return pol_approve_split(text, words_are_free, w, why) || !w->denied->len;
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < w->n; k++)
			if (word_denied(w, argv[i], w->places[k]))
				return false;
	if (n && strcmp(argv[0], "cd") == 0)
		change_place(w, argv, n);
	return true;
}

/* Is one of the words denied? *out_lost: not all is known of where they lead. */
static bool words_denied(struct pol_engine *e, char const *const *argv, struct b_str *why,
			 bool *out_lost)
{
	b_auto(b_str_release) struct b_str unknown = {0};
	struct words w = {.e = e, .denied = why};
	char cwd[PATH_MAX];

	w.places[w.n++] = getcwd(cwd, sizeof cwd) ? cwd : "/";
	(void)words_are_free(&w, argv, count(argv), &unknown);
	*out_lost = w.are_lost;
	b_arena_release(&w.arena);
	return why->len > 0;
}

static bool is_listed(const struct lau_leave *leave, char const *const *argv)
{
	b_auto(b_str_release) struct b_str line = {0};

	for (size_t i = 0; argv[i]; i++)
		b_str_addf(&line, "%s%s", i ? " " : "", argv[i]);
	return pol_approve_listed(leave->listed, leave->nlisted, b_str_c(&line));
}

static bool is_readonly(struct pol_engine *e, char const *const *argv, char const *const *envp,
			struct b_str *why)
{
	return pol_approve_argv(argv, count(argv), why) && pol_approve_environment(envp, why) &&
	       lau_surround_is_sound(e, argv, envp, why);
}

enum lau_approval lau_approve(struct pol_engine *e, int mode, const struct lau_leave *leave,
			      char const *const *argv, struct b_str *why)
{
	b_auto(b_str_release) struct b_str reason = {0};
	bool is_lost;

	if (program_denied(e, argv[0], why) || words_denied(e, argv, why, &is_lost))
		return LAU_DENY;
	if (mode == LAU_MODE_AUTO)
		b_str_add(why, "mode auto: the sandbox decides");
	else if (!is_lost && is_readonly(e, argv, (char const *const *)lau_os_environ(), &reason))
		b_str_add(why, "read-only");
	else if (leave->sandboxed && !leave->bare)
		b_str_add(why, "it runs sandboxed");
	else if (is_listed(leave, argv))
		b_str_add(why, "listed");
	else if (leave->sandboxed) {
		b_str_addf(why, "needs-approval: it would not run sandboxed here: %s", leave->bare);
		return LAU_ASK;
	} else {
		b_str_addf(why, "needs-approval: %s",
			   is_lost ? "shell: a cd to a directory that is not known"
				   : b_str_c(&reason));
		return LAU_ASK;
	}
	return LAU_ALLOW;
}

void lau_approval_json(enum lau_approval a, const char *why, char const *const *argv,
		       struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "answer");
	b_json_str(&j, lau_approval_name(a));
	b_json_key(&j, "reason");
	b_json_str(&j, why);
	b_json_key(&j, "command");
	b_json_open(&j, '[');
	for (size_t i = 0; argv[i]; i++)
		b_json_str(&j, argv[i]);
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* ---- a run ---- */

static void put_settings(struct lau_environment *env)
{
	for (const char *const *s = pol_approve_settings; *s; s++) {
		b_auto(b_str_release) struct b_str name = {0};
		size_t n = strcspn(*s, "=");

		b_str_addn(&name, *s, n);
		lau_environment_set(env, b_str_c(&name), *s + n + 1);
	}
}

int lau_mode_check(const struct lau_options *o, struct pol_engine *e, struct lau_environment *env,
		   struct b_err *err)
{
	b_auto(b_str_release) struct b_str why = {0}, text = {0};
	char const *const *argv = (char const *const *)o->argv;
	b_auto_free char **envp = NULL;

	if (o->mode != LAU_MODE_ACCEPT_EDITS)
		return 0;
	envp = lau_environment_build(env, lau_os_environ());
	if (is_readonly(e, argv, (char const *const *)envp, &why)) {
		put_settings(env);
		return 0;
	}
	b_str_addf(&text, "needs-approval: %s", b_str_c(&why));
	if (o->json) {
		b_auto(b_str_release) struct b_str line = {0};

		lau_approval_json(LAU_ASK, b_str_c(&text), argv, &line);
		(void)b_write_all(STDOUT_FILENO, b_str_c(&line), line.len);
	}
	return b_fail(err, B_APPROVAL, 0, "%s (--mode auto runs it)", b_str_c(&text));
}

int lau_mode_settle(struct lau_options *o, struct b_err *err)
{
	int *said = o->policy.said.v;

	if (o->mode == LAU_MODE_NONE)
		return 0;
	o->strictness = LAU_STRICT;
	if (o->mode != LAU_MODE_ACCEPT_EDITS)
		return 0;
	if (said[POL_SET_network] != POL_UNSAID && said[POL_SET_network] != POL_NET_NONE)
		return b_fail(err, B_USAGE, 0, "--mode accept-edits: it runs without a network");
	said[POL_SET_network] = POL_NET_NONE;
	said[POL_SET_unixSockets] = POL_UNIX_NONE;
	return 0;
}
