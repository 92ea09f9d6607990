/* SPDX-License-Identifier: Apache-2.0 */
/* channel.c - see channel.h. */
#include "launcher/run/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/places.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "core/channel.h"
#include "core/ring.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"

/* ---- where ---- */

/* The ring is memory: on a disk's file system its pages would be written back. With room to
 * spare, as it is allocated in two steps (LAU_RING_EARLY). */
static bool is_good_tmpfs(const char *dir)
{
	return lau_os_is_memory(dir, 4u * LAU_RING_DATA);
}

static bool is_ours(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 077) == 0;
}

/* A place that was free, or that belongs to this user. In a run inside a run the user's own place
 * is closed: open(2) shows that, and stat(2) and access(2) do not (landlock(7)). */
static bool is_free(const char *dir)
{
	b_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? errno == ENOENT : is_ours(dir);
}

/* Another user was first: everybody may make entries there. */
static bool is_squatted(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && st.st_uid != geteuid();
}

enum { MAX_NAMES = 1000 };

/* "PARENT/sbx-launch-UID", with a number when somebody else holds that. False: none is free. */
static bool find_name(const char *parent, struct b_str *path)
{
	unsigned i;

	for (i = 0; i < MAX_NAMES; i++) {
		b_str_reset(path);
		b_str_addf(path, "%s/sbx-launch-%u", strcmp(parent, "/") == 0 ? "" : parent,
			   (unsigned)geteuid());
		if (i)
			b_str_addf(path, "-%u", i);
		if (is_free(path->s))
			return true;
		if (!is_squatted(path->s))
			return false;
	}
	return false;
}

int lau_channel_base(char **out, struct b_err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_free char *dir = NULL;

	if (runtime && *runtime == '/' && is_ours(runtime) && is_good_tmpfs(runtime) &&
	    (dir = realpath(runtime, NULL))) {
		b_str_addf(&path, "%s/sbx-launch", dir);
		if (is_free(path.s)) {
			*out = b_str_take(&path);
			return 0;
		}
	}
	if (is_good_tmpfs("/dev/shm") && access("/dev/shm", W_OK | X_OK) == 0 &&
	    find_name("/dev/shm", &path)) {
		*out = b_str_take(&path);
		return 0;
	}
	free(dir);
	dir = NULL;
	if (lau_scratch_base(&dir, err) < 0)
		return -1;
	(void)find_name(dir, &path); /* otherwise lau_channel_make_base() reports the error */
	*out = b_str_take(&path);
	return 0;
}

/* Not where the environment says: two runs of a user may have two of them. */
char *lau_channel_locks(const char *channels)
{
	b_auto(b_str_release) struct b_str path = {0};

	/* however full it is: the file may be there */
	if (lau_os_is_memory("/dev/shm", 0) && access("/dev/shm", W_OK | X_OK) == 0 &&
	    find_name("/dev/shm", &path))
		return b_str_take(&path);
	return channels ? b_strdup(channels) : NULL;
}

/* In a directory anybody may write to, somebody else can have been first. */
int lau_channel_make_base(const char *base, struct b_err *err)
{
	if (mkdir(base, 0700) < 0 && errno != EEXIST)
		return b_fail_sys(err, B_SHIM, errno, "cannot make %s", base);
	if (!is_ours(base))
		return b_fail(err, B_SHIM, 0,
			      "%s is not a private directory of this user: remove it", base);
	return 0;
}

/* ---- life and death ---- */

static void remove_files(int dir)
{
	(void)unlinkat(dir, SBX_CHANNEL_IMAGE, 0);
	(void)unlinkat(dir, SBX_CHANNEL_RING, 0);
	(void)unlinkat(dir, SBX_CHANNEL_CONTROL, 0);
}

/* Or -1 with errno; ENOENT, EWOULDBLOCK: a sweeper was faster. */
static int lock_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why;
	struct stat st;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
		if (st.st_nlink)
			return fd;
		errno = ENOENT; /* no name any more */
	}
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

/* No other directory can be locked either. */
static int cannot_lock(const char *dir, struct b_err *err)
{
	int why = errno;

	(void)rmdir(dir);
	return b_fail(err, B_SHIM, why,
		      "cannot lock %s: %s: set XDG_RUNTIME_DIR to a directory where flock(2) "
		      "works, or use --no-shim",
		      dir, strerror(why));
}

static int make_dir(const char *base, struct lau_channel *ch, struct b_err *err)
{
	unsigned tries;

	for (tries = 0; tries < 10; tries++) {
		b_auto(b_str_release) struct b_str dir = {0};

		b_str_addf(&dir, "%s/XXXXXX", base);
		if (!mkdtemp(dir.s))
			break;
		ch->lock_fd = lock_dir(dir.s);
		if (ch->lock_fd >= 0) {
			ch->dir = b_str_take(&dir);
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != ENOENT)
			return cannot_lock(dir.s, err);
	}
	return b_fail(err, B_SHIM, errno,
		      "cannot make the run's channel in %s: %s: inside another sandbox, set "
		      "XDG_RUNTIME_DIR to a private directory there, or use --no-shim",
		      base, strerror(errno));
}

static char *join(const char *dir, const char *name)
{
	struct b_str path = {0};

	b_str_addf(&path, "%s/%s", dir, name);
	return b_str_take(&path);
}

static int copy_image(const char *path, const struct lau_channel_image *image)
{
	b_auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	return fd < 0 ? -1 : b_write_all(fd, image->data, image->size);
}

static int add_image(struct lau_channel *ch, const struct lau_channel_image *image)
{
	ch->image_path = join(ch->dir, SBX_CHANNEL_IMAGE);
	if (!image->file)
		return copy_image(ch->image_path, image);
	if (symlink(image->file, ch->image_path) < 0)
		return -1;
	free(ch->image_path);
	ch->image_path = b_strdup(image->file);
	return 0;
}

static int map_ring(struct lau_channel *ch, enum sbx_audit_level level)
{
	int rc;

	ch->ring_fd = open(ch->ring_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (ch->ring_fd < 0 || ftruncate(ch->ring_fd, (off_t)ch->ring_bytes) < 0)
		return -1;
	ch->is_settled = ch->ring_bytes <= LAU_RING_EARLY;
	rc = lau_os_reserve(ch->ring_fd, (off_t)(ch->is_settled ? ch->ring_bytes : LAU_RING_EARLY));
	if (rc) {
		errno = rc;
		return -1;
	}
	ch->ring = mmap(NULL, ch->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ch->ring_fd, 0);
	if (ch->ring == MAP_FAILED) {
		ch->ring = NULL;
		return -1;
	}
	sbx_ring_init(ch->ring, ch->ring_data, level);
	return 0;
}

int lau_channel_settle(struct lau_channel *ch, struct b_err *err)
{
	int rc = ch->is_settled ? 0 : lau_os_reserve(ch->ring_fd, (off_t)ch->ring_bytes);

	if (rc)
		return b_fail_sys(err, B_SHIM, rc, "no space for the run's events (%s)", ch->dir);
	ch->is_settled = true;
	return 0;
}

int lau_channel_new(const char *base, const struct lau_channel_image *image,
		    enum sbx_audit_level level, struct lau_channel *out, struct b_err *err)
{
	/* Counts of processes need little room, and in preload-only mode no reader empties the
	 * ring. */
	size_t data = level == SBX_AUDIT_NONE ? LAU_RING_COVERAGE : LAU_RING_DATA;

	*out = (struct lau_channel){.lock_fd = -1,
				    .ring_fd = -1,
				    .ring_data = data,
				    .ring_bytes = sbx_ring_bytes(data)};
	aud_place_sweep(base);
	if (make_dir(base, out, err) < 0)
		return -1;
	out->ring_path = join(out->dir, SBX_CHANNEL_RING);
	if (add_image(out, image) < 0 || map_ring(out, level) < 0) {
		b_fail_sys(err, B_SHIM, errno, "cannot fill the run's channel %s", out->dir);
		lau_channel_release(out);
		return -1;
	}
	return 0;
}

void lau_channel_release(struct lau_channel *ch)
{
	if (ch->ring)
		munmap(ch->ring, ch->ring_bytes);
	if (ch->ring_fd >= 0)
		close(ch->ring_fd);
	if (ch->dir) {
		remove_files(ch->lock_fd);
		(void)rmdir(ch->dir);
		close(ch->lock_fd);
	}
	free(ch->dir);
	free(ch->image_path);
	free(ch->ring_path);
	*ch = (struct lau_channel){.lock_fd = -1, .ring_fd = -1};
}

bool lau_channel_is_above_alone(void)
{
	const char *dir = getenv(SBX_ENV_CHANNEL);
	b_auto_free char *path = NULL;
	b_auto_fd int fd = -1;
	uint32_t is_alone = 0;

	if (!dir)
		return false;
	if (strncmp(dir, SBX_CHANNEL_DENY, sizeof SBX_CHANNEL_DENY - 1) == 0)
		return true;
	path = join(dir, SBX_CHANNEL_RING);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 &&
	       pread(fd, &is_alone, sizeof is_alone, offsetof(struct sbx_ring, is_alone)) ==
		       sizeof is_alone &&
	       is_alone;
}
