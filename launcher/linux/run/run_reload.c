/* SPDX-License-Identifier: Apache-2.0 */
/* run_reload.c - see run_reload.h. */
#include "launcher/linux/run/run_reload.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "launcher/linux/run/run_priv.h"
#include "policy/engine.h"
#include "policy/reload.h"

#define ROOM ((size_t)256 << 20)

static const char me[] = "sbx-launch";

/* An image that was used. The list is the supervisor's alone: it decides by it what it reads. */
struct lau_placed {
	struct sbx_image image;
	const struct sbx_image *seen; /* the same one, as the broker has it */
	struct lau_placed *next;
};

/* ---- images that the broker may be reading at any time ---- */

static const struct lau_placed *find(const struct lau_reload *l, const void *data, size_t size)
{
	for (const struct lau_placed *p = l->placed; p; p = p->next)
		if (p->image.size == size && memcmp(p->image.base, data, size) == 0)
			return p;
	return NULL;
}

/* Into `room`. False: it is full. */
static bool show(struct lau_reload *l, const void *data, size_t size, struct lau_placed *p)
{
	const void *copy = lau_room_place(&l->room, data, size);
	struct sbx_image seen = {.size = size};
	const void *own;

	if (!copy)
		return false;
	seen.base = lau_room_seen(&l->room, copy);
	seen.hdr = (const void *)seen.base;
	own = lau_room_place(&l->room, &seen, sizeof seen);
	if (!own)
		return false;
	p->image.base = copy;
	p->seen = lau_room_seen(&l->room, own);
	return true;
}

/* What was used before is used again. NULL: B_LIMIT. */
static const struct lau_placed *place(struct lau_reload *l, const void *data, size_t size,
				      struct b_err *err)
{
	const struct lau_placed *known = find(l, data, size);
	b_auto_free struct lau_placed *p = NULL;

	if (known)
		return known;
	p = b_calloc(1, sizeof *p);
	if (!show(l, data, size, p)) {
		b_fail(err, B_LIMIT, 0,
		       "the run has reloaded too often and has no memory for another policy: start "
		       "it again");
		return NULL;
	}
	if (sbx_image_open(&p->image, p->image.base, size, true) != SBX_IMAGE_OK) {
		b_fail(err, B_FORMAT, 0, "the compiled policy is damaged");
		return NULL;
	}
	p->next = l->placed;
	l->placed = p;
	return b_take_ptr(&p);
}

/* ---- what is asked for ---- */

/* From the next call on; the image lies there as a whole before the pointer does. The plan is only
 * written to: the broker could have changed it. */
static void give_broker(struct lau_reload *l, const struct lau_placed *p)
{
	__atomic_store_n(&l->plan->image, p->seen, __ATOMIC_RELEASE);
}

/* NULL: nothing has changed. */
static const struct lau_placed *image_of_now(struct lau_reload *l, struct b_err *err)
{
	struct pol_engine *now = NULL;
	b_auto_free void *data = NULL;
	const struct lau_placed *placed = NULL;
	size_t size;

	if (lau_documents_again(&l->documents, &now, err) == 0 &&
	    pol_reload_image(l->images, now, &data, &size, err) == 0)
		placed = place(l, data, size, err);
	pol_engine_free(now);
	if (!placed)
		(void)b_wrap(err, "the rules on endpoints stay as they were");
	return placed;
}

static int change(struct lau_reload *l, struct egr_reloaded *out, struct b_err *err)
{
	struct lau_record *record = &l->run->record;
	const struct lau_placed *placed = image_of_now(l, err);
	const struct sbx_image *image = placed ? &placed->image : NULL;

	if (!image)
		return -1;
	b_sha256_hex(image->base, image->size, l->policy);
	/* who names rules must know those that the others name */
	if (record->collector)
		aud_collector_name_by(record->collector, image);
	give_broker(l, placed);
	return lau_door_reload(&l->run->door, image->base, image->size, out, err);
}

static void note(const struct lau_reload *l, const struct egr_reloaded *said, struct b_err *err)
{
	b_fail(err, B_OK, 0,
	       "the new rules on endpoints are in force: %u connections continue, %u were ended",
	       said->kept, said->closed);
	if (!l->run->o->quiet)
		dprintf(STDERR_FILENO, "%s: note: %s\n", me, err->msg);
}

static void reload(struct lau_reload *l)
{
	struct lau_record *record = &l->run->record;
	uint64_t started = lau_reload_now_ns();
	struct aud_reload told = {.policy = l->policy};
	struct egr_reloaded said = {0};
	struct b_err err = {0};

	if (change(l, &said, &err) == 0) {
		note(l, &said, &err);
		told.closed = said.closed;
	} else {
		(void)b_report(me, &err);
		told.error = err.msg;
	}
	if (record->collector)
		aud_collector_reloaded(record->collector, &told);
	if (record->has_dir)
		lau_reload_answer(record->dir.dirfd, started, &err);
}

/* A hang-up of the terminal is the command's. */
static bool takes(struct lau_watch *w, const struct lau_signal *sig)
{
	if (sig->signo != SIGHUP || sig->from_kernel)
		return false;
	reload((struct lau_reload *)w);
	return true;
}

/* ---- its life ---- */

static int make_room(struct lau_reload *l, struct b_err *err)
{
	void *plan = mmap(NULL, sizeof *l->plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	if (plan == MAP_FAILED)
		return b_fail(err, B_SYSTEM, errno, "--reloadable: memory for the broker: %s",
			      strerror(errno));
	l->plan = plan;
	return lau_room_init(&l->room, ROOM, err) == 0 ? 0 : b_wrap(err, "--reloadable");
}

int lau_reload_prepare(struct run *r, struct lau_broker_plan **out, struct b_err *err)
{
	struct lau_reload *l = &r->reload;

	if (!r->o->reloadable)
		return 0;
	if (!r->plan.has_endpoints)
		return b_fail(err, B_USAGE, 0,
			      "--reloadable: the policy has no rules on endpoints, and only they "
			      "can change: add one, or leave it out");
	if (make_room(l, err) < 0 || lau_documents_keep(&l->documents, r->o, &r->dirs, err) < 0)
		return -1;
	l->images = pol_reload_new(r->plan.engine, r->plan.ends_tls);
	memcpy(l->policy, r->plan.engine->hash, sizeof l->policy);
	l->watch.takes = takes;
	l->run = r;
	*out = l->plan;
	return 0;
}

struct lau_watch *lau_reload_watch(struct run *r)
{
	if (!r->reload.run)
		return NULL;
	/* that the run can be asked */
	if (r->record.has_dir)
		lau_reload_answer(r->record.dir.dirfd, 0, &(struct b_err){0});
	return &r->reload.watch;
}

void lau_reload_release(struct lau_reload *l)
{
	struct lau_placed *p;

	lau_documents_release(&l->documents);
	pol_reload_free(l->images);
	while ((p = l->placed)) {
		l->placed = p->next;
		free(p);
	}
	if (l->plan)
		(void)munmap(l->plan, sizeof *l->plan);
	lau_room_release(&l->room);
	*l = (struct lau_reload){.watch.fd = -1};
}
