/* SPDX-License-Identifier: Apache-2.0 */
/* git_safety.c - see dirs.h. */
#include "launcher/run/dirs.h"

#include <ctype.h>
#include <dirent.h>
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
#include "launcher/run/git_repos.h"
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

/* Or may an earlier run have made it? What the policy closes because it is there was open before.
 */
static bool may_change(struct pol_engine *e, const char *real)
{
	struct sbx_verdict v;

	sbx_explain(&e->image, SBX_MODIFY, real, strlen(real), &v);
	return v.allowed || pol_git_is_entered(v.origin);
}

/* Follows `path` as the kernel does. True if the run may replace a link, a directory on the way or
 * the file itself, if the text of a link depends on the reader, as in /proc, or if the path cannot
 * be followed. */
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
			b_str_add(why, "PATH has the command's current directory");
			return false;
		}
		b_str_addn(&dir, path, n);
		if (!dir_is_sound(e, b_str_c(&dir), why))
			return false;
		path = path[n] ? path + n + 1 : NULL;
	}
	return true;
}

/* ---- the loader, ld.so(8) ---- */

enum { LIBRARIES_MAX = 4096 };

/* Each file of the directory, and what the command may make in it. */
static bool has_free_library(struct pol_engine *e, struct b_arena *a, const char *dir)
{
	const struct dirent *entry;
	bool is_there = access(dir, F_OK) == 0 || errno != ENOENT;
	bool is_free = (is_there && may_lead_elsewhere(e, a, dir)) ||
		       may_change(e, b_arena_printf(a, "%s/libc.so.6", pol_canonical(a, dir)));
	DIR *list = is_free ? NULL : opendir(dir);

	for (unsigned n = 0; list && !is_free && (entry = readdir(list)); n++)
		if (*entry->d_name != '.')
			is_free = n > LIBRARIES_MAX ||
				  may_lead_elsewhere(
					  e, a, b_arena_printf(a, "%s/%s", dir, entry->d_name));
	if (list)
		closedir(list);
	return is_free;
}

/* A bare name is looked for where no other variable leads elsewhere. */
static bool element_is_sound(struct pol_engine *e, struct b_arena *a, const char *element,
			     bool is_dir)
{
	if (!is_dir && (!*element || !strchr(element, '/')))
		return !strchr(element, '$');
	if (*element != '/' || strchr(element, '$'))
		return false;
	return is_dir ? !has_free_library(e, a, element) : !may_lead_elsewhere(e, a, element);
}

static bool loader_is_sound(struct pol_engine *e, char const *const *envp, struct b_str *why)
{
	static const struct {
		const char *name, *between;
		bool is_dir;
	} variables[] = {{"LD_PRELOAD", " :", false},
			 {"LD_AUDIT", ":", false},
			 {"LD_LIBRARY_PATH", ":;", true}};
	b_auto(b_arena_release) struct b_arena a = {0};

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *p = value_of(envp, variables[i].name);

		if (p && !*p)
			continue;
		for (size_t n; p; p = p[n] ? p + n + 1 : NULL) {
			n = strcspn(p, variables[i].between);
			if (element_is_sound(e, &a, b_arena_strndup(&a, p, n), variables[i].is_dir))
				continue;
			b_str_addf(why, "the variable %s names a place that the command may modify",
				   variables[i].name);
			return false;
		}
	}
	return true;
}

/* ---- git ---- */

/* Configuration by which a read-only git command may run a program. Signatures are %G in a format.
 */
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
		    (!keys[i].value ||
		     (strcmp(keys[i].value, "%G") == 0 ? pol_format_asks_gpg(value)
						       : strstr(value, keys[i].value) != NULL)))
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

static enum looks find_looks(char const *const *argv, bool *out_moves_tree)
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
		*out_moves_tree |= strstr(b_str_c(&text), "--work-tree") != NULL;
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

/* git-config(1), Files: the user's; NULL at the end. */
static void find_users(struct b_arena *a, char const *const *envp, const char *out[4])
{
	const char *xdg = value_of(envp, "XDG_CONFIG_HOME"), *home = value_of(envp, "HOME");
	size_t n = 0;

	out[n++] = "/etc/gitconfig";
	if (home && *home == '/')
		out[n++] = b_arena_printf(a, "%s/.gitconfig", home);
	if (xdg && *xdg == '/')
		out[n++] = b_arena_printf(a, "%s/git/config", xdg);
	else if (home && *home == '/')
		out[n++] = b_arena_printf(a, "%s/.config/git/config", home);
	out[n] = NULL;
}

/* In the text of a shell: another directory may be in a repository that the command has made, whose
 * configuration is not protected. */
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

/* What git may find from here, and what it may enter from there. */
struct found {
	struct pol_engine *e;
	struct b_arena a;
	struct lau_repo repos[LAU_REPOS_MAX];
	size_t n;
	unsigned looked;  /* submodules */
	size_t left;	  /* bytes of indexes that are still read: the command may have made them */
	bool moves_tree;  /* --work-tree: where they are is not known */
	const char *open; /* a configuration that the command may write */
	const char *left_out;
};

enum { SUBMODULES_DEEP = 8, SUBMODULES_MOST = 4096, INDEXES_MAX = 256 << 20 };

static bool is_open(struct found *f, const char *file)
{
	if (may_change(f->e, pol_canonical(&f->a, file)) || may_change(f->e, file))
		f->open = file;
	return f->open;
}

/* A nested repository's configuration may be the command's own work, and so may be the word that
 * leads to another one. */
static bool is_open_repo(struct found *f, const struct lau_repo *r)
{
	if (r->is_unread)
		f->left_out = r->dir;
	return r->is_unread || is_open(f, b_arena_printf(&f->a, "%s/config", r->common)) ||
	       is_open(f, b_arena_printf(&f->a, "%s/config.worktree", r->dir)) ||
	       is_open(f, b_arena_printf(&f->a, "%s/commondir", r->dir));
}

/* git compares the files of each submodule that is there by that one's own configuration. */
static bool leads_into_open(struct found *f, const struct lau_repo *r, unsigned depth)
{
	const char *const *names;
	struct lau_repo sub;
	size_t n;

	if (depth > SUBMODULES_DEEP || !lau_repo_submodules(&f->a, r, &f->left, &names, &n) ||
	    (n && f->moves_tree)) {
		f->left_out = b_arena_printf(&f->a, "%s/index", r->dir);
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		if (++f->looked > SUBMODULES_MOST)
			f->left_out = r->dir;
		if (f->left_out)
			return true;
		if (lau_repo_at(&f->a, b_arena_printf(&f->a, "%s/%s", r->top, names[i]), &sub) &&
		    (is_open_repo(f, &sub) || leads_into_open(f, &sub, depth + 1)))
			return true;
	}
	return false;
}

static bool finds_open(struct found *f, char const *const *envp)
{
	const char *users[4];
	char cwd[PATH_MAX];

	f->n = lau_repos_find(&f->a, getcwd(cwd, sizeof cwd) ? cwd : "/", f->repos);
	if (f->n == LAU_REPOS_MAX)
		f->left_out = "a deep directory";
	find_users(&f->a, envp, users);
	for (const char **file = users; *file; file++)
		if (is_open(f, *file))
			return true;
	for (size_t i = 0; i < f->n && !f->left_out; i++)
		if (is_open_repo(f, &f->repos[i]) || leads_into_open(f, &f->repos[i], 0))
			return true;
	return f->left_out;
}

static bool names_programs(struct found *f, char const *const *envp, struct b_str *why)
{
	struct configured c = {0};
	const char *users[4], *file;

	find_users(&f->a, envp, users);
	for (const char **user = users; *user; user++)
		read_config(&f->a, *user, &c);
	for (size_t i = 0; i < f->n; i++) {
		read_config(&f->a, b_arena_printf(&f->a, "%s/config", f->repos[i].common), &c);
		read_config(&f->a, b_arena_printf(&f->a, "%s/config.worktree", f->repos[i].dir),
			    &c);
	}
	file = c.names ? c.names : c.left_out;
	if (!file)
		return false;
	b_str_add_visible(why, file, strlen(file));
	b_str_add(why, c.names ? " names programs that show differences or signatures "
				 "(diff.external, command, textconv, submodule; %G in a format)"
			       : " could not be read completely: it may name programs that show "
				 "differences");
	return true;
}

static bool git_is_sound(struct pol_engine *e, char const *const *argv, char const *const *envp,
			 struct b_str *why)
{
	bool is_sound, moves_tree = false;
	enum looks looks = find_looks(argv, &moves_tree);
	b_auto_free struct found *f = NULL;

	if (looks == LOOKS_AT_NOTHING)
		return true;
	if (changes_directory(argv)) {
		b_str_add(why, "git compares files after a cd, where another configuration may "
			       "name programs");
		return false;
	}
	f = b_calloc(1, sizeof *f);
	f->e = e;
	f->moves_tree = moves_tree;
	f->left = INDEXES_MAX;
	is_sound = !finds_open(f, envp);
	if (!is_sound && f->open) {
		b_str_add(why,
			  "git compares files with a configuration that the command may modify: ");
		b_str_add_visible(why, f->open, strlen(f->open));
	} else if (!is_sound) {
		b_str_add_visible(why, f->left_out, strlen(f->left_out));
		b_str_add(why, " could not be read completely: it may lead git into repositories "
			       "that the command made");
	} else if (looks == SHOWS_DIFFERENCES) {
		is_sound = !names_programs(f, envp, why);
	}
	b_arena_release(&f->a);
	return is_sound;
}

bool lau_surround_is_sound(struct pol_engine *e, char const *const *argv, char const *const *envp,
			   struct b_str *why)
{
	return path_is_sound(e, value_of(envp, "PATH"), why) && loader_is_sound(e, envp, why) &&
	       git_is_sound(e, argv, envp, why);
}
