/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - the run's channel to the shims: a private directory on tmpfs with the compiled
 * policy and the event ring (core/channel.h names them).
 *
 *	lau_channel_base(&base, &err);		  before the policy: it hides `base`
 *	lau_channel_make_base(base, &err);
 *	lau_channel_new(base, &image, level, &ch, &err);
 *	... ch.ring is mapped; the command finds the directory by SBX_CHANNEL ...
 *	lau_channel_release(&ch);		  removes the directory
 *
 * The directory's own flock(2) says that its run lives: it falls with the launcher, however
 * that ends, and the next run sweeps what is left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/event.h"

struct b_err;
struct sbx_ring;

/* Bytes of events the ring holds. The collector may sleep for 100 ms when nothing happened: this
 * is room for a burst of 350,000 events a second that begins then. */
#define LAU_RING_DATA (4u << 20)
/* Of these, allocated before the command starts; the rest when it has lived for a few
 * milliseconds: most commands end before they fill it, and clearing memory is a good part of
 * their time. */
#define LAU_RING_EARLY	  (128u << 10)
#define LAU_RING_COVERAGE (64u << 10) /* with --audit-level none */

struct lau_channel_image {
	const void *data;
	size_t size;
	const char *file; /* NULL = none */
};

struct lau_channel {
	char *dir, *image_path, *ring_path; /* malloc'ed; image_path: the file itself */
	int lock_fd, ring_fd;
	bool is_settled;
	struct sbx_ring *ring;
	size_t ring_bytes, ring_data;
};

/* Directory that holds the channels of this user's runs: below $XDG_RUNTIME_DIR when that is
 * ours and on tmpfs with room, else /dev/shm, else the temporary directory. malloc'ed; nothing is
 * made. */
int lau_channel_base(char **out, struct b_err *err);
/* Directory of the lock of moves (public.h): one for all runs of this user, wherever their
 * channels are; else `channels`. NULL: there is no such place. malloc'ed; nothing is made. */
char *lau_channel_locks(const char *channels);
/* Afterwards it exists, is 0700 and ours; else B_SHIM. */
int lau_channel_make_base(const char *base, struct b_err *err);
/* The image is linked to when it lies in a file that lives as long as the run, else copied. */
int lau_channel_new(const char *base, const struct lau_channel_image *, enum sbx_audit_level,
		    struct lau_channel *out, struct b_err *err);
/* Allocates the rest of the ring, once: a tmpfs that fills up must not become SIGBUS in somebody's
 * program. B_SHIM when it is full already. */
int lau_channel_settle(struct lau_channel *, struct b_err *err);
void lau_channel_release(struct lau_channel *);

/* Does this process live in the variables of --print-env? Their policy is held by shims that look
 * at one channel: what a run starts looks at the run's. */
bool lau_channel_is_above_alone(void);
