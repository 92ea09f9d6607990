/* account.c - see account.h. */
#include "base/account.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/str.h"

extern char **environ;

enum { MAX_LINE = 16384 };

/* -1: it could not be started. Its complaints are nobody's. */
static pid_t start(const char *program, uid_t uid, int out)
{
	char number[16], *argv[] = {(char[]){"getent"}, (char[]){"passwd"}, number, NULL};
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;

	snprintf(number, sizeof number, "%u", (unsigned)uid);
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

/* What getent prints for the user, without its newline; "" when nothing. */
static void ask(uid_t uid, char line[MAX_LINE])
{
	static const char *const programs[] = {"/usr/bin/getent", "/bin/getent"};
	pid_t pid = -1;
	ssize_t n = 0;
	int ends[2];

	*line = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	for (size_t i = 0; i < sizeof programs / sizeof *programs && pid < 0; i++)
		pid = start(programs[i], uid, ends[1]);
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

char *b_account_home_of(char *line)
{
	char *field = NULL;
	size_t n;

	/* name:password:uid:gid:gecos:home:shell */
	for (n = 0; n < 6 && (field = strsep(&line, ":")); n++)
		;
	return n == 6 && line && field[0] == '/' ? field : NULL;
}

bool b_account_home(uid_t uid, struct b_str *out)
{
	char line[MAX_LINE], *home;

	ask(uid, line);
	home = b_account_home_of(line);
	if (home)
		b_str_add(out, home);
	return home != NULL;
}
