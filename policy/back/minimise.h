/*
 * minimise.h - classes of states that answer alike whatever follows. Private to policy/back/.
 * Pure.
 *
 * States outside cycles, and within one cycle, fall into the coarsest classes there are. Two
 * cycles that are copies of each other, which the construction hardly ever makes, stay two.
 * A cycle so deep that refinement would pass its budget is kept as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pol_automaton;

#define POL_MIXED UINT32_MAX /* what follows decides */

struct pol_class {
	uint32_t member;  /* a state of the class */
	uint32_t settled; /* the label of whatever may follow, or POL_MIXED */
};

struct pol_classes {
	uint32_t *of; /* by state; POL_NONE where the start does not lead */
	struct pol_class *v;
	uint32_t n;
};

void pol_minimise(const struct pol_automaton *, struct pol_classes *out);
void pol_classes_release(struct pol_classes *);
