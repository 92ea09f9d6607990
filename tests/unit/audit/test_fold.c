/* SPDX-License-Identifier: Apache-2.0 */
/* Equal denials are one line and a count, and each count names who told it. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <string.h>

static struct aud_fold fold;
static struct aud_folded evicted;

static enum aud_fold_answer add(const char *path, const char *layer, uint64_t n)
{
	const struct sbx_event ev = {.op = SBX_READ, .err = 13, .path_len = (uint16_t)strlen(path)};
	const struct aud_denied d = {&ev, path, "", layer};

	return aud_fold_add(&fold, &d, n, &evicted);
}

/* The one denial that has a count to write; NULL when there is not exactly one. */
static const struct aud_folded *counted(void)
{
	const struct aud_folded *one = NULL;

	for (size_t i = 0; i < AUD_FOLD_SLOTS; i++) {
		if (fold.slot[i].count && one)
			return NULL;
		if (fold.slot[i].count)
			one = &fold.slot[i];
	}
	return one;
}

static void end(void)
{
	aud_folded_release(&evicted);
	aud_fold_release(&fold);
}

Test(audit_fold, equal_denials_are_counted_behind_the_first, .fini = end)
{
	cr_assert_eq(add("/s/key", "shim", 1), AUD_FOLD_FIRST);
	cr_assert_null(counted());
	cr_assert_eq(add("/s/key", "shim", 1), AUD_FOLD_COUNTED);
	cr_assert_eq(add("/s/key", "shim", 3), AUD_FOLD_COUNTED);
	cr_assert_not_null(counted());
	cr_assert_eq(counted()->count, 4);
	cr_assert_eq(add("/s/other", "shim", 1), AUD_FOLD_FIRST);
}

Test(audit_fold, a_refusal_of_the_brokers_does_not_fold_into_a_shims_word, .fini = end)
{
	cr_expect_eq(add("/s/key", "shim", 1), AUD_FOLD_FIRST);
	cr_expect_eq(add("/s/key", "broker", 1), AUD_FOLD_FIRST);
	cr_expect_eq(add("/s/key", "shim", 1), AUD_FOLD_COUNTED);
	cr_expect_eq(add("/s/key", "broker", 1), AUD_FOLD_COUNTED);
}

Test(audit_fold, a_count_keeps_the_layer_that_told_it, .fini = end)
{
	add("/s/key", "broker", 1);
	add("/s/key", "broker", 1);
	cr_assert_not_null(counted());
	cr_assert_str_eq(counted()->layer, "broker");
	cr_assert_str_eq(counted()->path, "/s/key");
}
