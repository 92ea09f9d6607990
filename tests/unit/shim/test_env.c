/* SPDX-License-Identifier: Apache-2.0 */
/* test_env.c - the variables of a program about to start. */
#include "shim/env.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/proc.h"

static void setup(void)
{
	strcpy(shim.preload, "/lib/libsbx-shim.so");
	strcpy(shim.channel, "/run/ch");
}

TestSuite(shim_env, .init = setup);

#define OUR_PRELOAD "LD_PRELOAD=/lib/libsbx-shim.so"
#define OUR_CHANNEL "SBX_CHANNEL=/run/ch"

/* Plans and builds; compares with `want`, a NULL-ended list. */
static void expect(char *const *from, const char *const *want)
{
	struct shim_env env;
	char *const *got = from;
	void *memory = NULL;
	size_t i;

	cr_assert(shim_env_plan(&env, from));
	if (env.is_needed) {
		memory = malloc(shim_env_bytes(&env));
		got = shim_env_build(&env, memory);
	}
	for (i = 0; want[i]; i++) {
		cr_assert_not_null(got[i], "entry %zu is missing: %s", i, want[i]);
		cr_expect_str_eq(got[i], want[i]);
	}
	cr_expect_null(got[i]);
	free(memory);
}

#define S(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define W(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(shim_env, a_complete_environment_is_used_as_it_is)
{
	char *const *from = S("A=1", OUR_PRELOAD, OUR_CHANNEL);
	struct shim_env env;

	cr_assert(shim_env_plan(&env, from));
	cr_expect_not(env.is_needed);
}

Test(shim_env, both_are_added_to_an_empty_one)
{
	expect(S(), W(OUR_PRELOAD, OUR_CHANNEL));
}

Test(shim_env, no_environment_is_an_empty_one)
{
	expect(NULL, W(OUR_PRELOAD, OUR_CHANNEL));
}

/* glibc's loader takes the last LD_PRELOAD of several, getenv the first. */
Test(shim_env, of_a_name_that_stands_there_twice_each_entry_is_ours)
{
	expect(S(OUR_PRELOAD, OUR_CHANNEL, "LD_PRELOAD=b.so", "SBX_CHANNEL=/other"),
	       W("LD_PRELOAD=b.so:/lib/libsbx-shim.so", OUR_CHANNEL,
		 "LD_PRELOAD=b.so:/lib/libsbx-shim.so", OUR_CHANNEL));
	expect(S("LD_PRELOAD=b.so", OUR_PRELOAD), W(OUR_PRELOAD, OUR_PRELOAD, OUR_CHANNEL));
}

Test(shim_env, foreign_entries_stay_in_front)
{
	expect(S("LD_PRELOAD=a.so:b.so", "X=y"),
	       W("LD_PRELOAD=a.so:b.so:/lib/libsbx-shim.so", "X=y", OUR_CHANNEL));
}

Test(shim_env, our_entry_among_others_is_found)
{
	expect(S("LD_PRELOAD=a.so /lib/libsbx-shim.so b.so", OUR_CHANNEL),
	       W("LD_PRELOAD=a.so /lib/libsbx-shim.so b.so", OUR_CHANNEL));
}

Test(shim_env, an_entry_that_only_begins_like_ours_is_not_ours)
{
	expect(S("LD_PRELOAD=/lib/libsbx-shim.so.old", OUR_CHANNEL),
	       W("LD_PRELOAD=/lib/libsbx-shim.so.old:/lib/libsbx-shim.so", OUR_CHANNEL));
}

Test(shim_env, an_empty_preload_becomes_ours)
{
	expect(S("LD_PRELOAD=", OUR_CHANNEL), W(OUR_PRELOAD, OUR_CHANNEL));
}

Test(shim_env, another_channel_is_replaced)
{
	expect(S("SBX_CHANNEL=/elsewhere", OUR_PRELOAD), W(OUR_CHANNEL, OUR_PRELOAD));
}

Test(shim_env, names_that_only_begin_alike_are_left)
{
	expect(S("LD_PRELOAD_X=1", "SBX_CHANNELS=2"),
	       W("LD_PRELOAD_X=1", "SBX_CHANNELS=2", OUR_PRELOAD, OUR_CHANNEL));
}

Test(shim_env, what_would_overflow_the_stack_is_refused)
{
	enum { N = 10000 };
	static char *from[N + 1], big[1 << 16], entry[] = "A=1";
	struct shim_env env;
	size_t i;

	for (i = 0; i < N; i++)
		from[i] = entry;
	cr_expect_not(shim_env_plan(&env, from));
	snprintf(big, sizeof big, "LD_PRELOAD=%060000d", 0);
	cr_expect_not(shim_env_plan(&env, S(big)));
}

Test(shim_env, without_a_path_of_our_own_nothing_is_promised)
{
	struct shim_env env;

	shim.preload[0] = '\0';
	cr_expect_not(shim_env_plan(&env, S("A=1")));
}

static void expect_sibling(const char *before, const char *after)
{
	struct shim_env env;
	char *const *got;
	void *memory;

	strcpy(shim.sibling, "/lib/libsbx-shim32.so");
	cr_assert(shim_env_plan_for(&env, S(before, OUR_CHANNEL), true));
	cr_assert(env.is_needed);
	memory = malloc(shim_env_bytes(&env));
	got = shim_env_build(&env, memory);
	cr_expect_str_eq(got[0], after);
	cr_expect_str_eq(got[1], OUR_CHANNEL);
	cr_expect_null(got[2]);
	free(memory);
}

Test(shim_env, for_the_other_word_size_the_sibling_takes_our_place)
{
	expect_sibling(OUR_PRELOAD, "LD_PRELOAD=/lib/libsbx-shim32.so");
	expect_sibling("LD_PRELOAD=/a.so:/lib/libsbx-shim.so /b.so",
		       "LD_PRELOAD=/a.so:/lib/libsbx-shim32.so /b.so");
	expect_sibling("LD_PRELOAD=/a.so", "LD_PRELOAD=/a.so:/lib/libsbx-shim32.so");
	expect_sibling("LD_PRELOAD=/lib/libsbx-shim32.so:/lib/libsbx-shim.so:/a.so",
		       "LD_PRELOAD=/lib/libsbx-shim32.so::/a.so");
}
