/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what saves it steps changes no answer. Whole paths that the shim has
 * found, metadata by the descriptor itself, credentials that are asked for or remembered. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/ring.h"
#include "tests/support/brokertree.h"

#define SYS_fchmodat2_nr 452 /* 6.6 */

TestSuite(launcher_broker_steps, .init = sb_tree_set_up, .fini = sb_tree_tear_down, .timeout = 60);

/* ---- paths that were found before ---- */

static _Atomic uint64_t *moves; /* shared with the broker, which counts */

static int errno_of(long rc)
{
	return rc < 0 ? errno : 0;
}

/* Every kind of call, by whole paths that were found when `since` was counted. */
static int make_all(uint64_t since)
{
	const int at = SBX_AT_SINCE(since);
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	const int got[] = {
		errno_of(openat(at, sb_in("new"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)),
		errno_of(syscall(SYS_fchmodat2_nr, at, sb_in("new"), 0600, 0)),
		errno_of(utimensat(at, sb_in("new"), times, 0)),
		errno_of(fchownat(at, sb_in("new"), (uid_t)-1, (gid_t)-1, AT_SYMLINK_NOFOLLOW)),
		errno_of(linkat(at, sb_in("new"), at, sb_in("link"), 0)),
		errno_of(syscall(SYS_renameat2, at, sb_in("new"), at, sb_in("newer"), 0)),
		errno_of(symlinkat("f", at, sb_in("symlink"))),
		errno_of(unlinkat(at, sb_in("symlink"), 0)),
		errno_of(unlinkat(at, sb_in("newer"), 0)),
		errno_of(unlinkat(at, sb_in("link"), 0)),
		errno_of(mkdirat(at, sb_in("dir"), 0755)),
		errno_of(unlinkat(at, sb_in("dir"), AT_REMOVEDIR)),
	};

	for (size_t i = 1; i < sizeof got / sizeof *got; i++)
		if (got[i] != got[0])
			return 100 + (int)i;
	return got[0];
}

static int find_and_move(void *arg)
{
	int fd;

	(void)arg;
	if (make_all(*moves) != 0)
		return 200;
	/* one of two ends is enough */
	fd = openat(AT_FDCWD, sb_in("one"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || mkdir(sb_in("d"), 0755) < 0 || rename(sb_in("d"), sb_in("e")) < 0 ||
	    *moves != 8)
		return 201;
	close(fd);
	if (errno_of(renameat(AT_FDCWD, sb_in("one"), SBX_AT_SINCE(7), sb_in("two"))) != ESTALE ||
	    errno_of(renameat(SBX_AT_SINCE(7), sb_in("one"), AT_FDCWD, sb_in("two"))) != ESTALE)
		return 202;
	/* the number is nobody's descriptor */
	if (errno_of(openat(SBX_AT_SINCE(8), "one", O_WRONLY)) != EBADF ||
	    errno_of(unlinkat(SBX_AT_SINCE(8), "one", 0)) != EBADF)
		return 203;
	if (make_all(7) != ESTALE || make_all(8) != 0)
		return 204;
	/* a directory onto a directory, a file onto a file, two that change places */
	if (mkdir(sb_in("d"), 0755) < 0 || rename(sb_in("d"), sb_in("e")) < 0 || *moves != 9 ||
	    rename(sb_in("one"), sb_in("f")) < 0 || *moves != 9 ||
	    syscall(SYS_renameat2, AT_FDCWD, sb_in("f"), AT_FDCWD, sb_in("e"), 2) < 0 ||
	    *moves != 10)
		return 205;
	return SB_OK;
}

Test(launcher_broker_steps, a_path_from_before_a_directory_moved_is_stale)
{
	struct sb_options o = {.level = POL_READ_NONE, .traps = POL_TRAP_FILES};

	moves = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((uintptr_t)moves, (uintptr_t)MAP_FAILED);
	*moves = 7;
	o.moves = moves;
	cr_expect_eq(sb_run(&sb_tree_policy, &o, find_and_move, NULL), SB_OK);
}

static int have_no_count(void *arg)
{
	(void)arg;
	return make_all(0);
}

/* A caller may say so of itself, and a broker may know nothing of it. */
Test(launcher_broker_steps, without_a_count_each_such_path_is_stale)
{
	sb_expect_at(have_no_count, POL_READ_NONE, ESTALE);
}

/* ---- metadata by descriptor ---- */

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(sb_in(name), &st) < 0 ? 0 : st.st_mode & 07777;
}

static int change_by_descriptor(void *arg)
{
	const struct timespec times[2] = {{11, 0}, {22, 0}};
	int fd = open(sb_in("mine"), O_RDONLY | O_CREAT | O_CLOEXEC, 0666), path, denied;
	struct stat st;

	(void)arg;
	path = open(sb_in("mine"), O_PATH | O_CLOEXEC);
	denied = open(sb_in("deny/x"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || path < 0 || denied < 0)
		return 200;
	if (fchmod(fd, 0604) < 0 || mode_of("mine") != 0604 || futimens(fd, times) < 0 ||
	    fchown(fd, (uid_t)-1, getegid()) < 0 || fstat(fd, &st) < 0 || st.st_mtime != 22)
		return 201;
	if (errno_of(fchmod(path, 0777)) != EBADF || errno_of(fchown(path, 0, 0)) != EBADF ||
	    errno_of(futimens(path, times)) != EBADF || errno_of(fchmod(-1, 0777)) != EBADF ||
	    errno_of(fchmod(AT_FDCWD, 0777)) != EBADF || errno_of(fchmod(1000, 0777)) != EBADF)
		return 202;
	if (syscall(SYS_fchmodat2_nr, path, "", 0640, AT_EMPTY_PATH) < 0 ||
	    mode_of("mine") != 0640 || utimensat(path, "", times, AT_EMPTY_PATH) < 0 ||
	    fchownat(path, "", (uid_t)-1, getegid(), AT_EMPTY_PATH) < 0)
		return 203;
	if (errno_of(fchmod(denied, 0777)) != EACCES ||
	    errno_of(futimens(denied, NULL)) != EACCES ||
	    errno_of(fchown(denied, (uid_t)-1, getegid())) != EACCES)
		return 204;
	if (chmod(sb_in("mine"), 0601) < 0 || mode_of("mine") != 0601 ||
	    errno_of(chmod(sb_in("mine/"), 0666)) != ENOTDIR ||
	    errno_of(chmod(sb_in("mine/."), 0666)) != ENOTDIR ||
	    errno_of(chmod(sb_in("deny/x"), 0666)) != EACCES)
		return 205;
	close(fd);
	close(path);
	close(denied);
	return unlink(sb_in("mine")) < 0 ? 206 : SB_OK;
}

static void make_denied_file(void)
{
	int fd = open(sb_in("deny/x"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(chmod(sb_in("deny/x"), 0644), 0);
}

Test(launcher_broker_steps, metadata_is_changed_by_the_descriptor_itself)
{
	make_denied_file();
	sb_expect_at(change_by_descriptor, POL_READ_NONE, SB_OK);
}

/* Answers of the kernel to a call that it does not have. */
static void lack(unsigned nr)
{
	const struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof insn / sizeof *insn};

	memcpy(&prog.filter, &(const void *){insn}, sizeof prog.filter);
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), 0);
}

static int change_by_descriptor_without(void *arg)
{
	int fd = open(sb_in("mine"), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);

	(void)arg;
	if (fd < 0 || fchmod(fd, 0604) < 0 || mode_of("mine") != 0604 ||
	    chmod(sb_in("mine"), 0640) < 0 || mode_of("mine") != 0640)
		return 201;
	close(fd);
	return unlink(sb_in("mine")) < 0 ? 206 : SB_OK;
}

Test(launcher_broker_steps, a_kernel_without_fchmodat2_changes_modes_all_the_same)
{
	lack(SYS_fchmodat2_nr);
	sb_expect_at(change_by_descriptor_without, POL_READ_NONE, SB_OK);
}

Test(launcher_broker_steps, and_one_without_handles_of_processes)
{
	make_denied_file();
	lack(SYS_pidfd_open);
	sb_expect_at(change_by_descriptor, POL_READ_NONE, SB_OK);
}

/* Another thread puts now the one, now the other file under the number. */
static atomic_bool is_over;
static int swapped, own, denied_fd;

static void *swap(void *arg)
{
	while (!is_over) {
		dup2(own, swapped);
		dup2(denied_fd, swapped);
	}
	return arg;
}

static int change_what_is_swapped(void *arg)
{
	struct timespec now, start;
	struct stat st;
	pthread_t t;
	int changed = 0;

	(void)arg;
	own = open(sb_in("mine"), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	denied_fd = open(sb_in("deny/x"), O_RDONLY | O_CLOEXEC);
	swapped = dup(own);
	if (own < 0 || denied_fd < 0 || swapped < 0 || pthread_create(&t, NULL, swap, NULL) != 0)
		return 200;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 100; i++) {
			const struct timespec times[2] = {{11, 0}, {22, 0}};

			changed += fchmod(swapped, 0777) == 0;
			(void)futimens(swapped, times);
			changed += fchown(swapped, (uid_t)-1, getegid()) == 0;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2);
	is_over = true;
	pthread_join(t, NULL);
	if (stat(sb_in("deny/x"), &st) < 0 || (st.st_mode & 0777) != 0644 || st.st_mtime == 22)
		return 201;
	return changed ? SB_OK : 202;
}

Test(launcher_broker_steps, what_is_judged_by_its_descriptor_is_what_is_changed)
{
	make_denied_file();
	cr_expect_eq(sb_run_in_tree(change_what_is_swapped, POL_READ_NONE, 0), SB_OK);
}

/* ---- credentials ---- */

enum { GROUP = 4242 };

static int writes(const char *name)
{
	int fd = open(sb_in(name), O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? errno : 0;
}

/* Status of a shell that this process becomes. */
static _Noreturn void write_as_a_program(const char *name)
{
	char cmd[300];

	snprintf(cmd, sizeof cmd, "(: >%s) && exit 0; exit 102", sb_in(name));
	execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
	_exit(99);
}

static int status_of(int (*act)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(act());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 250;
}

static void set_effective(uint32_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		_exit(98);
	data[0].effective = data[0].permitted & caps;
	data[1].effective = 0;
	if (syscall(SYS_capset, &head, data) < 0)
		_exit(97);
}

/* By the system calls: of this thread alone. */
static bool drop_root(void)
{
	return syscall(SYS_setresgid, SB_NOBODY, SB_NOBODY, SB_NOBODY) == 0 &&
	       syscall(SYS_setresuid, SB_NOBODY, SB_NOBODY, SB_NOBODY) == 0;
}

static int change_groups(void)
{
	const gid_t g = GROUP;

	for (int i = 0; i < 3; i++) {
		if (setgroups(1, &g) < 0)
			return 1;
		setfsgid(SB_NOBODY);
		setfsuid(SB_NOBODY);
		if (writes("group") || writes("group") || writes("closed") != EACCES)
			return 2;
		if (setgroups(0, NULL) < 0 || writes("group") != EACCES)
			return 3;
		setfsuid(0);
		setfsgid(0);
		if (writes("group") || writes("closed"))
			return 4;
	}
	return 0;
}

static int gain_by_exec(void)
{
	set_effective(0);
	if (writes("closed") != EACCES || writes("closed") != EACCES)
		return 1;
	write_as_a_program("closed");
}

static int lose_by_exec(void)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return 102; /* locked (capabilities(7)): nothing to lose */
	if (!drop_root())
		return 1;
	set_effective(1u << CAP_DAC_OVERRIDE);
	if (writes("closed") || writes("closed"))
		return 2;
	write_as_a_program("closed");
}

/* Two threads of one process that differ; the second becomes a program under the first's number. */
static atomic_int step;

static void wait_for(int n)
{
	while (step < n)
		usleep(1000);
}

static void *second(void *arg)
{
	if (syscall(SYS_setgroups, 0L, NULL) < 0 || !drop_root() || writes("group") != EACCES)
		_exit(3);
	step = 1;
	wait_for(2);
	write_as_a_program("group");
	return arg;
}

static int take_number_over(void)
{
	const gid_t g = GROUP;
	pthread_t t;

	if (syscall(SYS_setgroups, 1L, &g) < 0 || pthread_create(&t, NULL, second, NULL) != 0)
		return 1;
	wait_for(1);
	if (!drop_root() || writes("group") || writes("group"))
		return 2;
	step = 2;
	for (;;)
		pause();
}

static int keep_credentials_apart(void *arg)
{
	int rc;

	(void)arg;
	rc = status_of(change_groups);
	if (rc)
		return 10 + rc;
	rc = status_of(gain_by_exec);
	if (rc)
		return 20 + rc;
	/* 102: the shell could not open it */
	rc = status_of(lose_by_exec);
	if (rc != 2 + 100)
		return 30 + rc % 100;
	rc = status_of(take_number_over);
	return rc == 2 + 100 ? SB_OK : 40 + rc % 100;
}

static void expect_apart(bool lacks_handles)
{
	const struct sb_options o = {.level = POL_READ_NONE,
				     .caps = "chown,dac_override,setuid,setgid"};
	int rc;

	if (geteuid() != 0)
		cr_skip_test("not root");
	sb_make_file("group", "");
	sb_make_file("closed", "");
	cr_assert_eq(chown(sb_in("group"), 0, GROUP), 0);
	cr_assert_eq(chmod(sb_in("group"), 0060), 0);
	cr_assert_eq(chown(sb_in("closed"), 1, 1), 0);
	cr_assert_eq(chmod(sb_in("closed"), 0), 0);
	if (lacks_handles)
		lack(SYS_pidfd_open);
	rc = sb_run(&sb_tree_policy, &o, keep_credentials_apart, NULL);
	cr_expect_eq(rc, SB_OK, "%d", rc);
}

Test(launcher_broker_steps, credentials_are_what_they_are_at_each_call)
{
	expect_apart(false);
}

Test(launcher_broker_steps, and_where_the_kernel_tells_them_by_text_alone)
{
	expect_apart(true);
}
