/* filters.h - the static filters as made at build time by gen-filters.c (build/gen/filters.c). */
#pragma once

#include <linux/filter.h>

struct lau_filter {
	const struct sock_filter *prog;
	unsigned short len;
};

/* Indexed by POL_SC_* flags; equal programs are stored once. */
extern const struct lau_filter lau_filters[];
extern const unsigned lau_filters_n;
