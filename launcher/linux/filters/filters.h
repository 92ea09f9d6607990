/* SPDX-License-Identifier: Apache-2.0 */
/* filters.h - seccomp programs: compiled at build time from the rows of policy/plan. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/plan/seccomp.h"

/* The static filters as made at build time by gen-filters.c (build/gen/filters.c). */

struct lau_filter {
	const struct sock_filter *prog;
	unsigned short len;
};

/* As they are stored: numbers of lau_filter_insns, in which each instruction is once. Indexed by
 * POL_SC_* flags; equal programs are stored once. */
struct lau_packed_filter {
	const uint16_t *insns;
	unsigned short len;
};
extern const struct sock_filter lau_filter_insns[];
extern const struct lau_packed_filter lau_packed_filters[];
extern const unsigned lau_filters_n;
#define LAU_FILTER_MAX 256 /* instructions of the longest */

/* Rows of policy/plan/seccomp.c that the broker may have to answer (pol_sc_is_told()), by the
 * numbers that the calls have on this machine, and in a call's order; rows of the same call in
 * front of one are here, too. */
struct lau_told_row {
	uint16_t nr, row;
};
extern const struct lau_told_row lau_told_rows[];
extern const unsigned lau_told_n;

/* The program in `room`; none (no instructions) for flags that there are not. */
static inline struct lau_filter lau_filter_unpack(unsigned flags,
						  struct sock_filter room[LAU_FILTER_MAX])
{
	struct lau_filter f = {room, 0};

	for (; flags < lau_filters_n && f.len < lau_packed_filters[flags].len; f.len++)
		room[f.len] = lau_filter_insns[lau_packed_filters[flags].insns[f.len]];
	return f;
}

/*
 * Seccomp programs as graphs of tests: numbers become runs with the same answer, runs
 * a tree of comparisons; tests and answers that are equal exist once. Pure; no allocation, for a
 * graph is also made between fork and exec.
 *
 *	struct lau_bpf g = {0};
 *	struct lau_bpf_run r[] = {{0, lau_bpf_answer(&g, SECCOMP_RET_ALLOW)}, ...};
 *	root = lau_bpf_tree(&g, offsetof(struct seccomp_data, nr), r, n);
 *	len = lau_bpf_emit(&g, root, insn, max);	0: too long
 *
 * Only instructions are used that the kernel can follow without running them
 * (seccomp_is_const_allow() of kernel/seccomp.c), so that it answers calls without conditions from
 * its bitmap.
 */

#define LAU_BPF_NODES 512
#define LAU_BPF_SLOTS 1024
#define LAU_BPF_ALL   UINT32_MAX /* mask: the whole word */

/* A test of one word of struct seccomp_data, or (BPF_RET) an answer. All members are unsigned:
 * nodes are compared as memory. */
struct lau_bpf_node {
	unsigned code; /* BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JSET, BPF_RET */
	unsigned off, mask;
	unsigned k;
	unsigned yes, no; /* nodes made before, so their numbers are smaller */
};

struct lau_bpf {
	struct lau_bpf_node v[LAU_BPF_NODES];
	unsigned n;
	bool is_full;
	unsigned short slot[LAU_BPF_SLOTS]; /* node + 1, by its content */
};

/* Numbers from `first` up to the next run's. */
struct lau_bpf_run {
	uint32_t first;
	unsigned leaf;
};

unsigned lau_bpf_answer(struct lau_bpf *, unsigned action);
/* (word at `off` & mask) `code` k ? yes : no */
unsigned lau_bpf_branch(struct lau_bpf *, unsigned code, unsigned off, unsigned mask, unsigned k,
			unsigned yes, unsigned no);
/* What a row of policy/plan asks of an argument. */
unsigned lau_bpf_test(struct lau_bpf *, const struct pol_sc_arg *, unsigned yes, unsigned no);
/* Sorted, each once, from 0 on; equal neighbours are joined in place. */
unsigned lau_bpf_tree(struct lau_bpf *, unsigned off, struct lau_bpf_run *, size_t n);
/* Number of instructions, or 0: more than `max`. */
size_t lau_bpf_emit(const struct lau_bpf *, unsigned root, struct sock_filter *out, size_t max);

/*
 * The table of policy/plan/seccomp.c as a BPF program for one machine. Pure; used by
 * gen-filters, a program of the build, and by the tests, which compile for both machines.
 */

#define LAU_CODE_MAX 512

struct lau_code {
	struct sock_filter insn[LAU_CODE_MAX];
	size_t n;
};

/* 0, or -1 with what is wrong with the table. */
int lau_filter_compile(enum pol_machine, unsigned flags, struct lau_code *out,
		       const char **out_why);
