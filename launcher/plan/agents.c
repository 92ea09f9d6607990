/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - see plan.h. */
#include "launcher/plan/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/plan/environment.h"
#include "launcher/run/dirs.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"
#include "policy/engine.h"

enum {
	FILE_MAX = 8 << 20, /* a larger file is linked, not copied */
	ENTRIES_MAX = 1000  /* of a directory; what is beyond is not taken over */
};

static const struct agent {
	const char *preset;   /* its side roots below ${root} are what outlives the run */
	const char *root;     /* the variable of settings.h that the agent's directory has */
	const char *variable; /* leads the agent to the copy */
	const char *below;    /* the directory that it takes there, NULL = that itself */
	const char *login;    /* a variable that leads to the login's own place; NULL = none */
	const char *beside;   /* a file beside the directory that belongs into the copy, or NULL */
	const char *fresh[9]; /* names that are not taken over */
} agents[] = {
	{"preset:claude",
	 "CLAUDE_CONFIG_DIR",
	 "CLAUDE_CONFIG_DIR",
	 NULL,
	 "CLAUDE_SECURESTORAGE_CONFIG_DIR",
	 ".claude.json",
	 {"shell-snapshots", "session-env", "sessions", "backups", "cache", "debug", "telemetry",
	  "daemon*"}},
	{"preset:codex",
	 "CODEX_HOME",
	 "CODEX_HOME",
	 NULL,
	 NULL,
	 NULL,
	 {"tmp", "*.sqlite*", "shell_snapshots", "thread-writer-locks", "cache"}},
	{"preset:gemini", "GEMINI_DIR", "GEMINI_CLI_HOME", ".gemini", NULL, NULL, {"history"}},
	{"preset:qwen", "QWEN_HOME", "QWEN_HOME", NULL, NULL, NULL, {"tmp", "debug", "history"}},
	{"preset:grok", "GROK_HOME", "GROK_HOME", NULL, NULL, NULL, {"tmp"}},
};
enum { NAGENTS = sizeof agents / sizeof *agents };

/* One agent whose preset is in use. */
struct copy {
	const struct agent *agent;
	const struct pol_texts *roots;
	struct pol_engine *engine;
	struct b_arena arena;
	const char *from, *to; /* the directory, the copy */
};

static bool is_presets(const struct pol_text *t, const struct agent *agent)
{
	return strcmp(t->pos.file, agent->preset) == 0;
}

/* What leads the agent to the copy. */
static const char *copy_home(struct b_arena *a, const struct lau_dirs *d, const struct agent *agent)
{
	return b_arena_printf(a, "%s/%s-home", d->scratch.path, strchr(agent->preset, ':') + 1);
}

/* codex will not have its directory below that for temporary files. */
static const char *tmp_dir(struct b_arena *a, const struct lau_dirs *d)
{
	return b_arena_printf(a, "%s/tmp", d->scratch.path);
}

/* False: the preset is not in use, or there is no place. Releases nothing. */
static bool begin(const struct lau_dirs *d, const struct agent *agent, struct copy *out)
{
	const struct pol_texts *roots = &d->layers.main.settings.roots[POL_ROOTS_sideRoots];
	bool is_used = false;

	*out = (struct copy){.agent = agent, .roots = roots};
	for (size_t i = 0; i < roots->n; i++)
		is_used |= is_presets(&roots->v[i], agent);
	if (!is_used || !d->scratch.path)
		return false;
	out->from = pol_var_place(&out->arena, agent->root, d->workspaces, d->nworkspaces);
	out->to = copy_home(&out->arena, d, agent);
	if (agent->below)
		out->to = b_arena_printf(&out->arena, "%s/%s", out->to, agent->below);
	return out->from != NULL;
}

/* The name that root i opens in the agent's directory; NULL: another's, or one with wildcards. */
static const char *kept(const struct copy *c, size_t i, bool *out_is_dir)
{
	const struct pol_text *t = &c->roots->v[i];
	size_t head = pol_root_head(t->s), n = strlen(t->s);

	if (!is_presets(t, c->agent) || t->s[head] != '/' || !pol_glob_is_literal(t->s + head) ||
	    strncmp(t->s + 2, c->agent->root, head - 3) != 0)
		return NULL;
	*out_is_dir = t->s[n - 1] == '/';
	return t->s + head + 1;
}

static bool is_taken(const struct copy *c, const char *name)
{
	size_t n = strlen(name);
	bool is_dir;

	for (const char *const *f = c->agent->fresh; *f; f++)
		if (pol_glob_match(*f, name, n))
			return false;
	for (size_t i = 0; i < c->roots->n; i++) {
		const char *k = kept(c, i, &is_dir);

		if (k && strncmp(k, name, n) == 0 && (!k[n] || k[n] == '/'))
			return false;
	}
	return true;
}

/* ---- making it ---- */

static int fail(const char *path, struct b_err *err)
{
	return b_fail(err, B_SYSTEM, errno, "the agent's own copy: %s: %s", path, strerror(errno));
}

static int make_dir(const char *path, struct b_err *err)
{
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : fail(path, err);
}

static int make_link(const char *to, const char *at, struct b_err *err)
{
	return symlink(to, at) == 0 || errno == EEXIST ? 0 : fail(at, err);
}

static bool may(const struct copy *c, enum sbx_op op, const char *path)
{
	struct pol_answer answer;
	struct b_err err;

	return pol_engine_check(c->engine, op, path, &answer, &err) == 0 && answer.allowed;
}

static int pour(int from, int to, const char *path, struct b_err *err)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof buf)) > 0)
		if (b_write_all(to, buf, (size_t)n) < 0)
			return fail(path, err);
	return n < 0 ? fail(path, err) : 0;
}

/* 0 = copied; 1 = not what is copied. A link is not followed: it may have been planted. */
static int copy_file(struct copy *c, const char *from, const char *to, struct b_err *err)
{
	b_auto_fd int in = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	b_auto_fd int out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX ||
	    !may(c, SBX_READ, from))
		return 1;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		   0600 | (st.st_mode & 0100));
	return out < 0 ? fail(to, err) : pour(in, out, to, err);
}

static int take(struct copy *c, const char *from, const char *to, bool is_top, struct b_err *err);

/* Directories are made anew, so that the agent can put something in them, with links to what is in
 * the originals. */
static int fill(struct copy *c, const char *from, const char *to, bool is_top, struct b_err *err)
{
	DIR *list = opendir(from);
	const struct dirent *e;
	int rc = 0;

	for (int n = 0; list && rc == 0 && n < ENTRIES_MAX && (e = readdir(list)); n++) {
		const char *name = e->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (is_top && !is_taken(c, name)))
			continue;
		rc = take(c, b_arena_printf(&c->arena, "%s/%s", from, name),
			  b_arena_printf(&c->arena, "%s/%s", to, name), is_top, err);
	}
	if (list)
		closedir(list);
	return rc;
}

static int take(struct copy *c, const char *from, const char *to, bool is_top, struct b_err *err)
{
	struct stat st;
	int rc = 1;

	if (is_top && lstat(from, &st) == 0 && S_ISDIR(st.st_mode))
		return make_dir(to, err) < 0 ? -1 : fill(c, from, to, false, err);
	if (is_top)
		rc = copy_file(c, from, to, err);
	return rc == 1 ? make_link(from, to, err) : rc;
}

/* Directories that outlive the run must be there before the kernel's rules are made. */
static int keep(struct copy *c, struct b_err *err)
{
	for (size_t i = 0; i < c->roots->n; i++) {
		bool is_dir;
		const char *name = kept(c, i, &is_dir), *path;
		size_t n = name ? strcspn(name, "/") : 0;

		if (!name)
			continue;
		path = b_arena_printf(&c->arena, "%s/%.*s", c->from, (int)n, name);
		/* in a home that is read-only the agent has a directory of the run's */
		if (is_dir && mkdir(path, 0700) < 0 && errno != EEXIST)
			continue;
		if (make_link(path, b_arena_printf(&c->arena, "%s/%.*s", c->to, (int)n, name),
			      err) < 0)
			return -1;
	}
	return 0;
}

static int make(struct copy *c, struct b_err *err)
{
	const char *beside = c->agent->beside;
	char *up = b_arena_strndup(&c->arena, c->to, strlen(c->to));
	const char *from;

	if (c->agent->below) {
		*strrchr(up, '/') = '\0';
		if (make_dir(up, err) < 0)
			return -1;
	}
	if (make_dir(c->to, err) < 0)
		return -1;
	(void)mkdir(c->from, 0700);
	if (keep(c, err) < 0 || fill(c, c->from, c->to, true, err) < 0)
		return -1;
	if (!beside || getenv(c->agent->variable))
		return 0;
	from = b_arena_printf(&c->arena, "%.*s/%s", (int)(strrchr(c->from, '/') - c->from), c->from,
			      beside);
	return copy_file(c, from, b_arena_printf(&c->arena, "%s/%s", c->to, beside), err) < 0 ? -1
											      : 0;
}

int lau_agents_make(const struct lau_dirs *d, struct pol_engine *engine, struct b_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < NAGENTS && rc == 0; i++) {
		struct copy c;

		if (begin(d, &agents[i], &c)) {
			c.engine = engine;
			rc = make_dir(tmp_dir(&c.arena, d), err);
			if (rc == 0)
				rc = make(&c, err);
		}
		b_arena_release(&c.arena);
	}
	return rc;
}

void lau_agents_export(const struct lau_dirs *d, struct lau_environment *env)
{
	for (size_t i = 0; i < NAGENTS; i++) {
		struct copy c;

		if (begin(d, &agents[i], &c)) {
			lau_scratch_export(tmp_dir(&c.arena, d), env);
			lau_environment_offer(env, agents[i].variable,
					      copy_home(&c.arena, d, &agents[i]));
			if (agents[i].login)
				lau_environment_offer(env, agents[i].login, c.from);
		}
		b_arena_release(&c.arena);
	}
}

/* ---- what comes back ---- */

/* The command could have put anything there: only a regular file counts, reached without links. */
static void return_file(int from, int to, const char *name)
{
	b_auto_fd int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	b_auto_fd int out = -1;
	static const char part[] = ".sbx-launch.part";
	struct stat st;
	struct b_err err;

	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return;
	out = openat(to, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out >= 0 && (pour(in, out, name, &err) < 0 || renameat(to, part, to, name) < 0))
		(void)unlinkat(to, part, 0);
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void return_all(struct copy *c, int scratch, const char *home)
{
	b_auto_fd int top = open_dir(scratch, home), below = -1, to = open_dir(AT_FDCWD, c->from);
	bool is_dir;

	if (c->agent->below && top >= 0)
		below = open_dir(top, c->agent->below);
	for (size_t i = 0; i < c->roots->n && to >= 0; i++) {
		const char *name = kept(c, i, &is_dir);

		if (name && !is_dir && !strchr(name, '/') &&
		    may(c, SBX_MODIFY, b_arena_printf(&c->arena, "%s/%s", c->from, name)))
			return_file(c->agent->below ? below : top, to, name);
	}
}

void lau_agents_return(const struct lau_dirs *d, struct pol_engine *engine)
{
	b_auto_fd int scratch = d->scratch.path ? open_dir(AT_FDCWD, d->scratch.path) : -1;

	for (size_t i = 0; i < NAGENTS && scratch >= 0; i++) {
		struct copy c;
		bool is_used = begin(d, &agents[i], &c);

		c.engine = engine;
		if (is_used)
			return_all(&c, scratch,
				   strrchr(copy_home(&c.arena, d, &agents[i]), '/') + 1);
		b_arena_release(&c.arena);
	}
}
