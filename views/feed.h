/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - a log is read once, for several takers: each gets every line, in order, in a thread of
 * its own, while the caller's thread reads on.
 *
 *	struct view_taker takers[] = {{.begin = b, .take = t, .end = e, .ctx = &job}, ...};
 *	if (view_feed(v, takers, 2, &err) < 0) ...		(and takers[i].result)
 *
 * Takers share nothing that is written: each has its own copy of the view. run.json is only read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "views/views.h"

/* One line of the log, good until take() returns. Only `e.exe` stays until the feed ends. */
struct view_line {
	struct aud_entry e;
	const char *why; /* it is no event, for this reason, and `e` says nothing */
	struct aud_line line;
	uint64_t number;
};

struct view_taker {
	/* Before the first line. -1: it gets no lines, and no end. NULL: nothing to do. */
	int (*begin)(void *ctx, const struct aud_reader *);
	void (*take)(void *ctx, const struct view_line *, size_t n);
	/* After the last line, when all were read. */
	int (*end)(void *ctx);
	void *ctx;
	int result; /* of what failed, or of end() */
};

/* Lines that are no events are counted in `v`. Each taker gets all lines before this returns: 0, or
 * -1 when the log cannot be read. */
int view_feed(struct view *v, struct view_taker *takers, size_t n, struct b_err *err);
