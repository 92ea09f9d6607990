/*
 * filtercode.h - the table of policy/plan/seccomp.c as a BPF program for one machine. Pure; used by
 * gen-filters, a program of the build, and by the tests, which compile for both machines.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "policy/plan/seccomp.h"

/* Jumps reach 255 instructions, and answers stand at the end. */
#define LAU_CODE_MAX 512

struct lau_code {
	struct sock_filter insn[LAU_CODE_MAX];
	size_t n;
};

/* 0, or -1 with what is wrong with the table. */
int lau_filter_compile(enum pol_machine, unsigned flags, struct lau_code *out,
		       const char **out_why);
