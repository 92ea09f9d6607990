/* SPDX-License-Identifier: Apache-2.0 */
/* filtercode.c - calls whose conditions are a list of values of one argument
 * (ioctl, socket) are trees of ranges as the numbers are. */
#include "launcher/linux/filters/filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan/seccomp.h"

#define RUNS_MAX 1024

#define LOW(i)	 ((unsigned)offsetof(struct seccomp_data, args) + 8u * (i))
#define ALL	 LAU_BPF_ALL
#define ERRNO(e) (SECCOMP_RET_ERRNO | (unsigned)(e))

struct graph {
	struct lau_bpf bpf;
	enum pol_machine machine;
	unsigned flags;
};

static const unsigned arch_of[] = {
	[POL_X86_64] = AUDIT_ARCH_X86_64,
	[POL_AARCH64] = AUDIT_ARCH_AARCH64,
};

static unsigned of_errno(struct graph *g, int err)
{
	return lau_bpf_answer(&g->bpf, err ? ERRNO(err) : SECCOMP_RET_ALLOW);
}

static unsigned branch(struct graph *g, unsigned code, unsigned off, unsigned k, unsigned yes,
		       unsigned no)
{
	return lau_bpf_branch(&g->bpf, code, off, ALL, k, yes, no);
}

/* What the broker refuses passes here: an errno of ours would outweigh its listener. */
static unsigned answer_of(struct graph *g, const struct pol_sc_rule *rule)
{
	return of_errno(g, pol_sc_is_told(rule, g->flags) ? 0 : rule->err);
}

/* ---- the conditions of a call ---- */

static bool is_range(const struct pol_sc_rule *rule)
{
	return rule->nargs == 1 &&
	       (rule->arg[0].cmp == '-' || (rule->arg[0].cmp == '&' && rule->arg[0].mask == ALL));
}

static void ends_of(const struct pol_sc_arg *a, uint32_t *lo, uint32_t *hi)
{
	*lo = (uint32_t)a->value;
	*hi = a->cmp == '-' ? (uint32_t)a->mask : *lo;
}

static int by_first(const void *a, const void *b)
{
	const struct lau_bpf_run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Rows that each ask for values of the same argument: the first that has the value answers, `other`
 * where none does. */
static unsigned ranges(struct graph *g, const struct pol_sc_rule *const *rows, size_t n,
		       unsigned other)
{
	struct lau_bpf_run r[RUNS_MAX] = {{0, other}};
	size_t nr = 1, kept = 0;
	uint32_t lo, hi;

	for (size_t i = 0; i < n; i++) {
		ends_of(&rows[i]->arg[0], &lo, &hi);
		r[nr++].first = lo;
		if (hi < UINT32_MAX)
			r[nr++].first = hi + 1;
	}
	qsort(r, nr, sizeof *r, by_first);
	for (size_t i = 0; i < nr; i++) {
		if (kept && r[kept - 1].first == r[i].first)
			continue;
		r[kept] = (struct lau_bpf_run){r[i].first, other};
		for (size_t k = n; k-- > 0;) {
			ends_of(&rows[k]->arg[0], &lo, &hi);
			if (r[kept].first >= lo && r[kept].first <= hi)
				r[kept].leaf = answer_of(g, rows[k]);
		}
		kept++;
	}
	return lau_bpf_tree(&g->bpf, LOW(rows[0]->arg[0].index), r, kept);
}

static unsigned of_rule(struct graph *g, const struct pol_sc_rule *rule, unsigned other)
{
	unsigned node = answer_of(g, rule);

	for (size_t i = rule->nargs; i-- > 0;)
		node = lau_bpf_test(&g->bpf, &rule->arg[i], node, other);
	return node;
}

/* From the last row to the first, which is asked first. */
static unsigned of_call(struct graph *g, const char *name)
{
	const struct pol_sc_rule *rows[RUNS_MAX / 2 - 1];
	unsigned node = lau_bpf_answer(&g->bpf, SECCOMP_RET_ALLOW);
	size_t total, n = 0, from;
	const struct pol_sc_rule *all = pol_sc_rules(&total);

	for (size_t i = 0; i < total; i++)
		if (!strcmp(all[i].call, name) && pol_sc_applies(&all[i], g->flags))
			rows[n++] = &all[i];
	while (n > 0) {
		from = n - 1;
		while (from > 0 && is_range(rows[from]) && is_range(rows[from - 1]) &&
		       rows[from]->arg[0].index == rows[from - 1]->arg[0].index)
			from--;
		node = n - from > 1 ? ranges(g, rows + from, n - from, node)
				    : of_rule(g, rows[from], node);
		n = from;
	}
	return node;
}

/* ---- all numbers ---- */

/* A tracer sets -1 to skip a call. x32 numbers are as unknown as others: a runtime that probes for
 * x32 sees a kernel without it. A foreign machine's numbers (int 0x80) mean other calls. */
static unsigned whole(struct graph *g)
{
	struct lau_bpf_run by_nr[RUNS_MAX], r[RUNS_MAX];
	size_t ncalls, count = 0, n = 0;
	const struct pol_syscall *calls = pol_syscalls(&ncalls);
	unsigned unknown = of_errno(g, ENOSYS), node;
	uint32_t next = 0;

	for (size_t i = 0; i < ncalls; i++)
		if (calls[i].nr[g->machine] >= 0)
			by_nr[count++] = (struct lau_bpf_run){(uint32_t)calls[i].nr[g->machine],
							      of_call(g, calls[i].name)};
	qsort(by_nr, count, sizeof *by_nr, by_first);
	for (size_t i = 0; i < count; i++) {
		if (by_nr[i].first > next)
			r[n++] = (struct lau_bpf_run){next, unknown};
		r[n++] = by_nr[i];
		next = by_nr[i].first + 1;
	}
	r[n++] = (struct lau_bpf_run){next, unknown};
	r[n++] = (struct lau_bpf_run){UINT32_MAX, lau_bpf_answer(&g->bpf, SECCOMP_RET_ALLOW)};
	node = lau_bpf_tree(&g->bpf, offsetof(struct seccomp_data, nr), r, n);
	return branch(g, BPF_JEQ, offsetof(struct seccomp_data, arch), arch_of[g->machine], node,
		      lau_bpf_answer(&g->bpf, SECCOMP_RET_KILL_PROCESS));
}

int lau_filter_compile(enum pol_machine machine, unsigned flags, struct lau_code *out,
		       const char **out_why)
{
	static struct graph g; /* of the build and the tests, which have one thread */
	unsigned root;

	g = (struct graph){.machine = machine, .flags = flags};
	root = whole(&g);
	out->n = lau_bpf_emit(&g.bpf, root, out->insn, LAU_CODE_MAX);
	*out_why = "the program is too long";
	return out->n ? 0 : -1;
}
