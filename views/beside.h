/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside.h - parts of an answer that are made at the same time: each reads the log by itself.
 *
 *	struct view_beside b;
 *	view_beside_start(&b, fn, &job);	(at once, where no thread can be made)
 *	...
 *	rc = view_beside_join(&b);		what fn gave
 *
 * fn shares nothing that is written with what runs beside it: it has a copy of the view with a text
 * of its own. run.json is only read.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct view;

struct view_beside {
	pthread_t thread;
	int (*fn)(void *);
	void *ctx;
	int result;
	bool is_thread;
};

void view_beside_start(struct view_beside *, int (*fn)(void *), void *ctx);
int view_beside_join(struct view_beside *);
/* The lines that were no events for a copy of the view, which began without. */
void view_take_bad(struct view *, const struct view *copy);
