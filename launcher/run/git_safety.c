/* SPDX-License-Identifier: Apache-2.0 */
/* git_safety.c - see dirs.h. */
#include "launcher/run/dirs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/approve/approve.h"
#include "policy/engine.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

enum { LINKS_MAX = 40 }; /* as the kernel has it, path_resolution(7) */

static const char *value_of(char const *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* ---- PATH ---- */

static bool may_change(struct pol_engine *e, const char *real)
{
	struct sbx_verdict v;

	sbx_explain(&e->image, SBX_MODIFY, real, strlen(real), &v);
	return v.allowed;
}

/* Follows `path` as the kernel does: true where the run may put something else in the place of a
 * link, a directory or the file itself; where what a link says depends on who asks, as in /proc;
 * and where it is not to be followed. */
static bool may_lead_elsewhere(struct pol_engine *e, struct b_arena *a, const char *path)
{
	const char *real = "", *rest = path;
	char target[PATH_MAX];

	for (unsigned links = 0; *(rest += strspn(rest, "/"));) {
		size_t n = strcspn(rest, "/");
		const char *at = b_arena_printf(a, "%s/%.*s", real, (int)n, rest);
		ssize_t len;

		rest += n;
		if (n == 1 && rest[-1] == '.')
			continue;
		if (n == 2 && strncmp(rest - 2, "..", 2) == 0) {
			real = b_arena_strndup(a, real, *real ? strrchr(real, '/') - real : 0);
			continue;
		}
		if (strcmp(at, "/proc") == 0 || may_change(e, at))
			return true;
		len = readlink(at, target, sizeof target - 1);
		if (len < 0 && errno != EINVAL)
			return true;
		if (len < 0) {
			real = at;
			continue;
		}
		if (++links > LINKS_MAX)
			return true;
		rest = b_arena_printf(a, "%.*s/%s", (int)len, target, rest);
		if (*rest == '/')
			real = "";
	}
	return false;
}

static bool dir_is_sound(struct pol_engine *e, const char *dir, struct b_str *why)
{
	b_auto(b_arena_release) struct b_arena a = {0};
	const char *name;

	for (size_t i = 0; (name = pol_approve_name(i)); i++) {
		b_auto(b_str_release) struct b_str path = {0};

		b_str_addf(&path, "%s/%s", dir, name);
		if (access(b_str_c(&path), X_OK) < 0 || !may_lead_elsewhere(e, &a, b_str_c(&path)))
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

/* What the git of a command that only looks may be led to run. Signatures are %G in a format. */
static bool runs_a_program(const char *section, const char *key, const char *value)
{
	static const struct {
		const char *section, *key, *value; /* NULL: any; the value is a part */
	} keys[] = {
		{"diff", "external", NULL},  {"diff", "command", NULL},
		{"diff", "textconv", NULL},  {"diff", "submodule", "diff"},
		{"format", "pretty", "%G"},  {"pretty", NULL, "%G"},
		{"log", "diffMerges", NULL},
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcasecmp(section, keys[i].section) == 0 &&
		    (!keys[i].key || strcasecmp(key, keys[i].key) == 0) &&
		    (!keys[i].value || strstr(value, keys[i].value)))
			return true;
	return false;
}

struct configured {
	const char *names;    /* a file that names programs */
	const char *left_out; /* one that could not be read whole */
};

static void take(void *ctx, const char *file, const char *section, const char *key,
		 const char *value)
{
	const char **found = ctx;

	if (runs_a_program(section, key, value))
		*found = file;
}

/* As a shell would have it, where no word ends: `g''it` is git. */
static void add_unquoted(struct b_str *out, const char *text)
{
	for (; *text; text++)
		if (!strchr("\"'\\", *text))
			b_str_addc(out, *text);
}

/* Which of git's commands the words may hold, rather too often: `git log` shows no difference
 * unless it is told to, and `git ls-files` compares no file. */
enum looks {
	LOOKS_AT_NOTHING,
	LOOKS_AT_FILES, /* compares them, by the filters that the configuration names */
	SHOWS_DIFFERENCES,
};

static enum looks find_looks(char const *const *argv)
{
	static const struct {
		const char *word;
		enum looks looks;
	} words[] = {
		{"diff", SHOWS_DIFFERENCES}, {"show", SHOWS_DIFFERENCES},
		{"log", SHOWS_DIFFERENCES},  {"blame", SHOWS_DIFFERENCES},
		{"status", LOOKS_AT_FILES},  {"ls-files", LOOKS_AT_FILES},
	};
	enum looks looks = LOOKS_AT_NOTHING;
	bool is_git = false;

	for (; *argv; argv++) {
		b_auto(b_str_release) struct b_str text = {0};

		add_unquoted(&text, *argv);
		is_git |= strstr(b_str_c(&text), "git") != NULL;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (words[i].looks > looks && strstr(b_str_c(&text), words[i].word))
				looks = words[i].looks;
	}
	return is_git ? looks : LOOKS_AT_NOTHING;
}

static void read_config(struct b_arena *a, const char *file, struct configured *c)
{
	const char *left_out = pol_gitconfig_read(a, file, take, &c->names);

	if (left_out)
		c->left_out = left_out;
}

/* git-config(1), Files. */
static void read_configs(struct b_arena *a, char const *const *envp, struct configured *c)
{
	const char *xdg = value_of(envp, "XDG_CONFIG_HOME"), *home = value_of(envp, "HOME");
	struct pol_git git = {0};
	char cwd[PATH_MAX];

	read_config(a, "/etc/gitconfig", c);
	if (home && *home == '/')
		read_config(a, b_arena_printf(a, "%s/.gitconfig", home), c);
	if (xdg && *xdg == '/')
		read_config(a, b_arena_printf(a, "%s/git/config", xdg), c);
	else if (home && *home == '/')
		read_config(a, b_arena_printf(a, "%s/.config/git/config", home), c);
	if (getcwd(cwd, sizeof cwd))
		pol_git_find(a, cwd, &git);
	if (git.common)
		read_config(a, b_arena_printf(a, "%s/config", git.common), c);
	if (git.dir)
		read_config(a, b_arena_printf(a, "%s/config.worktree", git.dir), c);
}

/* In the text of a shell: another directory may be in a repository that the command has made, whose
 * configuration nobody keeps closed. */
static bool changes_directory(char const *const *argv)
{
	for (; *argv; argv++) {
		b_auto(b_str_release) struct b_str text = {0};
		const char *all;

		add_unquoted(&text, *argv);
		all = b_str_c(&text);
		for (const char *p = all; (p = strstr(p, "cd")); p += 2)
			if ((p == all || !isalnum((unsigned char)p[-1])) &&
			    !isalnum((unsigned char)p[2]))
				return true;
	}
	return false;
}

/* A nested repository's may be the command's own work. */
static const char *find_open_config(struct pol_engine *e, struct b_arena *a)
{
	struct pol_git git = {0};
	char cwd[PATH_MAX];
	const char *files[2];

	if (getcwd(cwd, sizeof cwd))
		pol_git_find(a, cwd, &git);
	if (!git.common || !git.dir)
		return NULL;
	files[0] = b_arena_printf(a, "%s/config", git.common);
	files[1] = b_arena_printf(a, "%s/config.worktree", git.dir);
	for (size_t i = 0; i < 2; i++)
		if (may_change(e, files[i]))
			return files[i];
	return NULL;
}

static bool git_is_sound(struct pol_engine *e, char const *const *argv, char const *const *envp,
			 struct b_str *why)
{
	b_auto(b_arena_release) struct b_arena a = {0};
	enum looks looks = find_looks(argv);
	struct configured c = {0};
	const char *file;

	if (looks == LOOKS_AT_NOTHING)
		return true;
	if (changes_directory(argv)) {
		b_str_add(why, "git compares files behind cd, where another configuration may name "
			       "programs");
		return false;
	}
	file = find_open_config(e, &a);
	if (file) {
		b_str_add(why,
			  "git compares files by a configuration that the command may write: ");
		b_str_add_visible(why, file, strlen(file));
		return false;
	}
	if (looks != SHOWS_DIFFERENCES)
		return true;
	read_configs(&a, envp, &c);
	file = c.names ? c.names : c.left_out;
	if (!file)
		return true;
	b_str_add_visible(why, file, strlen(file));
	b_str_add(why, c.names ? " names programs that show differences or signatures "
				 "(diff.external, command, textconv, submodule; %G in a format)"
			       : " is not read whole: it may name programs that show differences");
	return false;
}

bool lau_surround_is_sound(struct pol_engine *e, char const *const *argv, char const *const *envp,
			   struct b_str *why)
{
	return path_is_sound(e, value_of(envp, "PATH"), why) && git_is_sound(e, argv, envp, why);
}
