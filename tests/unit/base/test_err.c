/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/err.c. */
#include "base/err.h"
#include "base/io.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <wchar.h>

Test(base_err, fail_fills_the_whole_object_and_gives_minus_one)
{
	struct b_err err;

	cr_assert_eq(b_fail(&err, B_POLICY, ENOENT, "%s:%d: %s", "a.yaml", 12, "no"), -1);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_eq(err.sys, ENOENT);
	cr_expect_str_eq(err.msg, "a.yaml:12: no");
}

Test(base_err, nobody_has_to_take_the_error)
{
	cr_expect_eq(b_fail(NULL, B_SYSTEM, EIO, "x"), -1);
	cr_expect_eq(b_wrap(NULL, "x"), -1);
}

Test(base_err, errno_survives)
{
	static const wchar_t no_character[] = {0x7fffffff, 0};
	struct b_err err;

	errno = EXDEV;
	b_fail(&err, B_SYSTEM, EIO, "%s", "x");
	b_wrap(&err, "%s", "y");
	cr_expect_eq(errno, EXDEV);
	/* no locale can spell it: vsnprintf(3) fails with EILSEQ */
	b_fail(&err, B_SYSTEM, EIO, "%ls", no_character);
	cr_expect_eq(errno, EXDEV);
	cr_expect_str_eq(err.msg, "");
}

Test(base_err, fail_may_quote_the_message_it_replaces)
{
	struct b_err err;

	b_fail(&err, B_FORMAT, 0, "inner");
	b_fail(&err, B_POLICY, 0, "outer (%s)", err.msg);
	cr_expect_str_eq(err.msg, "outer (inner)");
	cr_expect_eq(err.kind, B_POLICY);
}

Test(base_err, wrap_puts_context_in_front_and_keeps_the_kind)
{
	struct b_err err;

	b_fail(&err, B_LIMIT, EFBIG, "too large");
	cr_expect_eq(b_wrap(&err, "policy %d", 2), -1);
	cr_expect_eq(b_wrap(&err, "--policy"), -1);
	cr_expect_str_eq(err.msg, "--policy: policy 2: too large");
	cr_expect_eq(err.kind, B_LIMIT);
	cr_expect_eq(err.sys, EFBIG);
}

Test(base_err, text_that_just_fits_is_whole)
{
	char text[B_ERR_MAX];
	struct b_err err;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	b_fail(&err, B_SYSTEM, 0, "%s", text);
	cr_expect_str_eq(err.msg, text);
}

Test(base_err, longer_text_is_cut_and_ends_in_dots)
{
	char text[B_ERR_MAX + 1];
	struct b_err err;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	b_fail(&err, B_SYSTEM, 0, "%s", text);
	cr_expect_eq(strlen(err.msg), B_ERR_MAX - 1);
	cr_expect_str_eq(err.msg + B_ERR_MAX - 5, "x...");
}

Test(base_err, the_cut_never_splits_a_character)
{
	char text[3 * B_ERR_MAX + 3];
	struct b_err err;
	int shift;

	for (shift = 0; shift < 3; shift++) {
		size_t len = (size_t)shift;

		memset(text, 'x', len);
		while (len < sizeof text - 3) {
			memcpy(text + len, "\xe2\x82\xac", 3); /* U+20AC */
			len += 3;
		}
		text[len] = '\0';
		b_fail(&err, B_SYSTEM, 0, "%s", text);
		len = strlen(err.msg);
		cr_assert_gt(len, B_ERR_MAX - 5, "only %zu bytes kept", len);
		cr_expect_str_eq(err.msg + len - 6, "\xe2\x82\xac...", "shift %d", shift);
	}
}

Test(base_err, wrapping_without_end_stays_in_bounds)
{
	struct b_err err;
	int i;

	b_fail(&err, B_SYSTEM, 0, "root cause");
	for (i = 0; i < 400; i++)
		b_wrap(&err, "context %d", i);
	cr_expect_eq(strncmp(err.msg, "context 399: context 398: ", 26), 0);
	cr_expect_lt(strlen(err.msg), B_ERR_MAX);
	cr_expect_str_eq(err.msg + strlen(err.msg) - 3, "...");
}

Test(base_err, context_of_any_length_stays_in_bounds)
{
	char text[B_ERR_MAX + 8];
	size_t len;

	for (len = B_ERR_MAX - 12; len < sizeof text; len++) {
		struct b_err err;

		memset(text, 'c', len);
		text[len] = '\0';
		b_fail(&err, B_SYSTEM, 0, "a rather long root cause");
		b_wrap(&err, "%s", text);
		cr_assert_lt(strlen(err.msg), B_ERR_MAX, "context of %zu", len);
		cr_assert_eq(strncmp(err.msg, text, B_ERR_MAX - 12), 0, "context of %zu", len);
	}
}

Test(base_err, codes_are_the_documented_ones)
{
	static const struct {
		enum b_kind kind;
		const char *code;
	} rows[] = {
		{B_USAGE, "E_USAGE"},	  {B_POLICY, "E_POLICY"},
		{B_PROFILE, "E_PROFILE"}, {B_FLOOR, "E_FLOOR"},
		{B_SHIM, "E_SHIM"},	  {B_WORKSPACE, "E_WORKSPACE"},
		{B_AUDIT, "E_AUDIT"},	  {B_NOTFOUND, "E_NOTFOUND"},
		{B_NOEXEC, "E_NOEXEC"},	  {B_APPROVAL, "E_APPROVAL"},
		{B_LIMIT, "E_LIMIT"},	  {B_FORMAT, "E_FORMAT"},
		{B_SYSTEM, "E_SYSTEM"},
	};
	size_t i;

	cr_assert_eq(sizeof rows / sizeof *rows, B_KIND_COUNT - 1, "a kind without a row here");
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(b_kind_code(rows[i].kind), rows[i].code);
}

Test(base_err, report_is_one_line_whatever_the_message_holds)
{
	struct b_err err;

	cr_redirect_stderr();
	b_fail(&err, B_POLICY, 0, "a\nsbx-launch: E_USAGE: forged\r\x1b[2J\xff \xe2\x82\xac");
	cr_expect_eq(b_report("sbx-launch", &err), 125);
	cr_expect_stderr_eq_str("sbx-launch: E_POLICY: a\\x0asbx-launch: E_USAGE: forged\\x0d"
				"\\x1b[2J\\xff \xe2\x82\xac\n");
}

Test(base_err, report_tells_the_exit_statuses_apart)
{
	int kind;

	cr_redirect_stderr();
	for (kind = B_USAGE; kind < B_KIND_COUNT; kind++) {
		int want = kind == B_NOEXEC || kind == B_APPROVAL ? 126
			   : kind == B_NOTFOUND			  ? 127
								  : 125;
		struct b_err err;

		b_fail(&err, (enum b_kind)kind, 0, "x");
		cr_expect_eq(b_report("p", &err), want, "%s", b_kind_code((enum b_kind)kind));
	}
}

Test(base_err, an_impossible_state_aborts, .signal = SIGABRT)
{
	B_ASSERT(errno == -1);
}
