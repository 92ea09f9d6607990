/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of denies, on random rules and paths: adding one never allows more, and merging two
 * documents never drops one, each on at least 200,000 pairs in the full form (FULL=1), a third of
 * them else; nor does what one of them opens.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/rules/build.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"
#include "policy/document/layers.h"
#include "tests/support/engine.h"
#include "tests/support/full.h"

/* A third of what is tried in the full form. */
static int times(int full)
{
	return is_full() ? full : full / 3;
}

/* ---- adding a deny ---- */

static void add_denies(unsigned seed, bool rich)
{
	struct draw d;

	draw_seed(&d, seed);
	for (int i = times(350); i > 0; i--) {
		struct engine before, after;
		struct pol_list *list;
		char path[DRAWN_MAX];

		engine_init(&before);
		engine_init(&after);
		for (unsigned n = 1 + draw(&d, 8); n > 0; n--)
			draw_rule(&d, rich, &before.rules);
		list = &before.rules.op[SBX_READ];
		for (size_t r = 0; r < list->n; r++)
			pol_ruleset_add(&after.rules, SBX_READ, &list->v[r]);
		draw_rule(&d, rich, &after.rules);
		list = &after.rules.op[SBX_READ];
		list->v[list->n - 1].allow = false;
		engine_compile(&before);
		engine_compile(&after);
		for (int p = 0; p < 300; p++) {
			size_t len = draw_path(&d, path);
			bool was = sbx_decide(&before.image, SBX_READ, path, len);
			bool hit = pol_rule_matches(&list->v[list->n - 1], path, len);

			cr_assert_eq(sbx_decide(&after.image, SBX_READ, path, len), was && !hit,
				     "seed %u: `%s`", seed, path);
		}
		engine_release(&before);
		engine_release(&after);
	}
}

Test(agreement_denies, adding_one_never_allows_more)
{
	add_denies(41, false);
}

Test(agreement_denies, adding_one_never_allows_more_of_any_bytes)
{
	add_denies(42, true);
}

/* ---- merging ---- */

#define WS "/no-such-place/ws"

static void draw_name(struct draw *d, struct b_str *out)
{
	static const char *const names[] = {"a", "a", "a/b", "a/b", "a/b/c", "b"};

	b_str_add(out, names[draw(d, sizeof names / sizeof *names)]);
}

/* Denies, and exceptions to denyModify. */
static void draw_list(struct draw *d, bool with_exceptions, struct b_str *out)
{
	static const char *const before[] = {"", "", "", "", "", "", "", "**/"};
	static const char *const behind[] = {"/**", "/**", "/**", "/**", "", "/*"};

	b_str_addc(out, '[');
	for (unsigned n = draw(d, 6); n > 0; n--) {
		bool exception = with_exceptions && draw(d, 3) == 0;

		b_str_add(out, exception ? "\"!" : "\"");
		if (!exception)
			b_str_add(out, before[draw(d, 8)]);
		draw_name(d, out);
		b_str_add(out, behind[draw(d, exception ? 5 : 6)]);
		b_str_add(out, n > 1 ? "\", " : "\"");
	}
	b_str_addc(out, ']');
}

/* False: an exception stands where none may. */
static bool draw_document(struct draw *d, struct pol_doc *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	b_str_add(&text,
		  "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead: ");
	draw_list(d, false, &text);
	b_str_add(&text, "\n  denyModify: ");
	draw_list(d, true, &text);
	b_str_addc(&text, '\n');
	return pol_orbit_parse("p", b_str_c(&text), text.len, out, &err) == 0;
}

/* The document with all of the workspace allowed, as rules. */
static void lower(struct pol_doc *doc, struct pol_ruleset *rs)
{
	static const char *ws[] = {WS}, *none[1];
	struct pol_layers layers = {0};
	struct pol_request rq = {.policies = NULL};
	struct pol_build b = {
		.rs = rs, .rq = &rq, .layers = &layers, .common_dirs = none, .own_dirs = none};
	struct pol_effective eff;

	pol_ruleset_init(rs);
	rs->workspaces = ws;
	rs->nworkspaces = 1;
	cr_assert_eq(pol_doc_effective(doc, "unrestricted", &eff, NULL), 0);
	cr_assert_eq(pol_build_profile(&b, &eff, NULL), 0);
}

static bool denies(const struct pol_ruleset *rs, enum sbx_op op, const char *path)
{
	int i = pol_list_decide(&rs->op[op], path, strlen(path));

	return i < 0 || !rs->op[op].v[i].allow;
}

/* Every path that the names of the rules can make, four deep. */
/* For a failure: the denyModify of the three. */
static const char *lists(const struct pol_doc doc[3])
{
	static struct b_str text;

	b_str_reset(&text);
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < doc[i].deny_modify.n; k++)
			b_str_addf(&text, "%s%s",
				   k   ? " "
				   : i ? " | "
				       : "",
				   doc[i].deny_modify.v[k].s);
	return b_str_c(&text);
}

static size_t each_path(const struct pol_ruleset rs[3], const struct pol_doc doc[3])
{
	static const char *const names[] = {"a", "b", "c"};
	size_t judged = 0;

	for (unsigned n = 0; n < 3 + 9 + 27 + 81; n++) {
		unsigned depth = n < 3 ? 1 : n < 12 ? 2 : n < 39 ? 3 : 4;
		unsigned rest = n - (depth == 1 ? 0 : depth == 2 ? 3 : depth == 3 ? 12 : 39);
		char path[64] = WS;

		for (unsigned i = 0; i < depth; i++, rest /= 3) {
			strcat(path, "/");
			strcat(path, names[rest % 3]);
		}
		for (int op = SBX_READ; op <= SBX_MODIFY; op++, judged++)
			cr_assert(denies(&rs[2], (enum sbx_op)op, path) ||
					  (!denies(&rs[0], (enum sbx_op)op, path) &&
					   !denies(&rs[1], (enum sbx_op)op, path)),
				  "%s %s: %s", sbx_op_name((enum sbx_op)op), path, lists(doc));
	}
	return judged;
}

Test(agreement_denies, merging_never_drops_one)
{
	struct draw d;
	size_t judged = 0, merged = 0;

	draw_seed(&d, 43);
	while (judged < (size_t)times(1000000)) {
		struct pol_doc doc[3] = {0};
		struct pol_ruleset rs[3];
		struct b_err err;

		if (draw_document(&d, &doc[0]) && draw_document(&d, &doc[1]) &&
		    pol_doc_merge(&doc[0], &doc[1], &doc[2], &err) == 0) {
			for (int i = 0; i < 3; i++)
				lower(&doc[i], &rs[i]);
			judged += each_path(rs, doc);
			merged++;
			for (int i = 0; i < 3; i++)
				pol_ruleset_release(&rs[i]);
		}
		for (int i = 0; i < 3; i++)
			pol_doc_release(&doc[i]);
	}
	cr_expect_gt(merged, (size_t)times(800));
}

/* ---- what a document opens beside its profiles ---- */

static char top[] = "/tmp/sbx-denies-XXXXXX";

static void draw_roots(struct draw *d, struct b_str *out)
{
	static const char *const lists[] = {"sideRoots", "readRoots", "openRead",  "openModify",
					    "allowRead", "denyRead",  "denyModify"};
	static const char *const behind[] = {"", "/**", "/*", "/x"};
	const char *sep = "";

	b_str_add(out, "  sandbox: {");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (draw(d, 4) > 0)
			continue;
		b_str_addf(out, "%s%s: [\"${WORKSPACE}/", sep, lists[i]);
		draw_name(d, out);
		b_str_addf(out, "%s\"]", behind[draw(d, 4)]);
		sep = ", ";
	}
	b_str_add(out, "}\n");
}

static void write_document(struct draw *d, const char *file)
{
	b_auto(b_str_release) struct b_str text = {0};
	FILE *f = fopen(file, "we");

	b_str_add(&text,
		  "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead: ");
	draw_list(d, false, &text);
	b_str_add(&text, "\n  denyModify: ");
	draw_list(d, false, &text);
	b_str_add(&text, "\n  fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}\n");
	draw_roots(d, &text);
	cr_assert(f);
	fputs(b_str_c(&text), f);
	fclose(f);
	chmod(file, 0600);
}

static struct pol_engine *open_engine(const char *const *files, size_t n, struct b_err *err)
{
	const char *ws = top;
	struct pol_request rq = {.policies = files,
				 .npolicies = n,
				 .workspaces = &ws,
				 .nworkspaces = 1,
				 .managed = "/nonexistent"};
	struct pol_engine *e = NULL;

	return pol_engine_new(&rq, &e, err) < 0 ? NULL : e;
}

/* Denied by the document's own denials, behind all that it opens itself. */
static size_t held(struct pol_engine *alone, struct pol_engine *both, const char *name)
{
	size_t n = 0;
	struct pol_answer a, b;
	struct b_err err;

	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		cr_assert_eq(pol_engine_check(alone, (enum sbx_op)op, name, &a, &err), 0);
		cr_assert_eq(pol_engine_check(both, (enum sbx_op)op, name, &b, &err), 0);
		if (a.allowed || !a.rule || a.rule->tier != POL_TIER_DENY)
			continue;
		cr_assert_not(b.allowed, "%s %s: `%s` (%s) opens what `%s` (%s) denies",
			      sbx_op_name((enum sbx_op)op), name, b.matched, b.origin, a.matched,
			      a.origin);
		n++;
	}
	return n;
}

Test(agreement_denies, what_one_document_opens_drops_none_of_another)
{
	static const char *const names[] = {"a",     "b",   "c",     "a/b",   "a/x",   "b/x",
					    "a/b/c", "a/c", "a/b/x", "b/a/b", "b/c/x", "x"};
	const char *files[2];
	size_t judged = 0, refused = 0, taken = 0;
	char file[2][64];
	struct draw d;

	cr_assert(mkdtemp(top));
	for (int i = 0; i < 2; i++) {
		snprintf(file[i], sizeof file[i], "%s.%d.yaml", top, i);
		files[i] = file[i];
	}
	draw_seed(&d, 44);
	for (int round = times(500); round > 0; round--) {
		struct pol_engine *e[3];
		struct b_err err;

		write_document(&d, files[0]);
		write_document(&d, files[1]);
		e[0] = open_engine(&files[0], 1, &err);
		e[1] = open_engine(&files[1], 1, &err);
		e[2] = e[0] && e[1] ? open_engine(files, 2, &err) : NULL;
		taken += e[2] != NULL;
		refused += e[0] && e[1] && !e[2] && strstr(err.msg, "cannot undo") != NULL;
		for (size_t i = 0; e[2] && i < sizeof names / sizeof *names; i++)
			judged += held(e[0], e[2], names[i]) + held(e[1], e[2], names[i]);
		for (int i = 0; i < 3; i++)
			pol_engine_free(e[i]);
	}
	unlink(files[0]);
	unlink(files[1]);
	rmdir(top);
	cr_expect_gt(judged, (size_t)times(1000), "%zu judged", judged);
	cr_expect_gt(refused, (size_t)times(20), "%zu refused", refused);
	cr_expect_gt(taken, (size_t)times(50), "%zu taken", taken);
}
