/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of whole policies: each preset's, the broad and the narrow, as files under
 * tests/golden/sbpl (SBX_GOLDEN=update writes them anew); and tinyscheme as their judge. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/tree.h"
#include "policy/front/presets.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"
#include "sbpl/sbpl.h"
#include "tests/support/scheme.h"

#define HOME "/Users/u"
#define WS   "/Users/u/ws"

static struct pol_ruleset rs;
static struct sbpl_opts opts;
static struct b_arena arena;
static struct b_err err;

static void setup(void)
{
	pol_ruleset_init(&rs);
	opts = sbpl_opts_default();
}

static void teardown(void)
{
	pol_ruleset_release(&rs);
	b_arena_release(&arena);
}

TestSuite(sbpl_golden, .init = setup, .fini = teardown);

static void add(enum sbx_op op, bool allow, enum pol_shape shape, const char *base,
		const char *glob, const char *origin)
{
	pol_ruleset_add(&rs, op,
			&(struct pol_rule){.allow = allow,
					   .shape = shape,
					   .tier = POL_TIER_PROFILE,
					   .base = base,
					   .base_len = strlen(base),
					   .glob = glob,
					   .matched = glob ? glob : base,
					   .origin = origin});
}

static void tree(enum sbx_op op, bool allow, const char *base)
{
	add(op, allow, POL_TREE, base, NULL, "builtin:base:1");
}

/* What the launcher puts around any policy: all but the workspace. */
static void outside(bool broad)
{
	tree(SBX_READ, false, "");
	if (broad)
		tree(SBX_READ, true, "");
	tree(SBX_READ, true, "/private/tmp/scratch");
	tree(SBX_MODIFY, false, "");
	tree(SBX_MODIFY, true, "/private/tmp/scratch");
}

static void surroundings(bool broad)
{
	outside(broad);
	tree(SBX_READ, true, WS);
	tree(SBX_MODIFY, true, WS);
}

static void exec_as_read(void)
{
	for (size_t i = 0; i < rs.op[SBX_READ].n; i++)
		pol_ruleset_add(&rs, SBX_EXEC, &rs.op[SBX_READ].v[i]);
}

static void add_entry(const char *preset, const struct pol_ynode *entry, const char *dir,
		      bool read_too)
{
	const char *s = entry->s;
	size_t n = strlen(s);
	bool below = n > 3 && strcmp(s + n - 3, "/**") == 0;
	const char *base = b_arena_printf(&arena, "%s/%.*s", dir, (int)(n - (below ? 3 : 0)), s);
	const char *origin =
		b_arena_printf(&arena, "preset:%s:%u:%u", preset, entry->pos.line, entry->pos.col);

	base += strncmp(base, "//", 2) == 0;
	if (strstr(s, "*/")) /* each directory that is there: here is none */
		return;
	if (read_too)
		add(SBX_READ, false, below ? POL_TREE : POL_EXACT, base, NULL, origin);
	add(SBX_MODIFY, false, below ? POL_TREE : POL_EXACT, base, NULL, origin);
}

/* Paths, or rows of them that say who obeys. */
static void add_entries(const char *preset, const struct pol_ynode *spec, const char *section,
			const char *dir, bool read_too)
{
	const struct pol_ynode *list = pol_yaml_get(spec, section);

	for (size_t i = 0; list && i < list->n; i++) {
		const struct pol_ynode *paths =
			list->v[i]->kind == POL_Y_MAP ? pol_yaml_get(list->v[i], "paths") : NULL;

		for (size_t k = 0; paths && k < paths->n; k++)
			add_entry(preset, paths->v[k], dir, read_too);
		if (!paths)
			add_entry(preset, list->v[i], dir, read_too);
	}
}

static void add_preset(const char *name)
{
	const struct pol_preset *p = pol_preset_find(name);
	struct pol_ynode *root;
	const struct pol_ynode *spec, *deny;

	cr_assert(p, "%s", name);
	cr_assert_eq(pol_yaml_parse(&arena, name, p->text, p->len, &root, &err), 0);
	spec = pol_yaml_get(root, "spec");
	deny = pol_yaml_get(spec, "deny");
	add_entries(name, spec, "home", HOME, deny && deny->n == 2);
	add_entries(name, spec, "macosHome", HOME, deny && deny->n == 2);
	add_entries(name, spec, "macosSystem", "", deny && deny->n == 2);
	add_entries(name, spec, "system", "", deny && deny->n == 2);
	add_entries(name, spec, "workspace", WS, deny && deny->n == 2);
	add_entries(name, spec, "noRepository", WS, deny && deny->n == 2);
	add_entries(name, spec, "gitCommon", WS "/.git", deny && deny->n == 2);
}

/* A preset's path: `~` and `${WORKSPACE}` as above, any other `${NAME}` lies at ~/NAME. */
static const char *place(const char *s)
{
	const char *end = strchr(s, '}');

	if (strncmp(s, "~/", 2) == 0)
		return b_arena_printf(&arena, HOME "%s", s + 1);
	if (strncmp(s, "${", 2) != 0 || !end)
		return b_arena_printf(&arena, WS "/%s", s);
	if (strncmp(s, "${WORKSPACE}", 12) == 0)
		return b_arena_printf(&arena, WS "%s", s + 12);
	return b_arena_printf(&arena, HOME "/%.*s%s", (int)(end - s - 2), s + 2, end + 1);
}

static void add_rule(enum sbx_op op, bool allow, const char *path, enum pol_shape plain,
		     const char *origin)
{
	size_t n = strlen(path);
	const char *star = strchr(path, '*');

	if (star && strcmp(star, "**") == 0 && star > path) {
		add(op, allow, POL_TREE, b_arena_strndup(&arena, path, n - 3), NULL, origin);
		return;
	}
	while (star && *star != '/')
		star--;
	add(op, allow, star ? POL_GLOB : plain,
	    star ? b_arena_strndup(&arena, path, (size_t)(star - path)) : path,
	    star ? star + 1 : NULL, origin);
}

static const char *origin_of(const struct pol_preset *p, const struct pol_ynode *at)
{
	return b_arena_printf(&arena, "preset:%s:%u:%u", p->name, at->pos.line, at->pos.col);
}

/* A preset that opens directories of a tool. */
static bool add_side_roots(const struct pol_preset *p)
{
	const struct pol_ynode *spec = pol_yaml_get(pol_preset_root(p), "spec"),
			       *sandbox = spec ? pol_yaml_get(spec, "sandbox") : NULL,
			       *roots = sandbox ? pol_yaml_get(sandbox, "sideRoots") : NULL;

	for (size_t i = 0; roots && i < roots->n; i++)
		for (int op = SBX_READ; op <= SBX_MODIFY; op++)
			add_rule((enum sbx_op)op, true, place(roots->v[i]->s), POL_TREE,
				 origin_of(p, roots->v[i]));
	return roots && roots->n > 0;
}

/* What a preset denies of the workspace, and what of that it opens again. */
static void add_denies(const struct pol_preset *p)
{
	static const struct {
		const char *key;
		enum sbx_op op;
	} lists[] = {{"denyRead", SBX_READ}, {"denyModify", SBX_MODIFY}};

	for (size_t k = 0; k < 2; k++) {
		const struct pol_ynode *spec = pol_yaml_get(pol_preset_root(p), "spec"),
				       *list = spec ? pol_yaml_get(spec, lists[k].key) : NULL;

		for (size_t i = 0; list && i < list->n; i++) {
			const char *s = list->v[i]->s;
			bool allow = *s == '!';

			add_rule(lists[k].op, allow, place(s + allow), POL_EXACT,
				 origin_of(p, list->v[i]));
		}
	}
}

/* A preset that is a policy: what its only profile says of the workspace, and the network. */
static bool add_policy(const struct pol_preset *p)
{
	static const char *const lists[] = {[SBX_READ] = "read", [SBX_MODIFY] = "modify"};
	const struct pol_ynode *spec = pol_yaml_get(pol_preset_root(p), "spec"),
			       *profiles = spec ? pol_yaml_get(spec, "fsProfiles") : NULL,
			       *profile = profiles ? pol_yaml_get(profiles, "default") : NULL,
			       *sandbox = spec ? pol_yaml_get(spec, "sandbox") : NULL,
			       *net = sandbox ? pol_yaml_get(sandbox, "network") : NULL;

	for (int op = SBX_READ; profile && op <= SBX_MODIFY; op++) {
		const struct pol_ynode *list = pol_yaml_get(profile, lists[op]);

		for (size_t i = 0; list && i < list->n; i++) {
			cr_assert_str_eq(list->v[i]->s, "**", "%s", p->name);
			add((enum sbx_op)op, true, POL_TREE, WS, NULL, origin_of(p, list->v[i]));
		}
	}
	if (net && strcmp(net->s, "none") != 0)
		cr_assert_fail("%s: network %s", p->name, net->s);
	return profile != NULL;
}

/* An Orbit document's shape: globs denied everywhere, exceptions, a side root behind them. */
static void add_orbit(void)
{
	add(SBX_READ, false, POL_GLOB, WS, "**/*.env", "agent.yaml:5:14");
	add(SBX_MODIFY, false, POL_TREE, WS "/.orbit", NULL, "agent.yaml:6:16");
	add(SBX_MODIFY, true, POL_EXACT, WS "/.orbit/resources", NULL, "agent.yaml:6:30");
	add(SBX_MODIFY, true, POL_GLOB, WS "/.orbit/resources", "**", "agent.yaml:6:30");
	add(SBX_MODIFY, false, POL_GLOB, WS, "**/*.env", "agent.yaml:6:53");
	add(SBX_MODIFY, false, POL_GLOB, WS, "docs/?/**/final.md", "agent.yaml:6:70");
	tree(SBX_MODIFY, true, WS "/.orbit/tasks");
}

static void golden(const char *name, const struct b_str *text)
{
	const char *update = getenv("SBX_GOLDEN");
	b_auto(b_str_release) struct b_str want = {0};
	char path[128];

	snprintf(path, sizeof path, "tests/golden/sbpl/%s.sb", name);
	if (update && strcmp(update, "update") == 0)
		cr_assert_eq(b_write_file(path, 0644, text->s, text->len, false, &err), 0, "%s",
			     err.msg);
	cr_assert_eq(b_read_file(path, 1 << 20, &want, &err), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(text), b_str_c(&want), "%s differs: SBX_GOLDEN=update?", path);
}

static void compare(const char *name)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct sbpl_profile prof;
	struct scheme scheme = {0};

	cr_assert_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), 0, "%s", err.msg);
	sbpl_profile_show(&prof, &text);
	golden(name, &text);
	if (scheme_installed()) {
		scheme_add(&scheme, &prof);
		cr_expect_eq(scheme_run(&scheme), 0, "%s", name);
		scheme_release(&scheme);
	}
	sbpl_profile_release(&prof);
}

Test(sbpl_golden, preset_secrets)
{
	surroundings(true);
	add_preset("secrets");
	exec_as_read();
	compare("secrets");
}

Test(sbpl_golden, preset_protected)
{
	surroundings(true);
	add_preset("protected");
	exec_as_read();
	compare("protected");
}

Test(sbpl_golden, each_preset_of_side_roots)
{
	size_t n = 0;

	for (unsigned i = 0; i < pol_presets_n; i++) {
		pol_ruleset_release(&rs);
		pol_ruleset_init(&rs);
		surroundings(true);
		add_denies(&pol_presets[i]);
		if (!add_side_roots(&pol_presets[i]))
			continue;
		exec_as_read();
		compare(pol_presets[i].name);
		n++;
	}
	cr_expect_geq(n, 9);
}

Test(sbpl_golden, each_preset_that_is_a_policy)
{
	size_t n = 0;

	for (unsigned i = 0; i < pol_presets_n; i++) {
		pol_ruleset_release(&rs);
		pol_ruleset_init(&rs);
		outside(true);
		if (!add_policy(&pol_presets[i]))
			continue;
		exec_as_read();
		compare(pol_presets[i].name);
		n++;
	}
	cr_expect_geq(n, 4);
}

Test(sbpl_golden, system_reads_only)
{
	surroundings(false);
	exec_as_read();
	opts.net = SBPL_NET_PROXY;
	opts.proxy_port = 3128;
	opts.stat_ancestors = true;
	compare("system-reads");
}

Test(sbpl_golden, orbit_document_hardened)
{
	surroundings(true);
	add_orbit();
	exec_as_read();
	compare("orbit-hardened");
}

Test(sbpl_golden, orbit_document_in_orbits_style)
{
	surroundings(true);
	add_orbit();
	opts.style = SBPL_STYLE_ORBIT;
	opts.orbit.home = HOME;
	compare("orbit-orbit");
}

Test(sbpl_golden, every_group)
{
	tree(SBX_READ, false, "");
	opts.groups = (1u << SBPL_GROUP_COUNT) - 1;
	compare("groups");
}

Test(sbpl_golden, tinyscheme_reads_every_profile)
{
	static const char *const globs[] = {
		"**/.env", "*.c", "a?b", "x/**/y\"\\", "**", "\xd0\xba*", "[a-b]{2}(c|d)+^$."};
	struct scheme scheme = {0};

	if (!scheme_installed())
		cr_skip_test("tinyscheme is not installed");
	for (unsigned i = 0; i < 60; i++) {
		struct sbpl_profile prof;

		pol_ruleset_release(&rs);
		pol_ruleset_init(&rs);
		surroundings(i % 2);
		for (unsigned k = 0; k < 5; k++)
			add((i + k) % 2 ? SBX_READ : SBX_MODIFY, (i * 7 + k * 3) % 5 < 2, POL_GLOB,
			    k % 2 ? WS "/q\"u;\\o (\xc3\xa9" : WS, globs[(i + k * 2) % 7], "t:1");
		opts.inline_paths = i % 3 == 0;
		opts.net = (enum sbpl_net)(i % 4);
		opts.proxy_port = 1;
		opts.style = i % 10 == 9 ? SBPL_STYLE_ORBIT : SBPL_STYLE_HARDENED;
		opts.orbit.home = HOME;
		cr_assert_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), 0, "%u: %s", i, err.msg);
		scheme_add(&scheme, &prof);
		sbpl_profile_release(&prof);
	}
	cr_expect_eq(scheme_run(&scheme), 0);
	/* The judge can say no. */
	b_str_add(&scheme.text, "(allow file-readx*)\n");
	scheme.rules[0]++;
	cr_expect_eq(scheme_run(&scheme), 1);
	scheme_release(&scheme);
}
