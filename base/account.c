/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - see account.h. */
#include "base/account.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

extern char **environ;

enum { MAX_LINE = 16384, MAX_PASSWD = 16 << 20 };

/* Runs getent(1), and drops what it prints on standard error. -1: it could not be started. */
static pid_t start(const char *program, char *database, char *key, int out)
{
	/* getent must not take the name for an option, whatever it begins with */
	char *argv[] = {(char[]){"getent"}, (char[]){"--"}, database, key, NULL};
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;

	if (posix_spawn_file_actions_init(&fa) != 0)
		return -1;
	if (posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO) != 0 ||
	    posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
	    posix_spawn(&pid, program, &fa, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&fa);
	return pid;
}

/* What getent prints, without its newline; "" when nothing. */
static void ask(char *database, char *key, char line[MAX_LINE])
{
	static const char *const programs[] = {"/usr/bin/getent", "/bin/getent"};
	pid_t pid = -1;
	ssize_t n = 0;
	int ends[2];

	*line = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	for (size_t i = 0; i < sizeof programs / sizeof *programs && pid < 0; i++)
		pid = start(programs[i], database, key, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		n = b_read_full(ends[0], line, MAX_LINE - 1);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/* systemd answers from these directories (nss-systemd(8)). Without them it knows only root and
 * nobody. */
static bool has_userdb(void)
{
	static const char *const dirs[] = {"/run/systemd/userdb", "/run/userdb", "/etc/userdb",
					   "/usr/lib/userdb"};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (access(dirs[i], F_OK) == 0)
			return true;
	return false;
}

bool b_account_asks_others(char *nsswitch)
{
	char *line, *word;

	while ((line = strsep(&nsswitch, "\n"))) {
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t");
		if (strncmp(line, "passwd:", 7) != 0)
			continue;
		line += 7;
		while ((word = strsep(&line, " \t")))
			if (*word && *word != '[' && strcmp(word, "files") != 0 &&
			    strcmp(word, "compat") != 0 &&
			    (strcmp(word, "systemd") != 0 || has_userdb()))
				return true;
		return false;
	}
	return false; /* nsswitch.conf(5): files */
}

/* Starting two programs takes longer than the rest of a launch. Skipped if /etc/passwd is the whole
 * database. */
static bool is_worth_asking(void)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (access("/etc/nsswitch.conf", F_OK) < 0)
		return errno != ENOENT;
	return b_read_file("/etc/nsswitch.conf", MAX_LINE, &text, NULL) < 0 || !text.len ||
	       b_account_asks_others(text.s);
}

char *b_account_home_of(char *line, uid_t uid)
{
	unsigned long long number;
	char *field[7];
	size_t n = 0;

	/* name:password:uid:gid:gecos:home:shell */
	while (n < 7 && (field[n] = strsep(&line, ":")))
		n++;
	if (n < 7 || b_parse_u64(field[2], UINT32_MAX, &number) < 0 || number != uid)
		return NULL;
	return field[5][0] == '/' ? field[5] : NULL;
}

static bool in_file(uid_t uid, struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	char *rest, *line, *home;

	if (b_read_file("/etc/passwd", MAX_PASSWD, &text, NULL) < 0)
		return false;
	rest = text.s;
	while ((line = strsep(&rest, "\n"))) {
		home = b_account_home_of(line, uid);
		if (home)
			b_str_add(out, home);
		if (home)
			return true;
	}
	return false;
}

bool b_account_home(uid_t uid, struct b_str *out)
{
	char line[MAX_LINE], number[16], database[] = "passwd", *home;

	if (in_file(uid, out))
		return true;
	if (!is_worth_asking())
		return false;
	snprintf(number, sizeof number, "%u", (unsigned)uid);
	ask(database, number, line);
	home = b_account_home_of(line, uid);
	if (home)
		b_str_add(out, home);
	return home != NULL;
}

/* Is it the line of that name, or of that number, which is the third field of both databases? */
static bool is_line_of(const char *line, const char *key)
{
	size_t n = strlen(key);
	const char *p = line;

	if (strncmp(line, key, n) == 0 && line[n] == ':')
		return true;
	for (int i = 0; i < 2 && p; i++) {
		p = strchr(p, ':');
		p = p ? p + 1 : NULL;
	}
	return p && strncmp(p, key, n) == 0 && p[n] == ':';
}

bool b_account_line(const char *database, const char *key, struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0}, path = {0};
	b_auto_free char *base = strdup(database), *name = strdup(key);
	char *rest, *line, answer[MAX_LINE];

	b_str_addf(&path, "/etc/%s", database);
	(void)b_read_file(b_str_c(&path), MAX_PASSWD, &text, NULL);
	rest = text.s;
	while ((line = strsep(&rest, "\n")))
		if (is_line_of(line, key)) {
			b_str_add(out, line);
			return true;
		}
	if (!base || !name || !*key || !is_worth_asking())
		return false;
	ask(base, name, answer);
	if (is_line_of(answer, key))
		b_str_add(out, answer);
	return out->len > 0;
}
