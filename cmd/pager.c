/* SPDX-License-Identifier: Apache-2.0 */
/* pager.c - see pager.h. */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

bool pager_is_terminal(void)
{
	return pager > 0 || isatty(STDOUT_FILENO);
}

static const char *command(void)
{
	static const char *const usual[] = {"/usr/bin/less", "/bin/less", "/usr/local/bin/less"};
	const char *text = getenv("SBX_PAGER"), *term = getenv("TERM");
	size_t i;

	if (!text)
		text = getenv("PAGER");
	if (text)
		return *text && strcmp(text, "cat") != 0 ? text : NULL;
	for (i = 0; term && strcmp(term, "dumb") != 0 && i < sizeof usual / sizeof *usual; i++)
		if (access(usual[i], X_OK) == 0)
			return usual[i];
	return NULL;
}

/* -F: what fits is left on the screen, -R: colours, -X: and the screen as it is. */
static _Noreturn void become(const char *text, int from)
{
	dup2(from, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	_exit(127);
}

void pager_start(void)
{
	const char *text = isatty(STDOUT_FILENO) ? command() : NULL;
	int fds[2];

	if (!text || pipe2(fds, O_CLOEXEC) < 0)
		return;
	pager = fork();
	if (pager == 0)
		become(text, fds[0]);
	if (pager > 0) {
		dup2(fds[1], STDOUT_FILENO);
		signal(SIGPIPE, SIG_IGN); /* the person has read enough */
		signal(SIGINT, SIG_IGN);  /* it is the pager's */
	}
	close(fds[0]);
	close(fds[1]);
}

void pager_end(void)
{
	if (pager <= 0)
		return;
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}
