/* SPDX-License-Identifier: Apache-2.0 */
/* bpfgraph.c - see filters.h. */
#include "launcher/linux/filters/filters.h"

#include <linux/seccomp.h>
#include <string.h>

/* So many numbers are asked for one after the other before a range is divided once more. */
#define CHAIN_MAX 5

#define ENDS (UINT64_C(1) << 32)

/* The slot of an equal node, or the free one for it. */
static unsigned short *find_slot(struct lau_bpf *g, const struct lau_bpf_node *want)
{
	const unsigned words[] = {want->code, want->off, want->mask, want->k, want->yes, want->no};
	uint32_t h = 2166136261u; /* FNV-1a, by words */

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		h = (h ^ words[i]) * 16777619u;
	for (h ^= h >> 15;; h++) {
		unsigned short *slot = &g->slot[h % LAU_BPF_SLOTS];

		if (!*slot || !memcmp(&g->v[*slot - 1], want, sizeof *want))
			return slot;
	}
}

static unsigned intern(struct lau_bpf *g, const struct lau_bpf_node *want)
{
	unsigned short *slot = find_slot(g, want);

	if (*slot)
		return *slot - 1u;
	if (g->n == LAU_BPF_NODES) {
		g->is_full = true;
		return 0;
	}
	g->v[g->n] = *want;
	*slot = (unsigned short)(g->n + 1);
	return g->n++;
}

unsigned lau_bpf_answer(struct lau_bpf *g, unsigned action)
{
	return intern(g, &(struct lau_bpf_node){.code = BPF_RET, .k = action});
}

unsigned lau_bpf_branch(struct lau_bpf *g, unsigned code, unsigned off, unsigned mask, unsigned k,
			unsigned yes, unsigned no)
{
	if (yes == no)
		return yes;
	return intern(g, &(struct lau_bpf_node){code, off, mask, k, yes, no});
}

/* ---- runs ---- */

/* A few numbers in what is otherwise alike: LAU_BPF_NODES if these runs are not so. The last one
 * ends before `end`. */
#define LOW(i)	((unsigned)offsetof(struct seccomp_data, args) + 8u * (i))
#define HIGH(i) (LOW(i) + 4u)

/* The kernel reads ints from the low half. */
unsigned lau_bpf_test(struct lau_bpf *g, const struct pol_sc_arg *a, unsigned yes, unsigned no)
{
	unsigned low = LOW(a->index), k = (unsigned)a->value, mask = (unsigned)a->mask;

	switch (a->cmp) {
	case '&':
		if (mask == k && !(k & (k - 1)))
			return lau_bpf_branch(g, BPF_JSET, low, LAU_BPF_ALL, k, yes, no);
		return lau_bpf_branch(g, BPF_JEQ, low, mask, k, yes, no);
	case '|':
		return lau_bpf_branch(g, BPF_JSET, low, LAU_BPF_ALL, mask, yes, no);
	case '-':
		if (mask != LAU_BPF_ALL)
			yes = lau_bpf_branch(g, BPF_JGT, low, LAU_BPF_ALL, mask, no, yes);
		return lau_bpf_branch(g, BPF_JGE, low, LAU_BPF_ALL, k, yes, no);
	default: /* '!' */
		no = lau_bpf_branch(g, BPF_JEQ, HIGH(a->index), LAU_BPF_ALL, 0, no, yes);
		return lau_bpf_branch(g, BPF_JEQ, low, LAU_BPF_ALL, k, no, yes);
	}
}

static unsigned singles(struct lau_bpf *g, unsigned off, const struct lau_bpf_run *r, size_t n,
			uint64_t end)
{
	unsigned around = LAU_BPF_NODES, node;
	size_t odd = 0;

	for (size_t i = 0; i < n; i++) {
		if ((i + 1 < n ? r[i + 1].first : end) - r[i].first == 1)
			continue;
		if (around != LAU_BPF_NODES && around != r[i].leaf)
			return LAU_BPF_NODES;
		around = r[i].leaf;
	}
	if (around == LAU_BPF_NODES)
		around = r[0].leaf;
	for (size_t i = 0; i < n; i++)
		odd += r[i].leaf != around;
	if (odd > CHAIN_MAX)
		return LAU_BPF_NODES;
	node = around;
	for (size_t i = n; i-- > 0;)
		if (r[i].leaf != around)
			node = lau_bpf_branch(g, BPF_JEQ, off, LAU_BPF_ALL, r[i].first, r[i].leaf,
					      node);
	return node;
}

static unsigned tree(struct lau_bpf *g, unsigned off, const struct lau_bpf_run *r, size_t n,
		     uint64_t end)
{
	size_t half = n / 2;
	unsigned node = singles(g, off, r, n, end), below;

	if (node != LAU_BPF_NODES)
		return node;
	below = tree(g, off, r, half, r[half].first);
	node = tree(g, off, r + half, n - half, end);
	return lau_bpf_branch(g, BPF_JGE, off, LAU_BPF_ALL, r[half].first, node, below);
}

static size_t join(struct lau_bpf_run *r, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || r[kept - 1].leaf != r[i].leaf)
			r[kept++] = r[i];
	return kept;
}

unsigned lau_bpf_tree(struct lau_bpf *g, unsigned off, struct lau_bpf_run *r, size_t n)
{
	return tree(g, off, r, join(r, n), ENDS);
}

/* ---- from nodes to instructions ---- */

struct layout {
	bool is_used[LAU_BPF_NODES];
	bool must_load[LAU_BPF_NODES]; /* some node before has another word at hand */
	unsigned at[LAU_BPF_NODES];
	/* `yes` and `no` are farther than a jump reaches: a long one stands behind the node */
	bool is_far[LAU_BPF_NODES][2];
};

static bool same_word(const struct lau_bpf_node *a, const struct lau_bpf_node *b)
{
	return a->off == b->off && a->mask == b->mask;
}

static unsigned load_size(const struct layout *l, const struct lau_bpf_node *v, unsigned i)
{
	return !l->must_load[i] ? 0 : v[i].mask == LAU_BPF_ALL ? 1 : 2;
}

static void place(const struct lau_bpf *g, unsigned root, struct layout *l)
{
	unsigned at = 0;

	l->is_used[root] = l->must_load[root] = true;
	for (unsigned i = root + 1; i-- > 0;) {
		const struct lau_bpf_node *node = &g->v[i];
		const unsigned next[] = {node->yes, node->no};

		if (!l->is_used[i])
			continue;
		l->at[i] = at;
		at++;
		if (node->code == BPF_RET)
			continue;
		at += load_size(l, g->v, i) + l->is_far[i][0] + l->is_far[i][1];
		for (size_t k = 0; k < 2; k++) {
			const struct lau_bpf_node *to = &g->v[next[k]];

			l->is_used[next[k]] = true;
			if (to->code != BPF_RET && !same_word(node, to))
				l->must_load[next[k]] = true;
		}
	}
}

/* How far it is from a jump at `from` to the node: past its load where the word is at hand. */
static unsigned distance(const struct lau_bpf *g, const struct layout *l, unsigned from,
			 const struct lau_bpf_node *node, unsigned to)
{
	unsigned at = l->at[to];

	if (g->v[to].code != BPF_RET && same_word(node, &g->v[to]))
		at += load_size(l, g->v, to);
	return at - (from + 1);
}

/* Long jumps move what stands behind them: until no more are needed. */
static void lay_out(const struct lau_bpf *g, unsigned root, struct layout *l)
{
	bool is_changed;

	do {
		is_changed = false;
		place(g, root, l);
		for (unsigned i = 0; i <= root; i++) {
			const unsigned next[] = {g->v[i].yes, g->v[i].no};
			unsigned from = l->at[i] + load_size(l, g->v, i);

			for (size_t k = 0; l->is_used[i] && g->v[i].code != BPF_RET && k < 2; k++)
				if (!l->is_far[i][k] &&
				    distance(g, l, from, &g->v[i], next[k]) > UINT8_MAX)
					is_changed = l->is_far[i][k] = true;
		}
	} while (is_changed);
}

struct program {
	struct sock_filter *insn;
	size_t n, max;
};

static bool put(struct program *out, struct sock_filter insn)
{
	if (out->n == out->max)
		return false;
	out->insn[out->n++] = insn;
	return true;
}

static bool emit(const struct lau_bpf *g, const struct layout *l, unsigned i, struct program *out)
{
	const struct lau_bpf_node *node = &g->v[i];
	const bool *far = l->is_far[i];
	unsigned loads, to[2], at;

	if (node->code == BPF_RET)
		return put(out, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, node->k));
	loads = load_size(l, g->v, i);
	if (loads > 0 &&
	    !put(out, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, node->off)))
		return false;
	if (loads > 1 &&
	    !put(out, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, node->mask)))
		return false;
	at = (unsigned)out->n;
	to[0] = far[0] ? 0 : distance(g, l, at, node, node->yes);
	to[1] = far[1] ? far[0] : distance(g, l, at, node, node->no);
	if (!put(out, (struct sock_filter)BPF_JUMP(BPF_JMP | node->code | BPF_K, node->k,
						   (unsigned char)to[0], (unsigned char)to[1])))
		return false;
	for (size_t k = 0; k < 2; k++) {
		unsigned next = k ? node->no : node->yes;

		if (far[k] && !put(out, (struct sock_filter)BPF_STMT(
						BPF_JMP | BPF_JA,
						distance(g, l, (unsigned)out->n, node, next))))
			return false;
	}
	return true;
}

size_t lau_bpf_emit(const struct lau_bpf *g, unsigned root, struct sock_filter *insn, size_t max)
{
	struct program out = {.insn = insn, .max = max};
	struct layout l = {.at = {0}};

	if (g->is_full)
		return 0;
	lay_out(g, root, &l);
	for (unsigned i = root + 1; i-- > 0;)
		if (l.is_used[i] && !emit(g, &l, i, &out))
			return 0;
	return out.n;
}
