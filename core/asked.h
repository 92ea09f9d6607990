/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked.h - what a program asked for, in an event beside what was judged.
 *
 *	const struct sbx_named n[2] = {{path, asked, len}, {path2, asked2, len2}};
 *	text = sbx_asked_size(n) ? sbx_asked_put(&ev, n, room) : path2;
 *	sbx_ring_write(ring, size, &ev, path, text);
 *
 * The reader of the event:
 *
 *	a = sbx_asked_of(&ev);		the first a.path2 bytes of the text are the second path
 */
#pragma once

#include <stddef.h>

#include "core/event.h"

/* A path of a call as it was judged, and as the program gave it (NULL: not known). */
struct sbx_named {
	const char *path, *asked;
	size_t len;
};
/* The length of a second text with the paths that were asked for. 0: they are the judged ones, or
 * do not fit. `n`: both paths; the second has len 0 if the call has one. [AS-safe] [no-alloc] */
size_t sbx_asked_size(const struct sbx_named n[2]);
/* Where that is not 0: flags the event, and gives its second text, which is n[0].asked, or `room`
 * (SBX_PATH_MAX bytes; may be NULL where there is one path). [AS-safe] [no-alloc] */
const char *sbx_asked_put(struct sbx_event *, const struct sbx_named n[2], char *room);

/* The parts of a second text: lengths, in order. Without SBX_EVF_ASKED the whole text is the second
 * path. The event may lie, but no part is outside of the text. [AS-safe] */
struct sbx_asked {
	size_t path2, first, second;
};
struct sbx_asked sbx_asked_of(const struct sbx_event *);
