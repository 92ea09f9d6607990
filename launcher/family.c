/* family.c - see family.h. */
#include "launcher/family.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "audit/collector.h"
#include "base/err.h"

/* A run gets a part of what is left, so that many can live at once; less is too little for a log.
 */
enum { SHARE = 16, ROOM_MIN = 1 << 20 };

struct lau_family *lau_family_new(const char *id)
{
	struct lau_family *f =
		mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (f == MAP_FAILED)
		return NULL;
	snprintf(f->id, sizeof f->id, "%s", id);
	return f;
}

void lau_family_free(struct lau_family *f)
{
	if (f)
		munmap(f, sizeof *f);
}

static bool take_room(struct lau_family *f, uint64_t *out)
{
	uint64_t had = atomic_load(&f->bytes), room;

	do {
		room = had < LAU_FAMILY_BYTES ? (LAU_FAMILY_BYTES - had) / SHARE : 0;
		if (room > AUD_LOG_LIMIT)
			room = AUD_LOG_LIMIT;
		if (room < ROOM_MIN)
			return false;
	} while (!atomic_compare_exchange_weak(&f->bytes, &had, had + room));
	*out = room;
	return true;
}

int lau_family_join(struct lau_family *f, uint64_t *out_room, struct b_err *err)
{
	if (atomic_fetch_add(&f->runs, 1) >= LAU_FAMILY_RUNS) {
		atomic_fetch_sub(&f->runs, 1);
		return b_fail(err, B_AUDIT, 0,
			      "%u runs were made inside of this one, and more would not be kept: "
			      "start another outside",
			      (unsigned)LAU_FAMILY_RUNS);
	}
	if (take_room(f, out_room))
		return 0;
	atomic_fetch_sub(&f->runs, 1);
	return b_fail(
		err, B_AUDIT, 0,
		"the logs of the runs inside of this one have %llu MiB, and more would not be "
		"kept: start another outside",
		LAU_FAMILY_BYTES >> 20);
}

void lau_family_leave(struct lau_family *f, uint64_t room, uint64_t used)
{
	atomic_fetch_add(&f->bytes, used - room); /* modulo 2^64 */
}
