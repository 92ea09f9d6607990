/* surround.c - see surround.h. */
#include "launcher/surround.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/str.h"
#include "policy/approve/approve.h"
#include "policy/engine.h"
#include "policy/gitconfig.h"
#include "policy/workspace.h"

static const char *value_of(char const *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* ---- PATH ---- */

/* A program there by that name, which the run may replace. */
static bool is_writable(struct pol_engine *e, const char *path)
{
	b_auto_free char *real = NULL;
	struct pol_answer answer;
	struct b_err err;

	if (access(path, X_OK) < 0)
		return false;
	real = realpath(path, NULL);
	return pol_engine_check(e, SBX_MODIFY, path, &answer, &err) < 0 || answer.allowed ||
	       !real || pol_engine_check(e, SBX_MODIFY, real, &answer, &err) < 0 || answer.allowed;
}

static bool dir_is_sound(struct pol_engine *e, const char *dir, struct b_str *why)
{
	const char *name;

	for (size_t i = 0; (name = pol_approve_name(i)); i++) {
		b_auto(b_str_release) struct b_str path = {0};

		b_str_addf(&path, "%s/%s", dir, name);
		if (!is_writable(e, b_str_c(&path)))
			continue;
		b_str_add(why, "PATH leads to ");
		b_str_add_visible(why, path.s, path.len);
		b_str_add(why, ", which the command may write");
		return false;
	}
	return true;
}

static bool path_is_sound(struct pol_engine *e, const char *path, struct b_str *why)
{
	while (path) {
		size_t n = strcspn(path, ":");
		b_auto(b_str_release) struct b_str dir = {0};

		if (*path != '/') {
			b_str_add(why, "PATH leads to where the command stands");
			return false;
		}
		b_str_addn(&dir, path, n);
		if (!dir_is_sound(e, b_str_c(&dir), why))
			return false;
		path = path[n] ? path + n + 1 : NULL;
	}
	return true;
}

/* ---- git ---- */

static void take(void *ctx, const char *file, const char *section, const char *key,
		 const char *value)
{
	const char **found = ctx;

	(void)value;
	if (strcasecmp(section, "diff") == 0 &&
	    (strcasecmp(key, "external") == 0 || strcasecmp(key, "command") == 0 ||
	     strcasecmp(key, "textconv") == 0))
		*found = file;
}

/* Rather too often: `git log` shows no difference unless it is told to. */
static bool may_show_differences(char const *const *argv)
{
	static const char *const words[] = {"diff", "show", "log", "blame"};
	bool is_git = false, shows = false;

	for (; *argv; argv++) {
		is_git |= strstr(*argv, "git") != NULL;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			shows |= strstr(*argv, words[i]) != NULL;
	}
	return is_git && shows;
}

/* git-config(1), Files. */
static const char *driver_file(struct b_arena *a, char const *const *envp)
{
	const char *xdg = value_of(envp, "XDG_CONFIG_HOME"), *home = value_of(envp, "HOME");
	const char *found = NULL;
	struct pol_git git = {0};
	char cwd[PATH_MAX];

	pol_gitconfig_read(a, "/etc/gitconfig", take, &found);
	if (home && *home == '/')
		pol_gitconfig_read(a, b_arena_printf(a, "%s/.gitconfig", home), take, &found);
	if (xdg && *xdg == '/')
		pol_gitconfig_read(a, b_arena_printf(a, "%s/git/config", xdg), take, &found);
	else if (home && *home == '/')
		pol_gitconfig_read(a, b_arena_printf(a, "%s/.config/git/config", home), take,
				   &found);
	if (getcwd(cwd, sizeof cwd))
		pol_git_find(a, cwd, &git);
	if (git.common)
		pol_gitconfig_read(a, b_arena_printf(a, "%s/config", git.common), take, &found);
	if (git.dir)
		pol_gitconfig_read(a, b_arena_printf(a, "%s/config.worktree", git.dir), take,
				   &found);
	return found;
}

/* In the text of a shell: another directory may be in a repository that the command has made, whose
 * configuration nobody keeps closed. */
static bool changes_directory(char const *const *argv)
{
	for (; *argv; argv++)
		for (const char *p = *argv; (p = strstr(p, "cd")); p += 2)
			if ((p == *argv || !isalnum((unsigned char)p[-1])) &&
			    !isalnum((unsigned char)p[2]))
				return true;
	return false;
}

static bool git_is_sound(char const *const *argv, char const *const *envp, struct b_str *why)
{
	b_auto(b_arena_release) struct b_arena a = {0};
	bool shows = may_show_differences(argv);
	const char *file = shows ? driver_file(&a, envp) : NULL;

	if (shows && changes_directory(argv)) {
		b_str_add(why, "git shows differences behind cd, where another configuration may "
			       "name programs");
		return false;
	}
	if (!file)
		return true;
	b_str_add_visible(why, file, strlen(file));
	b_str_add(why, " names programs that show differences (diff.external, command, textconv)");
	return false;
}

bool lau_surround_is_sound(struct pol_engine *e, char const *const *argv, char const *const *envp,
			   struct b_str *why)
{
	return path_is_sound(e, value_of(envp, "PATH"), why) && git_is_sound(argv, envp, why);
}
