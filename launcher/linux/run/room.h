/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - memory that this process writes and the processes it forks can only read: the broker is
 * nearer to the command than the supervisor is, and what it reads there it must not change.
 *
 *	lau_room_init(&room, size, &err);
 *	p = lau_room_place(&room, data, size);	here; children have it at lau_room_seen(&room, p)
 *	fork();
 *
 * The writable mapping is not inherited (MADV_DONTFORK). The other is of a sealed memory file, so
 * that mprotect(2) makes it no more than readable (F_SEAL_FUTURE_WRITE, Linux 5.1), and no
 * descriptor of the file is left.
 */
#pragma once

#include <stddef.h>

struct b_err;

struct lau_room {
	unsigned char *own; /* NULL = none */
	const unsigned char *seen;
	size_t size, used;
};

/* Of address space: memory is used for what is placed. 0, or -1 with B_SYSTEM, B_LIMIT. */
int lau_room_init(struct lau_room *, size_t size, struct b_err *err);
void lau_room_release(struct lau_room *);
/* A copy, aligned for any type, that stays where it is; NULL: there is no room. */
void *lau_room_place(struct lau_room *, const void *data, size_t size);
/* Where children have what this process has at `own`. */
const void *lau_room_seen(const struct lau_room *, const void *own);
