/* SPDX-License-Identifier: Apache-2.0 */
/* brokertree.c - see brokertree.h. */
#include "tests/support/brokertree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char sb_root[64];
struct sb_policy sb_tree_policy;
static char rules[6][256];

const char *sb_in(const char *name)
{
	static _Thread_local char path[4][256];
	static _Thread_local unsigned n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", sb_root, name);
	return path[n];
}

void sb_make_file(const char *name, const char *text)
{
	int fd = open(sb_in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	chmod(sb_in(name), 0666);
}

void sb_tree_set_up(void)
{
	const char *lines[] = {"rmx+ T /", rules[0], rules[1], rules[2], rules[3], NULL};

	strcpy(sb_root, "/tmp/sbx-broker-XXXXXX");
	cr_assert_not_null(mkdtemp(sb_root));
	cr_assert_eq(chmod(sb_root, 0777), 0);
	sb_make_file("f", "text");
	sb_make_file("a.env", "secret");
	cr_assert_eq(mkdir(sb_in("deny"), 0777), 0);
	cr_assert_eq(chmod(sb_in("deny"), 0777), 0);
	snprintf(rules[0], sizeof rules[0], "m- T %s/deny", sb_root);
	snprintf(rules[1], sizeof rules[1], "rm- G %s **/*.env", sb_root);
	snprintf(rules[2], sizeof rules[2], "x- E %s/tool", sb_root);
	snprintf(rules[3], sizeof rules[3], "c+ E %s/open.sock", sb_root);
	sb_policy_make(&sb_tree_policy, lines);
	umask(022);
}

void sb_tree_tear_down(void)
{
	char cmd[128];

	sb_policy_release(&sb_tree_policy);
	snprintf(cmd, sizeof cmd, "rm -rf %s", sb_root);
	cr_assert_eq(system(cmd), 0);
}

/* What an act may leave, and the next one makes. */
static void clean(void)
{
	static const char *const left[] = {"l", "pub", "out", "fresh"};

	for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
		unlink(sb_in(left[i]));
	if (geteuid() == 0)
		cr_assert_eq(chown(sb_in("f"), SB_NOBODY, SB_NOBODY), 0);
}

int sb_result(long rc)
{
	return rc < 0 ? errno : SB_OK;
}

int sb_run_in_tree(int (*act)(void *), enum pol_read_level level, uid_t uid)
{
	const struct sb_options o = {.level = level, .uid = uid};

	return sb_run(&sb_tree_policy, &o, act, NULL);
}

void sb_expect_at(int (*act)(void *), enum pol_read_level level, int want)
{
	int got = sb_run_in_tree(act, level, 0);

	cr_expect_eq(got, want, "level %u: got %d, want %d", level, got, want);
	if (geteuid() != 0)
		return;
	clean();
	got = sb_run_in_tree(act, level, SB_NOBODY);
	cr_expect_eq(got, want, "level %u, ordinary user: got %d, want %d", level, got, want);
}
