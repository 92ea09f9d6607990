/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.h - a thread that sends batches one after the other, while the next one is made, and
 * writes what was acknowledged into the directories of the runs.
 *
 *	struct ship_sender *s = ship_sender_new(&config, &stop, &err);
 *	ship_sender_put(s, batch, &err)		(waits until it is taken)
 *	ship_sender_drain(s, &err)		(until all are acknowledged)
 *	ship_sender_free(s);
 *
 * The sender repeats a batch that it could not send, with pauses that grow to a minute: for
 * `retry_ms`, or when following without end. Once it has given up it takes no more.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct b_err;
struct ship_batch;
struct ship_config;
struct ship_sender;
struct ship_status;

/* Why it gave up: B_NOTFOUND nobody took it (the same command later goes on where it ended);
 * B_AUDIT or another: it was refused, or a file cannot be written. */
struct ship_sender *ship_sender_new(const struct ship_config *, struct ship_status *,
				    const atomic_int *stop, struct b_err *err);
/* Takes the batch; NULL only asks whether it has given up. */
int ship_sender_put(struct ship_sender *, struct ship_batch *, struct b_err *err);
int ship_sender_drain(struct ship_sender *, struct b_err *err);
void ship_sender_free(struct ship_sender *);
/* Rows of events that were acknowledged. */
uint64_t ship_sender_rows(struct ship_sender *);
