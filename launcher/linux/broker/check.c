/*
 * check.c - what the kernel looks at before it looks at a path: flags, modes, times, the names of
 * attributes. A call that fails by these fails so whatever its path is, and what is read from the
 * caller's memory here is not read again.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "launcher/linux/broker/open.h"

static int flags_within(const struct br_call *c, unsigned known)
{
	return c->flags & ~known ? -EINVAL : 0;
}

/* Flags that go together or not by the kernel's version (O_CREAT|O_DIRECTORY: 6.4) are its own
 * affair: with an empty path it says what it thinks of them. */
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
