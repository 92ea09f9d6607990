/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c - see prompt.h. */
#include "launcher/run/prompt.h"

#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "launcher/run/os.h"

enum { HELD_MAX = 20 };

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
	if (p->nheld && !lau_os_is_screen_taken())
		write_held(p);
}

/* A terminal in raw mode needs a carriage return for each line. */
void lau_prompt_say(struct lau_prompt *p, const char *line)
{
	bool is_held = p->is_terminal && !p->has_ended && lau_os_is_screen_taken();

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
