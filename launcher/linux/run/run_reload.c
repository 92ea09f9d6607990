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

/* Of address space: what is used of it is the images. */
#define ROOM  ((size_t)256 << 20)
#define ALIGN 64u

static const char me[] = "sbx-launch";

/* An image that the broker may be reading at any time. */
struct lau_placed {
	struct sbx_image image;
	struct lau_placed *next;
};

/* ---- memory shared with the broker ---- */

static void *take(struct lau_reload *l, size_t size)
{
	size_t at = (l->used + ALIGN - 1) / ALIGN * ALIGN;

	if (size > ROOM - at)
		return NULL;
	l->used = at + size;
	return l->room + at;
}

static const struct sbx_image *find(const struct lau_reload *l, const void *data, size_t size)
{
	for (const struct lau_placed *p = l->placed; p; p = p->next)
		if (p->image.size == size && memcmp(p->image.base, data, size) == 0)
			return &p->image;
	return NULL;
}

/* What was used before is used again. NULL: B_LIMIT. */
static const struct sbx_image *place(struct lau_reload *l, const void *data, size_t size,
				     struct b_err *err)
{
	const struct sbx_image *known = find(l, data, size);
	struct lau_placed *p = known ? NULL : take(l, sizeof *p);
	void *copy = p ? take(l, size) : NULL;

	if (known)
		return known;
	if (!copy) {
		b_fail(err, B_LIMIT, 0,
		       "there is no room for yet another policy: start the run anew");
		return NULL;
	}
	memcpy(copy, data, size);
	if (sbx_image_open(&p->image, copy, size, true) != SBX_IMAGE_OK) {
		b_fail(err, B_FORMAT, 0, "the compiled policy is damaged");
		return NULL;
	}
	p->next = l->placed;
	l->placed = p;
	return &p->image;
}

/* ---- what is asked for ---- */

/* From the next call on; the image lies there as a whole before the pointer does. */
static void give_broker(struct lau_reload *l, const struct sbx_image *image)
{
	__atomic_store_n(&l->plan->image, image, __ATOMIC_RELEASE);
}

/* NULL: nothing has changed. */
static const struct sbx_image *image_of_now(struct lau_reload *l, struct b_err *err)
{
	struct pol_engine *now = NULL;
	b_auto_free void *data = NULL;
	const struct sbx_image *image = NULL;
	size_t size;

	if (lau_documents_again(&l->documents, &now, err) == 0 &&
	    pol_reload_image(l->images, now, &data, &size, err) == 0)
		image = place(l, data, size, err);
	pol_engine_free(now);
	if (!image)
		(void)b_wrap(err, "the rules on endpoints stay as they were");
	return image;
}

static int change(struct lau_reload *l, struct egr_reloaded *out, struct b_err *err)
{
	struct lau_record *record = &l->run->record;
	const struct sbx_image *image = image_of_now(l, err);

	if (!image)
		return -1;
	b_sha256_hex(image->base, image->size, l->policy);
	/* who names rules must know those that the others name */
	if (record->collector)
		aud_collector_name_by(record->collector, image);
	give_broker(l, image);
	return lau_door_reload(&l->run->door, image->base, image->size, out, err);
}

static void note(const struct lau_reload *l, const struct egr_reloaded *said, struct b_err *err)
{
	b_fail(err, B_OK, 0,
	       "the rules on endpoints were read again and hold: %u connections go on, %u ended",
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
	void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return b_fail(err, errno == ENOMEM ? B_LIMIT : B_SYSTEM, errno,
			      "--reloadable: memory for policies: %s", strerror(errno));
	l->room = room;
	return 0;
}

int lau_reload_prepare(struct run *r, struct lau_broker_plan **out, struct b_err *err)
{
	struct lau_reload *l = &r->reload;

	if (!r->o->reloadable)
		return 0;
	if (!r->plan.has_endpoints)
		return b_fail(err, B_USAGE, 0,
			      "--reloadable: no rule says which endpoints are open, and nothing "
			      "else can change: add one, or leave it out");
	if (make_room(l, err) < 0 || lau_documents_keep(&l->documents, r->o, &r->dirs, err) < 0)
		return -1;
	l->plan = take(l, sizeof *l->plan);
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
	lau_documents_release(&l->documents);
	pol_reload_free(l->images);
	if (l->room)
		(void)munmap(l->room, ROOM);
	*l = (struct lau_reload){.watch.fd = -1};
}
