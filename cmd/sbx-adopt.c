/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx-adopt - what agents need to run their commands under sbx-launch, which starts it: --hook and
 * --setup read and write JSON, and no start of a command has to carry that.
 *
 *	sbx-adopt hook AGENT LAUNCHER [OPTION...]	standard input to standard output
 *	sbx-adopt setup AGENT FLAGS LAUNCHER [OPTION...]
 *
 * FLAGS are letters of p(roject), u(ndo), d(ry run).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "adopt/agents.h"
#include "adopt/hook.h"
#include "adopt/setup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"

static const char me[] = "sbx-launch";

static int print(const struct b_str *text, struct b_err *err)
{
	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) == 0)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
}

/* bash where it is there: agents write for it. */
static void add_shell(struct b_strlist *words)
{
	b_strlist_add(words, "--");
	b_strlist_add(words, b_access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh");
	b_strlist_add(words, "-c");
}

static int hook(const struct ad_agent *agent, struct b_strlist *words, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0}, out = {0};
	ssize_t n = b_read_full(STDIN_FILENO, b_str_room(&text, AD_HOOK_MAX + 1), AD_HOOK_MAX + 1);

	if (n < 0)
		return b_fail(err, B_SYSTEM, errno, "standard input: %s", strerror(errno));
	if (n > (ssize_t)AD_HOOK_MAX)
		return b_fail(err, B_LIMIT, 0, "standard input: larger than %u bytes", AD_HOOK_MAX);
	b_str_advance(&text, (size_t)n);
	add_shell(words);
	if (ad_hook_answer(agent, b_str_c(&text), text.len, words, &out, err) < 0)
		return -1;
	return print(&out, err);
}

static int setup(const struct ad_agent *agent, const char *flags, const struct b_strlist *words,
		 struct b_err *err)
{
	b_auto(b_str_release) struct b_str said = {0};
	const struct ad_setup s = {.agent = agent,
				   .launcher = words,
				   .project = strchr(flags, 'p'),
				   .undo = strchr(flags, 'u'),
				   .dry_run = strchr(flags, 'd')};

	return ad_setup(&s, &said, err) < 0 ? -1 : print(&said, err);
}

int main(int argc, char **argv)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};
	bool is_hook = argc > 3 && strcmp(argv[1], "hook") == 0;
	const struct ad_agent *agent = argc > 4 - is_hook ? ad_agent_find(argv[2]) : NULL;
	struct b_err err;
	int rc;

	for (int i = 4 - is_hook; i < argc; i++)
		b_strlist_add(&words, argv[i]);
	if (!agent)
		rc = b_fail(&err, B_USAGE, 0, "started by sbx-launch --hook and --setup alone");
	else
		rc = is_hook ? hook(agent, &words, &err) : setup(agent, argv[3], &words, &err);
	if (rc == 0)
		return 0;
	rc = b_report(me, &err);
	return is_hook ? AD_HOOK_BLOCKS : rc;
}
