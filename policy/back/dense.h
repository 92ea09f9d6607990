/*
 * dense.h - a minimised automaton as the table that is walked: numbered, over byte classes.
 * Private to policy/back/. Pure; equal automata give equal tables.
 */
#pragma once

#include <stdint.h>

struct pol_automaton;
struct pol_classes;

struct pol_dense {
	uint32_t start, nstates, nsettled; /* see struct sbx_dfa */
	uint32_t nclasses, shift, width, scaled;
	uint8_t byte_class[256];
	void *table;	 /* (nstates << shift) entries of `width` bytes */
	uint32_t *label; /* by state; of a settled state: the label of what follows */
	uint32_t *latch;
	uint32_t *settled; /* label of whatever follows, or POL_MIXED */
	uint8_t *is_slash;
};

void pol_dense_build(struct pol_dense *, const struct pol_automaton *, const struct pol_classes *);
void pol_dense_release(struct pol_dense *);
