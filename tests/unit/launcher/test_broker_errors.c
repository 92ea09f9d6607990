/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what a call answers that cannot be done, as the kernel answers it. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

#define SYS_fchmodat2_nr 452 /* 6.6 */
#define CASES_MAX	 8192

TestSuite(launcher_broker_errors, .init = sb_tree_set_up, .fini = sb_tree_tear_down);

/* Answers in the order of the calls, shared with the confined process. */
static struct {
	unsigned n;
	struct {
		char what[48];
		int answer; /* errno, or F_GETFL of what was opened, or 0 */
	} v[CASES_MAX];
} * seen;

static void note(const char *what, const char *path, unsigned with, long rc)
{
	int err = errno;

	if (seen->n == CASES_MAX)
		return;
	snprintf(seen->v[seen->n].what, sizeof seen->v[seen->n].what, "%s %.12s %#x", what,
		 path ? path : "NULL", with);
	seen->v[seen->n++].answer = rc < 0 ? err : 0;
}

static void note_open(const char *what, const char *path, unsigned with, long fd)
{
	note(what, path, with, fd);
	if (fd < 0)
		return;
	seen->v[seen->n - 1].answer = 0x1000000 | fcntl((int)fd, F_GETFL);
	close((int)fd);
}

static const char *const paths[] = {"f",    "d",     "to-f",   "to-d", "to-none", "none", "none/x",
				    "f/x",  "",	     "d/../f", "d/",   "none/",	  "ring", "f/",
				    "long", "to-f/", "d/new",  "d/.",  "to-d/.."};
#define PATHS (sizeof paths / sizeof *paths)

static void put_back(void)
{
	(void)!symlink("f", "to-f");
	(void)!symlink("d", "to-d");
	(void)!symlink("none", "to-none");
	(void)!symlink("ring", "ring");
	mkdir("d", 0755);
	close(open("f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	unlink("none");
	unlink("d/new");
	rmdir("none");
	unlink("other");
	rmdir("other");
}

static void each_flag(const char *path)
{
	for (unsigned bit = 0; bit < 16; bit++) {
		unsigned flag = 1u << bit;

		note("fchmodat2", path, flag,
		     syscall(SYS_fchmodat2_nr, AT_FDCWD, path, 0644, flag));
		note("fchownat", path, flag, syscall(SYS_fchownat, AT_FDCWD, path, -1, -1, flag));
		note("utimensat", path, flag, syscall(SYS_utimensat, AT_FDCWD, path, NULL, flag));
		note("linkat", path, flag,
		     syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, "other", flag));
		put_back();
		if (flag != AT_REMOVEDIR)
			note("unlinkat", path, flag, syscall(SYS_unlinkat, AT_FDCWD, path, flag));
		if (flag != RENAME_WHITEOUT ||
		    faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			note("renameat2", path, flag,
			     syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "other", flag));
		if (strcmp(path, "d") != 0 && strcmp(path, "d/") != 0)
			rename("other", path);
		put_back();
		note("setxattr", path, flag, setxattr(path, "user.none", "v", 1, (int)flag | 4));
		note("mknodat", path, flag << 12,
		     flag << 12 == S_IFCHR || flag << 12 == S_IFBLK
			     ? 0
			     : syscall(SYS_mknodat, AT_FDCWD, path, flag << 12 | 0600, 0));
		put_back();
	}
	note("renameat2", path, 3, syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "other", 3));
}

static void each_argument(const char *path)
{
	const struct timespec omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}}, bad[2] = {{1, -2}};
	const struct timeval bad_tv[2] = {{0, 1000000}};

	note("truncate -1", path, 0, syscall(SYS_truncate, path, -1L));
	note("utimensat omit", path, 0, syscall(SYS_utimensat, AT_FDCWD, path, omit, 0));
	note("utimensat omit bad", path, 1, syscall(SYS_utimensat, AT_FDCWD, path, omit, 1));
	note("utimensat times", path, 0, syscall(SYS_utimensat, AT_FDCWD, path, bad, 0));
	note("utimensat address", path, 0, syscall(SYS_utimensat, AT_FDCWD, path, 8L, 0));
	note("utimes", path, 0, utimes(path, bad_tv));
	note("setxattr name", path, 0, setxattr(path, "", "v", 1, 0));
	note("setxattr size", path, 0, syscall(SYS_setxattr, path, "user.x", "v", 70000L, 0));
	note("removexattr name", path, 0, removexattr(path, ""));
	note("getxattr name", path, 0, getxattr(path, "", NULL, 0));
	note("getxattr free", path, 0, getxattr(path, "security.none", NULL, 0));
	note("listxattr", path, 0, listxattr(path, NULL, 0));
	note("symlink empty", path, 0, symlink("", path));
	note("symlink address", path, 0, syscall(SYS_symlinkat, 8L, AT_FDCWD, path));
	put_back();
}

/* EAGAIN: somebody anywhere on the machine renamed something meanwhile, and the caller is to ask
 * again (openat2(2)). */
static long open_restricted(const char *path, const struct open_how *how)
{
	long fd = -1;

	errno = EAGAIN;
	for (int tries = 0; fd < 0 && errno == EAGAIN && tries < 1000; tries++)
		fd = syscall(SYS_openat2, AT_FDCWD, path, how, sizeof *how);
	return fd;
}

static void each_open(const char *path)
{
	static const int flags[] = {O_RDONLY,
				    O_RDONLY | O_CREAT,
				    O_RDWR | O_CREAT,
				    O_WRONLY | O_CREAT | O_NOFOLLOW,
				    O_RDONLY | O_CREAT | O_EXCL,
				    O_RDONLY | O_CREAT | O_DIRECTORY,
				    O_RDWR | O_CREAT | O_DIRECTORY | O_EXCL,
				    O_TMPFILE | O_RDONLY,
				    O_TMPFILE | O_RDWR,
				    O_TMPFILE | O_RDWR | O_CREAT,
				    O_DIRECTORY | O_RDONLY,
				    O_WRONLY | O_TRUNC | O_SYNC};
	static const uint64_t resolve[] = {0,
					   RESOLVE_NO_XDEV,
					   RESOLVE_NO_MAGICLINKS,
					   RESOLVE_NO_SYMLINKS,
					   RESOLVE_BENEATH,
					   RESOLVE_IN_ROOT,
					   RESOLVE_BENEATH | RESOLVE_IN_ROOT,
					   0x40,
					   1ull << 36};

	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
		unsigned f = (unsigned)flags[i];

		note_open("open", path, f, syscall(SYS_openat, AT_FDCWD, path, f, 0640));
		put_back();
		for (unsigned k = 0; k < sizeof resolve / sizeof *resolve; k++) {
			const struct open_how how = {.flags = f,
						     .mode = f & (O_CREAT | 020000000) ? 0640 : 0,
						     .resolve = resolve[k]};

			note_open(resolve[k] & 0x3f ? "openat2 restricted" : "openat2", path, f,
				  open_restricted(path, &how));
			put_back();
		}
	}
}

static int all_errors(void *arg)
{
	char name[NAME_MAX + 2];
	int fd;

	(void)arg;
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	umask(022);
	if (chdir(sb_in("play")) < 0)
		return 200;
	put_back();
	for (unsigned i = 0; i < PATHS; i++) {
		const char *path = strcmp(paths[i], "long") == 0 ? name : paths[i];

		each_flag(path);
		each_argument(path);
		each_open(path);
	}
	fd = open("f", O_RDWR | O_CLOEXEC);
	for (unsigned bit = 0; bit < 16; bit++)
		note("futimens", NULL, 1u << bit,
		     syscall(SYS_utimensat, fd, NULL, NULL, 1u << bit));
	note("utimensat cwd", NULL, 0, syscall(SYS_utimensat, AT_FDCWD, NULL, NULL, 0));
	close(fd);
	return SB_OK;
}

static void clear_play(void)
{
	char cmd[256];

	snprintf(cmd, sizeof cmd, "rm -rf %s/play && mkdir -m 777 %s/play", sb_root, sb_root);
	cr_assert_eq(system(cmd), 0);
}

static void compare(enum pol_read_level level)
{
	size_t half = sizeof *seen;
	char *room =
		mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned bare, bad = 0;

	cr_assert_neq(room, MAP_FAILED);
	clear_play();
	seen = (void *)room;
	cr_assert_eq(all_errors(NULL), SB_OK);
	cr_assert_eq(chdir("/"), 0);
	bare = seen->n;
	clear_play();
	seen = (void *)(room + half);
	cr_assert_eq(sb_run_in_tree(all_errors, level, 0), SB_OK);
	cr_assert(bare > 1000 && bare < CASES_MAX, "%u cases", bare);
	cr_assert_eq(seen->n, bare, "%u of %u", seen->n, bare);
	for (unsigned i = 0; i < bare && bad < 10; i++) {
		int want = ((typeof(seen))(void *)room)->v[i].answer, got = seen->v[i].answer;

		bad += got != want;
		cr_expect_eq(got, want, "%s: %#x, bare %#x", seen->v[i].what, got, want);
	}
	munmap(room, 2 * half);
}

Test(launcher_broker_errors, are_the_kernel_s, .timeout = 60)
{
	compare(POL_READ_NONE);
}

Test(launcher_broker_errors, are_the_kernel_s_where_reads_are_the_broker_s, .timeout = 60)
{
	compare(POL_READ_ALL);
}

/* ---- attributes of a file that may not be read ---- */

static int free_attributes(void *arg)
{
	(void)arg;
	if (listxattr(sb_in("a.env"), NULL, 0) < 0 || llistxattr(sb_in("a.env"), NULL, 0) < 0)
		return errno;
	if (getxattr(sb_in("a.env"), "security.selinux", NULL, 0) >= 0 ||
	    (errno != ENODATA && errno != EOPNOTSUPP))
		return 200;
	if (getxattr(sb_in("a.env"), "system.posix_acl_access", NULL, 0) >= 0 ||
	    (errno != ENODATA && errno != EOPNOTSUPP))
		return 201;
	return sb_result(getxattr(sb_in("a.env"), "user.x", NULL, 0));
}

Test(launcher_broker_errors, only_attributes_of_users_are_content)
{
	sb_expect_at(free_attributes, POL_READ_ALL, EACCES);
}
