/*
 * channel.h - the run's channel to the shims: a private directory on tmpfs with the compiled
 * policy and the event ring (core/channel.h names them).
 *
 *	lau_channel_base(&base, &err);		  before the policy: it hides `base`
 *	lau_channel_make_base(base, &err);
 *	lau_channel_new(base, image, size, level, &ch, &err);
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

/* Bytes of events the ring holds. The collector looks every 5 ms when it is busy: room for
 * 20 M of small events a second. */
#define LAU_RING_DATA (512u << 10)

struct lau_channel {
	char *dir, *image_path, *ring_path; /* malloc'ed */
	int lock_fd;
	struct sbx_ring *ring;
	size_t ring_bytes, ring_data;
};

/* Directory that holds the channels of this user's runs: below $XDG_RUNTIME_DIR when that is
 * ours and on tmpfs, else /dev/shm, else the temporary directory. malloc'ed; nothing is made. */
int lau_channel_base(char **out, struct b_err *err);
/* Afterwards it exists, is 0700 and ours; else B_SHIM. */
int lau_channel_make_base(const char *base, struct b_err *err);
int lau_channel_new(const char *base, const void *image, size_t image_size, enum sbx_audit_level,
		    struct lau_channel *out, struct b_err *err);
void lau_channel_release(struct lau_channel *);
