/* home.c - whose secrets there are on this host. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/workspace.h"

#define UID_PEOPLE 1000 /* UID_MIN of login.defs(5) */
#define MAX_HOMES  4096

/* /etc/passwd before NSS: no daemon is asked, and most users are there. */
static const char *passwd_home(struct b_arena *a, uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw = NULL;
	const char *home;

	while (f && (pw = fgetpwent(f)) && pw->pw_uid != uid)
		;
	if (!pw)
		pw = getpwuid(uid);
	home = pw && pw->pw_dir[0] == '/' ? b_arena_strndup(a, pw->pw_dir, strlen(pw->pw_dir))
					  : NULL;
	if (f)
		fclose(f);
	return home;
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
	if (!dir || *n == MAX_HOMES)
		return;
	dir = pol_canonical(a, dir);
	if (strcmp(dir, "/") == 0)
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(v[i], dir) == 0)
			return;
	v[(*n)++] = dir;
}

static void add_everybody(struct b_arena *a, const char **v, size_t *n)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;
	struct stat st;

	while (f && (pw = fgetpwent(f))) {
		const char *dir = pw->pw_dir;

		if (dir[0] != '/' || is_system_dir(dir) || stat(dir, &st) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		if (pw->pw_uid == 0 || pw->pw_uid >= UID_PEOPLE || st.st_uid == pw->pw_uid)
			add(a, v, n, dir);
	}
	if (f)
		fclose(f);
}

const char **pol_homes(struct b_arena *a, size_t *out_n)
{
	const char **v = b_arena_alloc(a, MAX_HOMES * sizeof *v);
	size_t n = 0;

	add(a, v, &n, env_home(a));
	add(a, v, &n, passwd_home(a, getuid()));
	if (geteuid() == 0)
		add_everybody(a, v, &n);
	*out_n = n;
	return v;
}
