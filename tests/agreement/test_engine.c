/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine (automata), the matcher of single rules, PCRE2 and a naive matcher of the tests give
 * one answer: for the verdict and for the deciding rule, on random rules and paths. Several tests,
 * so that they run side by side.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <criterion/criterion.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "tests/support/engine.h"
#include "tests/support/naive.h"

#define RULESETS  600
#define RULES_MAX 10
#define PATHS	  100 /* for each ruleset: 240,000 pairs in the four tests */

struct judge {
	pcre2_code *regex[RULES_MAX];
	pcre2_match_data *match;
};

static void judge_init(struct judge *j, const struct pol_list *list)
{
	int code;
	PCRE2_SIZE at;

	*j = (struct judge){.match = pcre2_match_data_create(1, NULL)};
	for (size_t i = 0; i < list->n; i++) {
		struct b_str text = {0};

		if (list->v[i].shape != POL_GLOB)
			continue;
		pol_glob_regex(list->v[i].glob, &text);
		j->regex[i] = pcre2_compile((PCRE2_SPTR)text.s, text.len,
					    PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY |
						    (list->v[i].folds ? PCRE2_CASELESS : 0),
					    &code, &at, NULL);
		cr_assert(j->regex[i], "%s does not compile", text.s);
		b_str_release(&text);
	}
}

static void judge_release(struct judge *j, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pcre2_code_free(j->regex[i]);
	pcre2_match_data_free(j->match);
}

static bool regex_matches(const struct judge *j, size_t i, const char *s, size_t len)
{
	int rc = pcre2_match(j->regex[i], (PCRE2_SPTR)s, len, 0, 0, j->match, NULL);

	cr_assert(rc >= 0 || rc == PCRE2_ERROR_NOMATCH, "pcre2_match: %d", rc);
	return rc >= 0;
}

/* `j` NULL: by trying. */
static bool judge_matches(const struct judge *j, const struct pol_list *list, size_t i,
			  const char *path, size_t len)
{
	const struct pol_rule *r = &list->v[i];

	if (len == 1)
		len = 0;
	if (len < r->base_len || memcmp(path, r->base, r->base_len) != 0)
		return false;
	path += r->base_len;
	len -= r->base_len;
	if (len > 0 && path[0] != '/')
		return false;
	if (r->shape != POL_GLOB)
		return len == 0 || r->shape == POL_TREE;
	if (len == 0 && !r->base_is_root)
		return false;
	path += len > 0;
	len -= len > 0;
	return j ? regex_matches(j, i, path, len) : naive_match(r->glob, path, len, r->folds);
}

static void compare(const struct engine *e, const struct judge *j, const char *path, size_t len,
		    unsigned seed)
{
	const struct pol_list *list = &e->rules.op[SBX_READ];
	int walked = pol_list_last_match(list, list->n, path, len), judged = (int)list->n - 1;
	int naive = judged;
	int named = sbx_attribute(&e->image, SBX_READ, path, len);
	bool allowed = sbx_decide(&e->image, SBX_READ, path, len);

	while (judged >= 0 && !judge_matches(j, list, (size_t)judged, path, len))
		judged--;
	while (naive >= 0 && !judge_matches(NULL, list, (size_t)naive, path, len))
		naive--;
	cr_assert_eq(walked, judged, "seed %u: `%s`: matcher %d, PCRE2 %d", seed, path, walked,
		     judged);
	cr_assert_eq(naive, judged, "seed %u: `%s`: naive %d, PCRE2 %d", seed, path, naive, judged);
	cr_assert_eq(named, judged, "seed %u: `%s`: engine %d, PCRE2 %d", seed, path, named,
		     judged);
	cr_assert_eq(allowed, judged >= 0 && list->v[judged].allow, "seed %u: `%s`: verdict %d",
		     seed, path, allowed);
}

static void agree(unsigned seed, bool rich, unsigned rulesets)
{
	struct draw d;

	draw_seed(&d, seed);
	for (unsigned i = 0; i < rulesets; i++) {
		struct engine e;
		struct judge j;
		char path[DRAWN_MAX];

		engine_init(&e);
		for (unsigned n = draw(&d, RULES_MAX + 1); n > 0; n--)
			draw_rule(&d, rich, &e.rules);
		engine_compile(&e);
		judge_init(&j, &e.rules.op[SBX_READ]);
		for (int p = 0; p < PATHS; p++) {
			size_t len = draw_path(&d, path);

			compare(&e, &j, path, len, seed);
		}
		judge_release(&j, e.rules.op[SBX_READ].n);
		engine_release(&e);
	}
}

/* `make agreement` asks for a million pairs: AGREEMENT_TIMES multiplies. */
static unsigned times(void)
{
	const char *s = getenv("AGREEMENT_TIMES");

	return s ? (unsigned)strtoul(s, NULL, 10) : 1;
}

Test(agreement_engine, plain_globs_first_half)
{
	agree(1, false, RULESETS * times());
}

Test(agreement_engine, plain_globs_second_half)
{
	agree(2, false, RULESETS * times());
}

Test(agreement_engine, characters_and_broken_bytes_first_half)
{
	agree(3, true, RULESETS * times());
}

Test(agreement_engine, characters_and_broken_bytes_second_half)
{
	agree(4, true, RULESETS * times());
}
