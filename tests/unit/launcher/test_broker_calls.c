/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: reads, metadata, signals, threads, credentials. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

TestSuite(launcher_broker_calls, .init = sb_tree_set_up, .fini = sb_tree_tear_down);

/* ---- reads ---- */

static int read_env(void *arg)
{
	(void)arg;
	return sb_result(open(sb_in("a.env"), O_RDONLY | O_CLOEXEC));
}
static int read_env_by_cwd(void *arg)
{
	(void)arg;
	return chdir(sb_root) < 0 ? 200 : sb_result(open("/proc/thread-self/cwd/a.env", O_RDONLY));
}
static int read_env_by_openat2(void *arg)
{
	const struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};
	int fd = open(sb_root, O_PATH | O_DIRECTORY);

	(void)arg;
	return fd < 0 ? 200 : sb_result(syscall(SYS_openat2, fd, "a.env", &how, sizeof how));
}
static int read_plain(void *arg)
{
	char text[8] = "";
	int fd = open(sb_in("f"), O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (fd < 0 || read(fd, text, sizeof text) != 4 || strcmp(text, "text") != 0)
		return 200;
	if (fcntl(fd, F_GETFL) & (O_NONBLOCK | O_PATH))
		return 201;
	return fcntl(fd, F_GETFD) == FD_CLOEXEC ? SB_OK : 202;
}
static int read_broker_proc(void *arg)
{
	char path[64];
	int fd;

	(void)arg;
	/* our parent is the broker */
	snprintf(path, sizeof path, "/proc/%d/environ", getppid());
	fd = open(path, O_RDONLY);
	return fd < 0 ? errno : SB_OK;
}
static int own_proc_is_the_caller_s(void *arg)
{
	char text[32] = "";
	int fd = open("/proc/self/stat", O_RDONLY);

	(void)arg;
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		return 200;
	return atoi(text) == getpid() ? SB_OK : 201;
}
static int list_directory(void *arg)
{
	DIR *d = opendir(sb_root);
	unsigned n = 0;

	(void)arg;
	while (d && readdir(d))
		n++;
	return n == 5 ? SB_OK : 200;
}

Test(launcher_broker_calls, at_level_all_denied_files_cannot_be_read)
{
	cr_expect_eq(sb_run_in_tree(read_env, POL_READ_NONE, 0), SB_OK, "positive control");
	sb_expect_at(read_env, POL_READ_ALL, EACCES);
	sb_expect_at(read_env_by_cwd, POL_READ_ALL, EACCES);
	sb_expect_at(read_env_by_openat2, POL_READ_ALL, EACCES);
	sb_expect_at(read_plain, POL_READ_ALL, SB_OK);
	sb_expect_at(list_directory, POL_READ_ALL, SB_OK);
	sb_expect_at(read_broker_proc, POL_READ_ALL, EACCES);
	sb_expect_at(own_proc_is_the_caller_s, POL_READ_ALL, SB_OK);
}

/* Landlock grants no reading below the directory: the broker lists it, and opens by openat2. */
static int list_then_read(void *arg)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

	if (list_directory(arg) != SB_OK || read_env(arg) != EACCES)
		return 200;
	if (open(sb_in("f"), O_RDONLY) >= 0)
		return 201;
	return sb_result(syscall(SYS_openat2, AT_FDCWD, sb_in("f"), &how, sizeof how));
}

Test(launcher_broker_calls, at_level_directory_closed_directories_are_listed)
{
	const struct sb_options o = {.level = POL_READ_DIRECTORY, .no_read = true, .dir = sb_root};
	const struct sb_options none = {.level = POL_READ_NONE, .no_read = true, .dir = sb_root};

	cr_expect_neq(sb_run(&sb_tree_policy, &none, list_directory, NULL), SB_OK,
		      "closed without us");
	cr_expect_eq(sb_run(&sb_tree_policy, &o, list_then_read, NULL), SB_OK);
}

static int exec_tool(void *arg)
{
	(void)arg;
	execl(sb_in("tool"), "tool", (char *)NULL);
	return errno;
}
static int exec_script(void *arg)
{
	(void)arg;
	execl(sb_in("script"), "script", (char *)NULL);
	return errno;
}
static int exec_true(void *arg)
{
	int status;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

Test(launcher_broker_calls, denied_programs_do_not_start)
{
	char cmd[512];

	snprintf(cmd, sizeof cmd, "cp /bin/true %s/tool", sb_root);
	cr_assert_eq(system(cmd), 0);
	sb_expect_at(exec_tool, POL_READ_NONE, EACCES);
	sb_expect_at(exec_true, POL_READ_NONE, SB_OK);
	snprintf(cmd, sizeof cmd, "printf '#!%s/tool\\n' >%s/script; chmod +x %s/script", sb_root,
		 sb_root, sb_root);
	cr_assert_eq(system(cmd), 0);
	sb_expect_at(exec_script, POL_READ_NONE, EACCES);
}

/* ---- files without a name, and openat2 ---- */

static int publish(void *arg)
{
	int fd = open(sb_root, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[64];
	struct stat st;

	(void)arg;
	if (fd < 0 || write(fd, "x", 1) != 1)
		return errno;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, sb_in("deny/pub"), AT_SYMLINK_FOLLOW) == 0 ||
	    errno != EACCES)
		return 200;
	if (linkat(AT_FDCWD, path, AT_FDCWD, sb_in("pub"), AT_SYMLINK_FOLLOW) < 0)
		return errno;
	return stat(sb_in("pub"), &st) == 0 && st.st_size == 1 ? SB_OK : 201;
}
static int restricted(void *arg)
{
	struct open_how how = {
		.flags = O_RDWR | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = RESOLVE_BENEATH};
	int dir = open(sb_root, O_PATH | O_DIRECTORY);

	(void)arg;
	if (syscall(SYS_openat2, dir, "fresh", &how, sizeof how) < 0)
		return errno;
	if (syscall(SYS_openat2, dir, "out/x", &how, sizeof how) >= 0 || errno != EXDEV)
		return 201;
	how.resolve = 1u << 30;
	if (syscall(SYS_openat2, dir, "fresh", &how, sizeof how) >= 0 || errno != EINVAL)
		return 202;
	how = (struct open_how){.flags = O_WRONLY | O_CREAT, .mode = 04755};
	if (syscall(SYS_openat2, dir, "setid", &how, sizeof how) >= 0 || errno != EPERM)
		return 203;
	return SB_OK;
}

/* Near the combinations that go unasked: the kernel's own answers. */
static int combined(void *arg)
{
	static const struct {
		struct open_how how;
		int want;
	} rows[] = {
		{{.flags = O_WRONLY}, 0},
		{{.flags = O_WRONLY | O_CREAT | O_NOFOLLOW, .mode = 0600}, 0},
		{{.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 0600}, EEXIST},
		{{.flags = O_WRONLY, .mode = 0600}, EINVAL},
		{{.flags = O_WRONLY | O_CREAT, .mode = 010600}, EINVAL},
		{{.flags = O_WRONLY | O_CREAT | O_DIRECTORY, .mode = 0600}, EINVAL},
		{{.flags = O_WRONLY | UINT64_C(1) << 40}, EINVAL},
		{{.flags = O_WRONLY, .resolve = RESOLVE_BENEATH | RESOLVE_IN_ROOT}, EINVAL},
	};
	int first = open(sb_in("made"), O_WRONLY | O_CREAT, 0600);

	(void)arg;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		long fd = syscall(SYS_openat2, AT_FDCWD, sb_in("made"), &rows[i].how,
				  sizeof rows[i].how);

		if ((fd < 0 ? errno : 0) != rows[i].want)
			return 201 + (int)i;
		if (fd >= 0)
			close((int)fd);
	}
	/* the next one to run may not write to it */
	return first < 0 || unlink(sb_in("made")) < 0 ? 200 : SB_OK;
}

Test(launcher_broker_calls, what_openat2_combines_is_answered_as_the_kernel_does)
{
	sb_expect_at(combined, POL_READ_NONE, SB_OK);
}

/* struct open_how and the path are read together: what cannot be read of either is answered as by
 * the kernel, which looks at the struct first. */
static int at_the_edge_of_memory(void *arg)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct open_how good = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600},
			      bad = {.flags = O_WRONLY, .mode = 0600};
	char *p[2], text[600], *name, *edge, *none;
	struct open_how *how;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		p[i] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		if (p[i] == MAP_FAILED || mprotect(p[i] + page, page, PROT_NONE) < 0)
			return 200;
	}
	how = memcpy(p[0] + page - sizeof good, &good, sizeof good);
	name = strcpy(p[1] + page - strlen(sb_in("made")) - 1, sb_in("made"));
	edge = memcpy(p[1] + page - 4, "made", 4); /* no NUL before the next page */
	none = p[1] + page;
	memset(text, '/', sizeof text - 1);
	strcpy(text + sizeof text - 1 - strlen(sb_in("made")), sb_in("made"));

	const struct {
		const void *how;
		const char *path;
		size_t size;
		int want;
	} rows[] = {
		{how, edge, sizeof *how, EFAULT},     {how, none, sizeof *how, EFAULT},
		{none, edge, sizeof *how, EFAULT},    {how, edge, sizeof *how + 8, EFAULT},
		{&bad, none, sizeof bad, EINVAL},     {how, text, sizeof *how, 0},
		{how, sb_in("made"), sizeof *how, 0}, {how, none, sizeof *how - 1, EINVAL},
		{how, none, 2 * page, E2BIG},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		long fd = syscall(SYS_openat2, AT_FDCWD, rows[i].path, rows[i].how, rows[i].size);

		if ((fd < 0 ? errno : 0) != rows[i].want)
			return 201 + (int)i;
		if (fd >= 0)
			close((int)fd);
	}
	strcpy(name, sb_in("made")); /* its NUL is the last byte of the page */
	if (syscall(SYS_openat2, AT_FDCWD, name, how, sizeof *how) < 0)
		return 220;
	return unlink(sb_in("made")) < 0 ? 221 : SB_OK;
}

Test(launcher_broker_calls, what_of_an_openat2_cannot_be_read_is_the_kernels_answer)
{
	const struct sb_options bare = {.bare = true};

	cr_expect_eq(sb_run(&sb_tree_policy, &bare, at_the_edge_of_memory, NULL), SB_OK);
	sb_expect_at(at_the_edge_of_memory, POL_READ_NONE, SB_OK);
}

Test(launcher_broker_calls, tmpfile_and_openat2_keep_their_meaning)
{
	sb_expect_at(publish, POL_READ_NONE, SB_OK);
	sb_tree_tear_down();
	sb_tree_set_up();
	cr_expect_eq(sb_run_in_tree(publish, POL_READ_ALL, 0), SB_OK);
	cr_assert_eq(symlink("/etc", sb_in("out")), 0);
	cr_expect_eq(sb_run_in_tree(restricted, POL_READ_NONE, 0), SB_OK);
}

/* ---- openat2: where it makes files ---- */

static int made(uint64_t resolve, const char *path)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = resolve};
	int dir = open(sb_in("jail"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd = -1;
	int err = EAGAIN; /* somebody renames something: to be asked again (openat2(2)) */

	for (int tries = 0; fd < 0 && err == EAGAIN && tries < 1000; tries++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
		err = fd < 0 ? errno : SB_OK;
	}
	close(dir);
	if (fd >= 0)
		close((int)fd);
	return err;
}

/* Links that lead out of jail/ or stay in it, and what each restriction makes of them. */
static const struct {
	const char *path;
	int beneath, in_root;
	const char *file; /* that is then there */
} jail_rows[] = {
	{"../n", EXDEV, SB_OK, "jail/n"},
	{"../esc/n", EXDEV, ENOENT, NULL},
	{"up/n", EXDEV, SB_OK, "jail/n"},
	{"up/esc/n", EXDEV, ENOENT, NULL},
	{"abs/n", EXDEV, ENOENT, NULL},
	{"absfile", EXDEV, ENOENT, NULL},
	{"upfile", EXDEV, ENOENT, NULL},
	{"inside", SB_OK, SB_OK, "jail/sub/n"},
	{"chain", SB_OK, SB_OK, "jail/sub/n"},
	{"rooted", EXDEV, SB_OK, "jail/sub/n"},
	{"sub/../m", SB_OK, SB_OK, "jail/m"},
	{"/m", EXDEV, SB_OK, "jail/m"},
	{"/proc/self/cwd/n", EXDEV, ENOENT, NULL},
	{"ring", ELOOP, ELOOP, NULL},
	{"new/", EISDIR, EISDIR, NULL},
	{"inside/", EISDIR, EISDIR, NULL},
	{"none/new/", ENOENT, ENOENT, NULL},
};

static void build_jail(void)
{
	cr_assert_eq(mkdir(sb_in("jail"), 0777), 0);
	cr_assert_eq(mkdir(sb_in("jail/sub"), 0777), 0);
	cr_assert_eq(mkdir(sb_in("esc"), 0777), 0);
	cr_assert_eq(symlink("..", sb_in("jail/up")), 0);
	cr_assert_eq(symlink(sb_in("esc"), sb_in("jail/abs")), 0);
	cr_assert_eq(symlink(sb_in("esc/n"), sb_in("jail/absfile")), 0);
	cr_assert_eq(symlink("../esc/n", sb_in("jail/upfile")), 0);
	cr_assert_eq(symlink("sub/n", sb_in("jail/inside")), 0);
	cr_assert_eq(symlink("inside", sb_in("jail/chain")), 0);
	cr_assert_eq(symlink("/sub/n", sb_in("jail/rooted")), 0);
	cr_assert_eq(symlink("ring", sb_in("jail/ring")), 0);
}

/* The number of the first row that is not so, from 1. */
static int jail_holds(void *arg)
{
	static const uint64_t how[] = {RESOLVE_BENEATH, RESOLVE_IN_ROOT};

	(void)arg;
	if (chdir(sb_in("esc")) < 0)
		return 250;
	for (int i = 0; i < (int)(sizeof jail_rows / sizeof *jail_rows); i++)
		for (int k = 0; k < 2; k++) {
			int want = k ? jail_rows[i].in_root : jail_rows[i].beneath;

			if (made(how[k], jail_rows[i].path) != want)
				return 100 * (k + 1) + i + 1;
			if (want == SB_OK && unlink(sb_in(jail_rows[i].file)) < 0)
				return 100 * (k + 1) + 50 + i;
		}
	return access("n", F_OK) == 0 || access("../n", F_OK) == 0 ? 251 : SB_OK;
}
static int links_are_created_through(void *arg)
{
	static const uint64_t how[] = {0, RESOLVE_NO_MAGICLINKS};

	(void)arg;
	for (unsigned i = 0; i < 2; i++)
		if (made(how[i], "absfile") != SB_OK || unlink(sb_in("esc/n")) < 0)
			return 200 + (int)i;
	return made(RESOLVE_NO_SYMLINKS, "absfile") == ELOOP ? SB_OK : 210;
}
/* Where the tree may lie on another mount than the root. */
static int created_on_one_mount(void *arg)
{
	int rc = made(RESOLVE_NO_XDEV, "absfile");

	(void)arg;
	if (rc == SB_OK)
		unlink(sb_in("esc/n"));
	return made(RESOLVE_NO_XDEV, "inside") == SB_OK && unlink(sb_in("jail/sub/n")) == 0 ? rc
											    : 200;
}
static int denied_through_links(void *arg)
{
	(void)arg;
	return made(RESOLVE_NO_MAGICLINKS, "secret");
}

Test(launcher_broker_calls, openat2_makes_nothing_outside_of_its_directory)
{
	build_jail();
	cr_assert_eq(jail_holds(NULL), SB_OK, "as the kernel does");
	cr_expect_eq(sb_run_in_tree(jail_holds, POL_READ_NONE, 0), SB_OK);
	cr_expect_eq(sb_run_in_tree(jail_holds, POL_READ_ALL, 0), SB_OK);
	cr_assert_eq(links_are_created_through(NULL), SB_OK, "as the kernel does");
	cr_expect_eq(sb_run_in_tree(links_are_created_through, POL_READ_NONE, 0), SB_OK);
	cr_expect_eq(sb_run_in_tree(created_on_one_mount, POL_READ_NONE, 0),
		     created_on_one_mount(NULL));
	cr_assert_eq(symlink(sb_in("deny/n"), sb_in("jail/secret")), 0);
	cr_expect_eq(sb_run_in_tree(denied_through_links, POL_READ_NONE, 0), EACCES);
}

static int an_exclusive_tmpfile_gets_no_name(void *arg)
{
	int fd = open(sb_root, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	char path[64];

	(void)arg;
	if (fd < 0)
		return 200;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return sb_result(linkat(AT_FDCWD, path, AT_FDCWD, sb_in("pub"), AT_SYMLINK_FOLLOW));
}

Test(launcher_broker_calls, a_tmpfile_can_be_made_for_good)
{
	sb_expect_at(an_exclusive_tmpfile_gets_no_name, POL_READ_NONE, ENOENT);
	sb_expect_at(an_exclusive_tmpfile_gets_no_name, POL_READ_ALL, ENOENT);
}

/* ---- metadata ---- */

static int metadata(void *arg)
{
	const struct timespec ts[2] = {{1000, 5}, {2000, 7}};
	const struct timeval tv[2] = {{3000, 0}, {4000, 0}};
	int fd = open(sb_in("f"), O_RDONLY | O_CLOEXEC);
	struct stat st;

	(void)arg;
	if (chmod(sb_in("f"), 0640) < 0 || utimensat(AT_FDCWD, sb_in("f"), ts, 0) < 0 ||
	    fstat(fd, &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0640 || st.st_mtim.tv_sec != 2000 || st.st_mtim.tv_nsec != 7)
		return 200;
	if (fchmod(fd, 0600) < 0 || futimes(fd, tv) < 0 || fstat(fd, &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0600 || st.st_mtim.tv_sec != 4000)
		return 201;
	if (symlink("f", sb_in("l")) < 0 ||
	    utimensat(AT_FDCWD, sb_in("l"), ts, AT_SYMLINK_NOFOLLOW) < 0 ||
	    lstat(sb_in("l"), &st) < 0)
		return errno;
	if (st.st_mtim.tv_sec != 2000 || !S_ISLNK(st.st_mode))
		return 202;
	if (lchown(sb_in("l"), (uid_t)-1, getegid()) < 0 ||
	    chown(sb_in("f"), getuid(), (gid_t)-1) < 0)
		return errno;
	if (setxattr(sb_in("f"), "user.x", "v", 1, 0) < 0 && errno != EOPNOTSUPP)
		return errno;
	return fchmod(open(sb_in("f"), O_PATH), 0644) < 0 && errno == EBADF ? SB_OK : 203;
}
static int xattr_denied(void *arg)
{
	(void)arg;
	return sb_result(setxattr(sb_in("a.env"), "user.x", "v", 1, 0));
}

/* Where the file system has attributes of users. */
static bool put_attributes(void)
{
	return setxattr(sb_in("f"), "user.x", "value", 5, 0) == 0 &&
	       setxattr(sb_in("a.env"), "user.x", "secret", 6, 0) == 0;
}
static int attributes(void *arg)
{
	int fd = open(sb_in("f"), O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	(void)arg;
	if (getxattr(sb_in("f"), "user.x", text, sizeof text) != 5 || strcmp(text, "value") != 0)
		return 200;
	if (fgetxattr(fd, "user.x", text, 5) != 5 || lgetxattr(sb_in("f"), "user.x", NULL, 0) != 5)
		return 201;
	if (flistxattr(fd, text, sizeof text) < 7 || llistxattr(sb_in("f"), NULL, 0) < 7 ||
	    listxattr(sb_in("f"), text, sizeof text) < 7 || !memmem(text, sizeof text, "user.x", 7))
		return 202;
	if (getxattr(sb_in("f"), "user.x", text, 2) >= 0 || errno != ERANGE)
		return 203;
	if (getxattr(sb_in("f"), "user.y", text, 2) >= 0 || errno != ENODATA)
		return 204;
	if (syscall(SYS_getxattr, sb_in("f"), "user.x", 8, 5) >= 0 || errno != EFAULT)
		return 205;
	if (getxattr(sb_in("none"), "user.x", text, 5) >= 0 || errno != ENOENT)
		return 206;
	/* mode bits are free */
	if (getxattr(sb_in("a.env"), "system.posix_acl_access", NULL, 0) >= 0 ||
	    (errno != ENODATA && errno != EOPNOTSUPP))
		return 207;
	fd = open(sb_in("f"), O_PATH | O_CLOEXEC);
	return fgetxattr(fd, "user.x", text, 5) < 0 && errno == EBADF ? SB_OK : 208;
}
static int attribute_of_denied(void *arg)
{
	(void)arg;
	return sb_result(getxattr(sb_in("a.env"), "user.x", NULL, 0));
}
static int attribute_by_descriptor(void *arg)
{
	char path[64], text[8];
	int fd = open(sb_in("a.env"), O_PATH | O_CLOEXEC);

	(void)arg;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return sb_result(getxattr(path, "user.x", text, sizeof text));
}

Test(launcher_broker_calls, attributes_are_read_by_who_may_read)
{
	static int (*const denied[])(void *) = {attribute_of_denied, attribute_by_descriptor};
	const struct sb_options bare = {.bare = true};

	if (!put_attributes())
		cr_skip_test("no attributes of users in /tmp");
	sb_expect_at(attributes, POL_READ_NONE, SB_OK);
	sb_expect_at(attributes, POL_READ_ALL, SB_OK);
	for (unsigned i = 0; i < sizeof denied / sizeof *denied; i++) {
		cr_expect_eq(sb_run(&sb_tree_policy, &bare, denied[i], NULL), SB_OK,
			     "positive control %u", i);
		sb_expect_at(denied[i], POL_READ_NONE, EACCES);
		sb_expect_at(denied[i], POL_READ_ALL, EACCES);
	}
}

Test(launcher_broker_calls, metadata_by_path_and_by_descriptor)
{
	sb_expect_at(metadata, POL_READ_NONE, SB_OK);
	sb_expect_at(xattr_denied, POL_READ_NONE, EACCES);
}
