/* product.h - two verdict automata as one that allows what both allow. Private to policy/back/. */
#pragma once

#include <stddef.h>

struct pol_automaton;

/* The two must read slashes alike, as all made by pol_automaton_build() do. 0, or -1 when the
 * product has more than `limit` states. */
int pol_product(const struct pol_automaton *a, const struct pol_automaton *b, size_t limit,
		struct pol_automaton *out);
