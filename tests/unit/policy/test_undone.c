/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/conflicts.c: what one document opens undoes no denial of another.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"

static struct b_arena arena;
static const char *top, *files[2];
static struct pol_engine *engine;
static struct b_err err;

static void setup(void)
{
	static char name[] = "/tmp/sbx-undone-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	for (int i = 0; i < 2; i++)
		files[i] = b_arena_printf(&arena, "%s/%d.yaml", top, i);
}

static void teardown(void)
{
	pol_engine_free(engine);
	unlink(files[0]);
	unlink(files[1]);
	rmdir(top);
	b_arena_release(&arena);
}

TestSuite(policy_undone, .init = setup, .fini = teardown);

static void write_document(int i, const char *spec)
{
	FILE *f = fopen(files[i], "we");

	cr_assert(f);
	fprintf(f, "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n%s", spec);
	fclose(f);
	chmod(files[i], 0600);
}

/* The first document, or both. */
static int make(size_t n, const char *const *presets)
{
	struct pol_request rq = {.policies = files,
				 .npolicies = n,
				 .workspaces = &top,
				 .nworkspaces = 1,
				 .presets = presets,
				 .npresets = presets != NULL,
				 .managed = "/nonexistent"};

	pol_engine_free(engine);
	engine = NULL;
	return pol_engine_new(&rq, &engine, &err);
}

static bool reads(const char *name)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, SBX_READ, name, &a, &err), 0, "%s", err.msg);
	return a.allowed;
}

static const char first[] = "  denyRead: [k/**]\n  denyModify: [k/**, m/**, '!m/open/**']\n"
			    "  fsProfiles: {p: {read: ['**'], modify: ['**']}}\n"
			    "  sandbox: {denyRead: [/opt/x], sideRoots: [/opt/z]}\n";

Test(policy_undone, what_opens_a_denied_place_is_refused)
{
	static const char *const refused[] = {
		"sideRoots: [\"${WORKSPACE}/k/a\"]", "readRoots: [\"${WORKSPACE}\"]",
		"openRead: [\"${WORKSPACE}/k\"]",    "openModify: [\"${WORKSPACE}/*/x\"]",
		"allowRead: [\"${WORKSPACE}/k\"]",   "allowRead: [/opt/x/y]",
	};

	write_document(0, first);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		write_document(1, b_arena_printf(&arena, "  sandbox: {%s}\n", refused[i]));
		cr_assert_eq(make(2, NULL), -1, "%s", refused[i]);
		cr_expect_eq(err.kind, B_POLICY);
		cr_expect(strstr(err.msg, "a document cannot undo a denial of another"), "%s",
			  err.msg);
	}
}

Test(policy_undone, what_opens_others_is_taken)
{
	static const char *const fine[] = {
		"sideRoots: [/opt/y]",
		"allowRead: [/opt/y]",
		"sideRoots: [\"${WORKSPACE}/kk\"]",
		"openModify: [\"${WORKSPACE}/m/open\"]",
		"denyRead: [/opt/z]",
	};

	write_document(0, first);
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
		write_document(1, b_arena_printf(&arena, "  sandbox: {%s}\n", fine[i]));
		cr_assert_eq(make(2, NULL), 0, "%s", err.msg);
		cr_expect_not(reads("k/f"));
	}
}

Test(policy_undone, a_documents_own_roots_stand_behind_its_denials)
{
	write_document(0, "  denyRead: [k/**]\n  fsProfiles: {p: {read: ['**'], modify: []}}\n"
			  "  sandbox: {readRoots: [\"${WORKSPACE}/k/a\"]}\n");
	cr_assert_eq(make(1, NULL), 0, "%s", err.msg);
	cr_expect(reads("k/a/b"));
	cr_expect_not(reads("k/b"));
}

Test(policy_undone, a_presets_roots_count_as_anothers)
{
	static const char *const npm[] = {"npm"};

	setenv("npm_config_cache", b_arena_printf(&arena, "%s/k/cache", top), 1);
	write_document(0, first);
	cr_assert_eq(make(1, npm), -1);
	cr_expect(strstr(err.msg, "preset:npm:"), "%s", err.msg);
	setenv("npm_config_cache", b_arena_printf(&arena, "%s/cache", top), 1);
	cr_assert_eq(make(1, npm), 0, "%s", err.msg);
	cr_expect_not(reads("k/f"));
}
