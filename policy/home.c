/* home.c - whose secrets there are on this host. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/workspace.h"

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

const char *pol_home(struct b_arena *a)
{
	const char *home = env_home(a);

	if (!home)
		home = passwd_home(a, getuid());
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
