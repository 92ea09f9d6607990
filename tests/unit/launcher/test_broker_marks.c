/* SPDX-License-Identifier: Apache-2.0 */
/* Marked calls (docs/adr/016), attacked by a program that marks all it can, without a shim. The
 * hazards of the first prototype have their numbers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/support/markworld.h"

TestSuite(launcher_broker_marks, .init = mw_set_up, .fini = mw_tear_down);

static long open_how(const char *path, unsigned flags, unsigned mode, size_t size)
{
	struct {
		struct open_how how;
		uint64_t zero;
	} padded = {{.flags = flags, .mode = mode}, 0};

	return syscall(SYS_openat2, HERE, path, &padded, size);
}

static unsigned bad;

static void want(bool allowed, long rc, const char *what)
{
	int err = errno;

	if ((rc >= 0) == allowed)
		return;
	bad++;
	dprintf(2, "# %s: %ld %s\n", what, rc, rc < 0 ? strerror(err) : "");
}
#define ALLOWED(call) want(true, (call), #call)
#define DENIED(call)  want(false, (call), #call)

static void try_what_is_clean(void)
{
	ALLOWED(OPEN("src/b", O_CREAT | O_WRONLY, 0644));
	ALLOWED(OPEN("src/b", O_RDWR | O_TRUNC, 0));
	ALLOWED(MKDIR("src/d", 0755));
	ALLOWED(MOVE("src/b", "src/d/b", 0));
	ALLOWED(LINK("src/d/b", "src/d/c", 0));
	ALLOWED(MOVE("src/d", "pub/d", 0));
	ALLOWED(MOVE("pub/d/b", "src/b", RENAME_NOREPLACE));
	ALLOWED(MOVE("src/b", "src/a", RENAME_EXCHANGE));
	ALLOWED(UNLINK("pub/d/c", 0));
	ALLOWED(UNLINK("pub/d", AT_REMOVEDIR));
	/* these are the broker's, marked or not */
	ALLOWED(SYMLINK("a", "src/s"));
	ALLOWED(MKNOD("src/p", S_IFIFO | 0644, 0));
	ALLOWED(MKNOD("src/n", S_IFREG | 0644, 0));
	ALLOWED(OPEN("src", O_TMPFILE | O_WRONLY, 0644));
	ALLOWED(UNLINK("src/s", 0));
	ALLOWED(UNLINK("src/p", 0));
}

static void try_what_is_denied(void)
{
	/* what is not granted is asked for without a mark */
	DENIED(OPEN("top", O_CREAT | O_WRONLY, 0644));
	DENIED(MKDIR(".claude", 0755));
	DENIED(UNLINK("src", AT_REMOVEDIR));
	DENIED(OPEN("ro/f", O_WRONLY, 0));
	DENIED(OPEN("ro/f", O_RDWR, 0));
	DENIED(OPEN("ro/f", O_RDONLY | O_TRUNC, 0));
	DENIED(OPEN("ro/n", O_CREAT | O_WRONLY, 0644));
	DENIED(OPEN("ro/n", O_CREAT | O_RDONLY, 0644));
	DENIED(OPEN("ro", O_TMPFILE | O_WRONLY, 0644));
	DENIED(OPEN(mw_out, O_WRONLY, 0));
	DENIED(OPEN(".claude/settings.json", O_CREAT | O_WRONLY, 0644));
	DENIED(OPEN("src/../ro/f", O_WRONLY, 0));
	DENIED(open_how("ro/f", O_WRONLY | O_TRUNC, 0, 24));
	DENIED(open_how("ro/f", O_WRONLY, 0, 32));
	DENIED(UNLINK("ro/f", 0));
	DENIED(UNLINK("ro/d", AT_REMOVEDIR));
	DENIED(MKDIR("ro/e", 0755));
	DENIED(SYMLINK("x", "ro/s"));
	DENIED(MKNOD("ro/x", S_IFREG | 0644, 0));
	DENIED(MKNOD("src/null", S_IFCHR | 0666, makedev(1, 3)));
	DENIED(MKNOD("src/blk", S_IFBLK | 0666, makedev(7, 0)));
	DENIED(MOVE("ro/f", "src/f", 0));
	DENIED(MOVE("src/a", "ro/f", 0));
	DENIED(MOVE("src/a", "ro/f", RENAME_EXCHANGE));
	DENIED(MOVE("ro/f", "src/a", RENAME_EXCHANGE));
	DENIED(MOVE("ro", "src/ro", 0));
	DENIED(MOVE("src", "ro/src", 0));
	DENIED(MOVE("src", "ro", RENAME_EXCHANGE));
	DENIED(MOVE(mw_out, "src/o", 0));
	DENIED(LINK("ro/f", "src/l", 0));
	DENIED(LINK(mw_out, "src/l", 0));
	DENIED(LINK("src/a", "ro/l", 0));
	DENIED(LINK("/etc/passwd", "src/l", 0));
}

/* By names in /proc, symlinks, and descriptors of directories that have moved. */
static void try_detours(void)
{
	char name[64];
	int fd = open("ro/f", O_RDONLY | O_CLOEXEC);

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	DENIED(LINK(name, "src/l", AT_SYMLINK_FOLLOW));
	DENIED(syscall(SYS_linkat, mw_marked(fd), "", HERE, "src/l", (long)AT_EMPTY_PATH));
	DENIED(OPEN(name, O_WRONLY, 0));
	ALLOWED(SYMLINK("../ro", "src/s"));
	ALLOWED(SYMLINK("../ro/f", "src/t"));
	DENIED(OPEN("src/s/f", O_WRONLY, 0));
	DENIED(OPEN("src/t", O_WRONLY, 0));
	DENIED(OPEN("src/s/n", O_CREAT | O_WRONLY, 0644));
	DENIED(UNLINK("src/s/f", 0));
	DENIED(MOVE("src/a", "src/s/a", 0));
	DENIED(LINK("src/t", "ro/l", AT_SYMLINK_FOLLOW));
	ALLOWED(MKDIR("src/p", 0755));
	ALLOWED(MKDIR("src/p/q", 0755));
	ALLOWED(MKDIR("src/p/q/r", 0755));
	fd = open("src/p/q/r", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ALLOWED(MOVE("src/p/q/r", "src/r", 0));
	DENIED(REACH(fd, "../../ro/f", O_WRONLY));
	DENIED(REACH(fd, "../../ro/n", O_CREAT | O_WRONLY));
	DENIED(syscall(SYS_unlinkat, mw_marked(fd), "../../ro/f", 0L));
	DENIED(syscall(SYS_renameat2, mw_marked(fd), "../a", mw_marked(fd), "../../ro/f", 0L));
	fd = (int)OPEN("src", O_TMPFILE | O_RDWR, 0644);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	DENIED(LINK(name, "ro/l", AT_SYMLINK_FOLLOW));
	ALLOWED(LINK(name, "src/l", AT_SYMLINK_FOLLOW));
}

/* H5, H6, H8: what Landlock asks for no right for. */
static void try_flags(void)
{
	struct stat st;

	DENIED(OPEN("ro/f", O_ACCMODE, 0));
	DENIED(OPEN(mw_out, O_ACCMODE, 0));
	DENIED(MOVE("src/a", "src/w", RENAME_WHITEOUT));
	DENIED(MOVE("src/a", "src/w", RENAME_WHITEOUT | RENAME_NOREPLACE));
	want(true, lstat("src/a", &st) == 0 && S_ISREG(st.st_mode) ? 0 : -1, "a whiteout was made");
	DENIED(OPEN("src/u", O_CREAT | O_WRONLY, 04755));
	DENIED(OPEN("src/u", O_CREAT | O_RDWR | O_EXCL, 02755));
	DENIED(MKNOD("src/u", S_IFREG | 04755, 0));
	DENIED(open_how("src/u", O_CREAT | O_WRONLY, 04755, 24));
	DENIED(open_how("src/u", O_CREAT | O_WRONLY, 04755, 32));
	want(false, mw_is_there("src/u") ? 0 : -1, "a set-id file was made");
	ALLOWED(MKDIR("src/g", 06777));
	want(true, stat("src/g", &st) == 0 && !(st.st_mode & S_ISUID) ? 0 : -1, "set-uid");
}

/* H1: a grant goes where its directory goes. */
static void try_sticky_grants(void)
{
	ALLOWED(MKDIR("pub/deep", 0755));
	want(false, PLAIN("pub", ".claude", 0), "a granted directory moved");
	want(false, PLAIN("pub/deep", ".claude", 0), "one below moved");
	want(true, PLAIN("pub", "pub2", 0), "to a clean name it does not move");
	want(true, PLAIN("pub2", "pub", 0), "nor back");
	want(true, mkdir("dir", 0755), "mkdir");
	want(true, PLAIN("pub", "dir/pub", 0), "pub to dir");
	want(false, PLAIN("dir", ".claude", 0), "one that holds a granted directory moved");
	want(false, PLAIN("dir", "ro", RENAME_EXCHANGE), "exchanged");
	want(true, PLAIN("dir/pub", "pub", 0), "pub from dir");
	DENIED(OPEN(".claude/settings.json", O_CREAT | O_WRONLY, 0644));
	DENIED(MKDIR(".claude/hooks", 0755));
	want(false, mw_is_there(".claude/settings.json") || mw_is_there(".claude/hooks") ? 0 : -1,
	     "a protected name is there");
}

static int try_all(void *unused)
{
	(void)unused;
	umask(022);
	if (chdir(mw_ws) < 0)
		return 200;
	try_what_is_clean();
	try_what_is_denied();
	try_detours();
	try_flags();
	try_sticky_grants();
	return bad < 100 ? (int)bad : 100;
}

Test(launcher_broker_marks, a_program_that_marks_everything_gets_no_further)
{
	mw_by_each(try_all, NULL, SB_MARKED, 0, "all");
}

/* With grants and without marks nothing passes, and all comes out the same. */
static int try_unmarked(void *unused)
{
	(void)unused;
	return chdir(mw_ws) == 0 && PLAIN("src/a", "src/b", 0) == 0 &&
			       PLAIN("src/b", "ro/b", 0) < 0 && errno == EACCES
		       ? 0
		       : 1;
}

Test(launcher_broker_marks, a_call_without_a_mark_is_performed_as_ever)
{
	mw_by_each(try_unmarked, NULL, SB_MARKED, 0, "unmarked");
	mw_by_each(try_unmarked, NULL, SB_UNMARKED, 0, "unmarked");
}
