/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx-adopt - what agents and tools need to run their commands under sbx-launch, which starts it:
 * --hook and --setup read and write JSON and settings, and no start of a command has to carry that.
 *
 *	sbx-adopt hook AGENT LAUNCHER [OPTION...]	standard input to standard output
 *	sbx-adopt setup AGENT|TOOL FLAGS LAUNCHER [OPTION...]
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
#include "adopt/tools.h"
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

/* The settings hold wherever a command begins, and a name there could be the command's own file. */
static int make_absolute(struct b_strlist *words, struct b_arena *arena, struct b_err *err)
{
	static const char *const options[] = {
		"--policy=", "--image=", "--require-bundle=", "--bundle-key=", "--audit-file="};
	b_auto_free char *cwd = getcwd(NULL, 0);

	if (!cwd)
		return b_fail(err, B_SYSTEM, errno, "the current directory: %s", strerror(errno));
	for (size_t i = 1; i < words->n; i++)
		for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
			const char *value = words->v[i] + strlen(options[k]);

			if (b_has_prefix(words->v[i], options[k]) && *value != '/')
				words->v[i] =
					b_arena_printf(arena, "%s%s/%s", options[k], cwd, value);
		}
	return 0;
}

static int setup(const char *name, const char *flags, struct b_strlist *words, struct b_err *err)
{
	b_auto(b_str_release) struct b_str said = {0};
	b_auto(b_arena_release) struct b_arena arena = {0};
	const struct ad_setup s = {.agent = ad_agent_find(name),
				   .tool = ad_tool_find(name),
				   .launcher = words,
				   .project = strchr(flags, 'p'),
				   .undo = strchr(flags, 'u'),
				   .dry_run = strchr(flags, 'd')};

	if (make_absolute(words, &arena, err) < 0)
		return -1;
	if ((s.agent ? ad_setup(&s, &said, err) : ad_setup_tool(&s, &said, err)) < 0)
		return -1;
	return print(&said, err);
}

int main(int argc, char **argv)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};
	bool is_hook = argc > 3 && strcmp(argv[1], "hook") == 0;
	bool is_known = argc > 4 - is_hook &&
			(ad_agent_find(argv[2]) || (!is_hook && ad_tool_find(argv[2])));
	struct b_err err;
	int rc;

	for (int i = 4 - is_hook; i < argc; i++)
		b_strlist_add(&words, argv[i]);
	if (!is_known)
		rc = b_fail(&err, B_USAGE, 0,
			    "only sbx-launch --hook and --setup start this program");
	else
		rc = is_hook ? hook(ad_agent_find(argv[2]), &words, &err)
			     : setup(argv[2], argv[3], &words, &err);
	if (rc == 0)
		return 0;
	rc = b_report(me, &err);
	return is_hook ? AD_HOOK_BLOCKS : rc;
}
