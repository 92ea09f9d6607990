/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - does a full-screen program draw on the terminal? */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "launcher/run/os.h"

/* An interactive shell edits its line in the mode of a full-screen program, and writes below what
 * is there. Its name is the command's word, by which it can hide from its own user alone what the
 * record has anyway. */
static bool is_shell(pid_t pid)
{
	static const char *const names[] = {"bash", "dash", "fish", "ksh",  "mksh",
					    "sh",   "csh",  "tcsh", "yash", "zsh"};
	char path[32], name[32];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);
	if (n <= 0)
		return false;
	name[n - (name[n - 1] == '\n')] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool lau_os_is_screen_taken(void)
{
	struct termios t;
	pid_t group;

	if (tcgetattr(STDERR_FILENO, &t) < 0 || t.c_lflag & ICANON)
		return false;
	group = tcgetpgrp(STDERR_FILENO);
	return group <= 0 || !is_shell(group);
}
