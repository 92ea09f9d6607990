/* near.h - "did you mean": the nearest of a few names to what somebody typed. [no-alloc]
 *
 *	struct b_near near = B_NEAR_INIT;
 *	for each name: b_near_offer(&near, typed, typed_len, name, strlen(name));
 *	if (near.text) ... did you mean near.text (near.len bytes)
 */
#pragma once

#include <stddef.h>

struct b_near {
	const char *text; /* NULL: none was near */
	size_t len;
	unsigned best;
};

#define B_NEAR_MAX 2 /* edits; swapped neighbours count as one */
#define B_NEAR_INIT                                                                                \
	{                                                                                          \
		.best = B_NEAR_MAX + 1                                                             \
	}

/* Keeps `name` (borrowed) when it is nearer than those before. Less than half of the letters may
 * differ, or every two-letter name would be near every other. */
void b_near_offer(struct b_near *, const char *typed, size_t n, const char *name, size_t len);
