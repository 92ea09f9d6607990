/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn_net.h - the endpoints that runs connected to, each once, as the rules of a learned policy.
 *
 *	struct view_endpoints all = {0};
 *
 *	view_endpoints_note(&all, &entry);	of each event that passed
 *	view_endpoints_write(&all, &text);	`connect:` of a profile, sorted
 *	view_endpoints_release(&all);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct aud_entry;
struct b_str;

struct view_endpoint {
	char *text; /* "host:port" */
	uint64_t calls;
};

struct view_endpoints {
	struct view_endpoint *v;
	size_t n, cap;
	uint64_t left_out; /* connections to what no rule can say, or to too many */
};

void view_endpoints_note(struct view_endpoints *, const struct aud_entry *);
/* Appends nothing where there are none. */
void view_endpoints_write(struct view_endpoints *, struct b_str *out);
void view_endpoints_release(struct view_endpoints *);
