/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-filters.c - build-time program: the rows of policy/plan/seccomp.c compiled by filtercode.c,
 * one BPF program per combination of flags, written as C arrays to standard output. Programs
 * differ little: each instruction is written once, and a program as numbers of instructions.
 *
 * At build time because a launch has about a millisecond, and building the filter would take a
 * tenth of it.
 */
#include <stdio.h>
#include <string.h>

#include "launcher/linux/filters/filters.h"
#include "policy/plan/seccomp.h"

#if defined(__x86_64__)
#define MACHINE POL_X86_64
#elif defined(__aarch64__)
#define MACHINE POL_AARCH64
#else
#error "no seccomp filter for this machine yet"
#endif

static struct sock_filter known[UINT16_MAX];
static unsigned known_count;

static unsigned number_of(const struct sock_filter *insn)
{
	for (unsigned i = 0; i < known_count; i++)
		if (memcmp(&known[i], insn, sizeof *insn) == 0)
			return i;
	known[known_count] = *insn;
	return known_count++;
}

static void print_program(unsigned flags, const struct lau_code *p)
{
	printf("static const uint16_t prog_%u[] = {", flags);
	for (size_t i = 0; i < p->n; i++)
		printf("%s%u,", i % 16 ? " " : "\n\t", number_of(&p->insn[i]));
	printf("\n};\n");
}

static void print_known(void)
{
	printf("const struct sock_filter lau_filter_insns[] = {");
	for (unsigned i = 0; i < known_count; i++)
		printf("%s{ 0x%x, %u, %u, 0x%x },", i % 4 ? " " : "\n\t", known[i].code,
		       known[i].jt, known[i].jf, known[i].k);
	printf("\n};\n");
}

static int number_of_call(const char *name)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].nr[MACHINE];
	return -1;
}

/* The last row of the call that the broker may answer; -1: none. */
static int last_told(const char *call)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);
	int last = -1;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(rules[i].call, call) && pol_sc_is_told(&rules[i], POL_SC_BROKER) &&
		    !(rules[i].unless & POL_SC_BROKER))
			last = (int)i;
	return last;
}

static void print_told(void)
{
	unsigned count = 0;
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	printf("const struct lau_told_row lau_told_rows[] = {");
	for (int nr = 0; nr < 1024; nr++)
		for (size_t i = 0; i < n; i++)
			if (number_of_call(rules[i].call) == nr &&
			    (int)i <= last_told(rules[i].call))
				printf("%s{ %d, %zu },", count++ % 8 ? " " : "\n\t", nr, i);
	printf("\n};\nconst unsigned lau_told_n = %u;\n", count);
}

int main(void)
{
	static struct lau_code all[POL_SC_FLAGS];
	unsigned same[POL_SC_FLAGS];
	const char *why;

	printf("/* Made by gen-filters from policy/plan/seccomp.c. */\n"
	       "#include \"launcher/linux/filters/filters.h\"\n\n");
	for (unsigned f = 0; f < POL_SC_FLAGS; f++) {
		if (lau_filter_compile(MACHINE, f, &all[f], &why) < 0) {
			fprintf(stderr, "gen-filters: flags %#x: %s\n", f, why);
			return 1;
		}
		if (all[f].n > LAU_FILTER_MAX) {
			fprintf(stderr, "gen-filters: flags %#x: %zu instructions\n", f, all[f].n);
			return 1;
		}
		for (same[f] = 0; same[f] < f; same[f]++)
			if (all[same[f]].n == all[f].n &&
			    !memcmp(all[same[f]].insn, all[f].insn, all[f].n * sizeof *all[f].insn))
				break;
		if (same[f] == f)
			print_program(f, &all[f]);
	}
	print_known();
	print_told();
	printf("\nconst struct lau_packed_filter lau_packed_filters[] = {\n");
	for (unsigned f = 0; f < POL_SC_FLAGS; f++)
		printf("\t[%u] = { prog_%u, %zu },\n", f, same[f], all[f].n);
	printf("};\nconst unsigned lau_filters_n = %u;\n", POL_SC_FLAGS);
	return fflush(stdout) || ferror(stdout);
}
