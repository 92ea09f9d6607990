/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c - calls that no rule opens: rows of the static filter (policy/plan/seccomp.h) that the
 * broker answers in its place, so that each refusal has a line and an event. The kernel continues
 * none of them. A row checks only registers, so that memory does not matter. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/event.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/filters/filters.h"

#define NUMBERS 512 /* calls have small numbers */

/* The flags of the static filter, and what is the broker's alone: which is one, whoever planned it.
 */
static unsigned flags_of(const struct lau_broker_plan *plan)
{
	unsigned flags = plan->filter_flags | POL_SC_BROKER;

	if (plan->traps & POL_TRAP_ENDPOINTS)
		flags |= POL_SC_ENDPOINTS;
	if (plan->traps & POL_TRAP_SIGNALS)
		flags |= POL_SC_SIGNALS;
	if (plan->traps & POL_TRAP_SOCKETS && plan->net.is_apart)
		flags |= POL_SC_APART;
	return flags;
}

static const struct pol_sc_rule *rule_at(unsigned i)
{
	size_t n;

	return pol_sc_rules(&n) + lau_told_rows[i].row;
}

/* The call's first row + 1; 0: it has none. Filled once, by the first thread. */
static unsigned first_of(int nr)
{
	static unsigned char first[NUMBERS];
	static bool is_filled;

	for (unsigned i = lau_told_n; !is_filled && i-- > 0;)
		if (lau_told_rows[i].nr < NUMBERS)
			first[lau_told_rows[i].nr] = (unsigned char)(i + 1);
	is_filled = true;
	return nr >= 0 && nr < NUMBERS ? first[nr] : 0;
}

bool br_has_refusals(const struct lau_broker_plan *plan, int nr)
{
	unsigned flags = flags_of(plan), i = first_of(nr);

	for (; i && i <= lau_told_n && lau_told_rows[i - 1].nr == nr; i++)
		if (pol_sc_applies(rule_at(i - 1), flags) && pol_sc_is_told(rule_at(i - 1), flags))
			return true;
	return false;
}

/* From the last row to the first, which is asked first: as the static filter does. */
unsigned br_trap_refusals(struct lau_bpf *bpf, const struct lau_broker_plan *plan, int nr,
			  const struct br_leaves *leaf)
{
	unsigned flags = flags_of(plan), from = first_of(nr), to = from, node = leaf->other;

	while (to && to <= lau_told_n && lau_told_rows[to - 1].nr == nr)
		to++;
	while (to-- > from) {
		const struct pol_sc_rule *rule = rule_at(to - 1);
		unsigned yes;

		/* which protocols, of_socket() knows (calls.c) */
		if (!pol_sc_applies(rule, flags) || rule->only == POL_SC_ENDPOINTS)
			continue;
		yes = pol_sc_is_told(rule, flags) ? leaf->notify : leaf->other;
		for (size_t k = rule->nargs; k-- > 0;)
			yes = lau_bpf_test(bpf, &rule->arg[k], yes, node);
		node = yes;
	}
	return node;
}

const struct pol_sc_rule *br_refusal(const struct br_call *c, unsigned *out_row)
{
	unsigned flags = flags_of(c->b->plan), i = first_of(c->n.data.nr);

	for (; i && i <= lau_told_n && lau_told_rows[i - 1].nr == c->n.data.nr; i++) {
		const struct pol_sc_rule *rule = rule_at(i - 1);
		uint64_t args[6];

		memcpy(args, c->n.data.args, sizeof args);
		if (!pol_sc_applies(rule, flags) || !pol_sc_holds(rule, args))
			continue;
		*out_row = lau_told_rows[i - 1].row;
		return pol_sc_is_told(rule, flags) ? rule : NULL;
	}
	return NULL;
}

static unsigned number_of(const char *call)
{
	for (unsigned i = 0; i < SBX_CALL_COUNT; i++)
		if (strcmp(sbx_call_name(i), call) == 0)
			return i;
	return SBX_CALL_unknown;
}

/* What only root may do anyway is the kernel's answer to everybody else. */
static struct br_answer refuse(struct br_call *c)
{
	unsigned row = 0;
	const struct pol_sc_rule *rule = br_refusal(c, &row);
	char path[32];
	struct br_told t = {
		.op = SBX_MODIFY,
		.flags = SBX_EVF_FILTER,
		.aux = row,
		.path = path,
		.len = (size_t)snprintf(path, sizeof path, "/proc/%d", (int)br_tgid(c)),
	};

	if (!rule)
		return br_fail(ENOSYS);
	t.err = rule->err;
	t.call = number_of(rule->call);
	if (t.call >= SBX_CALL_sendto || t.call == SBX_CALL_socket)
		t.op = SBX_CONNECT;
	if (!rule->is_root || c->b->uid == 0)
		br_tell(c, &t);
	return br_fail(rule->err);
}

/* A socket that is none of the network's, and none of the rows'. */
struct br_answer br_no_socket(struct br_call *c)
{
	(void)c;
	return br_fail(EPROTONOSUPPORT);
}

const struct br_row br_refused_row = {
	.flags_arg = BR_NO_ARG, .mode_arg = BR_NO_ARG, .call = SBX_CALL_unknown, .handler = refuse};
