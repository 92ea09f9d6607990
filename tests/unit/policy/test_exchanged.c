/* SPDX-License-Identifier: Apache-2.0 */
/* A link that is exchanged again and again while rules are made of it: what is opened is what was
 * judged. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"

enum { ROUNDS = 60, EXCHANGE = 2 /* RENAME_EXCHANGE */ };

static struct b_arena arena;
static const char *top, *ws, *secret;
static _Atomic bool is_over;

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-exchanged-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = in(top, "ws");
	secret = in(top, "secret");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(secret, 0700) | mkdir(in(top, "home"), 0700), 0);
	cr_assert_eq(mkdir(in(ws, "inside"), 0700) | mkdir(in(ws, "plain"), 0700), 0);
	cr_assert_eq(close(open(in(secret, "file"), O_WRONLY | O_CREAT, 0600)), 0);
	cr_assert_eq(close(open(in(ws, "inside/file"), O_WRONLY | O_CREAT, 0600)), 0);
	setenv("HOME", in(top, "home"), 1);
	cr_assert_eq(chdir(ws), 0);
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	cr_assert_eq(chdir("/"), 0);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_exchanged, .init = setup, .fini = teardown);

struct names {
	const char *a, *b;
};

static void *flip(void *arg)
{
	const struct names *n = arg;

	while (!atomic_load(&is_over))
		(void)syscall(SYS_renameat2, AT_FDCWD, n->a, AT_FDCWD, n->b, EXCHANGE);
	return NULL;
}

/* Is anything at or below the secret directory opened by these rules? */
static bool opens_secret(const struct pol_engine *e)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY};

	for (size_t o = 0; o < 2; o++)
		for (size_t i = 0; i < e->rules.op[ops[o]].n; i++) {
			const struct pol_rule *r = &e->rules.op[ops[o]].v[i];

			if (r->allow && r->tier == POL_TIER_CLI &&
			    !strncmp(r->base, secret, strlen(secret)))
				return true;
		}
	return false;
}

/* In the workspace, `link` and its twin lead inside and to the secret; an option names the first.
 */
static void hold(const char *text, bool is_file)
{
	const struct pol_cli_rule rule = {.op = SBX_MODIFY,
					  .allow = true,
					  .text = text,
					  .option = "--modify",
					  .nth = 1,
					  .is_file = is_file};
	struct names names = {in(ws, "link"), in(ws, "other")};
	struct pol_request rq = {.rules = &rule, .nrules = 1, .workspaces = &ws, .nworkspaces = 1};
	unsigned opened = 0, followed = 0;
	pthread_t thread;

	cr_assert_eq(symlink("inside", names.a) | symlink(secret, names.b), 0);
	atomic_store(&is_over, false);
	cr_assert_eq(pthread_create(&thread, NULL, flip, &names), 0);
	for (int i = 0; i < ROUNDS && !opened; i++) {
		struct pol_engine *e;
		struct b_err err;

		cr_assert_eq(pol_engine_new(&rq, &e, &err), 0, "%s", err.msg);
		opened += opens_secret(e);
		followed += e->nnotices == 0;
		pol_engine_free(e);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	cr_expect_eq(opened, 0, "%s", text);
	cr_expect(followed, "%s: never led inside", text);
}

Test(policy_exchanged, an_option_that_names_a_link_by_an_absolute_path)
{
	hold(in(ws, "link"), false);
}

Test(policy_exchanged, an_option_that_names_a_file_behind_a_link)
{
	hold("link/file", true);
}
