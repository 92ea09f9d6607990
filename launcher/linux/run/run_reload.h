/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_reload.h - a run whose rules on endpoints may change while it lasts (--reloadable). SIGHUP
 * from a process asks for it; `sbx-launch --reload RUN` sends it, and waits for what comes of it.
 *
 * Three judge by the same image: the broker, sbx-egress, and the collector, which names rules. The
 * broker reads its plan in memory that it shares with the supervisor, and images in memory that the
 * supervisor alone writes (room.h); none of them ever changes or goes. One pointer is stored, and
 * the next call is judged by the new image as a whole. Only then sbx-egress gets it, and ends
 * connections that it does not allow; when it has said so the new rules hold. Whatever is wrong
 * before that changes nothing.
 *
 * The supervisor reads nothing that the broker can write: not the plan, and its list of images lies
 * in its own memory.
 */
#pragma once

#include "launcher/linux/run/room.h"
#include "launcher/linux/run/start_egress.h"
#include "launcher/run/documents_kept.h"
#include "launcher/supervise/supervise.h"

struct lau_broker_plan;
struct pol_engine;
struct pol_reload;
struct run;

struct lau_reload {
	struct lau_watch watch; /* first */
	struct run *run;	/* NULL = not such a run */
	struct lau_documents documents;
	struct pol_reload *images;
	struct lau_broker_plan *plan; /* the broker's: it writes there, too */
	struct lau_room room;	      /* images, which it can only read */
	struct lau_placed *placed;    /* list of them */
	char policy[65];	      /* SHA-256 of the image that holds */
};

/* Before the broker is forked: *out is where it is to have its plan. B_USAGE: there are no rules on
 * endpoints. */
int lau_reload_prepare(struct run *, struct lau_broker_plan **out, struct b_err *err);
/* The hooks of the supervisor's loop while the command runs, or NULL. */
struct lau_watch *lau_reload_watch(struct run *);
void lau_reload_release(struct lau_reload *);
