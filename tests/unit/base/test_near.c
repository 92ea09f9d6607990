/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/opt.c. */
#include "base/opt.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *nearest(const char *typed)
{
	static const char *const names[] = {"denyRead", "denyModify", "fsProfiles", "op"};
	struct b_near near = B_NEAR_INIT;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		b_near_offer(&near, typed, strlen(typed), names[i], strlen(names[i]));
	return near.text ? near.text : "";
}

Test(base_near, two_edits_are_near)
{
	cr_expect_str_eq(nearest("deny_read"), "denyRead");
	cr_expect_str_eq(nearest("denyReads"), "denyRead");
	cr_expect_str_eq(nearest("dneyModify"), "denyModify");
	cr_expect_str_eq(nearest("fsProfil"), "fsProfiles");
}

Test(base_near, three_edits_and_short_names_are_not)
{
	cr_expect_str_eq(nearest("deny_reads"), "");
	cr_expect_str_eq(nearest("xy"), "");
	cr_expect_str_eq(nearest("ox"), "");
	cr_expect_str_eq(nearest(""), "");
}

Test(base_near, a_name_too_long_to_compare_is_not)
{
	char typed[200];

	memset(typed, 'd', sizeof typed - 1);
	typed[sizeof typed - 1] = '\0';
	cr_expect_str_eq(nearest(typed), "");
}
