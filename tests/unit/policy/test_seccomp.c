/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/seccomp.c: the table of the static filter. */
#include "policy/plan/seccomp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "core/event.h"

static bool is_known(const char *call)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(calls[i].name, call))
			return true;
	return false;
}

Test(policy_seccomp, every_row_says_why_and_what)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	cr_assert_gt(n, 100);
	for (size_t i = 0; i < n; i++) {
		cr_expect(rules[i].call && *rules[i].call);
		cr_expect(rules[i].why && *rules[i].why, "%s", rules[i].call);
		cr_expect(is_known(rules[i].call), "%s", rules[i].call);
		cr_expect_lt((rules[i].only | rules[i].unless) &
				     ~(POL_SC_ENDPOINTS | POL_SC_SIGNALS | POL_SC_APART),
			     POL_SC_FLAGS);
	}
}

/* A refusal is an event: its call has a name there, its row an origin of its own. */
Test(policy_seccomp, rows_that_are_told_have_the_name_of_a_call_and_an_origin)
{
	size_t n, told = 0;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; i < n; i++) {
		unsigned call = 0;

		cr_expect_eq(pol_sc_row(rules[i].origin), &rules[i], "%s", rules[i].origin);
		if (rules[i].unless & POL_SC_BROKER || !pol_sc_is_told(&rules[i], POL_SC_BROKER))
			continue;
		while (call < SBX_CALL_COUNT && strcmp(sbx_call_name(call), rules[i].call) != 0)
			call++;
		cr_expect_lt(call, SBX_CALL_COUNT, "%s", rules[i].call);
		told++;
	}
	cr_expect_gt(told, 60);
	cr_expect_not(pol_sc_is_told(&rules[0], 0));
	cr_expect_null(pol_sc_row("builtin:filter:0"));
}

Test(policy_seccomp, arguments_are_compared_in_known_ways_each_once)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; i < n; i++) {
		unsigned seen = 0;

		cr_assert_leq(rules[i].nargs, 3);
		for (unsigned k = 0; k < rules[i].nargs; k++) {
			const struct pol_sc_arg *arg = &rules[i].arg[k];

			cr_expect(arg->cmp && strchr("&|-!", arg->cmp), "%s", rules[i].call);
			cr_expect_lt(arg->index, 6);
			cr_expect_not(seen & 1u << arg->index, "%s", rules[i].call);
			seen |= 1u << arg->index;
			/* A masked comparison that can never hold is a hole that looks shut. */
			if (arg->cmp == '&')
				cr_expect_eq(arg->value & ~arg->mask, 0, "%s", rules[i].call);
		}
	}
}

/* The first that holds answers: what stands behind one without conditions is never asked. */
Test(policy_seccomp, no_row_stands_behind_one_that_always_holds)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = i + 1; k < n; k++) {
				if (rules[i].nargs || !pol_sc_applies(&rules[i], flags) ||
				    !pol_sc_applies(&rules[k], flags))
					continue;
				cr_expect_str_neq(rules[i].call, rules[k].call);
			}
}

/* Linux numbers each machine's calls once. */
Test(policy_seccomp, known_calls_have_names_and_numbers_of_their_own)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	cr_assert_gt(n, 350);
	for (size_t i = 0; i < n; i++) {
		cr_expect(calls[i].nr[POL_X86_64] >= 0 || calls[i].nr[POL_AARCH64] >= 0, "%s",
			  calls[i].name);
		for (size_t k = 0; k < i; k++) {
			cr_expect_str_neq(calls[i].name, calls[k].name);
			for (unsigned m = 0; m < POL_MACHINES; m++)
				cr_expect(calls[i].nr[m] < 0 || calls[i].nr[m] != calls[k].nr[m],
					  "%s and %s", calls[i].name, calls[k].name);
		}
	}
}

Test(policy_seccomp, flags_choose_the_rows)
{
	struct pol_sc_rule row = {.unless = POL_SC_ALLOW_DEBUG};

	cr_expect(pol_sc_applies(&row, 0));
	cr_expect_not(pol_sc_applies(&row, POL_SC_ALLOW_DEBUG | POL_SC_NO_INET));
	row = (struct pol_sc_rule){.only = POL_SC_NO_INET};
	cr_expect_not(pol_sc_applies(&row, 0));
	cr_expect(pol_sc_applies(&row, POL_SC_NO_INET));
}

Test(policy_seccomp, show_names_call_answer_condition_and_reason)
{
	struct b_str out = {0};

	pol_sc_show(0, &out);
	cr_expect(strstr(b_str_c(&out), "ptrace               EPERM"));
	cr_expect(strstr(b_str_c(&out), "clone3               ENOSYS"));
	cr_expect(strstr(b_str_c(&out), "when arg1 == 0x5412  # types into the terminal"));
	cr_expect(strstr(b_str_c(&out), "when arg0 in 0x1..0xffffffff, arg2 != 0  # limits and"));
	cr_expect(strstr(
		b_str_c(&out),
		"ioctl                allowed         when arg1 in 0x5401..0x5411  # terminals\n"));
	cr_expect(strstr(b_str_c(&out), "\nunknown calls        ENOSYS\n"));
	cr_expect(strstr(b_str_c(&out), "fallocate            EOPNOTSUPP      when arg1 & 0x2"));
	cr_expect(strstr(b_str_c(&out), "fcntl                EACCES          when arg1 == 0x400"));
	cr_expect(strstr(b_str_c(&out), "madvise              EINVAL          when arg2 == 0x9"));
	cr_expect_null(strstr(b_str_c(&out), "truncate "));
	b_str_reset(&out);
	pol_sc_show(POL_SC_ALLOW_DEBUG | POL_SC_NO_TRUNCATE, &out);
	cr_expect_null(strstr(b_str_c(&out), "\nptrace"));
	b_str_reset(&out);
	pol_sc_show(POL_SC_BROKER, &out);
	cr_expect(strstr(b_str_c(&out), "\nptrace               by the broker"));
	cr_expect(strstr(b_str_c(&out), "\nclone, unshare       by the broker"));
	cr_expect_null(strstr(b_str_c(&out), "ptrace               EPERM"));
	b_str_reset(&out);
	pol_sc_show(POL_SC_ALLOW_DEBUG | POL_SC_NO_TRUNCATE, &out);
	cr_expect(strstr(b_str_c(&out), "\ntruncate "));
	b_str_release(&out);
}
