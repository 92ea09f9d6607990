/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the compiler: conformance rows, vectors of the reference,
 * goldens of the presets, limits. */
#include "sbpl/sbpl.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"
#include "tests/support/tsv.h"

static struct pol_ruleset rs;
static struct sbpl_opts opts;
static struct sbpl_profile prof;
static struct sbpl_program *prog;
static struct b_arena arena;
static struct b_err err;

static void setup(void)
{
	pol_ruleset_init(&rs);
	opts = sbpl_opts_default();
	opts.groups = 0;
	opts.inline_paths = true;
}

static void teardown(void)
{
	sbpl_program_free(prog);
	prog = NULL;
	sbpl_profile_release(&prof);
	pol_ruleset_release(&rs);
	b_arena_release(&arena);
}

static void again(void)
{
	sbpl_program_free(prog);
	prog = NULL;
	sbpl_profile_release(&prof);
	pol_ruleset_release(&rs);
	pol_ruleset_init(&rs);
}

TestSuite(sbpl_compile, .init = setup, .fini = teardown);

static void add(enum sbx_op op, bool allow, enum pol_shape shape, const char *base,
		const char *glob)
{
	pol_ruleset_add(&rs, op,
			&(struct pol_rule){.allow = allow,
					   .shape = shape,
					   .tier = POL_TIER_PROFILE,
					   .base_is_root = true,
					   .base = base,
					   .base_len = strlen(base),
					   .glob = glob,
					   .matched = glob ? glob : base,
					   .origin = "p.yaml:1:1"});
}

/* An absolute text: `P` and `P` + slash-star-star are trees, the rest globs below `root`. */
static void add_text(enum sbx_op op, const char *root, const char *text)
{
	bool allow = text[0] != '!';
	size_t n;

	text += !allow;
	n = strlen(text);
	if (n >= 3 && strcmp(text + n - 3, "/**") == 0 && !memchr(text, '*', n - 3) &&
	    !memchr(text, '?', n - 3)) {
		add(op, allow, POL_TREE, b_arena_strndup(&arena, text, n - 3), NULL);
	} else if (pol_glob_is_literal(text)) {
		add(op, allow, POL_TREE, strcmp(text, "/") ? text : "", NULL);
	} else {
		size_t skip = strlen(root);

		cr_assert_eq(strncmp(text, root, skip), 0, "%s", text);
		add(op, allow, POL_GLOB, root, text + skip + 1);
	}
}

static void compile(void)
{
	cr_assert_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), 0, "%s", err.msg);
	cr_assert_eq(sbpl_program_new(&(struct sbpl_source){"p", prof.text, prof.len, prof.params,
							    prof.nparams},
				      &prog, &err),
		     0, "%s", err.msg);
}

static bool allows(const char *op, const char *path)
{
	struct sbpl_question q = {.op = sbpl_op_find(op),
				  .path = path,
				  .len = strlen(path),
				  .vnode = SBPL_V_REGULAR_FILE};

	cr_assert_neq(q.op, SBPL_OP_NONE, "%s", op);
	return sbpl_program_allows(prog, &q, NULL);
}

static bool has_line(const char *line)
{
	size_t n = strlen(line);

	for (const char *p = prof.text; (p = strstr(p, line)); p++)
		if ((p == prof.text || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

static void orbit(const char *home)
{
	opts.style = SBPL_STYLE_ORBIT;
	opts.orbit.home = home;
}

Test(sbpl_compile, rows_of_orbits_compiler)
{
	struct tsv *t = tsv_load("tests/vectors/sbpl_compile.tsv");

	orbit("/Users/test");
	for (int i = 0; i < 2; i++) {
		static const char *const modify[2][2] = {
			{"/Users/test/repo/src/**", NULL},
			{"/Users/test/repo", "!/Users/test/repo/.env"}};
		static const char *const read[2][2] = {
			{"/Users/test/repo", NULL}, {"/Users/test/repo", "!/Users/test/repo/.env"}};

		again();
		for (int k = 0; k < 2 && modify[i][k]; k++)
			add_text(SBX_MODIFY, "/Users/test/repo", modify[i][k]);
		for (int k = 0; k < 2 && read[i][k]; k++)
			add_text(SBX_READ, "/Users/test/repo", read[i][k]);
		compile();
		for (size_t r = 0; r < t->n_rows; r++) {
			const char *text = tsv_cell(&t->rows[r], "text");
			const char *how = tsv_cell(&t->rows[r], "assertion");
			const char *before = strstr(text, " BEFORE ");

			if (strcmp(how, "contains") == 0) {
				/* The grant of src belongs to the first ruleset alone. */
				if (!strstr(text, "repo/src") || i == 0)
					cr_expect(strstr(prof.text, text), "%s", text);
			} else if (strcmp(how, "order") == 0 && i == 1) {
				char *first =
					b_arena_strndup(&arena, text, (size_t)(before - text));
				const char *a = strstr(prof.text, first);
				const char *b = strstr(prof.text, before + 8);

				cr_expect(a && b && a < b, "%s", text);
			} else if (strcmp(how, "not_contains") == 0 && text[0] != 'a') {
				cr_expect_not(strstr(prof.text, text), "%s", text);
			}
		}
		cr_expect_not(strstr(prof.text, "(allow file-read* ("));
	}
	tsv_free(t);
}

Test(sbpl_compile, rows_of_orbits_filters)
{
	struct tsv *t = tsv_load("tests/vectors/sbpl_filter.tsv");

	orbit(NULL);
	for (size_t r = 0; r < t->n_rows; r++) {
		const char *rule = tsv_cell(&t->rows[r], "absolute_rule");
		static const char *const columns[] = {"sbpl_filter_head", "sbpl_filter_seed"};

		for (int seed = 0; seed < 2; seed++) {
			const char *want = tsv_cell(&t->rows[r], columns[seed]);
			const char *line = b_arena_printf(&arena, "(allow file-write* %s)", want);

			again();
			opts.exact_case = seed;
			add_text(SBX_MODIFY, "", rule);
			compile();
			cr_expect(has_line(line), "%s: %s\n%s", t->rows[r].cells[0], line,
				  strstr(prof.text, "(subpath \"/dev\"))"));
		}
	}
	tsv_free(t);
}

static void profile_is(const char *file)
{
	struct tsv *t = tsv_load(file);
	b_auto(b_str_release) struct b_str want = {0};

	for (size_t r = 0; r < t->n_rows; r++)
		b_str_addf(&want, "%s\n", tsv_cell(&t->rows[r], "line"));
	cr_expect_str_eq(prof.text, b_str_c(&want));
	tsv_free(t);
}

Test(sbpl_compile, orbits_whole_profiles)
{
	orbit("/Users/test");
	opts.exact_case = true; /* these rows are of before Orbit folded letters */
	add_text(SBX_MODIFY, "/w", "/w");
	add_text(SBX_MODIFY, "/w", "!/w/.orbit/**");
	add_text(SBX_MODIFY, "/w", "!/w/**/*.env");
	add_text(SBX_READ, "/w", "/w");
	add_text(SBX_READ, "/w", "!/w/**/*.env");
	compile();
	profile_is("tests/vectors/sbpl_profile_seed_example.tsv");
	again();
	orbit(NULL);
	compile();
	profile_is("tests/vectors/sbpl_profile_seed_minimal_no_home.tsv");
}

static const char *variable(const char *env, const char *name)
{
	const char *p = strstr(env, name);
	size_t n = strlen(name);

	if (!p || p[n] != '=')
		return NULL;
	p += n + 1;
	n = strcspn(p, " ");
	return strncmp(p, "\"\"", 2) == 0 ? "" : b_arena_strndup(&arena, p, n);
}

Test(sbpl_compile, rows_of_provider_directories)
{
	struct tsv *t = tsv_load("tests/vectors/provider_dirs.tsv");

	for (size_t r = 0; r < t->n_rows; r++) {
		const char *env = tsv_cell(&t->rows[r], "env");
		const char *text = tsv_cell(&t->rows[r], "text");
		const char *clause = strstr(text, "(allow file-write*");
		bool contains = strcmp(tsv_cell(&t->rows[r], "assertion"), "contains") == 0;

		again();
		orbit(NULL);
		opts.orbit = (struct sbpl_orbit_env){
			.home = strstr(env, " HOME=") || strncmp(env, "HOME=", 5) == 0
					? "/Users/test"
					: NULL,
			.codex_home = variable(env, "CODEX_HOME"),
			.claude_config_dir = variable(env, "CLAUDE_CONFIG_DIR"),
			.grok_home = variable(env, "GROK_HOME"),
		};
		compile();
		if (contains && clause)
			cr_expect(has_line(clause), "%s: %s", t->rows[r].cells[0], clause);
		else if (contains)
			cr_expect_not(strstr(prof.text, "/Users"), "%s", t->rows[r].cells[0]);
		else
			cr_expect_not(strstr(prof.text, text), "%s", t->rows[r].cells[0]);
	}
	tsv_free(t);
}

Test(sbpl_compile, rows_of_seatbelt_networks)
{
	add(SBX_READ, true, POL_TREE, "/tmp/has\"quote\\bs", NULL);
	opts.groups = sbpl_groups_default();
	compile();
	cr_expect_not(strstr(prof.text, "(allow network"));
	cr_expect(strstr(prof.text, "/tmp/has\\\"quote\\\\bs\""));
	opts.net = SBPL_NET_PROXY, opts.proxy_port = 8080;
	sbpl_profile_release(&prof);
	sbpl_program_free(prog);
	compile();
	cr_expect(has_line("(allow network-outbound (remote ip \"localhost:8080\"))"));
	cr_expect_not(strstr(prof.text, "(allow network*)"));
	opts.net = SBPL_NET_LOOPBACK;
	sbpl_profile_release(&prof);
	sbpl_program_free(prog);
	compile();
	cr_expect(has_line("(allow network-bind (local ip \"localhost:*\"))"));
	cr_expect_not(strstr(prof.text, "(allow network*)"));
	opts.net = SBPL_NET_PROXY;
	opts.proxy_port = 0;
	sbpl_profile_release(&prof);
	cr_expect_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), -1);
	cr_expect_eq(err.kind, B_USAGE);
}

/*
 * The vectors of the reference, restated: exact stays exact, `?` is a character, a glob deny
 * covers what it says, two stars in front stay below the root of the rules. Rules "r: x; !y / w:
 * z", relative to C; relative literals are trees as there, `=` before a text makes it exact.
 */
#define C "/Users/u/proj"

static const struct {
	const char *rules, *op, *path;
	bool allowed;
} vectors[] = {
	{"r: ./src/**", "read", C "/src", true},
	{"r: ./src/**", "read", C "/src/a/b.c", true},
	{"r: ./src/**", "read", C "/srcx", false},
	{"r: src", "read", C "/src/x", true},
	{"r: =src", "read", C "/src", true},
	{"r: =src", "read", C "/src/x", false},
	{"r: .", "read", C "/x", true},
	{"r: /Users/u/.config/app/**", "read", "/Users/u/.config/app/c", true},
	{"r: /**", "read", "/etc/x", true},
	{"w: ./src/**", "create", C "/src/new", true},
	{"w: ./src/**", "unlink", C "/other", false},
	{"r: ./*.c", "read", C "/a.c", true},
	{"r: ./*.c", "read", C "/d/a.c", false},
	{"r: ./*.c", "read", C "/.c", true},
	{"r: ./*.c", "read", C "/aXc", false},
	{"r: ./?.c", "read", C "/a.c", true},
	{"r: ./?.c", "read", C "/ab.c", false},
	{"r: ./?.c", "read", C "/\xc3\xa9.c", true},   /* one character */
	{"r: ./??.c", "read", C "/\xc3\xa9.c", false}, /* not two */
	{"r: ./?.c", "read", C "/\xf0\x9f\x98\x80.c", true},
	{"r: ./?.c", "read", C "/\xe2\x82\xac.c", true},
	{"r: ./src/*", "read", C "/src", false},
	{"r: ./src/*", "read", C "/src/a/b", false},
	{"r: ./**/*.md", "read", C "/a.md", true},
	{"r: ./**/*.md", "read", C "/x/y/a.md", true},
	{"r: ./a/**/b", "read", C "/a/b", true},
	{"r: ./a/**/b", "read", C "/a/x/y/b", true},
	{"r: ./a/**/b", "read", C "/a/xb", false},
	{"r: ./a/**/**/b", "read", C "/a/b", true},
	{"r: ./*/src/**", "read", C "/pkg/src", true},
	{"r: ./*/src/**", "read", C "/pkg/src/a/b", true},
	{"r: ./**; !**/*.env", "read", C "/x/prod.env", false},
	{"r: !**/*.env; ./**", "read", C "/x/prod.env", true},
	{"r: ./**; !**/*.env; ./pub/*.env", "read", C "/pub/a.env", true},
	{"r: ./**; !./pub/**; ./pub/ok/**; !./pub/ok/no/**", "read", C "/pub/ok/no/x", false},
	{"r: ./**; !./pub/**; ./pub/ok/**; !./pub/ok/no/**", "read", C "/pub/ok/x", true},
	{"r: ./**; !**/.env", "read", C "/.ENV", false},
	{"r: ./**; !**/.env", "read", C "/.env/inner", true}, /* a glob deny covers what it says */
	{"r: ./**; !**/.env/**", "read", C "/.env/inner", false},
	{"r: ./**; !**/.env", "read", C "/.envrc", true},
	{"r: ./**; !**/.env*", "read", C "/.envrc", false},
	{"r: /**; !**/.env", "read", "/private/tmp/s/.env", true}, /* below the root of the rules */
	{"r: ./a+b(c)[d]{e}|f^g$h", "read", C "/a+b(c)[d]{e}|f^g$h/x", true},
	{"r: ./sp ace", "read", C "/sp ace/x", true},
	{"r: ./q\"uote", "read", C "/q\"uote/x", true},
	{"r: ./back\\slash", "read", C "/back\\slash/x", true},
	{"r: ./\xd0\xba\xd0\xb8-\xc3\x9f", "read", C "/\xd0\xba\xd0\xb8-\xc3\x9f/x", true},
	{"r: ./#\"hash", "read", C "/#\"hash/x", true},
	{"r: ./a+b(c)[d]{e}|f^g$h/*.x", "read", C "/a+b(c)[d]{e}|f^g$h/q.x", true},
	{"r: ./q\"u\\o/*.x", "read", C "/q\"u\\o/a.x", true},
	{"r: ./a.b/*", "read", C "/aXb/c", false},
	{"r: ./**; !./secret/** / w: ./**", "unlink", C "/secret/k", false},
	{"r: ./**; !./secret/** / w: ./**", "unlink", C "/secret", false},
	{"r: ./**; !./a/b/secret/** / w: ./**", "unlink", C "/a", false},
	{"r: ./**; !./a/b/secret/** / w: ./**", "unlink", C "/a/other", true},
	{"r: ./**; !./secret/**; ./secret/pub/** / w: ./**", "unlink", C "/secret/pub/x", true},
	{"r: ./**; !**/.env / w: ./**", "unlink", C "/x/.env", false},
	{"r: ./**; !**/.env / w: ./**", "unlink", C "/x", true}, /* directories stay free */
	{"r: ./**; !**/.env / w: ./**", "link", C "/x/.env", false},
	{"r: ./**; !**/.env / w: ./**", "clone", C "/x/.env", false},
	{"r: ./**; !**/.env / w: ./**", "clone", C "/x/env", true},
	{"r: /**; !/Users/u/.ssh/** / w: ./**", "clone", "/Users/u/.ssh/id", false},
	{"r: ./**; !./k / w: ./**; !./k", "clone", C "/k", false},
	{"r: ./**", "clone", "/Users/u/x", false},
	{"r: ./** / w: ./src/**", "link", C "/README", false},
	{"r: ./** / w: ./src/**", "link", C "/src/x", true},
	{"r: ./** / w: ./**; !./.git/hooks/**", "create", C "/.git/hooks/pre-commit", false},
	{"r: ./** / w: ./**; !./.git/hooks/**", "unlink", C "/.git", false},
	{"r: ./** / w: ./**; !./.git/hooks/**", "create", C "/.git", false}, /* no planting */
	{"r: ./** / w: ./**; !./.git/hooks/**", "create", C "/.gitignore", true},
	{"r: ./** / w: ./**; !**/.git/hooks/**", "create", C "/sub/.git", false},
	{"r: ./deep/er/**", "metadata", C "/deep", true},
	{"r: ./deep/er/**", "read", C "/deep", false},
	{"r: ./** / w: ./**", "setugid", C "/x", false},
	{"r: /tmp/x/**", "read", "/private/tmp/x/y", true},
	{"r: /tmp/x/**", "read", "/tmp/x/y", false},
	{"r: /var/folders/**", "read", "/private/var/folders/a", true},
	{"r: /**; !/etc/ssh/**", "read", "/private/etc/ssh/key", false},
	{"r: /**; !/tmp/*.key", "read", "/private/tmp/a.key", false},
	{"r: ./**; !./caf\xc3\xa9/**", "read", C "/cafe\xcc\x81/k", false}, /* NFC and NFD */
	{"r: ./**; !./cafe\xcc\x81", "read", C "/caf\xc3\xa9", false},
	{"r: ./**; !./na\xc3\xafve*.txt / w: ./**", "read", C "/nai\xcc\x88ve1.txt", false},
	{"r: ./**; !./na\xc3\xafve*.txt / w: ./**", "unlink", C "/nai\xcc\x88ve1.txt", false},
	{"r: ./**; !./na\xc3\xafve*.txt / w: ./**", "clone", C "/nai\xcc\x88ve1.txt", false},
	{"r: ./**; !?x", "read", C "/\xffx", false}, /* a byte of no character is one */
	{"r: ./**; !a/?"
	 "?/b",
	 "read", C "/a/\xff\xc3\xa9/b", false},
	{"r: ./**; !a/?"
	 "?/b",
	 "read", C "/a/\xc3\xa9/b", true},
	{"r: ./**; !?x", "read", C "/\xc3\xa9x", false},
	{"r: ./**; !?x", "read", C "/\xc3\xa9\xc3\xa9x", true},
	{"r: ./?x", "read", C "/\xffx", false},
	{"r: ./caf\xc3\xa9/**", "read", C "/cafe\xcc\x81/k", false},
	{"r: /", "read", "/", true},
	{"r: ", "read", "/", false},
};

static const char *op_of(const char *name)
{
	static const char *const names[][2] = {
		{"read", "file-read-data"},	  {"create", "file-write-create"},
		{"unlink", "file-write-unlink"},  {"link", "file-link"},
		{"clone", "file-clone"},	  {"metadata", "file-read-metadata"},
		{"setugid", "file-write-setugid"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	cr_assert_fail("%s", name);
	return NULL;
}

static void add_vector_rule(enum sbx_op op, const char *text)
{
	bool allow = text[0] != '!', exact;
	const char *full;

	text += !allow;
	exact = text[0] == '=';
	text += exact;
	if (strncmp(text, "./", 2) == 0)
		text += 2;
	full = text[0] == '/'		? text
	       : strcmp(text, ".") == 0 ? C
					: b_arena_printf(&arena, C "/%s", text);
	if (exact) {
		add(op, allow, POL_EXACT, full, NULL);
	} else if (strcmp(full, "/**") == 0) {
		add(op, allow, POL_TREE, "", NULL);
	} else {
		full = allow ? full : b_arena_printf(&arena, "!%s", full);
		add_text(op, strncmp(full + !allow, C, strlen(C)) == 0 ? C : "", full);
	}
}

static void add_vector(const char *rules)
{
	char *copy = b_arena_strndup(&arena, rules, strlen(rules)), *save = NULL;
	enum sbx_op op = SBX_READ;

	for (char *p = copy; (p = strstr(p, " / w:")); p++)
		p[1] = ';';
	for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
		part += strspn(part, " ");
		if (strncmp(part, "r:", 2) == 0 || strncmp(part, "w:", 2) == 0) {
			op = part[0] == 'r' ? SBX_READ : SBX_MODIFY;
			part += 2;
			part += strspn(part, " ");
		}
		for (size_t n = strlen(part); n > 0 && part[n - 1] == ' ';)
			part[--n] = '\0';
		if (*part)
			add_vector_rule(op, part);
	}
}

Test(sbpl_compile, vectors_of_the_reference_restated)
{
	cr_expect_geq(sizeof vectors / sizeof *vectors, 62);
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		for (int inlined = 0; inlined < 2; inlined++) {
			again();
			opts.inline_paths = inlined;
			add_vector(vectors[i].rules);
			compile();
			cr_expect_eq(allows(op_of(vectors[i].op), vectors[i].path),
				     vectors[i].allowed, "%s: %s %s\n%s", vectors[i].rules,
				     vectors[i].op, vectors[i].path, prof.text);
		}
}

Test(sbpl_compile, emitted_filters_read_as_the_reference_says)
{
	add_vector("r: ./**; !**/*.env; ./*/src/** / w: ./**; !./.git/hooks/**");
	compile();
	cr_expect(strstr(prof.text, "(allow file-read* (subpath \"" C "\"))"));
	cr_expect(strstr(prof.text,
			 "(deny file-read* (regex \"^" C "/(.*/)?[^/]*\\\\.[Ee][Nn][Vv]$\"))"));
	cr_expect(strstr(prof.text, "(allow file-read* (regex \"^" C "/[^/]*/src(/.*)?$\"))"));
	cr_expect(strstr(prof.text, "(deny file-write* file-link network-bind (subpath \"" C
				    "/.git/hooks\"))"));
	cr_expect(strstr(prof.text, "(deny file-link)"));
	cr_expect(strstr(prof.text, "(if (defined? 'file-clone) (deny file-clone"));
}

Test(sbpl_compile, a_widened_deny_travels_with_the_directory)
{
	add(SBX_READ, true, POL_TREE, "", NULL);
	add(SBX_READ, false, POL_GLOB, C, "**/.env");
	add(SBX_MODIFY, true, POL_TREE, C, NULL);
	add(SBX_MODIFY, true, POL_TREE, "/private/tmp/scratch", NULL);
	compile();
	cr_expect_not(allows("file-read-data", "/private/tmp/scratch/x/.env"));
	cr_expect(allows("file-read-data", "/private/tmp/other/.env"));
	cr_expect(allows("file-read-data", "/private/tmp/scratch/x/env"));
	cr_assert_eq(prof.nnotes, 2);
	cr_expect(strstr(prof.notes[1], "moved or removed") && strstr(prof.notes[1], ": " C));
	cr_expect(strstr(prof.notes[0], "under /private/tmp/scratch/ too"));
}

Test(sbpl_compile, user_paths_are_parameters_and_the_text_is_ascii)
{
	static const char home[] = "/Users/\xc3\xa9\"x";

	opts.inline_paths = false;
	add(SBX_READ, true, POL_TREE, home, NULL);
	add(SBX_READ, false, POL_GLOB, home, "a/*.k");
	compile();
	cr_expect(strstr(prof.text, "(subpath (param \"P0\"))"));
	cr_expect_str_eq(prof.params[0].value, home);
	for (size_t i = 0; i < prof.len; i++)
		cr_assert(prof.text[i] == '\n' || (prof.text[i] >= ' ' && prof.text[i] <= '~'));
	cr_expect(allows("file-read-data", "/Users/\xc3\xa9\"x/y"));
	cr_expect_not(allows("file-read-data", "/Users/\xc3\xa9\"x/a/b.k"));
}

Test(sbpl_compile, long_paths_come_in_pieces)
{
	b_auto(b_str_release) struct b_str path = {0};

	for (int i = 0; i < 75; i++)
		b_str_addf(&path, "/directory-\"%07d", i);
	add(SBX_READ, true, POL_TREE, path.s, NULL);
	compile();
	cr_expect(strstr(prof.text, "(string-append \""));
	for (const char *p = prof.text, *q; (q = strchr(p, '\n')); p = q + 1)
		if (*p != ';')
			cr_expect_lt(q - p, 8192);
	b_str_add(&path, "/x");
	cr_expect(allows("file-read-data", path.s));
}

Test(sbpl_compile, control_characters_are_refused_by_origin)
{
	add(SBX_READ, true, POL_TREE, "/a\nb", NULL);
	cr_expect_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), -1);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect(strstr(err.msg, "p.yaml:1:1: `/a\\x0ab`: a control character"), "%s", err.msg);
}

Test(sbpl_compile, too_many_rules_are_refused)
{
	for (int i = 0; i < 4100; i++)
		add(SBX_READ, true, POL_TREE, b_arena_printf(&arena, "/d/%d", i), NULL);
	cr_expect_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), -1);
	cr_expect_eq(err.kind, B_LIMIT);
	cr_expect(strstr(err.msg, "4000"), "%s", err.msg);
}

Test(sbpl_compile, stat_above_what_is_named_only_when_asked)
{
	add(SBX_READ, true, POL_TREE, C "/deep/er", NULL);
	opts.stat_ancestors = true;
	compile();
	cr_expect(allows("file-read-metadata", C "/deep"));
	cr_expect(allows("file-read-metadata", "/Users"));
	cr_expect_not(allows("file-read-metadata", C "/other"));
	cr_expect_not(allows("file-read-data", C "/deep"));
}

Test(sbpl_compile, unbounded_pins_can_be_left_out_and_then_are_said)
{
	add(SBX_READ, true, POL_TREE, C, NULL);
	add(SBX_READ, false, POL_GLOB, C, "a/**/k");
	add(SBX_MODIFY, true, POL_TREE, C, NULL);
	for (int lax = 0; lax < 2; lax++) {
		struct sbpl_question q = {.op = sbpl_op_find("file-write-unlink"),
					  .path = C "/a/d",
					  .len = strlen(C "/a/d"),
					  .vnode = SBPL_V_DIRECTORY};

		opts.lax_moves = lax;
		sbpl_program_free(prog);
		sbpl_profile_release(&prof);
		compile();
		cr_expect_eq(sbpl_program_allows(prog, &q, NULL), lax);
		cr_assert_eq(prof.nnotes, 2);
		cr_expect(strstr(prof.notes[0], lax ? "may open" : "cannot be moved"), "%s",
			  prof.notes[0]);
	}
}

Test(sbpl_compile, directories_that_cannot_be_made_are_said)
{
	add(SBX_READ, true, POL_TREE, "", NULL);
	add(SBX_MODIFY, true, POL_TREE, C, NULL);
	add(SBX_MODIFY, false, POL_TREE, C "/.x/hooks", NULL);
	add(SBX_MODIFY, false, POL_GLOB, C, "a*/y/z");
	compile();
	cr_expect_not(allows("file-write-create", C "/.x"));
	cr_expect_not(allows("file-write-create", C "/ab/y"));
	cr_assert_eq(prof.nnotes, 3);
	cr_expect_str_eq(prof.notes[1],
			 "directories that cannot be made, moved or removed, because "
			 "what lies in them is denied: " C ", " C "/.x, " C "/a*/y");
	cr_expect_str_eq(prof.notes[2], "directories that cannot be moved or removed, because what "
					"lies in them is denied: " C "/a*");
}
