/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c - see prompt.h. */
#include "launcher/run/prompt.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

enum { HELD_MAX = 20 };

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

/* The terminal gives keys and not lines: somebody draws on it. */
static bool is_screen_taken(void)
{
	struct termios t;
	pid_t group;

	if (tcgetattr(STDERR_FILENO, &t) < 0 || t.c_lflag & ICANON)
		return false;
	group = tcgetpgrp(STDERR_FILENO);
	return group <= 0 || !is_shell(group);
}

static void write_held(struct lau_prompt *p)
{
	if (p->beyond)
		b_str_addf(&p->held, "sbx-launch: %u more: sbx-audit denials\r\n", p->beyond);
	if (p->held.len)
		(void)b_write_all(STDERR_FILENO, p->held.s, p->held.len);
	b_str_reset(&p->held);
	p->nheld = p->beyond = 0;
}

void lau_prompt_look(struct lau_prompt *p)
{
	if (p->nheld && !is_screen_taken())
		write_held(p);
}

/* A raw terminal does not return the carriage by itself. */
void lau_prompt_say(struct lau_prompt *p, const char *line)
{
	bool is_held = p->is_terminal && !p->has_ended && is_screen_taken();

	if (is_held && p->nheld == HELD_MAX) {
		p->beyond++;
		return;
	}
	p->nheld++;
	b_str_addf(&p->held, "sbx-launch: %s%s", line, p->is_terminal ? "\r\n" : "\n");
	if (!is_held)
		write_held(p);
}

void lau_prompt_end(struct lau_prompt *p)
{
	p->has_ended = true;
	write_held(p);
}

void lau_prompt_release(struct lau_prompt *p)
{
	b_str_release(&p->held);
}
