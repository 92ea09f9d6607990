/* SPDX-License-Identifier: Apache-2.0 */
/* Names of one file under several spellings: what denies the one denies the other; and what no
 * spelling changes is judged as ever. The pairs are Python's (tests/support/name_forms.py). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "tests/support/engine.h"
#include "tests/support/full.h"

#define ANYHOW (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

static int rule_how(const struct engine *e, const char *path, unsigned how)
{
	return sbx_folded_rule(&e->image, SBX_READ, path, strlen(path), how);
}

static bool denies(const struct engine *e, const char *path)
{
	return rule_how(e, path, ANYHOW) >= 0;
}

static void with(struct engine *e, const char *const *rules)
{
	engine_init(e);
	e->folds = true;
	for (; *rules; rules++)
		engine_rule(e, *rules);
	engine_compile(e);
}
#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *fold(const char *text)
{
	static char out[256];

	cr_assert_neq(sbx_fold_text(out, sizeof out, text, strlen(text), SBX_FOLD_TRIMS), SIZE_MAX);
	return out;
}

Test(core_folded, texts_lose_case_form_and_what_shows_nothing)
{
	cr_expect_str_eq(fold("/W/.GIT/Hooks"), "/w/.git/hooks");
	cr_expect_str_eq(fold("/.g\u200cit"), "/.git");
	cr_expect_str_eq(fold("/caf\u00c9"), "/cafe");
	cr_expect_str_eq(fold("/cafe\u0301"), "/cafe");
	cr_expect_str_eq(fold("/STRASSE"), fold("/stra\u00dfe"));
	cr_expect_str_eq(fold("/\u212aey"), "/key");
	cr_expect_str_eq(fold("/\uac01"), fold("/\u1100\u1161\u11a8"));
	/* compatibility forms, as ZFS with normalization=formKC has them */
	cr_expect_str_eq(fold("/\ufb01le"), "/file");
	cr_expect_str_eq(fold("/\uff0e\uff27it"), "/.git");
	cr_expect_str_eq(fold("/\u2167"), "/viii");
	cr_expect_str_eq(fold("/\u24b6\u00b2"), "/a2");
	cr_expect_str_eq(fold("/\uff0a\uff0f\u2100"), "/\uff0a\uff0f\u2100",
			 "no separator, no wildcard");
	cr_expect_str_eq(fold("/a. . /b..."), "/a/b");
	cr_expect_str_eq(fold("/a.b/.c"), "/a.b/.c");
	cr_expect_str_eq(fold("\\a\\b"), "/a/b");
	cr_expect_str_eq(fold("/a/.../b"), "/a/b");
	cr_expect_str_eq(fold("/"), "");
}

Test(core_folded, a_text_is_never_longer_than_is_said)
{
	for (uint32_t c = 1; c < 0x110000; c++) {
		char text[5] = {0}, out[64];
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, len;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		for (size_t i = n; i-- > 1;)
			text[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
		text[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c >> 6 * (n - 1));
		len = sbx_fold_text(out, sizeof out, text, n, 0);
		cr_assert_leq(len, SBX_FOLD_MAX * n, "U+%04X", c);
		/* and folding once is enough */
		if (len) {
			char again[64];
			size_t m = sbx_fold_text(again, sizeof again, out, len, 0);

			cr_assert(m == len && !memcmp(again, out, len), "U+%04X", c);
		}
	}
}

Test(core_folded, denials_fold_and_grants_do_not)
{
	struct engine e;

	with(&e, RULES("+ /w/", "- /w/.git/hooks/", "- /w/.mcp.json", "+ /w/.GIT/hooks/mine"));
	cr_expect(denies(&e, "/w/.GIT/HOOKS/x"));
	cr_expect(denies(&e, "/W/.git/hooks/x"));
	cr_expect(denies(&e, "/w/.g\u200cit/hooks"));
	cr_expect(denies(&e, "/w/.Mcp.Json. "));
	cr_expect(denies(&e, "/w/.mcp.json::$DATA"));
	cr_expect(denies(&e, "/w/.git\\hooks\\x"));
	cr_expect_eq(rule_how(&e, "/w/.MCP.json", ANYHOW), 2);
	cr_expect_not(denies(&e, "/w/.GIT/hooks/mine"), "the last rule matches by its bytes");
	cr_expect(denies(&e, "/w/.GIT/hooks/MINE"), "a grant in another case is none");
	cr_expect_not(denies(&e, "/w/.git"));
	cr_expect_not(denies(&e, "/w/.mcp.jso"));
	cr_expect_not(denies(&e, "/w/x"));
	engine_release(&e);
}

Test(core_folded, an_image_without_folded_rules_denies_nothing)
{
	struct engine e;

	engine_init(&e);
	engine_rule(&e, "+ /w/");
	engine_rule(&e, "- /w/a");
	engine_compile(&e);
	cr_expect_not(denies(&e, "/w/A"));
	cr_expect_lt(sbx_folded_near(&e.image, SBX_READ, "/w", 2), 0);
	engine_release(&e);
}

Test(core_folded, short_names_are_refused_where_a_denial_is_near)
{
	struct engine e;

	with(&e, RULES("+ /w/", "- /w/.git/hooks/", "- /w/sub **/*.pem"));
	cr_expect(denies(&e, "/w/GIT~1"));
	cr_expect(denies(&e, "/w/GIT~1/hooks/x"));
	cr_expect(denies(&e, "/w/.git/GI1234~1"));
	cr_expect(denies(&e, "/w/sub/deep/FOO~12.PE"));
	cr_expect(denies(&e, "/w/.:0067it/hooks"), "uni_xlate");
	cr_expect_lt(rule_how(&e, "/w/GIT~1", SBX_FOLDS_CASE), 0, "where there are none");
	cr_expect_not(denies(&e, "/w/src/FOO~1"), "nothing is denied there");
	cr_expect_not(denies(&e, "/w/sub/foo.c.~1~"));
	cr_expect_not(denies(&e, "/w/sub/package_1.0~1.deb"));
	cr_expect_not(denies(&e, "/w/foo~"));
	engine_release(&e);
}

Test(core_folded, a_name_that_is_not_utf8_may_be_any_that_is_not_ascii)
{
	struct engine e;

	with(&e, RULES("+ /w/", "- /w/caf\u00e9"));
	cr_expect(denies(&e, "/w/caf\xc9"));
	engine_release(&e);
	with(&e, RULES("+ /w/", "- /w/cafe"));
	cr_expect_not(denies(&e, "/w/caf\xc9"));
	engine_release(&e);
}

Test(core_folded, a_question_mark_stands_for_what_one_character_becomes)
{
	struct engine e;

	with(&e, RULES("+ /w/", "- /w a?b", "- /w/q ?????"));
	cr_expect(denies(&e, "/w/assB"), "a\u00dfb");
	cr_expect(denies(&e, "/w/AxB"));
	cr_expect(denies(&e, "/w/aB"), "a, what shows nothing, b");
	cr_expect_not(denies(&e, "/w/axxxxB"));
	cr_expect(denies(&e, "/w/q/ABCD"));
	cr_expect_not(denies(&e, "/w/q/a/b"));
	engine_release(&e);
}

Test(core_folded, what_lies_below_a_directory_is_known)
{
	struct engine e;

	with(&e, RULES("+ /w/", "- /w/.git/hooks/", "- /w/s **/*.env", "+ /w/s/free/"));
	cr_expect_geq(sbx_folded_near(&e.image, SBX_READ, "/w", 2), 0);
	cr_expect_geq(sbx_folded_near(&e.image, SBX_READ, "/w/.GIT", 7), 0);
	cr_expect_geq(sbx_folded_near(&e.image, SBX_READ, "/w/S/x", 6), 0);
	cr_expect_lt(sbx_folded_near(&e.image, SBX_READ, "/w/src", 6), 0);
	cr_expect_lt(sbx_folded_near(&e.image, SBX_READ, "/w/s/free", 9), 0);
	cr_expect(sbx_folded_same(&e.image, SBX_READ, "/w/s/a", 6, "/w/s/b", 6));
	cr_expect_not(sbx_folded_same(&e.image, SBX_READ, "/w/s/a", 6, "/w/t", 4));
	cr_expect_not(sbx_folded_same(&e.image, SBX_READ, "/w/a", 4, "/w/.GIT", 7));
	engine_release(&e);
}

/* ---- properties ---- */

static size_t unhex(const char *s, char *out)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(s, "%2x", &byte) == 1 && *s > ' '; s += 2)
		out[n++] = (char)byte;
	out[n] = '\0';
	return n;
}

/* Rules of names that are drawn, and of patterns made of them. */
static void draw_rules(struct draw *d, struct engine *e, char names[][64], size_t n,
		       const char *last)
{
	/* before and behind the first name, and behind the second */
	const char *const forms[][3] = {
		{" /w/", ""},	    {" /w/", "/"},	 {" /w ", "*"},		  {" /w **/", ""},
		{" /w **/", "/**"}, {" /w/", " *", "*"}, {" /w/", " **/*", last},
	};
	unsigned count = 1 + draw(d, 6);

	engine_init(e);
	e->folds = true;
	engine_rule(e, "+ /w/");
	while (count--) {
		const char *a = names[draw(d, (unsigned)n)], *b = names[draw(d, (unsigned)n)];
		const char *const *form = forms[draw(d, 7)];
		char text[256];

		(void)snprintf(text, sizeof text, "%c%s%s%s%s%s", draw(d, 3) ? '-' : '+', form[0],
			       a, form[1], form[2] ? b : "", form[2] ? form[2] : "");
		engine_rule(e, text);
	}
	engine_compile(e);
}

static bool exact_denial(const struct engine *e, const char *q, const char *v)
{
	int d = sbx_attribute(&e->image, SBX_READ, q, strlen(q));
	int g = sbx_attribute(&e->image, SBX_READ, v, strlen(v));

	return d >= 0 && !e->rules.op[SBX_READ].v[d].allow && d > g && engine_allows(e, v);
}

Test(core_folded, what_denies_a_name_denies_its_other_spellings, .timeout = 60)
{
	enum { POOL = 6 };
	char line[512], name[POOL][64], other[POOL][64];
	struct draw d;
	size_t n = 0, judged = 0;
	FILE *f = popen("python3 tests/support/name_forms.py 7 1200", "r");

	cr_assert(f);
	draw_seed(&d, 11);
	while (fgets(line, sizeof line, f)) {
		unhex(line, name[n]);
		unhex(strchr(line, ' ') + 1, other[n]);
		if (strpbrk(name[n], "/*? ") || ++n < POOL)
			continue;
		n = 0;
		for (int times = 0; times < 10; times++) {
			struct engine e;

			draw_rules(&d, &e, name, POOL, "?");
			for (unsigned i = 0; i < POOL; i++)
				for (unsigned k = 0; k < POOL; k++) {
					char q[1024], v[1024];

					(void)snprintf(q, sizeof q, "/w/%s/%s", name[i], name[k]);
					(void)snprintf(v, sizeof v, "/w/%s/%s", other[i], other[k]);
					if (!exact_denial(&e, q, v))
						continue;
					judged++;
					cr_assert(denies(&e, v), "%s is %s: %d", v, q,
						  sbx_attribute(&e.image, SBX_READ, q, strlen(q)));
					cr_assert_geq(sbx_folded_near(&e.image, SBX_READ, "/w", 2),
						      0);
				}
			engine_release(&e);
		}
	}
	cr_assert_eq(pclose(f), 0);
	cr_assert_gt(judged, 2000u, "%zu", judged);
}

Test(core_folded, plain_names_are_judged_as_ever, .timeout = 60)
{
	static const char alphabet[] = "abc_";
	struct draw d;
	size_t denied = 0;

	draw_seed(&d, 3);
	for (int times = 0; times < (is_full() ? 600 : 150); times++) {
		char names[6][64];
		struct engine e;

		for (int i = 0; i < 6; i++) {
			unsigned len = 1 + draw(&d, 3), k;

			for (k = 0; k < len; k++)
				names[i][k] = alphabet[draw(&d, 4)];
			names[i][k] = '\0';
		}
		draw_rules(&d, &e, names, 6, "*");
		for (int i = 0; i < 60; i++) {
			char path[256];

			(void)snprintf(path, sizeof path, "/w/%s/%s", names[draw(&d, 6)],
				       names[draw(&d, 6)]);
			denied += !engine_allows(&e, path);
			if (engine_allows(&e, path))
				cr_assert_not(denies(&e, path), "%s", path);
		}
		engine_release(&e);
	}
	cr_assert_gt(denied, 1000u);
}

/* The answers on directories against many names below them. */
Test(core_folded, directories_answer_for_what_lies_below, .timeout = 60)
{
	size_t clean = 0, same = 0;
	struct draw d;

	draw_seed(&d, 5);
	for (int times = 0; times < (is_full() ? 700 : 150); times++) {
		char a[DRAWN_MAX + 8], b[DRAWN_MAX + 8], below[DRAWN_MAX], at[2 * DRAWN_MAX + 8];
		struct engine e;
		bool is_clean, is_same;

		engine_init(&e);
		e.folds = true;
		for (unsigned n = 2 + draw(&d, 6); n--;)
			draw_rule(&d, true, &e.rules);
		engine_compile(&e);
		draw_path(&d, a);
		draw_path(&d, b);
		is_clean = sbx_folded_near(&e.image, SBX_READ, a, strlen(a)) < 0;
		is_same = sbx_folded_same(&e.image, SBX_READ, a, strlen(a), b, strlen(b));
		clean += is_clean;
		same += is_same && strcmp(a, b) != 0;
		for (int i = 0; i < 50; i++) {
			bool here;

			draw_path(&d, below);
			(void)snprintf(at, sizeof at, "%s%s", strcmp(a, "/") ? a : "", below);
			here = engine_allows(&e, at) && denies(&e, at);
			if (is_clean)
				cr_assert_not(here, "%s", at);
			if (!is_same || !engine_allows(&e, at))
				continue;
			(void)snprintf(at, sizeof at, "%s%s", strcmp(b, "/") ? b : "", below);
			if (engine_allows(&e, at))
				cr_assert_eq(here, denies(&e, at), "%s", at);
		}
		engine_release(&e);
	}
	cr_assert_gt(clean, is_full() ? 100u : 20u, "%zu", clean);
	cr_assert_gt(same, is_full() ? 20u : 4u, "%zu", same);
}
