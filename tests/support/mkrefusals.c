/* SPDX-License-Identifier: Apache-2.0 */
/* mkrefusals FLAGS: makes a call for each row that the broker refuses beside a static filter of
 * these POL_SC_* flags (a number), and prints "ORIGIN CALL root|all". Status 1: one was not refused
 * as its row says. What a row does not ask for is 8: no descriptor, and no address. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/plan/seccomp.h"

#if defined(__x86_64__)
#define MACHINE POL_X86_64
#else
#define MACHINE POL_AARCH64
#endif

static int number_of(const char *name)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].nr[MACHINE];
	return -1;
}

static uint64_t meeting(const struct pol_sc_arg *a)
{
	if (a->cmp == '|')
		return a->mask & -a->mask;
	return a->cmp == '!' ? a->value + 1 : a->value;
}

/* The first row that holds answers. */
static const struct pol_sc_rule *decides(const char *call, unsigned flags, const uint64_t *args)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(rules[i].call, call) && pol_sc_applies(&rules[i], flags) &&
		    pol_sc_holds(&rules[i], args))
			return &rules[i];
	return NULL;
}

static int make(const struct pol_sc_rule *rule, unsigned flags)
{
	uint64_t a[6] = {8, 8, 8, 8, 8, 8};
	const struct pol_sc_rule *first;
	int nr = number_of(rule->call);
	long rc;

	for (unsigned i = 0; i < rule->nargs; i++)
		a[rule->arg[i].index] = meeting(&rule->arg[i]);
	first = decides(rule->call, flags, a);
	if (nr < 0 || !first || !pol_sc_is_told(first, flags))
		return 0;
	rc = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	printf("%s %s %s\n", first->origin, rule->call, first->is_root ? "root" : "all");
	if (rc == -1 && errno == first->err)
		return 0;
	fprintf(stderr, "%s: %ld, errno %d\n", rule->call, rc, errno);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned flags = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : POL_SC_BROKER;
	int bad = 0;
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; i < n; i++)
		if (pol_sc_applies(&rules[i], flags) && pol_sc_is_told(&rules[i], flags))
			bad |= make(&rules[i], flags);
	return bad;
}
