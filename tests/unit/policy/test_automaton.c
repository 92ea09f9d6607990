/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/back/{nfa,automaton,minimise,dense}.c: size, order, minimality. What
 * they answer is compared with two other judges in tests/agreement. */
#include "policy/compile/automata.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/decide.h"
#include "tests/support/engine.h"

/* The number of states that are not equivalent, by Moore's algorithm on the finished table. */
static uint32_t minimal(const struct sbx_image *img)
{
	const struct sbx_dfa *d = &img->hdr->op[SBX_READ].verdict;
	uint32_t *class = b_malloc(d->nstates * sizeof *class);
	uint32_t *next = b_malloc(d->nstates * sizeof *next);
	uint32_t n = 0, before;

	for (uint32_t s = 0; s < d->nstates; s++)
		class[s] = sbx_state_flags(img, SBX_READ, s);
	do {
		before = n;
		n = 0;
		for (uint32_t s = 0; s < d->nstates; s++) {
			uint32_t t = 0;

			for (bool same = false; t < s && !same; t += !same) {
				same = class[s] == class[t];
				for (unsigned c = 1; c < 256 && same; c++)
					same = class[sbx_step(img, SBX_READ, s, (uint8_t)c)] ==
					       class[sbx_step(img, SBX_READ, t, (uint8_t)c)];
				if (same)
					break;
			}
			next[s] = t < s ? next[t] : n++;
		}
		memcpy(class, next, d->nstates * sizeof *class);
	} while (n != before);
	free(class);
	free(next);
	return n;
}

/* Cycles that are copies of each other are the only thing that may stay unmerged: rare, and little.
 */
Test(policy_automaton, tables_are_minimal_up_to_copies_of_cycles)
{
	unsigned rounds = 0, exact = 0;
	size_t all = 0, needed = 0;
	struct draw d;

	draw_seed(&d, 31);
	for (int i = 0; i < 400; i++) {
		struct engine e;
		uint32_t n;

		engine_init(&e);
		for (unsigned k = draw(&d, 6); k > 0; k--)
			draw_rule(&d, draw(&d, 2), &e.rules);
		engine_compile(&e);
		n = e.image.hdr->op[SBX_READ].verdict.nstates;
		if (n <= 150) {
			uint32_t m = minimal(&e.image);

			rounds++;
			exact += m == n;
			cr_expect_leq(m, n);
			all += n;
			needed += m;
		}
		engine_release(&e);
	}
	cr_expect_gt(rounds, 200);
	cr_expect_leq(all * 100, needed * 110, "%zu states, %zu suffice", all, needed);
	cr_expect_geq(exact * 100, rounds * 95, "%u of %u are minimal", exact, rounds);
}

static uint32_t states_of(const char *const *rules, size_t n)
{
	struct engine e;
	uint32_t states;

	engine_init(&e);
	for (size_t i = 0; i < n; i++)
		engine_rule(&e, rules[i]);
	engine_compile(&e);
	states = e.image.hdr->op[SBX_READ].verdict.nstates;
	engine_release(&e);
	return states;
}
#define STATES(...)                                                                                \
	states_of((const char *const[]){__VA_ARGS__},                                              \
		  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

Test(policy_automaton, rules_without_effect_cost_nothing)
{
	/* Two states of denial; the start of a grant and its two. */
	cr_expect_eq(STATES("- /a"), 2);
	cr_expect_eq(STATES("- /a **", "- /b/"), 2);
	cr_expect_eq(STATES("+ /"), STATES("+ /a", "- /b **/x", "+ /"));
	cr_expect_eq(STATES("+ /a/", "- /a x"), STATES("+ /a/", "+ /a y", "- /a x"));
}

Test(policy_automaton, a_question_mark_before_a_star_needs_no_decoder)
{
	/* `?*`: whatever the bytes are, one of them suffices. */
	cr_expect_leq(STATES("+ /a ?*"), STATES("+ /a x*") + 1);
	cr_expect_gt(STATES("+ /a ?"), STATES("+ /a ?*"));
}

/* Far from a word of the language, so that nothing else is shared. */
static uint32_t states_of_names(unsigned n)
{
	struct engine e;
	char rule[64];
	uint32_t states;

	engine_init(&e);
	engine_rule(&e, "+ /ws/");
	for (unsigned i = 0; i < n; i++) {
		snprintf(rule, sizeof rule, "- /ws **/%08x/**", i * 2654435761u);
		engine_rule(&e, rule);
	}
	engine_compile(&e);
	states = e.image.hdr->op[SBX_READ].verdict.nstates;
	cr_expect_leq(e.size, 4u << 20, "%zu bytes", e.size);
	cr_expect_leq(e.image.hdr->op[SBX_READ].layer[0].ngroups, 3);
	engine_release(&e);
	return states;
}

Test(policy_automaton, denied_names_grow_linearly)
{
	uint32_t small = states_of_names(100), large = states_of_names(1000);

	cr_expect_leq(large, 11 * small, "%u, %u", small, large);
}

Test(policy_automaton, loops_in_front_of_loops_fold)
{
	cr_expect_eq(STATES("+ /a **/**/**/x"), STATES("+ /a **/x"));
	cr_expect_eq(STATES("+ /a ***x"), STATES("+ /a **x"));
	cr_expect_eq(STATES("+ /a **/*x"), STATES("+ /a **x"));
}

static void nfa_of(struct pol_nfa *nfa, const char *glob)
{
	struct pol_rule r = {.allow = true,
			     .shape = POL_GLOB,
			     .base = "",
			     .glob = glob,
			     .matched = glob,
			     .origin = glob};

	pol_nfa_init(nfa, true);
	pol_nfa_group(nfa, 1);
	pol_nfa_add(nfa, &r, 7);
}

Test(policy_automaton, limits_name_the_rule_to_blame)
{
	struct pol_automaton a;
	struct pol_limits states = {50, SIZE_MAX}, work = {SIZE_MAX, 50};
	struct pol_nfa nfa;
	struct pol_cost cost = {0};

	nfa_of(&nfa, "**a??????");
	cr_expect_eq(pol_automaton_build(&a, &nfa, &states, &cost), -1);
	cr_expect_eq(cost.rule, 7);
	cost.rule = 0;
	cr_expect_eq(pol_automaton_build(&a, &nfa, &work, &cost), -1);
	cr_expect_eq(cost.rule, 7);
	pol_nfa_release(&nfa);
}

Test(policy_automaton, settled_states_come_first)
{
	struct engine e;
	const struct sbx_dfa *d;

	engine_init(&e);
	engine_rule(&e, "+ /usr/");
	engine_rule(&e, "- /usr **/x");
	engine_rule(&e, "+ /opt/");
	engine_compile(&e);
	d = &e.image.hdr->op[SBX_READ].verdict;
	cr_expect_eq(d->nsettled, 4); /* denied and allowed, in a name and after a slash */
	for (uint32_t s = 0; s < d->nstates; s++) {
		unsigned all = sbx_state_flags(&e.image, SBX_READ, s) &
			       (SBX_ST_ALL_ALLOW | SBX_ST_ALL_DENY);

		cr_expect(s >= d->nsettled || all, "state %u", s);
	}
	engine_release(&e);
}
