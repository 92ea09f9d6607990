/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_odd - more of what shim_law tries: what changes under a program's feet. Directories that go
 * away, or are a thread's own, or come from another process; walks that change directory by
 * themselves; strings and links that change during the call; ends and limits.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <fts.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/probe/law.h"

/* ---- directories ---- */

static int case_deleted_directory(void)
{
	char text[4096];
	int home = open(".", O_RDONLY | O_DIRECTORY);

	if (mkdir("ok/gone", 0700) < 0 || chdir("ok/gone") < 0 || rmdir("../gone") < 0)
		return fail("a directory that is gone");
	WANT(ENOENT, getcwd(text, sizeof text) ? 0 : errno);
	WANT(ENOENT, try_open("file", O_RDONLY));
	WANT(ENOENT, try_open("file", O_WRONLY | O_CREAT));
	WANT(ENOENT, mkdir("dir", 0700) < 0 ? errno : 0);
	WANT(ENOENT, rename("file", "file2") < 0 ? errno : 0);
	WANT(EACCES, openat(home, NO_FILE, O_RDONLY) < 0 ? errno : 0);
	if (fchdir(home) < 0)
		return fail("fchdir");
	return both();
}

/* The kernel calls what is gone "NAME (deleted)"; a file may have that very name. */
static int case_named_deleted(void)
{
	int fd;

	WANT(0, try_open("ok/x (deleted)", O_WRONLY | O_CREAT));
	WANT(0, try_open("ok/x (deleted)", O_RDONLY));
	WANT(EACCES, try_open("no/x (deleted)", O_WRONLY | O_CREAT));
	fd = open("ok/x (deleted)", O_RDONLY);
	if (fd < 0 || unlink("ok/x (deleted)") < 0)
		return fail("unlink");
	return both();
}

static pthread_barrier_t apart;

static void *in_own_directory(void *arg)
{
	bool bad = unshare(CLONE_FS) < 0 || chdir("no") < 0;
	int i;

	pthread_barrier_wait(&apart);
	for (i = 0; i < 100; i++)
		bad |= try_open("file", O_RDONLY) != EACCES ||
		       try_open("../ok/file", O_RDONLY) != 0;
	return bad ? arg : NULL;
}

/* A thread that has left the others' directory: each has its own from then on. */
static int case_thread_directory(void)
{
	pthread_t t;
	void *bad = NULL;
	int i;

	WANT(0, try_open(OK_FILE, O_RDONLY));
	for (i = 0; i < 20; i++) {
		pthread_barrier_init(&apart, NULL, 2);
		if (pthread_create(&t, NULL, in_own_directory, &bad))
			return fail("thread");
		pthread_barrier_wait(&apart);
		if (chdir("ok") < 0)
			return fail("chdir");
		WANT(0, try_open("file", O_RDONLY));
		if (pthread_join(t, &bad) || bad || chdir("..") < 0)
			return fail("a thread in a directory of its own");
		WANT(0, try_open(OK_FILE, O_RDONLY));
	}
	return both();
}

/* ---- processes that share in part ---- */

static _Atomic int turn;
static int answer;

static void wait_turn(int n)
{
	while (atomic_load(&turn) != n)
		sched_yield();
}

static int beside(void *arg)
{
	(void)arg;
	if (chdir("no") < 0)
		return 1;
	atomic_store(&turn, 1);
	wait_turn(2);
	answer = try_open("file", O_RDONLY);
	atomic_store(&turn, 3);
	return 0;
}

/* Our memory, and a directory of its own. */
static int case_shared_memory(void)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	int pid = clone(beside, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), status;

	if (pid < 0)
		return fail("clone");
	wait_turn(1);
	WANT(0, try_open(OK_FILE, O_RDONLY));
	atomic_store(&turn, 2);
	wait_turn(3);
	if (waitpid(pid, &status, 0) < 0 || status)
		return fail("waitpid");
	WANT(EACCES, answer);
	return both();
}

static int move_us(long by_number)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, size, tls;
	} args = {.flags = CLONE_FS, .exit_signal = SIGCHLD};
	long pid = by_number == SYS_clone3 ? syscall(by_number, &args, sizeof args)
					   : syscall(by_number, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
	int status;

	if (pid == 0)
		_exit(chdir("no") < 0);
	return pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && status == 0;
}

/* Our directory, and a memory of its own. */
static int case_shared_directory(void)
{
	static const long numbers[] = {SYS_clone, SYS_clone3};
	size_t i;

	for (i = 0; i < 2; i++) {
		WANT(0, try_open(OK_FILE, O_RDONLY));
		if (!move_us(numbers[i])) {
			if (errno == ENOSYS)
				continue;
			return fail("clone by number");
		}
		WANT(EACCES, try_open("file", O_RDONLY));
		if (chdir("..") < 0)
			return fail("chdir");
	}
	return both();
}

/* Below a new root a path means something else; as root only, else in a user namespace. */
static int case_new_root(void)
{
	if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
		return 0;
	if (chroot(".") < 0)
		return errno == EPERM ? 0 : fail("chroot");
	WANT(0, try_open("/ok/file", O_RDONLY));
	WANT(ENOENT, try_open("/ok/missing", O_RDONLY));
	WANT(ENOENT, try_open("/etc/passwd", O_RDONLY));
	WANT(0, try_open("/ok/made", O_WRONLY | O_CREAT));
	return 0;
}

static int send_fd(int sock, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} c = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {NULL, 0, &iov, 1, &c, sizeof c, 0};

	memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
	return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
}

static int receive_fd(int sock)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} c;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {NULL, 0, &iov, 1, &c, sizeof c, 0};
	int fd = -1;

	if (recvmsg(sock, &m, 0) == 1 && m.msg_controllen)
		memcpy(&fd, CMSG_DATA(&c.head), sizeof fd);
	return fd;
}

/* A directory that arrives under a number that was another's a moment ago. */
static int case_received_directory(void)
{
	int pair[2], dir, got;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return fail("socketpair");
	dir = (int)syscall(SYS_openat, AT_FDCWD, "no", O_PATH | O_DIRECTORY);
	if (send_fd(pair[0], dir) < 0)
		return fail("send");
	close(dir);
	dir = open("ok", O_RDONLY | O_DIRECTORY);
	WANT(0, openat(dir, "file", O_RDONLY | O_CLOEXEC) < 3 ? errno : 0);
	syscall(SYS_close, dir);
	got = receive_fd(pair[1]);
	if (got != dir)
		return fail("the number was to be used again");
	WANT(EACCES, openat(got, "file", O_RDONLY) < 0 ? errno : 0);
	return 0;
}

/* ---- numbers used again, one end of it unseen ---- */

static int home; /* the directory all begins in */

/* The C library's own, past the shim. */
static long unseen(long number, long a, long b)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	long (*call)(long, ...) = libc ? (long (*)(long, ...))dlsym(libc, "syscall") : NULL;

	return call ? call(number, a, b) : -1;
}

static int get_open(int number)
{
	(void)number;
	return open("ok/..", O_RDONLY | O_DIRECTORY);
}

static int get_held(int number)
{
	(void)number;
	return open(".", O_PATH);
}

static int get_plain(int number)
{
	(void)number;
	return openat(home, ".", O_RDONLY);
}

static int get_listed(int number)
{
	DIR *d = opendir(".");

	(void)number;
	return d ? dirfd(d) : -1;
}

static int get_stream(int number)
{
	FILE *f = fopen(".", "r");

	(void)number;
	return f ? fileno(f) : -1;
}

static int get_openat2(int number)
{
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};

	(void)number;
	return (int)syscall(SYS_openat2, home, ".", &how, sizeof how);
}

static int get_dup(int number)
{
	(void)number;
	return dup(home);
}

static int get_raw_dup(int number)
{
	(void)number;
	return (int)syscall(SYS_dup, home);
}

static int get_dupfd(int number)
{
	return fcntl(home, F_DUPFD_CLOEXEC, number);
}

/* A directory is closed where nobody sees it; its number comes back for another. */
static int case_number_given(void)
{
	static int (*const get[])(int) = {get_open,   get_held,	   get_plain,
					  get_listed, get_stream,  get_openat2,
					  get_dup,    get_raw_dup, get_dupfd};
	size_t i;
	int dir;

	home = open(".", O_RDONLY | O_DIRECTORY);
	for (i = 0; i < sizeof get / sizeof *get; i++) {
		dir = open("ok", O_RDONLY | O_DIRECTORY);
		WANT(0, faccessat(dir, "file", R_OK, 0) < 0 ? errno : 0);
		if (unseen(SYS_close, dir, 0) < 0 || get[i](dir) != dir)
			return fail("the number was to be used again");
		WANT(EACCES, openat(dir, NO_FILE, O_RDONLY) < 0 ? errno : 0);
		close(dir);
	}
	return 0;
}

static int put_stream(int fd)
{
	return fclose(fdopen(fd, "r"));
}

static int put_reopened(int fd)
{
	return freopen("/dev/null", "r", fdopen(fd, "r")) ? close(fd) : -1;
}

static int put_listed(int fd)
{
	return closedir(fdopendir(fd));
}

int __close(int);

/* And the other way round. */
static int case_number_closed(void)
{
	static int (*const put[])(int) = {put_stream, put_reopened, put_listed, __close};
	size_t i;
	int dir;

	home = open(".", O_RDONLY | O_DIRECTORY);
	for (i = 0; i < sizeof put / sizeof *put; i++) {
		dir = open("ok", O_RDONLY | O_DIRECTORY);
		WANT(0, faccessat(dir, "file", R_OK, 0) < 0 ? errno : 0);
		if (put[i](dir) < 0 || unseen(SYS_dup, home, 0) != dir)
			return fail("the number was to be used again");
		WANT(EACCES, openat(dir, NO_FILE, O_RDONLY) < 0 ? errno : 0);
		close(dir);
	}
	return 0;
}

/* What is held by O_PATH is opened by its name in /proc: for real, and so judged. */
static int case_reopened(void)
{
	char path[64];
	int allowed = open(OK_FILE, O_PATH), denied = open(NO_FILE, O_PATH);

	if (allowed < 0)
		return fail("O_PATH");
	if (denied < 0)
		denied = (int)syscall(SYS_openat, AT_FDCWD, "no", O_PATH);
	snprintf(path, sizeof path, "/proc/self/fd/%d", allowed);
	WANT(0, try_open(path, O_RDONLY));
	snprintf(path, sizeof path, "/proc/self/fd/%d", denied);
	WANT(EACCES, try_open(path, O_RDONLY));
	snprintf(path, sizeof path, "/dev/fd/%d", denied);
	WANT(EACCES, try_open(path, O_RDONLY));
	return 0;
}

/* ---- walks: the library changes directory unseen ---- */

static int walk_rc, walked;

static int on_walk(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	if (type == FTW_F && !strcmp(path + at->base, "file")) {
		walked++;
		if (try_open("file", O_RDONLY) != (strstr(path, "no/") ? EACCES : 0))
			walk_rc = fail(path);
	}
	return 0;
}

static int case_walk(void)
{
	/* what is remembered of the directory must not outlive the walk's first step */
	WANT(0, try_open(OK_FILE, O_RDONLY));
	if (nftw(".", on_walk, 1, FTW_PHYS | FTW_CHDIR) < 0 || walked != 2)
		return fail("nftw");
	return walk_rc ? walk_rc : both();
}

static int case_walk_fts(void)
{
	char here[] = ".", *const roots[] = {here, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL, NULL);
	FTSENT *e;
	int seen = 0;

	if (!walk)
		return fail("fts_open");
	while ((e = fts_read(walk))) {
		if (e->fts_info != FTS_F || strcmp(e->fts_name, "file") != 0)
			continue;
		seen++;
		WANT(strstr(e->fts_path, "no/") ? EACCES : 0, try_open("file", O_RDONLY));
	}
	fts_close(walk);
	return seen == 2 ? both() : fail("fts");
}

/* ---- races ---- */

static char swapped[32] = OK_FILE;
static atomic_bool stop;

static void *swap_string(void *arg)
{
	/* "ok/file" and "no/file" differ in two bytes, written one after the other */
	while (!atomic_load(&stop)) {
		memcpy(swapped, "no", 2);
		memcpy(swapped, "ok", 2);
	}
	return arg;
}

static void *swap_link(void *arg)
{
	while (!atomic_load(&stop)) {
		if (symlink("../no/file", "ok/a") == 0)
			(void)rename("ok/a", "ok/swap");
		if (symlink("file", "ok/a") == 0)
			(void)rename("ok/a", "ok/swap");
	}
	return arg;
}

/* Whatever was opened, it is not the denied one. */
static int race(const char *path, void *(*swap)(void *))
{
	struct stat denied, got;
	pthread_t t;
	int i, fd, opened = 0;

	if (stat(NO_FILE, &denied) < 0 || pthread_create(&t, NULL, swap, NULL))
		return fail("race");
	for (i = 0; i < 20000; i++) {
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		opened++;
		if (fstat(fd, &got) < 0 || got.st_ino == denied.st_ino)
			return fail("the denied file was opened");
		close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	return opened ? 0 : fail("nothing was ever opened");
}

static int case_string_race(void)
{
	return race(swapped, swap_string);
}

static int case_link_race(void)
{
	if (symlink("file", "ok/swap") < 0)
		return fail("symlink");
	return race("ok/swap", swap_link);
}

/* ---- the end, limits ---- */

static bool at_end;

static void last_words(void)
{
	if (at_end && both())
		_exit(1);
}

/* Runs after our handlers of atexit(3), and after those of most libraries. */
__attribute__((destructor)) static void destroyed(void)
{
	last_words();
	if (at_end)
		printf("to the end\n"), fflush(stdout);
}

static int case_teardown(void)
{
	at_end = true;
	return atexit(last_words) ? fail("atexit") : 0;
}

/* The longest argument lists: our variables may be what is too much. Then that is said. */
static int case_argument_list(void)
{
	static char big[100 << 10], name[] = "true";
	char *args[64] = {name}, *none[] = {NULL};
	int n, status, worked = 0, refused = 0;

	memset(big, 'x', sizeof big - 1);
	for (n = 1; n < 63; n++) {
		pid_t pid;

		args[n] = big;
		pid = fork();
		if (pid == 0) {
			execve("/bin/true", args, none);
			_exit(errno == E2BIG ? 7 : 1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return fail("fork");
		worked += status == 0;
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 7;
		if (status && (!WIFEXITED(status) || WEXITSTATUS(status) != 7))
			return fail("execve with a long list");
	}
	return worked && refused ? 0 : fail("a limit on argument lists");
}

static const struct law_case cases[] = {
	{"deleted_directory", case_deleted_directory},
	{"named_deleted", case_named_deleted},
	{"thread_directory", case_thread_directory},
	{"shared_memory", case_shared_memory},
	{"shared_directory", case_shared_directory},
	{"new_root", case_new_root},
	{"received_directory", case_received_directory},
	{"number_given", case_number_given},
	{"number_closed", case_number_closed},
	{"reopened", case_reopened},
	{"walk", case_walk},
	{"walk_fts", case_walk_fts},
	{"string_race", case_string_race},
	{"link_race", case_link_race},
	{"teardown", case_teardown},
	{"argument_list", case_argument_list},
};

int main(int argc, char **argv)
{
	return law_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
