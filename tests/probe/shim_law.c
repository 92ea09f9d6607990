/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_law - the awkward situations a preloaded library must survive, each in a process of its
 * own: shim_law CASE DIR. DIR/ok/file may be read, DIR/no/file may not. Status 0 = as it
 * should be; else a line on stderr says what went wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/probe/law.h"

static int early_errno; /* what open() of a missing file said before any constructor */

/* The loader calls this before the constructors of libraries that are not marked initfirst. */
static void before_constructors(void)
{
	early_errno = open("/nonexistent/early", O_RDONLY) < 0 ? errno : 0;
}
__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(void) = before_constructors;

static int case_early(void)
{
	WANT(ENOENT, early_errno);
	return both();
}

/* ---- descriptors and limits ---- */

static int case_no_descriptor(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);

	if (fd != 3)
		return fail("somebody holds descriptor 3");
	close(fd);
	if (both())
		return 1;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
	return fd == 3 ? 0 : fail("the shim kept a descriptor");
}

static int case_close_range(void)
{
	int fd;

	if (both() || close_range(3, ~0u, 0) < 0)
		return fail("close_range");
	fd = open(OK_FILE, O_RDWR | O_CREAT, 0600);
	if (fd != 3 || lseek(fd, 0, SEEK_END) != 3)
		return fail("something wrote to the program's descriptor");
	return both();
}

static int case_nofile(void)
{
	struct rlimit lim = {3, 3};

	if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
		return fail("setrlimit");
	WANT(EMFILE, try_open(OK_FILE, O_RDONLY));
	if (mkdir("ok/nofile", 0700) < 0 || rmdir("ok/nofile") < 0)
		return fail("mkdir without descriptors");
	return 0;
}

static int case_fsize(void)
{
	struct rlimit lim = {0, 0};
	int i;

	if (setrlimit(RLIMIT_FSIZE, &lim) < 0)
		return fail("setrlimit");
	for (i = 0; i < 1000; i++)
		if (both())
			return 1;
	return 0;
}

/* ---- arguments ---- */

/* The end of all, the kernel's half, pages without rights, and text that runs into them. */
static int bad_pointers(void)
{
	char *pages = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
	const char *bad[] = {(const char *)-1, (const char *)(1UL << (sizeof(long) * 8 - 1)),
			     pages + 2 * 4096, pages + 4096 - 5};
	char *args[] = {NULL}, *env[] = {NULL, NULL}, **volatile no_env = (char **)-16;
	size_t i;

	if (pages == MAP_FAILED || mprotect(pages + 4096, 2 * 4096, PROT_NONE))
		return fail("mmap");
	memcpy(pages + 4096 - 5, "abcde", 5);
	memcpy(pages + 4096 - 40, OK_FILE, sizeof OK_FILE);
	WANT(0, try_open(pages + 4096 - 40, O_RDONLY));
	WANT(EFAULT, execve("/bin/true", args, no_env) < 0 ? errno : 0);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *volatile path = bad[i];

		WANT(EFAULT, try_open(path, O_RDONLY));
		WANT(EFAULT, try_open(path, O_WRONLY | O_CREAT));
		WANT(EFAULT, rename(OK_FILE, path) < 0 ? errno : 0);
		WANT(EFAULT, access(path, R_OK) < 0 ? errno : 0);
		WANT(EFAULT, execve(path, args, environ) < 0 ? errno : 0);
		WANT(EFAULT, syscall(SYS_mkdirat, AT_FDCWD, path, 0700) < 0 ? errno : 0);
		env[0] = (char *)(uintptr_t)path;
		WANT(EFAULT, execve("/bin/true", args, env) < 0 ? errno : 0);
	}
	return 0;
}

static int case_bad_pointer(void)
{
	const char *volatile bad = (const char *)1, *volatile null = NULL;

	if (bad_pointers())
		return 1;

	WANT(EFAULT, try_open(bad, O_RDONLY));
	WANT(EFAULT, try_open(null, O_RDONLY));
	WANT(EFAULT, unlink(null) < 0 ? errno : 0);
	WANT(EFAULT, rename(OK_FILE, bad) < 0 ? errno : 0);
	WANT(ENOENT, try_open("", O_RDONLY));
	return 0;
}

static int mode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

/* A file without a name gets one, by its descriptor: judged by where it goes. */
static int case_link_descriptor(void)
{
	int fd = open("ok", O_WRONLY | O_TMPFILE, 0600);
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	WANT(EACCES,
	     linkat(AT_FDCWD, path, AT_FDCWD, "no/linked", AT_SYMLINK_FOLLOW) < 0 ? errno : 0);
	WANT(0, linkat(AT_FDCWD, path, AT_FDCWD, "ok/linked", AT_SYMLINK_FOLLOW) < 0 ? errno : 0);
	WANT(0, unlink("ok/linked") < 0 ? errno : 0);
	fd = open(OK_FILE, O_RDONLY);
	WANT(EACCES, linkat(fd, "", AT_FDCWD, "no/linked", AT_EMPTY_PATH) < 0 ? errno : 0);
	return 0;
}

static int case_mode(void)
{
	int fd;

	umask(0);
	fd = open("ok/mode", O_WRONLY | O_CREAT | O_EXCL, 0641);
	if (fd < 0 || mode_of(fd) != 0641)
		return fail("mode of O_CREAT");
	if (unlink("ok/mode") < 0)
		return fail("unlink");
	fd = open("ok", O_WRONLY | O_TMPFILE, 0604);
	if (fd < 0 || mode_of(fd) != 0604)
		return fail("mode of O_TMPFILE");
	WANT(EACCES, try_open("no", O_WRONLY | O_TMPFILE));
	fd = openat(AT_FDCWD, "ok/link", O_PATH | O_NOFOLLOW);
	if (fd < 0 || (mode_of(fd), errno = 0, 0))
		return fail("O_PATH of a symlink");
	WANT(ELOOP, try_open("ok/link", O_RDONLY | O_NOFOLLOW));
	WANT(EEXIST, try_open(OK_FILE, O_WRONLY | O_CREAT | O_EXCL));
	WANT(EEXIST, try_open(NO_FILE, O_WRONLY | O_CREAT | O_EXCL));
	WANT(EISDIR, try_open("no", O_WRONLY));
	WANT(ENOTDIR, try_open(NO_FILE "/x", O_RDONLY));
	WANT(ENOENT, try_open("no/missing", O_RDONLY));
	WANT(EACCES, try_open("no/missing", O_WRONLY | O_CREAT));
	WANT(EISDIR, try_open("ok/new/", O_WRONLY | O_CREAT));
	WANT(ENAMETOOLONG, try_open((char[300]){[0 ... 298] = 'x'}, O_RDONLY));
	WANT(ENAMETOOLONG, try_open((char[5000]){[0 ... 4998] = '/'}, O_RDONLY));
	return 0;
}

/* ---- fork, threads, signals ---- */

static atomic_int handled, bad_handled;

static void on_alarm(int sig)
{
	int saved = errno;

	(void)sig;
	if (try_open(OK_FILE, O_RDONLY) != 0 || try_open(NO_FILE, O_RDONLY) != EACCES)
		bad_handled++;
	handled++;
	errno = saved;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int case_signals(void)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER | SA_RESTART};
	struct itimerval every = {{0, 200}, {0, 200}};
	double end = seconds() + 0.3;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (seconds() < end) {
		if (chdir("ok") < 0 || chdir("..") < 0)
			return fail("chdir");
		WANT(0, try_open("ok/../" OK_FILE, O_RDONLY));
	}
	every = (struct itimerval){0};
	setitimer(ITIMER_REAL, &every, NULL);
	return handled > 10 ? 0 : fail("the handler hardly ran");
}

static void *open_for_ever(void *stop)
{
	while (!atomic_load((atomic_bool *)stop))
		if (try_open(OK_FILE, O_RDONLY) || try_open(NO_FILE, O_RDONLY) != EACCES)
			return stop;
	return NULL;
}

/* A child of a process whose threads are inside the shim: no lock may be held in it. */
static int case_fork(void)
{
	static atomic_bool stop;
	pthread_t t[4];
	void *bad = NULL;
	int i, status;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, open_for_ever, &stop);
	for (i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(5);
			_exit(both());
		}
		if (waitpid(pid, &status, 0) < 0 || status)
			return fail("a forked child");
	}
	atomic_store(&stop, true);
	for (i = 0; i < 4 && !bad; i++)
		pthread_join(t[i], &bad);
	return bad ? fail("a thread") : 0;
}

/* The child shares our memory, not our directory: what it does must not be remembered. */
static int case_vfork(void)
{
	int status;
	pid_t pid;

	if (both())
		return 1;
	pid = vfork();
	if (pid == 0) {
		if (chdir("ok") < 0 || open("file", O_RDONLY) < 0 ||
		    open("../no/file", O_RDONLY) >= 0)
			_exit(1);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return fail("the vfork child");
	return both();
}

/* fork() without the C library: the event's pid must be the child's all the same. */
static int case_raw_fork(void)
{
	int status;
	pid_t pid;

	if (both())
		return 1;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		printf("%d\n", (int)syscall(SYS_getpid));
		fflush(stdout);
		_exit(try_open(NO_FILE, O_RDONLY) != EACCES);
	}
	return waitpid(pid, &status, 0) < 0 || status ? fail("the child") : 0;
}

#if defined(__x86_64__)
static void leave(void)
{
	_exit(7);
}
#endif

/* All seven words of syscall() arrive, and a child made by it on another stack comes out. */
static int case_raw_calls(void)
{
	static _Alignas(16) char stack[16384];
#ifdef SYS_mmap2
	long got = syscall(SYS_mmap2, NULL, 4096L, 1L, 0x22L, -1L, 0L);
#else
	long got = syscall(SYS_mmap, NULL, 4096L, 1L, 0x22L, -1L, 0L);
#endif
	int status;
	pid_t pid;

	if (got == -1 || syscall(SYS_munmap, got, 4096L) < 0)
		return fail("mmap by syscall");
	WANT(EBADF, syscall(SYS_close, -1L) < 0 ? errno : 0);
	if (syscall(SYS_chdir, "ok") < 0)
		return fail("chdir by syscall");
	WANT(0, try_open("file", O_RDONLY));
	WANT(EACCES, try_open("../no/file", O_RDONLY));
#if defined(__x86_64__)
	/* what syscall() of the library returns to stands on top of the new stack */
	*(void (**)(void))(void *)(stack + sizeof stack - 16) = leave;
	pid = (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, stack + sizeof stack - 16,
			     0, 0, 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		return fail("a child on another stack");
#else
	(void)stack, (void)status, (void)pid;
#endif
	return 0;
}

static void *small_stack(void *arg)
{
	int rc = both();

	if (!rc && (rename("ok/file2", "ok/file3") < 0 || rename("ok/file3", "ok/file2") < 0))
		rc = fail("rename");
	return rc ? arg : NULL;
}

static int case_small_stack(void)
{
	pthread_attr_t attr;
	pthread_t t;
	void *bad = NULL;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN))
		return fail("stack size");
	if (pthread_create(&t, &attr, small_stack, &bad) || pthread_join(t, &bad))
		return fail("thread");
	return bad != NULL;
}

/* ---- directories ---- */

static int case_directories(void)
{
	int dir, other;

	if (chdir("ok") < 0)
		return fail("chdir");
	WANT(0, try_open("file", O_RDONLY));
	if (chdir("../no") < 0)
		return fail("chdir");
	WANT(EACCES, try_open("file", O_RDONLY));
	if (chdir("..") < 0)
		return fail("chdir");
	/* one number, two directories: closed by close, dup2, close_range, raw close */
	dir = open("ok", O_RDONLY | O_DIRECTORY);
	other = open(".", O_PATH | O_DIRECTORY);
	WANT(0, openat(dir, "file", O_RDONLY) < 0 ? errno : 0);
	close(dir);
	if ((int)syscall(SYS_openat, other, "no", O_PATH | O_DIRECTORY) != dir)
		return fail("the number was to be used again");
	WANT(EACCES, openat(dir, "file", O_RDONLY) < 0 ? errno : 0);
	other = (int)syscall(SYS_openat, AT_FDCWD, "ok", O_PATH | O_DIRECTORY);
	if (dup2(other, dir) != dir)
		return fail("dup2");
	WANT(0, openat(dir, "file", O_RDONLY) < 0 ? errno : 0);
	syscall(SYS_close, dir);
	if ((int)syscall(SYS_openat, AT_FDCWD, "no", O_PATH | O_DIRECTORY) != dir)
		return fail("the number was to be used again");
	WANT(EACCES, openat(dir, "file", O_RDONLY) < 0 ? errno : 0);
	return 0;
}

/* A directory we stand in, or hold, is renamed: by us, then by another process. */
static int case_renamed(void)
{
	int dir = open("ok/dir", O_RDONLY | O_DIRECTORY);

	WANT(0, openat(dir, "x", O_RDONLY) < 0 ? errno : 0);
	if (rename("ok/dir", "ok/dir2") < 0)
		return fail("rename");
	WANT(0, openat(dir, "x", O_RDONLY) < 0 ? errno : 0);
	if (system("mv ok/dir2 ok/dir3") != 0)
		return fail("mv");
	WANT(0, openat(dir, "x", O_RDONLY) < 0 ? errno : 0);
	return 0;
}

/* ---- the program's own filter ---- */

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(nr), 0, 1),                                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter(bool by_syscall)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_openat),
		ALLOW(SYS_close),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return by_syscall ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog)
			  : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int case_filter(void)
{
	return filter(false) < 0 ? fail("filter") : both();
}

static int case_filter_syscall(void)
{
	return filter(true) < 0 ? fail("filter") : both();
}

/* Asking for filters installs none: symlinks are still seen through. */
static int case_filter_asked(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == 0)
		return fail("no filter was to be installed");
	WANT(EACCES, try_open("ok/../ok/to-no", O_RDONLY));
	WANT(EACCES, try_open("ok/to-no", O_RDONLY));
	return both();
}

static int filter_nothing(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* Below top/in there is a name that is denied: with or without a filter, what may be a directory
 * does not take it elsewhere, nor is one put in its place. */
static int case_filter_rename(void)
{
	if (mkdir("top", 0700) < 0 || mkdir("top/in", 0700) < 0 || mkdir("top/out", 0700) < 0 ||
	    try_open("top/a", O_WRONLY | O_CREAT))
		return fail("a tree");
	WANT(EACCES, rename("top/in", "top/in2") < 0 ? errno : 0);
	if (filter_nothing() < 0)
		return fail("filter");
	WANT(EACCES, rename("top/in", "top/in2") < 0 ? errno : 0);
	WANT(EACCES, rename("top", "top2") < 0 ? errno : 0);
	WANT(EACCES, rename("top/out", "top/in") < 0 ? errno : 0);
	WANT(EACCES,
	     renameat2(AT_FDCWD, "top/out", AT_FDCWD, "top/in", RENAME_EXCHANGE) < 0 ? errno : 0);
	WANT(0, rename("top/a", "top/b") < 0 ? errno : 0);
	WANT(0, link("top/b", "top/in/b") < 0 ? errno : 0);
	WANT(0, rename("top/out", "top/out2") < 0 ? errno : 0);
	return 0;
}

/* Another process, which cannot look at what it moves, moves a directory that we hold. */
static int case_filter_moves(void)
{
	int dir = open("ok/dir", O_RDONLY | O_DIRECTORY), status;
	pid_t pid;

	WANT(0, openat(dir, "x", O_RDONLY) < 0 ? errno : 0);
	pid = fork();
	if (pid == 0)
		_exit(filter_nothing() < 0 || rename("ok/dir", "ok/moved") < 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return fail("the one with the filter");
	WANT(0, openat(dir, "x", O_RDONLY) < 0 ? errno : 0);
	return 0;
}

/* Before 5.6, or under somebody's filter: openat2 is not there. */
static int no_openat2(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};
	long rc = 0;

	/* past the shim, which is to find out by itself */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(&prog)
			 : "rcx", "r11", "memory");
#else
	rc = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
#endif
	return (int)rc;
}

static int without_openat2(int err)
{
	if (no_openat2(err) < 0)
		return fail("filter");
	if (both())
		return 1;
	WANT(EACCES, try_open("ok/../no/file", O_RDONLY));
	WANT(EACCES, try_open("no/new", O_WRONLY | O_CREAT));
	WANT(0, try_open("ok/new", O_WRONLY | O_CREAT));
	WANT(0, unlink("ok/new") < 0 ? errno : 0);
	WANT(EACCES, unlink(NO_FILE) < 0 ? errno : 0);
	return 0;
}

static int case_openat2_enosys(void)
{
	return without_openat2(ENOSYS);
}

static int case_openat2_eperm(void)
{
	return without_openat2(EPERM);
}

static const struct law_case cases[] = {
	{"early", case_early},
	{"no_descriptor", case_no_descriptor},
	{"close_range", case_close_range},
	{"nofile", case_nofile},
	{"fsize", case_fsize},
	{"bad_pointer", case_bad_pointer},
	{"mode", case_mode},
	{"link_descriptor", case_link_descriptor},
	{"signals", case_signals},
	{"fork", case_fork},
	{"vfork", case_vfork},
	{"raw_fork", case_raw_fork},
	{"raw_calls", case_raw_calls},
	{"small_stack", case_small_stack},
	{"directories", case_directories},
	{"renamed", case_renamed},
	{"filter", case_filter},
	{"filter_syscall", case_filter_syscall},
	{"filter_asked", case_filter_asked},
	{"filter_rename", case_filter_rename},
	{"filter_moves", case_filter_moves},
	{"openat2_enosys", case_openat2_enosys},
	{"openat2_eperm", case_openat2_eperm},
};

int main(int argc, char **argv)
{
	return law_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
