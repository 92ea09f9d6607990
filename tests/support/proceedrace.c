/* SPDX-License-Identifier: Apache-2.0 */
/* proceedrace.c - see proceedrace.h. */
#include "tests/support/proceedrace.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- what is changed ---- */

atomic_bool rc_stop;
_Alignas(8) char rc_path[128]; /* eight bytes, changed at once */
const char *rc_at = rc_path;   /* what the calls are given: this, or a page that changes */
struct open_how rc_how;
int rc_slot, rc_spare[2];
int rc_from = AT_FDCWD; /* or the slot */
int rc_home;		/* root, whatever the working directory is */
void *(*rc_change_in_child)(void *);

bool rc_is_over(unsigned ms)
{
	static struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 > ms;
}

void rc_set_path(const char *text)
{
	uint64_t v = 0;

	memcpy(&v, text, strlen(text));
	__atomic_store_n((uint64_t *)(void *)rc_path, v, __ATOMIC_RELAXED);
}

void rc_linger(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

void *rc_swap_text(void *arg)
{
	const struct rc_swap *s = arg;

	for (unsigned n = 0; !rc_stop; n++) {
		rc_set_path(s->b);
		rc_linger(n * 13 % 3000);
		rc_set_path(s->a);
		rc_linger(n * 7 % 3000);
	}
	return NULL;
}

/* The other memory that openat2 reads, changed beside the change of the row. */
void *rc_swap_how(void *arg)
{
	for (unsigned n = 0; !rc_stop; n++) {
		__atomic_store_n(&rc_how.flags, O_RDWR | O_TRUNC, __ATOMIC_RELAXED);
		rc_linger(n * 13 % 3000);
		__atomic_store_n(&rc_how.flags, O_PATH, __ATOMIC_RELAXED);
		rc_linger(n * 7 % 3000);
	}
	return arg;
}

/* The page that the text lies in: another one is mapped in its place. */
void *rc_swap_memory(void *arg)
{
	void *page = (void *)((uintptr_t)rc_at & ~(uintptr_t)4095);

	for (unsigned n = 0; !rc_stop; n++) {
		(void)!mmap(page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, rc_spare[(n + 1) % 2],
			    0);
		rc_linger(n * 13 % 3000);
	}
	return arg;
}

void *rc_swap_slot(void *arg)
{
	for (unsigned n = 0; !rc_stop; n++) {
		dup2(rc_spare[1], rc_slot);
		rc_linger(n * 13 % 3000);
		dup2(rc_spare[0], rc_slot);
		rc_linger(n * 7 % 3000);
	}
	return arg;
}

/* The object, a directory on the way and the mount point there: the host does these (beside), which
 * is faster than the run, and waits for no lock of the broker. */
void *rc_swap_object(void *arg)
{
	return arg;
}

void *rc_swap_way(void *arg)
{
	return arg;
}

void *rc_swap_mount(void *arg)
{
	return arg;
}

/* The directory that a relative path starts from. */
void *rc_swap_directory(void *arg)
{
	int a = openat(rc_home, "open", O_PATH | O_DIRECTORY),
	    b = openat(rc_home, "shut", O_PATH | O_DIRECTORY);

	for (unsigned n = 0; !rc_stop; n++) {
		(void)!fchdir(b);
		rc_linger(n * 13 % 3000);
		(void)!fchdir(a);
		rc_linger(n * 7 % 3000);
	}
	close(a);
	close(b);
	return arg;
}

void *rc_swap_umask(void *arg)
{
	while (!rc_stop) {
		umask(0);
		umask(077);
	}
	return arg;
}

void *rc_swap_ids(void *arg)
{
	while (!rc_stop) { /* of this thread alone */
		syscall(SYS_setresuid, 65534L, 65534L, 0L);
		syscall(SYS_setresuid, 0L, 0L, 0L);
	}
	return arg;
}

/* With the text: the call is made between the two. */
void *rc_swap_credentials(void *arg)
{
	const struct rc_swap *s = arg;

	for (unsigned n = 0; !rc_stop; n++) {
		syscall(SYS_setresuid, 65534L, 65534L, 0L);
		rc_set_path(s->b);
		rc_linger(n * 13 % 3000);
		syscall(SYS_setresuid, 0L, 0L, 0L);
		rc_set_path(s->a);
		rc_linger(n * 7 % 3000);
	}
	return arg;
}

/* ---- who gains ---- */

/* A descriptor of what is shut, that was got for reading or writing. */
static bool has_secret(int fd)
{
	char text[8] = "";
	struct stat st, shut;
	bool found = fd >= 0 && pread(fd, text, 6, 0) == 6 && !memcmp(text, RC_SECRET, 6);

	if (fd >= 0 && !found && !(fcntl(fd, F_GETFL) & O_PATH))
		found = fstat(fd, &st) == 0 && fstatat(rc_home, "shut/f", &shut, 0) == 0 &&
			st.st_ino == shut.st_ino && st.st_dev == shut.st_dev;
	if (fd >= 0)
		close(fd);
	return found;
}

bool rc_try_open(void)
{
	static const int flags[] = {O_RDWR, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT,
				    O_RDONLY | O_DIRECTORY, O_RDONLY | O_TRUNC};
	static unsigned n;

	return has_secret(openat(rc_from, rc_at, flags[n++ % 5] | O_CLOEXEC, 0644));
}

bool rc_try_how(void)
{
	return has_secret((int)syscall(SYS_openat2, rc_from, rc_at, &rc_how, sizeof rc_how));
}

/* Has it come to be outside of shut/? */
static bool is_the_shut(const char *name)
{
	struct stat st, shut;

	return fstatat(rc_home, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(rc_home, "shut/f", &shut, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == shut.st_ino;
}

bool rc_try_names(void)
{
	(void)!mkdirat(rc_from, rc_at, 0755);
	(void)!mknodat(rc_from, rc_at, S_IFREG | 0644, 0);
	(void)!symlinkat("x", rc_from, rc_at);
	(void)!unlinkat(rc_from, rc_at, AT_REMOVEDIR);
	(void)!unlinkat(rc_from, rc_at, 0);
	(void)!renameat(rc_from, rc_at, rc_home, "open/x");
	(void)!renameat(rc_home, "open/f", rc_from, rc_at);
	(void)!linkat(rc_from, rc_at, rc_home, "open/y", 0);
	(void)!linkat(rc_home, "open/f", rc_from, rc_at, 0);
	return is_the_shut("open/x") || is_the_shut("open/y");
}

bool rc_try_truncate(void)
{
	(void)!truncate(rc_at, 1);
	return false;
}

bool rc_try_umask(void)
{
	int fd = open("open/m", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	struct stat st = {0};

	if (fd < 0)
		return false;
	(void)fstat(fd, &st);
	close(fd);
	(void)unlink("open/m");
	return (st.st_mode & 0777) != 0666 && (st.st_mode & 0777) != 0600;
}

static int priority_outside(void)
{
	return getpriority(PRIO_PROCESS, (id_t)getppid());
}

bool rc_try_priority(void)
{
	int before = priority_outside();
	struct sched_param param = {0};
	struct rlimit core;

	(void)setpriority(PRIO_PROCESS, (id_t)getppid(), before < 19 ? before + 1 : 1);
	(void)sched_setscheduler(getppid(), SCHED_BATCH, &param);
	(void)setpriority(PRIO_PROCESS, (id_t)getpid(), 0);
	(void)prlimit(getpid(), RLIMIT_CORE, NULL, &core);
	return prlimit(getpid(), RLIMIT_CORE, &core, NULL) < 0 || priority_outside() != before ||
	       sched_getscheduler(getppid()) != SCHED_OTHER;
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

static bool signals_outside(pid_t pid)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), pipe_fd[2];
	bool gains = kill(pid, 0) == 0 || syscall(SYS_tkill, pid, 0) == 0 ||
		     syscall(SYS_tgkill, pid, pid, 0) == 0 ||
		     syscall(SYS_rt_sigqueueinfo, pid, 0, &info) == 0 ||
		     syscall(SYS_rt_tgsigqueueinfo, pid, pid, 0, &info) == 0 ||
		     syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;

	if (pidfd >= 0)
		close(pidfd);
	if (pipe(pipe_fd) < 0)
		return true;
	gains = gains || fcntl(pipe_fd[0], F_SETOWN, pid) == 0 ||
		ioctl(pipe_fd[0], FIOSETOWN, &pid) == 0;
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return gains;
}

/* To itself and to a child each call has its effect. */
bool rc_try_signals(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	pid_t me = getpid(), child;
	int status;

	signals = 0;
	signal(SIGUSR1, count_signal);
	if (kill(me, SIGUSR1) < 0 || signals != 1 || syscall(SYS_tkill, me, SIGUSR1) < 0 ||
	    signals != 2 || syscall(SYS_tgkill, me, me, SIGUSR1) < 0 || signals != 3 ||
	    syscall(SYS_rt_sigqueueinfo, me, SIGUSR1, &info) < 0 || signals != 4)
		return true;
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		pause();
		_exit(0);
	}
	setpgid(child, child);
	if (kill(-child, 0) < 0 || sigqueue(child, SIGTERM, (union sigval){0}) < 0 ||
	    waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		return true;
	return signals_outside(getppid());
}

bool rc_try_ids(void)
{
	syscall(SYS_setresuid, 65534L, 65534L, 0L);
	if (has_secret(open("mine", O_RDWR | O_CLOEXEC)))
		return true;
	syscall(SYS_setresuid, 0L, 0L, 0L);
	return false;
}

static void make_program_of_denied(void)
{
	static const char acl[] = "\2\0\0\0\1\0\7\0\377\377\377\377\4\0\7\0\377\377\377\377"
				  "\40\0\7\0\377\377\377\377";

	(void)!chmod("a.env", 0777);
	(void)!syscall(SYS_setxattr, "a.env", "system.posix_acl_access", acl, sizeof acl - 1, 0);
	(void)!rename("prog2", "b.env");
	(void)!link("prog2", "c.env");
	(void)!mknod("d.env", S_IFREG | 0777, 0);
	close(open("e.env", O_WRONLY | O_CREAT | O_CLOEXEC, 0777));
	close(open("f.env", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777));
}

/* In a child: it may succeed. */
static bool run_in_child(struct rc_swap *texts, int flags)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		char name[] = "x", *argv[] = {name, NULL}, *envp[] = {NULL};
		int null = open("/dev/null", O_RDWR);

		dup2(null, 2);
		if (!rc_change_in_child || pthread_create(&t, NULL, rc_change_in_child, texts) == 0)
			for (int i = 0; i < 30; i++)
				syscall(SYS_execveat, rc_from, rc_at, argv, envp, flags);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return faccessat(rc_home, "ran", F_OK, 0) == 0;
}

struct rc_swap rc_running;

bool rc_try_exec(void)
{
	make_program_of_denied();
	return run_in_child(&rc_running, 0);
}

/* A program in memory, or the denied file: by its descriptor, or by the text beside it. */
bool rc_try_memory(void)
{
	make_program_of_denied();
	return run_in_child(&rc_running, AT_EMPTY_PATH);
}

int rc_program_in_memory(void)
{
	static const char script[] = "#!/bin/true\n";
	int fd = (int)syscall(SYS_memfd_create, "p", 0);

	(void)!write(fd, script, sizeof script - 1);
	(void)!fchmod(fd, 0755);
	return fd;
}
