/* SPDX-License-Identifier: Apache-2.0 */
/* homes.c - users of this host: whose secrets there are, and names looked up. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/rules/fsview.h"
#include "policy/rules/workspace.h"

/* Whose secrets there are on this host. */

#define UID_PEOPLE 1000 /* UID_MIN of login.defs(5) */
#define MAX_PASSWD (16u << 20)

/* One line of passwd(5). */
struct account {
	uid_t uid;
	char *home;
};

/* Takes the next sound line off *text: name:password:uid:gid:gecos:home:shell. fgetpwent(3) would
 * ask the kernel for the file position before each line. */
static bool next_account(char **text, struct account *out)
{
	char *line, *field[7];
	unsigned long long uid;

	while ((line = strsep(text, "\n"))) {
		size_t n = 0;

		while (n < 7 && (field[n] = strsep(&line, ":")))
			n++;
		if (n < 7 || b_parse_u64(field[2], UINT32_MAX, &uid) < 0 || field[5][0] != '/')
			continue;
		*out = (struct account){(uid_t)uid, field[5]};
		return true;
	}
	return false;
}

/* The text of /etc/passwd in memory of the arena, "" when it cannot be read. */
static char *read_passwd(struct b_arena *a)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (b_read_file("/etc/passwd", MAX_PASSWD, &text, NULL) < 0)
		b_str_reset(&text);
	return b_arena_strndup(a, b_str_c(&text), text.len);
}

/* /etc/passwd first: no daemon is asked, and most users are there. */
static const char *passwd_home(struct b_arena *a, uid_t uid)
{
	char *text = read_passwd(a);
	struct account account;
	b_auto(b_str_release) struct b_str home = {0};

	while (next_account(&text, &account))
		if (account.uid == uid)
			return account.home;
	return b_account_home(uid, &home) ? b_arena_strndup(a, home.s, home.len) : NULL;
}

static const char *env_home(struct b_arena *a)
{
	const char *home = getenv("HOME");

	return home && home[0] == '/' ? b_arena_strndup(a, home, strlen(home)) : NULL;
}

const char *pol_home_spelled(struct b_arena *a)
{
	const char *home = env_home(a);

	return home ? home : passwd_home(a, getuid());
}

const char *pol_home(struct b_arena *a)
{
	const char *home = pol_home_spelled(a);

	return home ? pol_canonical(a, home) : NULL;
}

/* Accounts of the system live in places that hold no secrets of theirs; carving those out of
 * what may be read would only cost. */
static bool is_system_dir(const char *dir)
{
	static const char *const dirs[] = {"/bin",  "/boot", "/dev", "/etc", "/lib",	    "/proc",
					   "/sbin", "/sys",  "/usr", "/tmp", "/nonexistent"};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		size_t n = strlen(dirs[i]);

		if (strncmp(dir, dirs[i], n) == 0 && (dir[n] == '\0' || dir[n] == '/'))
			return true;
	}
	return false;
}

static void add(struct b_arena *a, const char **v, size_t *n, const char *dir)
{
	if (!dir)
		return;
	dir = pol_canonical(a, dir);
	if (strcmp(dir, "/") == 0)
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(v[i], dir) == 0)
			return;
	v[(*n)++] = dir;
}

/*
 * Daemons keep their data where people keep their home, and most have nothing else there: each
 * entry of /var/cache/man and of what lies beside it, up to the root, would have to be granted
 * by itself. All that the sets close in a home is hidden or a snap's, so a home without any such
 * entry holds nothing of it now. What may still come while a run lasts is put there by that
 * account, not by the run, which may modify nothing in such places unless an option says so.
 */
bool pol_home_may_hold_secrets(const char *home)
{
	DIR *dir = opendir(home);
	const struct dirent *e;
	bool found = !dir && errno != ENOENT; /* who cannot look must take it for one */

	while (dir && !found && (e = readdir(dir)))
		found = (e->d_name[0] == '.' && strcmp(e->d_name, ".") &&
			 strcmp(e->d_name, "..")) ||
			!strcmp(e->d_name, "snap");
	if (dir)
		closedir(dir);
	return found;
}

static bool counts(const struct account *account, const char *dir)
{
	struct stat st;

	if (is_system_dir(dir) || stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return account->uid == 0 || account->uid >= UID_PEOPLE ||
	       (st.st_uid == account->uid && pol_home_may_hold_secrets(dir));
}

static void add_everybody(struct b_arena *a, char *text, const char **v, size_t *n)
{
	struct account account;

	while (next_account(&text, &account))
		if (counts(&account, account.home))
			add(a, v, n, account.home);
}

static size_t lines(const char *text)
{
	size_t n = 1;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

const char **pol_own_homes(struct b_arena *a, size_t *out_n)
{
	const char **v = b_arena_alloc(a, 2 * sizeof *v);
	size_t n = 0;

	add(a, v, &n, env_home(a));
	add(a, v, &n, passwd_home(a, getuid()));
	*out_n = n;
	return v;
}

const char **pol_homes(struct b_arena *a, size_t *out_n)
{
	const char **v, **own = pol_own_homes(a, out_n);
	char *text;

	if (geteuid() != 0)
		return own;
	text = read_passwd(a);
	v = b_arena_alloc(a, (*out_n + lines(text)) * sizeof *v);
	memcpy(v, own, *out_n * sizeof *v);
	add_everybody(a, text, v, out_n);
	return v;
}

const char *pol_config_dir(struct b_arena *a)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home;

	if (config && config[0] == '/') /* the XDG specification: a relative one is ignored */
		return b_arena_printf(a, "%s/sbx-launch", config);
	home = pol_home(a);
	return home ? b_arena_printf(a, "%s/.config/sbx-launch", home) : NULL;
}

/* ---- names ---- */

#define ASKED_BEFORE 2	  /* lookups that are cheaper than opening, reading and closing */
#define NAMES_MAX    2000 /* a directory of more costs more than the lookups */

struct name {
	const char *name;
	char type; /* of struct pol_fsview */
};

/* One that was looked up. */
struct told {
	struct told *next;
	const char *name;
	size_t len;
	enum pol_name what;
};

struct pol_names_dir {
	struct pol_names_dir *next;
	const char *path;
	size_t len;
	unsigned asked;
	bool is_listed;
	struct told *told;
	struct name *v; /* sorted */
	size_t n, cap;
};

struct listing {
	struct b_arena *arena;
	struct pol_names_dir *dir;
};

static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int collect(void *arg, const char *name, char type)
{
	const struct listing *l = arg;
	struct pol_names_dir *d = l->dir;

	if (d->n == NAMES_MAX)
		return -1;
	b_grow(d->v, d->n, d->cap);
	d->v[d->n++] = (struct name){b_arena_strndup(l->arena, name, strlen(name)), type};
	return 0;
}

/* What cannot be read, or not wholly, stays unlisted. */
static void list(struct b_arena *a, struct pol_names_dir *d)
{
	const struct pol_fsview *fs = pol_fsview_host();
	struct listing l = {a, d};
	struct name *found;

	d->is_listed = fs->list(fs->ctx, d->path, collect, &l) == 0 && d->n < NAMES_MAX;
	found = d->v;
	d->v = NULL;
	if (d->is_listed && d->n) {
		qsort(found, d->n, sizeof *found, by_name);
		d->v = b_arena_alloc(a, d->n * sizeof *d->v);
		memcpy(d->v, found, d->n * sizeof *d->v);
	}
	free(found);
}

static struct pol_names_dir *find(struct pol_names *names, struct b_arena *a, const char *path,
				  size_t len)
{
	struct pol_names_dir *d;

	for (d = names->dirs; d; d = d->next)
		if (d->len == len && !memcmp(d->path, path, len))
			return d;
	d = b_arena_alloc(a, sizeof *d);
	d->path = b_arena_strndup(a, path, len);
	d->len = len;
	d->next = names->dirs;
	names->dirs = d;
	return d;
}

static enum pol_name recall(const struct pol_names_dir *d, const char *name, size_t len)
{
	for (const struct told *t = d->told; t; t = t->next)
		if (t->len == len && !memcmp(t->name, name, len))
			return t->what;
	return POL_NAME_UNKNOWN;
}

void pol_names_tell(struct pol_names *names, struct b_arena *a, const struct pol_names_at *at,
		    const char *name, size_t len, enum pol_name what)
{
	struct pol_names_dir *d = find(names, a, at->dir, at->len);
	struct told *t = b_arena_alloc(a, sizeof *t);

	*t = (struct told){d->told, b_arena_strndup(a, name, len), len, what};
	d->told = t;
}

enum pol_name pol_names_look(struct pol_names *names, struct b_arena *a,
			     const struct pol_names_at *at, const char *name, size_t len)
{
	struct pol_names_dir *d = find(names, a, at->dir, at->len);
	char text[NAME_MAX + 1];
	const struct name key = {.name = text}, *found;

	if (at->may_list && d->asked++ == ASKED_BEFORE)
		list(a, d);
	if (!d->is_listed || len > NAME_MAX)
		return recall(d, name, len);
	memcpy(text, name, len);
	text[len] = '\0';
	found = d->n ? bsearch(&key, d->v, d->n, sizeof *d->v, by_name) : NULL;
	if (!found)
		return POL_NAME_MISSING;
	return found->type == 'l' ? POL_NAME_LINK : POL_NAME_PLAIN;
}
