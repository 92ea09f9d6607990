/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/own_tmp.c: the rules of a /tmp of the run's own, and its view. */
#include "policy/engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/rules/fsview.h"
#include "policy/rules/workspace.h"

static struct b_arena arena;
static const char *top, *ws, *data, *cwd;
static struct pol_request rq;
static struct pol_cli_rule cli[4];
static struct pol_engine *engine;
static struct b_err err;

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-tmp-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = in(top, "ws");
	data = in(top, "data");
	cwd = in(top, "cwd");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(data, 0700) | mkdir(in(data, "below"), 0700) |
			     mkdir(cwd, 0700) | mkdir(in(top, "other"), 0700),
		     0);
	cr_assert_eq(symlink(in(top, "other"), in(top, "link")), 0);
	setenv("HOME", "/nonexistent", 1);
	cr_assert_eq(chdir(ws), 0);
	rq.with_tmp = true;
	rq.tmp_keep = &cwd;
	rq.ntmp_keep = 1;
	rq.rules = cli;
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	pol_engine_free(engine);
	cr_assert_eq(chdir("/"), 0);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_own_tmp, .init = setup, .fini = teardown);

static void rule(enum sbx_op op, bool allow, const char *text)
{
	cli[rq.nrules++] = (struct pol_cli_rule){
		.op = op, .allow = allow, .text = text, .option = "--x", .nth = 1};
}

static void make(void)
{
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static struct pol_answer ask(enum sbx_op op, const char *path)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, op, path, &a, &err), 0, "%s", err.msg);
	return a;
}

static bool keeps(const char *path)
{
	for (size_t i = 0; i < engine->rules.ntmp_kept; i++)
		if (!strcmp(engine->rules.tmp_kept[i], path))
			return true;
	return false;
}

Test(policy_own_tmp, is_open_but_for_what_stays)
{
	rule(SBX_READ, true, data);
	make();
	cr_expect(ask(SBX_MODIFY, "/tmp/x").allowed);
	cr_expect_str_eq(ask(SBX_MODIFY, "/tmp/x").origin, "builtin:tmp:1");
	cr_expect(ask(SBX_MODIFY, in(ws, "made")).allowed);
	cr_expect_str_eq(ask(SBX_MODIFY, in(ws, "made")).origin, "builtin:default:12:16");
	cr_expect_not(ask(SBX_MODIFY, in(cwd, "made")).allowed);
	cr_expect_str_eq(ask(SBX_MODIFY, in(data, "made")).origin, "builtin:tmp:2");
	cr_expect(ask(SBX_READ, in(data, "there")).allowed);
	cr_expect_eq(engine->rules.ntmp_kept, 3);
	cr_expect(keeps(ws) && keeps(data) && keeps(cwd));
}

Test(policy_own_tmp, what_stays_is_read_by_rules_alone_where_reads_are_not_broad)
{
	static struct pol_said said;

	said = pol_said_nothing();
	said.v[POL_SET_reads] = POL_READS_SYSTEM;
	rq.said = &said;
	rule(SBX_READ, true, data);
	make();
	cr_expect(ask(SBX_READ, "/tmp/x").allowed, "what the command made it may read");
	cr_expect(ask(SBX_READ, in(data, "x")).allowed);
	cr_expect_not(ask(SBX_READ, in(cwd, "x")).allowed);
}

Test(policy_own_tmp, rules_of_the_user_come_after)
{
	rule(SBX_MODIFY, true, data);
	rule(SBX_MODIFY, false, "/tmp/no");
	make();
	cr_expect(ask(SBX_MODIFY, in(data, "made")).allowed);
	cr_expect_not(ask(SBX_MODIFY, "/tmp/no").allowed);
	cr_expect_eq(engine->nlosses, 0);
}

Test(policy_own_tmp, what_would_be_made_and_lost_is_a_loss)
{
	rule(SBX_MODIFY, true, in(top, "missing"));
	make();
	cr_expect_eq(engine->nlosses, 1);
	cr_expect(strstr(engine->losses[0], "it is not there"), "%s", engine->losses[0]);
}

Test(policy_own_tmp, a_link_does_not_stay_and_what_lies_in_another_is_there_with_it)
{
	rule(SBX_READ, true, in(top, "link"));
	rule(SBX_READ, true, data);
	rule(SBX_READ, true, in(data, "below"));
	make();
	cr_expect_not(keeps(in(top, "link")));
	cr_expect(keeps(in(top, "other")), "where it leads has a rule of its own");
	cr_expect(keeps(data));
	cr_expect_not(keeps(in(data, "below")));
}

static int count(void *arg, const char *name, char type)
{
	(void)name;
	cr_expect_eq(type, 'd');
	(*(int *)arg)++;
	return 0;
}

Test(policy_own_tmp, the_view_has_what_stays_alone)
{
	struct pol_fsview fs;
	int n = 0;

	rule(SBX_READ, true, data);
	make();
	fs = pol_fsview_of(&engine->rules);
	cr_expect_eq(fs.type(fs.ctx, "/tmp"), 'd');
	cr_expect_eq(fs.type(fs.ctx, top), 'd');
	cr_expect_eq(fs.type(fs.ctx, in(data, "below")), 'd');
	cr_expect_eq(fs.type(fs.ctx, in(top, "other")), 0);
	cr_expect_eq(fs.type(fs.ctx, in(top, "link")), 0);
	cr_expect_eq(fs.type(fs.ctx, "/etc"), 'd');
	cr_expect_eq(fs.list(fs.ctx, "/tmp", count, &n), 0);
	cr_expect_eq(n, 1, "not the host's %d", n);
	n = 0;
	cr_expect_eq(fs.list(fs.ctx, top, count, &n), 0);
	cr_expect_eq(n, 3);
	cr_expect_eq(fs.list(fs.ctx, in(top, "other"), count, &n), -1);
}
