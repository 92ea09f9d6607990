/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/environment.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/mem.h"

Test(launcher_redact, case_of_a_name_does_not_matter)
{
	cr_expect(lau_entry_is_secret("my_token=x"));
	cr_expect(lau_entry_is_secret("x_key=TOKEN"));
	cr_expect_not(lau_entry_is_secret("keyx=a_token"));
	cr_expect_not(lau_entry_is_secret("=token"));
	cr_expect_not(lau_entry_is_secret(""));
}

static char *const env[] = {(char[]){"A_TOKEN=secret-value"},
			    (char[]){"B_TOKEN=secret"},
			    (char[]){"C_TOKEN=value-and-more"},
			    (char[]){"D_TOKEN=abc"},
			    (char[]){"HOME=/root"},
			    (char[]){"E_TOKEN=aaaa"},
			    (char[]){"F_TOKEN"},
			    NULL};

/* Fed in pieces of every size: the same. */
static void becomes(const char *text, const char *want)
{
	b_auto(lau_secrets_release) struct lau_secrets secrets = {0};
	size_t n = strlen(text);

	lau_secrets_from(&secrets, env);
	for (size_t piece = 1; piece <= n; piece++) {
		b_auto(b_str_release) struct b_str out = {0};
		struct lau_redact r = {.secrets = &secrets};

		for (size_t at = 0; at < n; at += piece)
			lau_redact_feed(&r, text + at, at + piece < n ? piece : n - at, &out);
		lau_redact_end(&r, &out);
		cr_expect_str_eq(b_str_c(&out), want, "%s by %zu", text, piece);
		lau_redact_release(&r);
	}
}

Test(launcher_redact, values_are_taken_out_wherever_the_text_is_cut)
{
	becomes("x secret-value y", "x [REDACTED_ENV] y");
	becomes("secret", "[REDACTED_ENV]");
	becomes("secretsecret", "[REDACTED_ENV][REDACTED_ENV]");
	becomes("sec ret secre", "sec ret secre");
	becomes("/root abc", "/root abc"); /* no secret, and too short for one */
	becomes("secrsecret-val", "secr[REDACTED_ENV]-val");
}

Test(launcher_redact, of_values_that_overlap_nothing_is_left)
{
	becomes("<secret-value-and-more>", "<[REDACTED_ENV]>");
	becomes("<aaaaa>", "<[REDACTED_ENV]>");
	becomes("aaaaaaaa.", "[REDACTED_ENV].");
}

Test(launcher_redact, what_cannot_be_the_beginning_of_a_value_passes_at_once)
{
	b_auto(lau_secrets_release) struct lau_secrets secrets = {0};
	b_auto(b_str_release) struct b_str out = {0};
	struct lau_redact r = {.secrets = &secrets};

	lau_secrets_from(&secrets, env);
	lau_redact_feed(&r, "all sec", 7, &out);
	cr_expect_str_eq(b_str_c(&out), "all ");
	lau_redact_feed(&r, "tor", 3, &out);
	cr_expect_str_eq(b_str_c(&out), "all sector");
	lau_redact_release(&r);
}
