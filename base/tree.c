/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - see tree.h. */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

enum { DEEPEST = 32, MAX_PASSES = 4096 };

struct removal {
	int top;	 /* the tree's root */
	unsigned hoists; /* directories moved up to the root because they lay too deep */
};

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	/* its permission bits keep us out */
	if (fd < 0 && errno == EACCES && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* entries of a directory without w or x cannot be removed */
	if (fd >= 0)
		(void)fchmod(fd, 0700);
	return fd;
}

static int empty_dir(struct removal *r, int fd, unsigned depth);

static int remove_subdir(struct removal *r, int at, const char *name, unsigned depth)
{
	char hoisted[32];
	int fd;

	if (depth >= DEEPEST) {
		snprintf(hoisted, sizeof hoisted, ".hoisted-%u", r->hoists);
		r->hoists++;
		return renameat(at, name, r->top, hoisted);
	}
	fd = open_dir(at, name);
	if (fd < 0)
		return -1;
	if (empty_dir(r, fd, depth + 1) < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR);
}

/* Takes over fd. */
static int empty_dir(struct removal *r, int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (e->d_type != DT_DIR && unlinkat(fd, e->d_name, 0) == 0)
			continue;
		if (e->d_type != DT_DIR && errno != EISDIR)
			rc = -1;
		else if (remove_subdir(r, fd, e->d_name, depth) < 0)
			rc = -1;
	}
	closedir(dir);
	return rc;
}

int b_tree_clear_at(int top, struct b_err *err)
{
	struct removal r = {.top = top};
	struct stat st;
	unsigned pass;

	/* checked on the descriptor, so that no other object changes its mode */
	if (fstat(top, &st) < 0 || !S_ISDIR(st.st_mode))
		return b_fail(err, B_SYSTEM, ENOTDIR, "cannot empty a directory: %s",
			      strerror(ENOTDIR));

	/* entries of a directory without w or x cannot be removed */
	(void)fchmod(top, 0700);
	for (pass = 0; pass < MAX_PASSES; pass++) {
		unsigned before = r.hoists;
		/* opened anew, because a copied descriptor shares the offset and would read nothing
		 * the second time */
		int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int rc = again < 0 ? -1 : empty_dir(&r, again, 0);

		/* The pass moved deep directories up to the root: they need another pass. */
		if (rc == 0 && r.hoists == before)
			return 0;
		if (r.hoists == before)
			break;
	}
	return b_fail(err, B_SYSTEM, errno, "cannot empty a directory: %s", strerror(errno));
}

int b_tree_clear(const char *path, struct b_err *err)
{
	b_auto_fd int top = open_dir(AT_FDCWD, path);

	if (top >= 0 && b_tree_clear_at(top, NULL) == 0)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "cannot empty %s: %s", path, strerror(errno));
}

int b_tree_remove(const char *path, struct b_err *err)
{
	/* The usual case: nothing was left in it. */
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	if (b_tree_clear(path, err) < 0)
		return -1;
	if (rmdir(path) < 0 && errno != ENOENT)
		return b_fail(err, B_SYSTEM, errno, "cannot remove %s: %s", path, strerror(errno));
	return 0;
}
