/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of pol_engine_check() on real trees: symlinks are judged where they lead. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"
#include "tests/support/tsv.h"

static struct b_arena arena;
static const char *top, *ws;

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	b_auto(b_str_release) struct b_str cmd = {0};
	va_list ap;

	va_start(ap, fmt);
	b_str_addfv(&cmd, fmt, ap);
	va_end(ap);
	cr_assert_eq(system(b_str_c(&cmd)), 0, "%s", cmd.s);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-resolved-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = b_arena_printf(&arena, "%s/ws", top);
	run("mkdir -p %s/ws/allowed_dir %s/ws/denied_dir %s/home %s/outside", top, top, top, top);
	setenv("HOME", b_arena_printf(&arena, "%s/home", top), 1);
}

static void teardown(void)
{
	run("rm -rf %s", top);
	b_arena_release(&arena);
}

TestSuite(policy_resolved, .init = setup, .fini = teardown);

/* What lies in the tree of each row. */
static const struct {
	const char *id, *commands;
} layouts[] = {
	{"check_resolved-001",
	 "echo s >denied_dir/secret.txt; ln -s ../denied_dir allowed_dir/link"},
	{"check_resolved-002", "echo o >allowed_dir/ok.txt"},
	{"check_resolved-003", "ln -s ../denied_dir allowed_dir/link"},
	{"check_resolved-004", "ln -s ../outside escape; echo p >../outside/passwd"},
	{"check_resolved-005", "ln -s ../denied_dir/planted.txt allowed_dir/link"},
	{"check_resolved-006", "ln -s ../outside/planted.txt escape"},
	{"check_resolved-007", "ln -s b a; ln -s a b"},
};

static struct pol_engine *engine_of(const struct tsv_row *row, bool is_read)
{
	const char *file = b_arena_printf(&arena, "%s/p.yaml", top);
	const char *rules = tsv_cell(row, "profile_rules"), *deny = tsv_cell(row, "deny");
	struct pol_said said = pol_said_nothing();
	/* no base rule speaks of the place outside: what Orbit knows of it, too */
	struct pol_request rq = {.policies = &file,
				 .npolicies = 1,
				 .workspaces = &ws,
				 .nworkspaces = 1,
				 .said = &said};
	struct pol_engine *e;
	struct b_err err;

	said.v[POL_SET_reads] = POL_READS_SYSTEM;
	run("umask 077; cat >%s <<'X'\nschemaVersion: 2\nkind: Policy\nmetadata: {name: p}\n"
	    "spec: {%s: %s, fsProfiles: {p: {read: %s, modify: %s}}}\nX\n",
	    file, is_read ? "denyRead" : "denyModify", deny, rules, rules);
	cr_assert_eq(pol_engine_new(&rq, &e, &err), 0, "%s", err.msg);
	return e;
}

static void judge(const struct tsv_row *row)
{
	bool is_read = strcmp(tsv_cell(row, "op"), "read") == 0;
	struct pol_engine *e = engine_of(row, is_read);
	const char *matched = tsv_cell(row, "matched_rule_or_note");
	const char *path = tsv_cell(row, "path_accessed");
	struct pol_answer a;
	struct b_err err;
	int rc;

	/* a remark may stand behind either */
	path = b_arena_strndup(&arena, path, strcspn(path, " "));
	matched = b_arena_strndup(&arena, matched,
				  *matched == '<' ? strlen(matched) : strcspn(matched, " "));
	rc = pol_engine_check(e, is_read ? SBX_READ : SBX_MODIFY, path, &a, &err);
	if (strcmp(tsv_cell(row, "allowed"), "ERR") == 0) {
		cr_expect(rc == -1 && err.kind == B_USAGE, "%s", row->cells[0]);
	} else {
		cr_assert_eq(rc, 0, "%s: %s", row->cells[0], err.msg);
		cr_expect_eq(a.allowed, tsv_is_true(row, "allowed"), "%s", row->cells[0]);
		cr_expect_str_eq(a.matched, matched, "%s", row->cells[0]);
		cr_expect(strcmp(row->cells[0], "check_resolved-005") != 0 ||
				  strstr(a.path, "denied_dir/planted.txt"),
			  "%s", a.path);
	}
	pol_engine_free(e);
}

Test(policy_resolved, rows)
{
	struct tsv *t = tsv_load("tests/vectors/check_resolved.tsv");

	cr_assert_eq(t->n_rows, sizeof layouts / sizeof *layouts);
	for (size_t i = 0; i < t->n_rows; i++) {
		cr_assert_str_eq(t->rows[i].cells[0], layouts[i].id);
		run("cd %s && %s", ws, layouts[i].commands);
		judge(&t->rows[i]);
		run("find %s -type l -delete", ws);
	}
	tsv_free(t);
}
