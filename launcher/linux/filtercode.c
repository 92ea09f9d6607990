/*
 * filtercode.c - see filtercode.h.
 *
 * Numbers become runs with the same answer, runs a tree of comparisons; so do the values of an
 * argument where a call has a list of them (ioctl, socket). Tests are nodes of a graph in which
 * what is equal exists once: calls with the same conditions share them, and every answer stands
 * there once. Only instructions are used that the kernel can follow without running them
 * (seccomp_is_const_allow() of kernel/seccomp.c), so that it answers calls without conditions from
 * its bitmap.
 */
#include "launcher/linux/filtercode.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/back/seccomp.h"

#define NODES_MAX 2048
#define RUNS_MAX  1024
/* So many numbers are asked for one after the other before a range is divided once more. */
#define CHAIN_MAX 5

#define LOW(i)	 ((unsigned)offsetof(struct seccomp_data, args) + 8u * (i))
#define HIGH(i)	 (LOW(i) + 4u)
#define ALL	 UINT32_MAX
#define ENDS	 (UINT64_C(1) << 32)
#define ERRNO(e) (SECCOMP_RET_ERRNO | (unsigned)(e))

/* A test of one word of struct seccomp_data, or (BPF_RET) an answer. All members are unsigned:
 * nodes are compared as memory. */
struct node {
	unsigned code; /* BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JSET, BPF_RET */
	unsigned off, mask;
	unsigned k;
	unsigned yes, no; /* nodes made before, so their numbers are smaller */
};

struct graph {
	struct node v[NODES_MAX];
	unsigned n;
	enum pol_machine machine;
	unsigned flags;
	const char *why; /* something is wrong */
};

/* Numbers from `first` up to the next run's. */
struct run {
	uint32_t first;
	unsigned leaf;
};

static const unsigned arch_of[] = {
	[POL_X86_64] = AUDIT_ARCH_X86_64,
	[POL_AARCH64] = AUDIT_ARCH_AARCH64,
};

static unsigned intern(struct graph *g, const struct node *want)
{
	for (unsigned i = 0; i < g->n; i++)
		if (!memcmp(&g->v[i], want, sizeof *want))
			return i;
	if (g->n == NODES_MAX) {
		g->why = "too many tests";
		return 0;
	}
	g->v[g->n] = *want;
	return g->n++;
}

static unsigned answer(struct graph *g, unsigned action)
{
	return intern(g, &(struct node){.code = BPF_RET, .k = action});
}

static unsigned of_errno(struct graph *g, int err)
{
	return answer(g, err ? ERRNO(err) : SECCOMP_RET_ALLOW);
}

static unsigned branch(struct graph *g, unsigned code, unsigned off, unsigned k, unsigned yes,
		       unsigned no)
{
	if (yes == no)
		return yes;
	return intern(g, &(struct node){code, off, ALL, k, yes, no});
}

/* ---- runs ---- */

/* A few numbers in what is otherwise alike: NODES_MAX if these runs are not so. The last one ends
 * before `end`. */
static unsigned singles(struct graph *g, unsigned off, const struct run *r, size_t n, uint64_t end)
{
	unsigned around = NODES_MAX, node;
	size_t odd = 0;

	for (size_t i = 0; i < n; i++) {
		if ((i + 1 < n ? r[i + 1].first : end) - r[i].first == 1)
			continue;
		if (around != NODES_MAX && around != r[i].leaf)
			return NODES_MAX;
		around = r[i].leaf;
	}
	if (around == NODES_MAX)
		around = r[0].leaf;
	for (size_t i = 0; i < n; i++)
		odd += r[i].leaf != around;
	if (odd > CHAIN_MAX)
		return NODES_MAX;
	node = around;
	for (size_t i = n; i-- > 0;)
		if (r[i].leaf != around)
			node = branch(g, BPF_JEQ, off, r[i].first, r[i].leaf, node);
	return node;
}

static unsigned tree(struct graph *g, unsigned off, const struct run *r, size_t n, uint64_t end)
{
	size_t half = n / 2;
	unsigned node = singles(g, off, r, n, end), below;

	if (node != NODES_MAX)
		return node;
	below = tree(g, off, r, half, r[half].first);
	node = tree(g, off, r + half, n - half, end);
	return branch(g, BPF_JGE, off, r[half].first, node, below);
}

static size_t join(struct run *r, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || r[kept - 1].leaf != r[i].leaf)
			r[kept++] = r[i];
	return kept;
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
	const struct run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Rows that each ask for values of the same argument: the first that has the value answers, `other`
 * where none does. */
static unsigned ranges(struct graph *g, const struct pol_sc_rule *const *rows, size_t n,
		       unsigned other)
{
	struct run r[RUNS_MAX] = {{0, other}};
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
		r[kept] = (struct run){r[i].first, other};
		for (size_t k = n; k-- > 0;) {
			ends_of(&rows[k]->arg[0], &lo, &hi);
			if (r[kept].first >= lo && r[kept].first <= hi)
				r[kept].leaf = of_errno(g, rows[k]->err);
		}
		kept++;
	}
	return tree(g, LOW(rows[0]->arg[0].index), r, join(r, kept), ENDS);
}

/* The kernel reads ints from the low half. */
static unsigned test(struct graph *g, const struct pol_sc_arg *a, unsigned yes, unsigned no)
{
	unsigned low = LOW(a->index), high = HIGH(a->index), k = (unsigned)a->value;
	unsigned mask = (unsigned)a->mask;

	switch (a->cmp) {
	case '&':
		if (mask == k && !(k & (k - 1)))
			return branch(g, BPF_JSET, low, k, yes, no);
		return intern(g, &(struct node){BPF_JEQ, low, mask, k, yes, no});
	case '|':
		return branch(g, BPF_JSET, low, mask, yes, no);
	case '-':
		if (mask != ALL)
			yes = branch(g, BPF_JGT, low, mask, no, yes);
		return branch(g, BPF_JGE, low, k, yes, no);
	case '!':
		return branch(g, BPF_JEQ, low, k, branch(g, BPF_JEQ, high, 0, no, yes), yes);
	}
	g->why = "unknown comparison in the table";
	return no;
}

static unsigned of_rule(struct graph *g, const struct pol_sc_rule *rule, unsigned other)
{
	unsigned node = of_errno(g, rule->err);

	for (size_t i = rule->nargs; i-- > 0;)
		node = test(g, &rule->arg[i], node, other);
	return node;
}

/* From the last row to the first, which is asked first. */
static unsigned of_call(struct graph *g, const char *name)
{
	const struct pol_sc_rule *rows[RUNS_MAX / 2 - 1];
	unsigned node = answer(g, SECCOMP_RET_ALLOW);
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
	struct run by_nr[RUNS_MAX], r[RUNS_MAX];
	size_t ncalls, count = 0, n = 0;
	const struct pol_syscall *calls = pol_syscalls(&ncalls);
	unsigned unknown = of_errno(g, ENOSYS), node;
	uint32_t next = 0;

	for (size_t i = 0; i < ncalls; i++)
		if (calls[i].nr[g->machine] >= 0)
			by_nr[count++] = (struct run){(uint32_t)calls[i].nr[g->machine],
						      of_call(g, calls[i].name)};
	qsort(by_nr, count, sizeof *by_nr, by_first);
	for (size_t i = 0; i < count; i++) {
		if (by_nr[i].first > next)
			r[n++] = (struct run){next, unknown};
		r[n++] = by_nr[i];
		next = by_nr[i].first + 1;
	}
	r[n++] = (struct run){next, unknown};
	r[n++] = (struct run){UINT32_MAX, answer(g, SECCOMP_RET_ALLOW)};
	node = tree(g, offsetof(struct seccomp_data, nr), r, join(r, n), ENDS);
	return branch(g, BPF_JEQ, offsetof(struct seccomp_data, arch), arch_of[g->machine], node,
		      answer(g, SECCOMP_RET_KILL_PROCESS));
}

/* ---- from nodes to instructions ---- */

struct layout {
	bool is_used[NODES_MAX];
	bool must_load[NODES_MAX]; /* some node before has another word at hand */
	unsigned at[NODES_MAX];
};

static bool same_word(const struct node *a, const struct node *b)
{
	return a->off == b->off && a->mask == b->mask;
}

static unsigned load_size(const struct layout *l, const struct node *v, unsigned i)
{
	return !l->must_load[i] ? 0 : v[i].mask == ALL ? 1 : 2;
}

static void lay_out(const struct graph *g, unsigned root, struct layout *l)
{
	unsigned at = 0;

	l->is_used[root] = l->must_load[root] = true;
	for (unsigned i = root + 1; i-- > 0;) {
		const struct node *node = &g->v[i];
		const unsigned next[] = {node->yes, node->no};

		if (!l->is_used[i])
			continue;
		l->at[i] = at;
		at++;
		if (node->code == BPF_RET)
			continue;
		at += load_size(l, g->v, i);
		for (size_t k = 0; k < 2; k++) {
			const struct node *to = &g->v[next[k]];

			l->is_used[next[k]] = true;
			if (to->code != BPF_RET && !same_word(node, to))
				l->must_load[next[k]] = true;
		}
	}
}

/* How far it is from a jump at `from` to the node: past its load where the word is at hand. */
static unsigned distance(const struct graph *g, const struct layout *l, unsigned from,
			 const struct node *node, unsigned to)
{
	unsigned at = l->at[to];

	if (g->v[to].code != BPF_RET && same_word(node, &g->v[to]))
		at += load_size(l, g->v, to);
	return at - (from + 1);
}

static bool put(struct lau_code *out, struct sock_filter insn)
{
	if (out->n == LAU_CODE_MAX)
		return false;
	out->insn[out->n++] = insn;
	return true;
}

static bool emit(const struct graph *g, const struct layout *l, unsigned i, struct lau_code *out)
{
	const struct node *node = &g->v[i];
	unsigned loads, yes, no;

	if (node->code == BPF_RET)
		return put(out, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, node->k));
	loads = load_size(l, g->v, i);
	if (loads > 0 &&
	    !put(out, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, node->off)))
		return false;
	if (loads > 1 &&
	    !put(out, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, node->mask)))
		return false;
	yes = distance(g, l, (unsigned)out->n, node, node->yes);
	no = distance(g, l, (unsigned)out->n, node, node->no);
	return yes <= UINT8_MAX && no <= UINT8_MAX &&
	       put(out, (struct sock_filter)BPF_JUMP(BPF_JMP | node->code | BPF_K, node->k,
						     (unsigned char)yes, (unsigned char)no));
}

int lau_filter_compile(enum pol_machine machine, unsigned flags, struct lau_code *out,
		       const char **out_why)
{
	static struct graph g; /* of the build and the tests, which have one thread */
	static struct layout l;
	unsigned root;

	g = (struct graph){.machine = machine, .flags = flags};
	l = (struct layout){0};
	out->n = 0;
	root = whole(&g);
	if (!g.why)
		lay_out(&g, root, &l);
	for (unsigned i = root + 1; !g.why && i-- > 0;)
		if (l.is_used[i] && !emit(&g, &l, i, out))
			g.why = "the program is too long";
	*out_why = g.why;
	return g.why ? -1 : 0;
}
