/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: two documents must allow, and what only one of them protects is not
 * carried away by a denial of the other's. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/broker.h"

enum act { MOVE, EXCHANGE, LINK, LEAD };

struct row {
	const char *one, *other; /* a rule of each document, of the base @ */
	const char *tree;	 /* a shell's words */
	enum act act;
	const char *from, *to;
	int want, by_product; /* errno; when the product is asked, where that differs */
};

static const struct row rows[] = {
	/* both deny a name below: one for the old place, the other for the new one */
	{"m- G @ **/.git/hooks/**", "m- T @/evil/hooks", "mkdir -p evil/hooks && >evil/hooks/x",
	 MOVE, "evil", ".git", EACCES, 0},
	{"m- T @/evil/hooks", "m- G @ **/.git/hooks/**", "mkdir -p evil/hooks && >evil/hooks/x",
	 MOVE, "evil", ".git", EACCES, 0},
	{"m- G @ **/.git/hooks/**", "m- T @/evil/hooks", "mkdir -p evil/hooks .git/x", EXCHANGE,
	 ".git", "evil", EACCES, 0},
	/* what may not be read by either */
	{"r- G @ **/*.env", "r- E @/f", "echo x >f", LINK, "f", "x.env", EACCES, 0},
	{"r- G @ **/*.env", "r- E @/x", "echo s >a.env", LINK, "a.env", "x", EACCES, 0},
	{"r- G @ **/*.env", "r- E @/f", "echo x >f", LEAD, "f", "x.env", EACCES, 0},
	{"r- G @ **/*.env", "r- E @/p", "cp /bin/true p && chmod 755 p", MOVE, "p", "p.env", EACCES,
	 0},
	{"r- G @ **/*.env", "r- E @/x", "echo s >a.env", MOVE, "a.env", "x", EACCES, 0},
	/* a git directory is one by the document that protects it */
	{"m- G @ .git/*o*/**", "m- E @/.git/packed-refs", "mkdir .git", LEAD, "/tmp", ".git/l",
	 EACCES, 0},
	/* what both allow, or deny alike, moves as ever */
	{"m- G @ **/.git/hooks/**", "m- T @/x", "mkdir -p w/.git/hooks && >w/.git/hooks/x", MOVE,
	 "w", "v", 0, 0},
	{"m- G @ **/.git/hooks/**", "m- T @/x", "mkdir w", MOVE, "w", ".git", 0, 0},
	{"r- G @ **/*.env", "r- T @/x", "echo x >f", LINK, "f", "g", 0, 0},
};
#define NROWS (sizeof rows / sizeof *rows)

static char root[64];

static void make_tree(const char *script)
{
	char cmd[1000];

	strcpy(root, "/tmp/sbx-apart-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	snprintf(cmd, sizeof cmd, "cd %s && (%s) && chmod -R a+rwX .", root, script);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void remove_tree(void)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}

static int done(int rc)
{
	return rc < 0 ? errno : 0;
}

static int perform(void *arg)
{
	const struct row *r = arg;

	if (chdir(root) < 0)
		return 200;
	switch (r->act) {
	case MOVE:
		return done(rename(r->from, r->to));
	case EXCHANGE:
		return done(renameat2(AT_FDCWD, r->from, AT_FDCWD, r->to, RENAME_EXCHANGE));
	case LINK:
		return done(link(r->from, r->to));
	case LEAD:
		return done(symlink(r->from, r->to));
	}
	return 201;
}

/* The rule at the directory of the row. */
static const char *place(char out[256], const char *rule)
{
	const char *at = strchr(rule, '@');

	snprintf(out, 256, "%.*s%s%s", (int)(at - rule), rule, root, at + 1);
	return out;
}

static int run(const struct row *r, bool by_product)
{
	char one[256], other[256];
	const char *all[] = {"rmx+ T /", place(one, r->one),	 SB_NEXT_DOCUMENT,
			     "rmx+ T /", place(other, r->other), NULL};
	const char *first[] = {"rmx+ T /", one, NULL}, *second[] = {"rmx+ T /", other, NULL};
	struct sb_policy policy, a, b;
	const struct sbx_image *const apart[] = {&a.image, &b.image};
	const struct sb_options o = {.apart = {apart, by_product ? 0 : 2}};
	int rc;

	sb_policy_make(&policy, all);
	sb_policy_make(&a, first);
	sb_policy_make(&b, second);
	rc = sb_run(&policy, &o, perform, (void *)(uintptr_t)r);
	sb_policy_release(&policy);
	sb_policy_release(&a);
	sb_policy_release(&b);
	return rc;
}

Test(launcher_broker_apart, no_document_launders_what_another_protects, .timeout = 120)
{
	umask(0);
	for (unsigned i = 0; i < NROWS; i++) {
		make_tree(rows[i].tree);
		cr_expect_eq(run(&rows[i], true), rows[i].by_product, "row %u by the product", i);
		remove_tree();
		make_tree(rows[i].tree);
		cr_expect_eq(run(&rows[i], false), rows[i].want, "row %u", i);
		remove_tree();
	}
}
