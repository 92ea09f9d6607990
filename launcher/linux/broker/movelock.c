/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each broker counts in its own slot how many of its workers act. A worker that moves a directory
 * writes its slot's number into `mover`, then waits until every slot says 0. A worker that acts
 * counts first and reads `mover` afterwards. One of the two always sees the other (both are
 * sequentially consistent), and the worker that acts steps back. The usual case therefore costs two
 * atomic additions.
 *
 * A broker that dies leaves its numbers behind. It also leaves the lock on its byte of the file
 * (F_OFD_SETLK, fcntl(2)), which the kernel releases. A worker that has waited for a while tries to
 * get that lock, and may clean the slot while it has it. Numbers of processes would not do: brokers
 * are in pid namespaces of their own.
 */
#include "launcher/linux/broker/public.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/run/os.h"

#define NAME   "moves-1"   /* the number is the page's layout */
#define WAITED 0x80000000u /* in `mover`: somebody sleeps */

enum {
	SLOTS = 1024,
	LIMIT_MS = 10000, /* as public.h says */
	NAP_MS = 20,	  /* between two looks whether the other lives */
	TURN_MS = 1,	  /* that a mover gives those who wait to act, */
	TURNS = 4	  /* of so many brokers */
};

/* The state of one broker, on a cache line of its own. */
struct slot {
	_Alignas(64) _Atomic uint32_t acting;
	_Atomic uint32_t queued; /* that wait to act */
	_Atomic pid_t owner;	 /* supervisor, for a message */
	_Atomic uint32_t family; /* the outermost run's slot + 1; 0 = it is that itself */
};

/* All zero is its beginning. */
struct lau_movepage {
	_Alignas(64) _Atomic uint32_t mover; /* 0, or a slot + 1, and WAITED */
	_Atomic uint32_t used;		     /* slots behind it were never taken */
	struct slot slot[SLOTS];
};

/* ---- words that are slept on ---- */

static int sleep_on(_Atomic uint32_t *word, uint32_t value, unsigned ms)
{
	const struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	return syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0) < 0 ? errno : 0;
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- slots ---- */

static int lock_byte(int fd, unsigned slot, short type)
{
	struct flock at = {.l_type = type, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &at);
}

static void give_up_move(struct lau_movepage *p)
{
	if (atomic_exchange(&p->mover, 0) & WAITED)
		wake(&p->mover);
}

static void clean(struct lau_movepage *p, unsigned slot)
{
	p->slot[slot].acting = p->slot[slot].queued = 0;
	wake(&p->slot[slot].acting);
	wake(&p->slot[slot].queued);
	if ((p->mover & ~WAITED) == slot + 1)
		give_up_move(p);
}

/* Cleans a slot whose broker is dead. Only one thread at a time: all threads share the lock on the
 * byte, and a new broker takes the slot as soon as it is released. */
static void bury(const struct lau_movelock *l, unsigned slot)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

	if (l->fd < 0 || slot == l->slot)
		return;
	pthread_mutex_lock(&one);
	if (lock_byte(l->fd, slot, F_WRLCK) == 0) {
		clean(l->page, slot);
		(void)lock_byte(l->fd, slot, F_UNLCK);
	}
	pthread_mutex_unlock(&one);
}

static int take_slot(struct lau_movelock *l, struct b_err *err)
{
	uint32_t used;

	for (l->slot = 0; l->slot < SLOTS; l->slot++) {
		if (l->fd < 0 || lock_byte(l->fd, l->slot, F_WRLCK) == 0)
			break;
		if (errno != EAGAIN && errno != EACCES)
			return b_fail_sys(err, B_FLOOR, errno, "the lock of moves");
	}
	if (l->slot == SLOTS)
		return b_fail(err, B_LIMIT, 0, "this user already has %d runs: wait until one ends",
			      SLOTS);
	clean(l->page, l->slot);
	l->page->slot[l->slot].owner = getpid();
	l->page->slot[l->slot].family = 0;
	l->family = l->slot;
	used = l->page->used;
	while (used <= l->slot && !atomic_compare_exchange_weak(&l->page->used, &used, l->slot + 1))
		;
	return 0;
}

/* The number of live brokers inside the same run. A broker that joins is already counted by the
 * others that join at the same time. */
static unsigned count_family(const struct lau_movelock *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->page->used; i++) {
		struct flock at = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1};

		if (l->page->slot[i].family == l->family + 1)
			n += i == l->slot || fcntl(l->fd, F_OFD_GETLK, &at) < 0 ||
			     at.l_type != F_UNLCK;
	}
	return n;
}

static int join_family(struct lau_movelock *l, unsigned family, struct b_err *err)
{
	l->family = family;
	l->page->slot[l->slot].family = family + 1;
	if (count_family(l) <= LAU_MOVELOCK_INSIDE)
		return 0;
	l->page->slot[l->slot].family = 0;
	b_fail(err, B_LIMIT, 0, "this run already has %d runs inside: wait until one ends",
	       LAU_MOVELOCK_INSIDE);
	lau_movelock_release(l);
	return -1;
}

/* ---- the file ---- */

static int map(struct lau_movelock *l, int flags)
{
	void *at =
		mmap(NULL, sizeof *l->page, PROT_READ | PROT_WRITE, MAP_SHARED | flags, l->fd, 0);

	l->page = at == MAP_FAILED ? NULL : at;
	return l->page ? 0 : -1;
}

/* The file gets its space at the start: a page that is missing later would cause SIGBUS. */
static int use(struct lau_movelock *l, const char *name, struct b_err *err)
{
	struct stat st;
	int rc = 0;

	if (l->fd < 0 || fstat(l->fd, &st) < 0)
		rc = errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		lau_movelock_release(l);
		return b_fail(err, B_FLOOR, EPERM,
			      "the lock of moves: %s/" NAME
			      " is not a regular file of this user: remove it",
			      name);
	} else
		rc = lau_os_reserve(l->fd, (off_t)sizeof *l->page);
	if (rc == 0 && map(l, 0) < 0)
		rc = errno;
	if (rc)
		b_fail_sys(err, B_FLOOR, rc, "the lock of moves: %s", name);
	if (rc || take_slot(l, err) < 0) {
		lau_movelock_release(l);
		return -1;
	}
	return 0;
}

int lau_movelock_open(const char *dir, struct lau_movelock *out, struct b_err *err)
{
	b_auto_fd int at = dir ? open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	*out = (struct lau_movelock)LAU_MOVELOCK_INIT;
	if (!dir)
		out->fd = memfd_create(NAME, MFD_CLOEXEC);
	else if (at >= 0)
		out->fd = openat(at, NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return use(out, dir ? dir : NAME, err);
}

/* Opened by its name in /proc: a shared descriptor would share its locks, too. */
int lau_movelock_join(const struct lau_movelock *outer, struct lau_movelock *out, struct b_err *err)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", outer->fd);
	*out = (struct lau_movelock)LAU_MOVELOCK_INIT;
	out->fd = open(path, O_RDWR | O_CLOEXEC);
	return use(out, NAME, err) < 0 ? -1 : join_family(out, outer->family, err);
}

int lau_movelock_alone(struct lau_movelock *out, struct b_err *err)
{
	*out = (struct lau_movelock)LAU_MOVELOCK_INIT;
	if (map(out, MAP_ANONYMOUS) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "the lock of moves");
	return take_slot(out, err);
}

void lau_movelock_release(struct lau_movelock *l)
{
	if (l->page)
		munmap(l->page, sizeof *l->page);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct lau_movelock)LAU_MOVELOCK_INIT;
}

/* ---- the lock ---- */

static bool enter(const struct lau_movelock *l)
{
	l->page->slot[l->slot].acting++;
	if (!l->page->mover)
		return true;
	lau_movelock_share_end(l);
	return false;
}

static uint64_t deadline(const struct lau_movelock *l)
{
	return b_deadline_ms(l->limit_ms ? l->limit_ms : LIMIT_MS);
}

/* `slot` is waited for. */
static int after_sleep(const struct lau_movelock *l, int slept, unsigned slot, uint64_t end_ms,
		       pid_t *out_who)
{
	if (slept == EINTR)
		return -EINTR;
	if (slept != ETIMEDOUT)
		return 0;
	bury(l, slot);
	*out_who = l->page->slot[slot].owner;
	return b_now_ms() < end_ms ? 0 : -EBUSY;
}

/* Waits until the mover has finished, or for a limited time. */
static int wait_for_mover(const struct lau_movelock *l, uint64_t end_ms, pid_t *out_who)
{
	_Atomic uint32_t *mover = &l->page->mover;
	uint32_t is = *mover;

	if (!is || (!(is & WAITED) && !atomic_compare_exchange_strong(mover, &is, is | WAITED)))
		return 0;
	is |= WAITED;
	return after_sleep(l, sleep_on(mover, is, NAP_MS), (is & ~WAITED) - 1, end_ms, out_who);
}

int lau_movelock_share(const struct lau_movelock *l, pid_t *out_who)
{
	struct slot *own = &l->page->slot[l->slot];
	uint64_t end_ms;
	int rc;

	if (enter(l))
		return 0;
	own->queued++;
	end_ms = deadline(l);
	do
		rc = wait_for_mover(l, end_ms, out_who);
	while (rc == 0 && !enter(l));
	if (--own->queued == 0)
		wake(&own->queued);
	return rc;
}

void lau_movelock_share_end(const struct lau_movelock *l)
{
	_Atomic uint32_t *acting = &l->page->slot[l->slot].acting;

	if (atomic_fetch_sub(acting, 1) == 1 && l->page->mover)
		wake(acting);
}

/* Workers that waited during a move go first. Otherwise many movers could delay them for ever. */
static void let_others_act(const struct lau_movelock *l)
{
	unsigned turns = 0;

	for (unsigned i = 0; turns < TURNS && i < l->page->used; i++) {
		uint32_t queued = l->page->slot[i].queued;

		turns += queued != 0;
		if (queued && sleep_on(&l->page->slot[i].queued, queued, TURN_MS) == ETIMEDOUT)
			bury(l, i);
	}
}

static int wait_for_slot(const struct lau_movelock *l, unsigned i, uint64_t end_ms, pid_t *out_who)
{
	_Atomic uint32_t *acting = &l->page->slot[i].acting;
	uint32_t n;
	int rc = 0;

	while (rc == 0 && (n = *acting))
		rc = after_sleep(l, sleep_on(acting, n, NAP_MS), i, end_ms, out_who);
	return rc;
}

int lau_movelock_move(const struct lau_movelock *l, pid_t *out_who)
{
	uint64_t end_ms = deadline(l);
	int rc = 0;

	for (;;) {
		uint32_t none = 0;

		let_others_act(l);
		if (atomic_compare_exchange_strong(&l->page->mover, &none, l->slot + 1))
			break;
		rc = wait_for_mover(l, end_ms, out_who);
		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; rc == 0 && i < l->page->used; i++)
		rc = wait_for_slot(l, i, end_ms, out_who);
	if (rc < 0)
		lau_movelock_move_end(l);
	return rc;
}

void lau_movelock_move_end(const struct lau_movelock *l)
{
	give_up_move(l->page);
}

bool lau_movelock_is_wanted(const struct lau_movelock *l)
{
	return l->page->mover != 0;
}
