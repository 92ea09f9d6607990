/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of sbpl/regex.c. PCRE2 is the judge where both speak the same language. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sbpl/regex.h"

#include <criterion/criterion.h>
#include <pcre2.h>
#include <string.h>

#include "base/err.h"

static struct b_arena arena;
static struct sbpl_scratch *scratch;
static struct b_err err;

static void setup(void)
{
	scratch = sbpl_scratch_new();
}

static void teardown(void)
{
	sbpl_scratch_free(scratch);
	b_arena_release(&arena);
}

TestSuite(sbpl_regex, .init = setup, .fini = teardown);

static bool matches(const char *re, const char *s)
{
	struct sbpl_regex *r = sbpl_regex_new(&arena, re, strlen(re), &err);
	struct sbpl_subject q;
	char lower[256];

	cr_assert(r, "%s: %s", re, err.msg);
	for (size_t i = 0; i <= strlen(s); i++)
		lower[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]);
	sbpl_subject_init(&q, s, lower, strlen(s));
	return sbpl_regex_match(r, scratch, &q);
}

static void refuses(const char *re, enum b_kind kind, const char *part)
{
	err = (struct b_err){0};
	cr_expect_null(sbpl_regex_new(&arena, re, strlen(re), &err), "%s", re);
	cr_expect_eq(err.kind, kind, "%s", re);
	cr_expect(strstr(err.msg, part), "%s: %s", re, err.msg);
}

Test(sbpl_regex, pieces_of_globs)
{
	cr_expect(matches("^/w/(.*/)?[^/]*\\.md$", "/w/a.md"));
	cr_expect(matches("^/w/(.*/)?[^/]*\\.md$", "/w/x/y/a.md"));
	cr_expect_not(matches("^/w/(.*/)?[^/]*\\.md$", "/w/x/y/a_md"));
	cr_expect(matches("^/w/s(/.*)?$", "/w/s"));
	cr_expect(matches("^/w/s(/.*)?$", "/w/s/k"));
	cr_expect_not(matches("^/w/s(/.*)?$", "/w/sx"));
	cr_expect(matches("^/w/[Ee][Nn][Vv]$", "/w/EnV"));
	cr_expect(matches("^/w/a\\+b\\(c\\)\\[d\\]\\{e\\}\\|f\\^g\\$h$", "/w/a+b(c)[d]{e}|f^g$h"));
	cr_expect(matches("^/.*$", "/a\nb"));
}

Test(sbpl_regex, search_is_unanchored)
{
	cr_expect(matches("b+", "aabbc"));
	cr_expect(matches("c$", "abc"));
	cr_expect_not(matches("c$", "abcd"));
	cr_expect(matches("(/|$)", "a"));
	cr_expect(matches("^/p(/|$)", "/p"));
	cr_expect_not(matches("^/p(/|$)", "/px"));
}

Test(sbpl_regex, repetition_and_choice)
{
	cr_expect(matches("^a{3}$", "aaa"));
	cr_expect_not(matches("^a{3}$", "aa"));
	cr_expect(matches("^(ab|cd){2}$", "abcd"));
	cr_expect(matches("^(?:x|y|z)+$", "zyx"));
	cr_expect_not(matches("^(?:x|y|z)+$", "zax"));
	cr_expect(matches("^\\w+$", "a_9Z"));
	cr_expect(matches("^(a|b|c|d)e$", "de"));
}

Test(sbpl_regex, one_character_in_bytes)
{
	static const char re[] = "^([^/\x80-\xff]|[\xc2-\xdf][\x80-\xbf])$";

	cr_expect(matches(re, "a"));
	cr_expect(matches(re, "\xc3\xa9"));
	cr_expect_not(matches(re, "\xc3"));
	cr_expect_not(matches(re, "/"));
	cr_expect_not(matches(re, "ab"));
}

Test(sbpl_regex, what_the_sandbox_refuses_is_refused)
{
	refuses("(?i)abc", B_FORMAT, "(?:");
	refuses("a^b", B_FORMAT, "unexpected ^ operator in middle of expression");
	refuses("[abcdefghijklmnop]", B_FORMAT, "more than 15 ranges");
	refuses("(a", B_FORMAT, "without its )");
	refuses("a)", B_FORMAT, "without its (");
	refuses("[a", B_FORMAT, "without its ]");
	refuses("*a", B_FORMAT, "nothing to repeat");
	refuses("a**", B_FORMAT, "two repetitions");
	refuses("a{0}", B_FORMAT, "{n}");
	refuses("\\1", B_FORMAT, "unknown escape");
	refuses("", B_FORMAT, "empty");
	refuses("((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))", B_LIMIT,
		"too deep");
	refuses("(((a{99}){99}){99})", B_LIMIT, "states");
}

Test(sbpl_regex, no_backtracking)
{
	char s[200];

	memset(s, 'a', sizeof s - 1);
	s[sizeof s - 1] = '\0';
	cr_expect_not(matches("^(a*)*(a*)*(a*)*(a|aa)*b$", s));
}

static unsigned seed = 7;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void add_random(char *out, size_t size, unsigned depth)
{
	static const char *const atoms[] = {"a", "b", ".", "[ab]", "[^a]", "[A-Ca]", "\\.", "c"};
	static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}"};

	for (unsigned n = 1 + pick(3); n > 0 && strlen(out) + 24 < size; n--) {
		if (depth < 3 && pick(3) == 0) {
			strcat(out, pick(2) ? "(" : "(?:");
			add_random(out, size - 8, depth + 1);
			if (pick(2)) {
				strcat(out, "|");
				add_random(out, size - 8, depth + 1);
			}
			strcat(out, ")");
		} else {
			strcat(out, atoms[pick(sizeof atoms / sizeof *atoms)]);
		}
		strcat(out, repeats[pick(sizeof repeats / sizeof *repeats)]);
	}
}

Test(sbpl_regex, agrees_with_pcre2_on_random_expressions)
{
	static const char letters[] = "abc.A";
	size_t both[2] = {0};

	for (int i = 0; i < 2000; i++) {
		char re[160] = "", s[16];
		pcre2_match_data *md;
		pcre2_code *code;
		PCRE2_SIZE at;
		int rc;

		if (pick(2))
			strcat(re, "^");
		add_random(re, sizeof re - 4, 0);
		if (pick(2))
			strcat(re, "$");
		code = pcre2_compile((PCRE2_SPTR)re, PCRE2_ZERO_TERMINATED,
				     PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &rc, &at, NULL);
		cr_assert(code, "%s", re);
		md = pcre2_match_data_create_from_pattern(code, NULL);
		for (int k = 0; k < 20; k++) {
			unsigned n = pick(9);
			bool want;

			for (unsigned j = 0; j < n; j++)
				s[j] = letters[pick(5)];
			s[n] = '\0';
			want = pcre2_match(code, (PCRE2_SPTR)s, n, 0, 0, md, NULL) >= 0;
			both[want]++;
			cr_assert_eq(matches(re, s), want, "%s on %s", re, s);
		}
		pcre2_match_data_free(md);
		pcre2_code_free(code);
	}
	cr_expect(both[0] > 1000 && both[1] > 1000);
}
