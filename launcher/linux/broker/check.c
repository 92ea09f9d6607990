/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - asking the policy, and telling the record what came of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/io.h"
#include "core/asked.h"
#include "core/event.h"
#include "core/ring.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"

/*
 * What the kernel looks at before it looks at a path: flags, modes, times, the names of attributes.
 * A call that fails by these fails for every path. Data that is read from the caller's memory here
 * is not read again.
 */

static int flags_within(const struct br_call *c, unsigned known)
{
	return c->flags & ~known ? -EINVAL : 0;
}

/* Some combinations of flags depend on the kernel's version (O_CREAT|O_DIRECTORY: 6.4). The kernel
 * judges these: with an empty path it returns its error for them. */
static int check_open(struct br_call *c)
{
	const unsigned tmpfile = O_TMPFILE & ~O_DIRECTORY;
	bool is_odd = c->flags & tmpfile || (c->flags & O_CREAT && c->flags & O_DIRECTORY);

	if (!is_odd)
		return 0;
	(void)syscall(SYS_openat, AT_FDCWD, "", c->flags, c->mode & 07777);
	return errno == ENOENT ? 0 : -errno;
}

static int check_unlink(struct br_call *c)
{
	return flags_within(c, AT_REMOVEDIR);
}

static int check_rename(struct br_call *c)
{
	if (c->flags & RENAME_EXCHANGE)
		return flags_within(c, RENAME_EXCHANGE);
	return flags_within(c, RENAME_NOREPLACE | RENAME_WHITEOUT);
}

static int check_link(struct br_call *c)
{
	return flags_within(c, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH);
}

static int check_at(struct br_call *c)
{
	return flags_within(c, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
}

static int check_mknod(struct br_call *c)
{
	switch (c->mode & S_IFMT) {
	case 0:
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	case S_IFDIR:
		return -EPERM;
	}
	return -EINVAL;
}

static int check_truncate(struct br_call *c)
{
	return (off_t)br_arg(c, 1) < 0 ? -EINVAL : 0;
}

/* ---- times, in the units of each call ---- */

static int from_utime(struct br_call *c, uint64_t addr)
{
	struct utimbuf t;
	int rc = br_read(c, addr, &t, sizeof t);

	if (rc < 0)
		return rc;
	c->times[0] = (struct timespec){.tv_sec = t.actime};
	c->times[1] = (struct timespec){.tv_sec = t.modtime};
	return 0;
}

static int from_timeval(struct br_call *c, uint64_t addr)
{
	struct timeval t[2];
	int rc = br_read(c, addr, t, sizeof t);

	if (rc < 0)
		return rc;
	for (int i = 0; i < 2; i++) {
		if (t[i].tv_usec < 0 || t[i].tv_usec >= 1000000)
			return -EINVAL;
		c->times[i] = (struct timespec){t[i].tv_sec, t[i].tv_usec * 1000};
	}
	return 0;
}

static int read_times(struct br_call *c, uint64_t addr)
{
	if (c->row->nr == SYS_utimensat)
		return br_read(c, addr, c->times, sizeof c->times);
#ifdef SYS_utime
	if (c->row->nr == SYS_utime)
		return from_utime(c, addr);
#else
	(void)from_utime;
#endif
	return from_timeval(c, addr);
}

static int check_utimes(struct br_call *c)
{
	uint64_t addr = br_arg(c, br_after_object(c));
	int rc = addr ? read_times(c, addr) : 0;
	bool is_descriptor;

	if (rc < 0)
		return rc;
	if (c->row->nr != SYS_utimensat)
		return 0;
	if (addr && c->times[0].tv_nsec == UTIME_OMIT && c->times[1].tv_nsec == UTIME_OMIT)
		return BR_NOTHING_TO_DO;
	is_descriptor = !br_arg(c, c->row->end[0].path) && (int)br_arg(c, 0) != AT_FDCWD;
	return is_descriptor ? flags_within(c, 0) : check_at(c);
}

/* ---- extended attributes ---- */

static int check_attr(struct br_call *c)
{
	long n = br_read_text(c, br_arg(c, br_after_object(c)), c->attr, sizeof c->attr);

	if (n == -ENAMETOOLONG || n == 0)
		return -ERANGE;
	return n < 0 ? (int)n : 0;
}

static int check_setxattr(struct br_call *c)
{
	unsigned arg = br_after_object(c);
	int rc;

	if ((unsigned)br_arg(c, arg + 3) & ~(unsigned)(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	rc = check_attr(c);
	if (rc < 0)
		return rc;
	return br_arg(c, arg + 2) > XATTR_SIZE_MAX ? -E2BIG : 0;
}

static const struct {
	br_handler *handler;
	int (*check)(struct br_call *);
} checks[] = {
	{br_open, check_open},	       {br_openat2, br_read_how},
	{br_unlink, check_unlink},     {br_rename, check_rename},
	{br_link, check_link},	       {br_chmod, check_at},
	{br_chown, check_at},	       {br_mknod, check_mknod},
	{br_truncate, check_truncate}, {br_ftruncate, check_truncate},
	{br_utimes, check_utimes},     {br_getxattr, check_attr},
	{br_removexattr, check_attr},  {br_setxattr, check_setxattr},
};

int br_check(struct br_call *c)
{
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].handler == c->row->handler)
			return checks[i].check(c);
	return 0;
}

/*
 * Asking the policy, and telling what came of it.
 *
 * Nothing is done that could not be told: a call has a place for its event before it is served,
 * and waits for one where the ring is full. The broker alone writes to its ring. So it is enough to
 * count the places: they are as long as the longest event, and with all that is not read yet they
 * never come to more than the ring. No call tells more than one event.
 */

enum { PLACE_MS = 1 }; /* how often a call checks whether the ring has room again */

/* The rules are meant of a directory of the run's own, and this is the host's. */
static bool is_not_ours(const struct lau_broker_plan *p, const char *path, size_t len)
{
	if (p->no_shm && sbx_path_under(path, len, "/dev/shm", strlen("/dev/shm")))
		return true;
	if (!p->no_tmp || !sbx_path_under(path, len, "/tmp", strlen("/tmp")))
		return false;
	for (size_t i = 0; i < p->tmp_kept.n; i++)
		if (sbx_path_under(path, len, p->tmp_kept.v[i], strlen(p->tmp_kept.v[i])))
			return false;
	return true;
}

bool br_allowed(const struct br_call *c, enum sbx_op op, const char *path, size_t len)
{
	if (is_not_ours(c->b->plan, path, len))
		return false;
	return sbx_decide(c->b->plan->image, op, path, len) && !br_fold_denies(c, op, path, len);
}

/* Allowed reads are not reported here: the shim reports them, and a log of every read of programs
 * without the shim would be too long to be useful. */
static bool is_wanted(const struct br_broker *b, const struct br_told *t)
{
	if (!b->plan->ring || b->plan->level == SBX_AUDIT_NONE)
		return false;
	if (!t->allowed || t->flags & SBX_EVF_WATCHED)
		return true;
	return (t->op == SBX_MODIFY || t->flags & SBX_EVF_ENDPOINT) &&
	       b->plan->level != SBX_AUDIT_DENIED;
}

bool br_get_place(struct br_broker *b)
{
	uint64_t others = atomic_fetch_add(&b->places, SBX_RING_FRAME_MAX);

	if (sbx_ring_has_room(b->plan->ring, b->plan->ring_size, others + SBX_RING_FRAME_MAX))
		return true;
	atomic_fetch_sub(&b->places, SBX_RING_FRAME_MAX);
	return false;
}

void br_drop_place(struct br_broker *b)
{
	atomic_fetch_sub(&b->places, SBX_RING_FRAME_MAX);
}

/* The supervisor reads more slowly than the command makes calls, or not at all. */
static int wait_for_place(struct br_call *c)
{
	bool waits = br_may_block(c);

	do {
		(void)poll(NULL, 0, PLACE_MS);
		if (!br_is_alive(c))
			return -EINTR;
		if (c->w->signal == BR_SIGNAL_OWN)
			return -BR_RESTART;
	} while (!br_get_place(c->b));
	c->has_place = true;
	if (waits)
		br_end_block(c);
	return 0;
}

int br_take_place(struct br_call *c)
{
	if (!c->b->plan->ring || c->b->plan->level == SBX_AUDIT_NONE ||
	    c->row->call == SBX_CALL_unknown) /* which are not reported */
		return 0;
	c->has_place = br_get_place(c->b);
	return c->has_place ? 0 : wait_for_place(c);
}

void br_give_place(struct br_call *c)
{
	if (c->has_place)
		br_drop_place(c->b);
	c->has_place = false;
}

/* The path that the caller gave, if the reported path is the one that it led to. */
static struct sbx_named named(const struct br_end *e, const char *path, size_t len)
{
	return (struct sbx_named){path, path == e->path && e->asked_len ? e->asked : NULL, len};
}

void br_tell(struct br_call *c, const struct br_told *t)
{
	const struct sbx_named n[2] = {named(&c->end[0], t->path, t->len),
				       named(&c->end[1], t->path2, t->len2)};
	const char *text = t->path2;
	char room[SBX_PATH_MAX];
	struct sbx_event ev = {
		.time_ns = b_now_real_ns(),
		.kind = SBX_EV_CALL,
		.op = (uint16_t)t->op,
		.call = (uint16_t)(t->call ? t->call : c->row->call),
		.flags = (uint16_t)(t->flags | (t->allowed ? SBX_EVF_ALLOWED : 0)),
		.err = t->err,
		.aux = t->aux,
		.rule = t->rule,
		.path_len = (uint16_t)t->len,
		.path2_len = (uint16_t)t->len2,
	};

	c->has_fate = true;
	c->fate = SBX_FATE_UNWANTED;
	if (!is_wanted(c->b, t))
		return;
	c->fate = t->allowed ? SBX_FATE_PERFORMED : SBX_FATE_REFUSED;
	ev.pid = (uint32_t)br_tgid(c);
	if (t->len >= PATH_MAX || t->len2 >= PATH_MAX)
		ev.rule = sbx_deep_rule(c->b->plan->image, &ev, t->path, t->len, t->path2, t->len2);
	if (sbx_asked_size(n))
		text = sbx_asked_put(&ev, n, room);
	/* its room is reserved; a loss all the same is counted, and ends a run with
	 * --audit-required */
	(void)sbx_ring_write(c->b->plan->ring, c->b->plan->ring_size, &ev, t->path, text);
}

struct br_answer br_told_result(struct br_call *c, enum sbx_op op, struct br_answer a)
{
	const struct br_end *e = &c->end[0];
	const struct br_told t = {
		.op = op,
		.allowed = true,
		.err = a.kind == BR_KIND_ERROR ? a.err : 0,
		.aux = a.kind == BR_KIND_ERROR ? 0 : c->did,
		.path = e->path,
		.len = e->len,
	};

	br_tell(c, &t);
	return a;
}

/* A file that has lost the name by which it was opened may have other names. It is reported by the
 * lost one. */
struct br_answer br_told_of_object(struct br_call *c, struct br_answer a)
{
	const struct br_end *e = &c->end[0];

	return e->is_pathless && !e->is_nameless ? a : br_told_result(c, SBX_MODIFY, a);
}

/* The kernel's own answer, where there is one, comes before ours: then nothing was denied. */
struct br_answer br_deny(struct br_call *c, enum sbx_op op, const struct br_end *e, int kernel_says)
{
	const struct br_told t = {
		.op = op,
		.err = EACCES,
		.path = e->path,
		.len = e->len,
	};

	if (kernel_says)
		return br_fail(kernel_says);
	if (e->given)
		return br_fail(EACCES);
	/* no rule refuses it, but the lack of a descriptor */
	if (e->is_nameless && br_allowed(c, op, e->path, e->len))
		return br_fail(EACCES);
	br_tell(c, &t);
	return br_fail(EACCES);
}
