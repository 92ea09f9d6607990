/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h - one request to the server. Its answers are hostile: the sender reads a bounded part,
 * follows no redirection, and shows them as text.
 */
#pragma once

#include <stdatomic.h>

#include "ship/answer.h"

struct b_err;
struct ship_batch;
struct ship_config;
struct ship_post;

/* `stop`: not 0 ends a request (LATER). Config must outlive it. NULL: B_SYSTEM. */
struct ship_post *ship_post_new(const struct ship_config *, const atomic_int *stop,
				struct b_err *err);
void ship_post_free(struct ship_post *);
void ship_post_send(struct ship_post *, const struct ship_batch *, struct ship_answer *out);
