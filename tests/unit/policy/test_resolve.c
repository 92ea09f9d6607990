/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/resolve.c, exception.c and base.c: documents lowered to absolute
 * rules, judged by the naive matcher. The workspace does not exist: no symlink interferes. */
#include "policy/rules/build.h"
#include "policy/document/layers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/compile/ruleset.h"
#include "policy/rules/workspace.h"
#include "tests/support/tsv.h"

#define WS "/no-such-place/ws"

struct world {
	struct pol_ruleset rs;
	struct pol_request rq;
	struct pol_layers layers;
	struct pol_build b;
	const char *ws[2];
	const char *none[2];
};

static void world_init(struct world *w, const char *ws)
{
	memset(w, 0, sizeof *w);
	pol_ruleset_init(&w->rs);
	w->ws[0] = ws;
	w->rs.workspaces = w->ws;
	w->rs.nworkspaces = 1;
	w->b = (struct pol_build){.rs = &w->rs, .rq = &w->rq, .layers = &w->layers};
	w->b.common_dirs = w->none;
	w->b.own_dirs = w->none;
}

/* Unvalidated lists -> effective profile -> base and profile rules. The order of YAML flow lists
 * is JSON's. */
static int lower(struct world *w, const char *deny_read, const char *deny_modify, const char *read,
		 const char *modify, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_doc doc;
	struct pol_effective eff;
	int rc;

	b_str_addf(&text,
		   "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead: %s\n"
		   "  denyModify: %s\n  fsProfiles:\n    p:\n      read: %s\n      modify: %s\n",
		   deny_read, deny_modify, read, modify);
	if (pol_orbit_parse("p.yaml", b_str_c(&text), text.len, &doc, err) < 0)
		return -1;
	rc = pol_doc_effective(&doc, "p", &eff, err);
	if (rc == 0) {
		pol_build_base(&w->b, &eff);
		rc = pol_build_profile(&w->b, &eff, err);
	}
	pol_doc_release(&doc);
	return rc;
}

static const struct pol_rule *judge(const struct world *w, enum sbx_op op, const char *path)
{
	const struct pol_list *list = &w->rs.op[op];
	int i = pol_list_last_match(list, list->n, path, strlen(path));

	cr_assert(i >= 0, "%s: the base rules match everything", path);
	return &list->v[i];
}

static bool allows(const struct world *w, enum sbx_op op, const char *path)
{
	return judge(w, op, path)->allow;
}

static const char *at(struct world *w, const char *norm)
{
	return *norm ? b_arena_printf(&w->rs.arena, WS "/%s", norm) : WS;
}

/* Does a row of today ask the same as this one of the seed, which then does not bind? */
static bool is_outdated(const struct tsv *t, const struct tsv_row *row)
{
	static const char *const question[] = {"op", "global_deny", "profile_rules", "path"};

	for (size_t i = 0; strcmp(tsv_cell(row, "era"), "seed") == 0 && i < t->n_rows; i++) {
		bool is_same = strcmp(tsv_cell(&t->rows[i], "era"), "head") == 0;

		for (size_t k = 0; is_same && k < sizeof question / sizeof *question; k++)
			is_same = strcmp(tsv_cell(row, question[k]),
					 tsv_cell(&t->rows[i], question[k])) == 0;
		if (is_same)
			return true;
	}
	return false;
}

Test(policy_resolve, check_path_rows)
{
	struct tsv *t = tsv_load("tests/vectors/check_path.tsv");
	size_t judged = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		bool is_read = strcmp(tsv_cell(row, "op"), "read") == 0;
		const char *denies = tsv_cell(row, "global_deny"), *norm;
		const char *rules = tsv_cell(row, "profile_rules");
		struct world w;
		struct b_err err = {0};
		const struct pol_rule *r;

		if (is_outdated(t, row))
			continue;
		world_init(&w, WS);
		cr_assert_eq(lower(&w, is_read ? denies : "[]", is_read ? "[]" : denies,
				   is_read ? rules : "[\"**\"]", is_read ? "[]" : rules, &err),
			     0, "%s: %s", row->cells[0], err.msg);
		norm = pol_path_normalise(&w.rs.arena, tsv_cell(row, "path"), &err);
		if (strcmp(tsv_cell(row, "allowed"), "ERR") == 0) {
			cr_expect_null(norm, "%s", row->cells[0]);
		} else {
			cr_assert(norm, "%s: %s", row->cells[0], err.msg);
			r = judge(&w, is_read ? SBX_READ : SBX_MODIFY, at(&w, norm));
			cr_expect_eq(r->allow, tsv_is_true(row, "allowed"), "%s", row->cells[0]);
			cr_expect_str_eq(r->matched, tsv_cell(row, "matched_rule"), "%s",
					 row->cells[0]);
		}
		judged++;
		pol_ruleset_release(&w.rs);
	}
	cr_expect_geq(judged, 30);
	tsv_free(t);
}

Test(policy_resolve, deny_exception_rows)
{
	struct tsv *t = tsv_load("tests/vectors/deny_exceptions.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		struct world w;
		struct b_err err = {0};

		if (strcmp(tsv_cell(row, "era"), "head") != 0)
			continue;
		world_init(&w, WS);
		cr_assert_eq(lower(&w, "[]", tsv_cell(row, "denyModify"), "[\"**\"]",
				   tsv_cell(row, "profile_modify"), &err),
			     0, "%s: %s", row->cells[0], err.msg);
		cr_expect_eq(allows(&w, SBX_MODIFY, at(&w, tsv_cell(row, "path"))),
			     tsv_is_true(row, "allowed"), "%s", row->cells[0]);
		pol_ruleset_release(&w.rs);
	}
	tsv_free(t);
}

Test(policy_resolve, shapes_follow_orbit)
{
	struct world w;
	const struct pol_rule *v;
	size_t n;

	world_init(&w, WS);
	cr_assert_eq(lower(&w, "[]", "[]", "[\".\", \"**\", src/**, a/b, \"*.c\", \"src/*/x\"]",
			   "[]", NULL),
		     0);
	n = w.rs.op[SBX_READ].n;
	v = w.rs.op[SBX_READ].v + n - 6;
	cr_expect(v[0].shape == POL_EXACT && strcmp(v[0].base, WS) == 0);
	cr_expect(v[1].shape == POL_TREE && strcmp(v[1].base, WS) == 0);
	cr_expect(v[2].shape == POL_TREE && strcmp(v[2].base, WS "/src") == 0);
	cr_expect(v[3].shape == POL_EXACT && strcmp(v[3].base, WS "/a/b") == 0);
	cr_expect(v[4].shape == POL_GLOB && strcmp(v[4].glob, "*.c") == 0 && v[4].base_is_root);
	cr_expect(v[5].shape == POL_GLOB && strcmp(v[5].base, WS) == 0);
	cr_expect_str_eq(v[2].origin, "p.yaml:9:25");
	cr_expect_eq(v[2].tier, POL_TIER_PROFILE);
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, each_workspace_gets_the_rules)
{
	struct world w;

	world_init(&w, WS);
	w.ws[1] = "/no-such-place/other";
	w.rs.nworkspaces = 2;
	cr_assert_eq(lower(&w, "[s]", "[]", "[\"**\"]", "[a]", NULL), 0);
	cr_expect(allows(&w, SBX_READ, "/no-such-place/other/x"));
	cr_expect_not(allows(&w, SBX_READ, "/no-such-place/other/s"));
	cr_expect(allows(&w, SBX_MODIFY, "/no-such-place/other/a"));
	cr_expect_not(allows(&w, SBX_MODIFY, "/no-such-place/a"));
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, an_exception_keeps_denies_that_do_not_contain_it)
{
	struct world w;

	world_init(&w, WS);
	cr_assert_eq(lower(&w, "[]", "[\"**/*.env\", .o/**, \"!.o/r/**\"]", "[\"**\"]", "[\"**\"]",
			   NULL),
		     0);
	cr_expect(allows(&w, SBX_MODIFY, WS "/.o/r/x"));
	cr_expect(allows(&w, SBX_MODIFY, WS "/.o/r"));
	cr_expect_not(allows(&w, SBX_MODIFY, WS "/.o/r/a.env"));
	cr_expect_not(allows(&w, SBX_MODIFY, WS "/.o/r/d/a.env"));
	cr_expect_not(allows(&w, SBX_MODIFY, WS "/.o/rx"));
	cr_expect_str_eq(judge(&w, SBX_MODIFY, WS "/.o/r/a.env")->matched, "**/*.env");
	pol_ruleset_release(&w.rs);
}

/* What a list means with exceptions, said without lowering: the profile decides, then each deny
 * that matches denies, unless a later exception lies within it and covers the path. */
static bool meant(const char *const *denies, size_t n, const char *const *profile, size_t np,
		  const char *path)
{
	bool allowed = false;
	struct b_arena a = {0};

	for (size_t i = 0; i < np; i++) {
		bool neg;
		const char *r = pol_rule_normalise(&a, profile[i], "", &neg, NULL);

		if (pol_glob_match(r, path, strlen(path)))
			allowed = !neg;
	}
	for (size_t i = 0; i < n && allowed; i++) {
		bool undone = false;

		if (denies[i][0] == '!' || !pol_glob_match(denies[i], path, strlen(path)))
			continue;
		for (size_t k = i + 1; k < n; k++)
			undone |= denies[k][0] == '!' &&
				  pol_rule_contains(denies[i], denies[k] + 1) &&
				  pol_glob_match(denies[k] + 1, path, strlen(path));
		allowed = undone;
	}
	b_arena_release(&a);
	return allowed;
}

static void quote(struct b_str *s, const char *const *v, size_t n)
{
	b_str_add(s, "[");
	for (size_t i = 0; i < n; i++)
		b_str_addf(s, "%s\"%s\"", i ? ", " : "", v[i]);
	b_str_add(s, "]");
}

static void random_path(char *out, unsigned *seed)
{
	size_t parts = 1 + (size_t)rand_r(seed) % 5;

	*out = '\0';
	for (size_t i = 0; i < parts; i++) {
		static const char *const names[] = {"a", "b", "ab", "a.b", "x"};

		strcat(out, i ? "/" : "");
		strcat(out, names[rand_r(seed) % 5]);
	}
}

Test(policy_resolve, exceptions_agree_with_their_meaning_on_random_globs)
{
	static const char *const globs[] = {
		"**",	"a/**", "*/b/**", "**/b", "a*/**", "**/*.b", "a/?/**", "**/a/*",
		"a**b", "*",	"a/*/b",  "**a",  "?/**",  "**b/**", "a/**/b", "**/x/**"};
	static const char *const holes[] = {"!a/b/**", "!a/ab", "!a/a.b/**", "!a/b"};
	unsigned seed = 20261127;
	size_t count[2] = {0};

	for (int round = 0; round < 400; round++) {
		const char *profile[3], *denies[4];
		b_auto(b_str_release) struct b_str p = {0};
		b_auto(b_str_release) struct b_str d = {0};
		char negated[32];
		struct world w;
		struct b_err err = {0};

		for (int i = 0; i < 3; i++)
			profile[i] = globs[rand_r(&seed) % 16];
		snprintf(negated, sizeof negated, "!%s", profile[1]);
		profile[1] = negated;
		denies[0] = rand_r(&seed) % 4 ? "**/x" : "**/a.b";
		denies[1] = "a/**";
		denies[2] = holes[rand_r(&seed) % 4];
		denies[3] = rand_r(&seed) % 2 ? "a/b/x" : "**/b/b";
		quote(&p, profile, 3);
		quote(&d, denies, 4);
		world_init(&w, WS);
		if (lower(&w, "[]", b_str_c(&d), "[\"**\"]", b_str_c(&p), &err) < 0) {
			/* Random text may say the same rule twice; that is refused, rightly. */
			cr_assert(strstr(err.msg, "duplicates"), "%s", err.msg);
			pol_ruleset_release(&w.rs);
			continue;
		}
		for (int k = 0; k < 200; k++) {
			char path[64];
			bool want, got;

			random_path(path, &seed);
			want = meant(denies, 4, profile, 3, path);
			got = allows(&w, SBX_MODIFY, at(&w, path));
			cr_assert_eq(got, want, "%s: profile %s denies %s", path, b_str_c(&p),
				     b_str_c(&d));
			count[want]++;
		}
		pol_ruleset_release(&w.rs);
	}
	cr_expect_gt(count[true], 5000);
	cr_expect_gt(count[false], 5000);
}

Test(policy_resolve, broad_reads_leave_out_devices_and_debug_trees)
{
	struct world w;

	world_init(&w, WS);
	cr_assert_eq(lower(&w, "[]", "[]", "[]", "[]", NULL), 0);
	cr_expect(allows(&w, SBX_READ, "/etc/passwd"));
	cr_expect(allows(&w, SBX_READ, "/"));
	cr_expect(allows(&w, SBX_READ, "/dev"));
	cr_expect(allows(&w, SBX_READ, "/dev/null"));
	cr_expect(allows(&w, SBX_MODIFY, "/dev/pts/3"));
	cr_expect_not(allows(&w, SBX_READ, "/dev/sda"));
	cr_expect_not(allows(&w, SBX_READ, "/dev/shm/x"));
	cr_expect_not(allows(&w, SBX_READ, "/sys/kernel/debug/tracing"));
	cr_expect_not(allows(&w, SBX_READ, WS "/x"));
	cr_expect_not(allows(&w, SBX_MODIFY, "/etc/passwd"));
	cr_expect_str_eq(judge(&w, SBX_READ, WS "/x")->matched, "[]");
	cr_expect_str_eq(judge(&w, SBX_MODIFY, "/etc/passwd")->matched, "<outside workspace>");
	cr_expect_str_eq(judge(&w, SBX_MODIFY, "/etc/passwd")->origin, "builtin:base:1");
	cr_expect_str_eq(judge(&w, SBX_READ, "/etc/passwd")->matched, "/**");
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, system_reads_are_system_directories_only)
{
	struct world w;

	world_init(&w, WS);
	w.layers.effect.reads = POL_READS_SYSTEM;
	w.rq.scratch = "/no-such-place/scratch";
	cr_assert_eq(lower(&w, "[]", "[]", "[a]", "[]", NULL), 0);
	cr_expect(allows(&w, SBX_READ, "/usr/bin/env"));
	cr_expect(allows(&w, SBX_READ, "/etc/passwd"));
	cr_expect_not(allows(&w, SBX_READ, "/etc/shadow"));
	cr_expect_not(allows(&w, SBX_READ, "/etc/sudoers.d/x"));
	cr_expect_not(allows(&w, SBX_READ, "/home/u/x"));
	cr_expect_not(allows(&w, SBX_READ, "/dev/sda"));
	cr_expect_str_eq(judge(&w, SBX_READ, "/home/u/x")->matched, "<outside workspace>");
	cr_expect_str_eq(judge(&w, SBX_READ, WS "/b")->matched, "<no matching rule>");
	cr_expect(allows(&w, SBX_READ, "/no-such-place/scratch/f"));
	cr_expect(allows(&w, SBX_MODIFY, "/no-such-place/scratch/f"));
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, hidden_directories_are_closed_whatever_is_allowed)
{
	static const char *const hidden[] = {WS "/state"};
	struct world w;

	world_init(&w, WS);
	w.rq.hidden = hidden;
	w.rq.nhidden = 1;
	cr_assert_eq(lower(&w, "[]", "[]", "[\"**\"]", "[\"**\"]", NULL), 0);
	pol_build_hidden(&w.b);
	cr_expect(allows(&w, SBX_MODIFY, WS "/x"));
	cr_expect_not(allows(&w, SBX_MODIFY, WS "/state/run"));
	cr_expect_not(allows(&w, SBX_READ, WS "/state"));
	pol_ruleset_release(&w.rs);
}

/* A directory of our own with real links in it. */
static const char *playground(struct world *w)
{
	char dir[] = "/tmp/sbx-test-resolve-XXXXXX";

	cr_assert(mkdtemp(dir));
	return pol_canonical(&w->rs.arena, b_arena_strndup(&w->rs.arena, dir, strlen(dir)));
}

static void clean(const char *dir)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	b_str_addf(&cmd, "rm -rf '%s'", dir);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
}

#define IN(w, dir, name) b_arena_printf(&(w)->rs.arena, "%s/%s", dir, name)

Test(policy_resolve, a_linked_prefix_gets_a_twin_at_the_same_place)
{
	struct world w, *p = &w;
	const char *dir, *ws;
	const struct pol_list *list = &w.rs.op[SBX_READ];

	world_init(&w, WS);
	dir = playground(&w);
	ws = IN(p, dir, "ws");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(IN(p, ws, "real"), 0700), 0);
	cr_assert_eq(symlink("real", IN(p, ws, "link")) | symlink(dir, IN(p, ws, "out")), 0);
	w.ws[0] = ws;
	cr_assert_eq(lower(&w, "[out/x]", "[]", "[link/**, link/*.c, out/**]", "[]", NULL), 0);
	/* link and twin, link glob and twin, out without, deny and twin: nothing else */
	cr_expect(list->v[list->n - 1].twin);
	cr_expect_str_eq(list->v[list->n - 1].base, IN(p, dir, "x"));
	cr_expect_not(list->v[list->n - 1].allow);
	cr_expect_not(list->v[list->n - 3].twin);
	cr_expect(list->v[list->n - 4].twin && list->v[list->n - 4].shape == POL_GLOB);
	cr_expect_str_eq(list->v[list->n - 4].base, IN(p, ws, "real"));
	cr_expect_str_eq(list->v[list->n - 4].glob, "*.c");
	cr_expect_str_eq(list->v[list->n - 4].origin, list->v[list->n - 5].origin);
	cr_expect(list->v[list->n - 6].twin && list->v[list->n - 6].shape == POL_TREE);
	cr_expect(allows(&w, SBX_READ, IN(p, ws, "real/f")));
	cr_expect_eq(w.b.notices.n, 1);
	cr_expect(strstr(w.b.notices.v[0], "out of the workspace"), "%s", w.b.notices.v[0]);
	clean(dir);
	pol_ruleset_release(&w.rs);
}

/* real: ws/a/x/real; ws/a/x/in -> real; ws/k -> a/x/real; ws/a/z -> ../b */
Test(policy_resolve, an_exception_keeps_denies_that_links_lead_to_it)
{
	struct world w, *p = &w;
	const char *dir, *ws;

	world_init(&w, WS);
	dir = playground(&w);
	ws = IN(p, dir, "ws");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(IN(p, ws, "a"), 0700) | mkdir(IN(p, ws, "a/x"), 0700) |
			     mkdir(IN(p, ws, "a/x/real"), 0700),
		     0);
	cr_assert_eq(symlink("real", IN(p, ws, "a/x/in")) | symlink("a/x/real", IN(p, ws, "k")), 0);
	w.ws[0] = ws;
	cr_assert_eq(lower(&w, "[]",
			   "[a/**, a/x/in/s, k/t/**, a/x/in/u/**, '!a/x/**', "
			   "'!a/x/real/**']",
			   "['**']", "['**']", NULL),
		     0);
	cr_expect(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/f")));
	cr_expect(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/f")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/s")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/t")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/t/f")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/u")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "a/x/real/u/f")));
	clean(dir);
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, an_exception_is_not_followed_along_a_link)
{
	struct world w, *p = &w;
	const char *dir, *ws;

	world_init(&w, WS);
	dir = playground(&w);
	ws = IN(p, dir, "ws");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(IN(p, ws, "a"), 0700) | mkdir(IN(p, ws, "b"), 0700),
		     0);
	cr_assert_eq(symlink("../b", IN(p, ws, "a/z")), 0);
	w.ws[0] = ws;
	cr_assert_eq(lower(&w, "[]", "[b/**, a/**, '!a/z/**']", "['**']", "['**']", NULL), 0);
	cr_expect(allows(&w, SBX_MODIFY, IN(p, ws, "a/z")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "b")));
	cr_expect_not(allows(&w, SBX_MODIFY, IN(p, ws, "b/f")));
	cr_assert_eq(w.b.notices.n, 1);
	cr_expect(strstr(w.b.notices.v[0], "opens nothing there"), "%s", w.b.notices.v[0]);
	clean(dir);
	pol_ruleset_release(&w.rs);
}

Test(policy_resolve, exceptions_without_end_are_refused)
{
	b_auto(b_str_release) struct b_str deny = {0};
	struct world w;
	struct b_err err;

	world_init(&w, WS);
	b_str_add(&deny, "[z/**");
	for (int i = 0; i < 9000; i++)
		b_str_addf(&deny, ", 'x%d/**/y'", i);
	for (int i = 0; i < 9000; i++)
		b_str_addf(&deny, ", '!z/%d'", i);
	b_str_addc(&deny, ']');
	cr_assert_eq(lower(&w, "[]", b_str_c(&deny), "[]", "[]", &err), -1);
	cr_expect_eq(err.kind, B_LIMIT);
	pol_ruleset_release(&w.rs);
}
