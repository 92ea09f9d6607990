/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - how far a destination is: what the sender writes beside the runs (`.ship-NAME.json`),
 * and what `--status` says of it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/read_run.h"
#include "ship/state.h"

struct b_err;
struct b_str;

/* A run of which not all was acknowledged when that was written. */
struct ship_pending {
	char id[AUD_ID_MAX], host[SHIP_HOST_MAX];
	uint64_t lines;
};

/* Two threads write it: calls take the lock. */
struct ship_status {
	pthread_mutex_t lock;
	char *path, *to;
	uint64_t acknowledged_ms, error_ms; /* real time, 0 = never */
	char error[400];		    /* of the last try; "" = it went well */
	uint64_t removed;		    /* records that were removed before they were sent */
	struct ship_pending *pending;
	size_t n, cap;
};

/* The text of the file. Pure. What of it is not what ship_status_write() gives is as good as
 * absent.
 */
void ship_status_read(struct ship_status *, const char *text, size_t n);
void ship_status_write(const struct ship_status *, struct b_str *out);
/* Reads what an earlier process left; what cannot be read is as good as absent. `to` may be NULL.
 */
void ship_status_init(struct ship_status *, const char *root, const char *name, const char *to);
void ship_status_release(struct ship_status *);
/* Each writes the file; a disk without room is no reason to stop sending. */
void ship_status_error(struct ship_status *, const char *text);
void ship_status_sent(struct ship_status *);
void ship_status_pend(struct ship_status *, struct ship_pending *v, size_t n, uint64_t removed);

/* What `--status` prints. Exit status as sbx-audit's: 0 all is there, 1 something waits. B_AUDIT.
 */
int ship_status_show(const char *root, const char *name, bool json, struct b_str *out,
		     bool *out_waits, struct b_err *err);
