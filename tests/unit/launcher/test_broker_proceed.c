/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row of launcher/linux/broker/proceed.h, attacked: what the kernel reads again after the
 * broker has let it go on is changed by a second thread, for SBX_RACE_MS milliseconds a row
 * (`make races`: a minute). Rows that Landlock stands behind are also attacked under a broker that
 * judges nothing. A count proves that the row was reached, a bare run that the attack would win.
 */
#include "launcher/linux/broker/proceed.h"

#include <criterion/criterion.h>
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

#include "base/err.h"
#include "policy/plan/floor.h"
#include "tests/support/brokertree.h"

#define SECRET "secret"

static char root[64];
static struct sb_policy policy;
static struct pol_floor floor_;
static _Atomic uint64_t *counts; /* shared with the broker */

/* ---- the world: open/ may be changed, shut/ not; a.env may be changed, not read ---- */

static void make(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", root, name);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cr_assert_eq(chmod(path, mode), 0);
}

static void plan(const char *const *lines)
{
	struct b_err err = {0};

	sb_policy_make(&policy, lines);
	cr_assert_eq(pol_floor_plan_broker(&policy.rules, &policy.image, pol_fsview_host(), 0,
					   &floor_, &err),
		     0, "%s", err.msg);
}

static void plan_literal(void)
{
	static char open_[96], shut[96];

	snprintf(open_, sizeof open_, "m+ T %s/open", root);
	snprintf(shut, sizeof shut, "rm- T %s/shut", root);
	plan((const char *const[]){"rx+ T /", open_, "m+ T /dev", shut, NULL});
	cr_assert_lt(floor_.read_level, POL_READ_ALL);
}

static void plan_signals(void)
{
	plan_literal();
	floor_.traps |= POL_TRAP_SIGNALS;
}

static void plan_pattern(void)
{
	static char all[96], env[96];

	snprintf(all, sizeof all, "m+ T %s", root);
	snprintf(env, sizeof env, "r- G %s **/*.env", root);
	plan((const char *const[]){"rx+ T /", all, env, NULL});
	cr_assert_eq(floor_.read_level, POL_READ_ALL);
}

/* A directory on the way to a literal that has many entries makes a pattern of it. */
static bool is_small(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return d && n < POL_CARVE_MAX / 2 && access(dir, W_OK) == 0;
}

static void make_denied(void)
{
	char script[96];

	snprintf(script, sizeof script, "#!/usr/bin/touch %s/ran\n", root);
	make("a.env", script, 0666);
}

/* The same names on three ways: what they lead to in open/ is open, in shut/ it is not; m/ is where
 * links/ is mounted, whose `d` leads to shut/. */
static void make_ways(void)
{
	static const char *const names[][2] = {{"open/n", "/dev/null"},	 {"open/p", "../prog"},
					       {"shut/n", "f"},		 {"shut/p", "../a.env"},
					       {"m/d/n", "/dev/null"},	 {"m/d/p", "../../prog"},
					       {"m/d/f", "../../open/f"}};
	char shut[96];

	(void)mkdir("m", 0755);
	(void)mkdir("m/d", 0755);
	(void)mkdir("links", 0755);
	snprintf(shut, sizeof shut, "%s/shut", root);
	(void)!symlink(shut, "links/d");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		(void)!symlink(names[i][1], names[i][0]);
}

static void set_up(void)
{
	static const char *const parents[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};
	size_t i = 0;

	while (i + 1 < sizeof parents / sizeof *parents && !is_small(parents[i]))
		i++;
	snprintf(root, sizeof root, "%s/sbx-proceed-XXXXXX", parents[i]);
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("open", 0755) | mkdir("shut", 0755) | chmod("open", 0777) |
			     chmod("shut", 0777),
		     0);
	cr_assert_eq(mkdir("shut/d", 0755), 0);
	make("open/f", "public", 0666);
	make("shut/f", SECRET, 0666);
	make("mine", SECRET, 0600);
	make("prog", "#!/bin/true\n", 0755);
	make_denied();
	make_ways();
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(counts, MAP_FAILED);
}

static void tear_down(void)
{
	char cmd[128];

	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
	munmap(counts, 4096);
}
TestSuite(launcher_broker_proceed, .init = set_up, .fini = tear_down, .timeout = 3600);

/* ---- in the sandbox: what is changed ---- */

static atomic_bool stop;
static _Alignas(8) char path[128]; /* eight bytes, changed at once */
static const char *at = path;	   /* what the calls are given: this, or a page that changes */
static struct open_how how;
static int slot, spare[2];
static int from = AT_FDCWD; /* or the slot */
static int home;	    /* root, whatever the working directory is */
static void *(*change_in_child)(void *);

static bool is_over(void)
{
	const char *ms = getenv("SBX_RACE_MS");
	static struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >
	       (ms ? atoi(ms) : 120);
}

struct swap {
	char a[9], b[9]; /* texts of path */
	char leaf[2];	 /* the name in open/ and in shut/ */
};

static void set_path(const char *text)
{
	uint64_t v = 0;

	memcpy(&v, text, strlen(text));
	__atomic_store_n((uint64_t *)(void *)path, v, __ATOMIC_RELAXED);
}

static void linger(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

static void *swap_text(void *arg)
{
	const struct swap *s = arg;

	for (unsigned n = 0; !stop; n++) {
		set_path(s->b);
		linger(n * 13 % 3000);
		set_path(s->a);
		linger(n * 7 % 3000);
	}
	return NULL;
}

/* The other memory that openat2 reads, changed beside the change of the row. */
static void *swap_how(void *arg)
{
	for (unsigned n = 0; !stop; n++) {
		__atomic_store_n(&how.flags, O_RDWR | O_TRUNC, __ATOMIC_RELAXED);
		linger(n * 13 % 3000);
		__atomic_store_n(&how.flags, O_PATH, __ATOMIC_RELAXED);
		linger(n * 7 % 3000);
	}
	return arg;
}

/* The page that the text lies in: another one is mapped in its place. */
static void *swap_memory(void *arg)
{
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)4095);

	for (unsigned n = 0; !stop; n++) {
		(void)!mmap(page, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, spare[(n + 1) % 2], 0);
		linger(n * 13 % 3000);
	}
	return arg;
}

static void *swap_slot(void *arg)
{
	for (unsigned n = 0; !stop; n++) {
		dup2(spare[1], slot);
		linger(n * 13 % 3000);
		dup2(spare[0], slot);
		linger(n * 7 % 3000);
	}
	return arg;
}

/* The object, a directory on the way and the mount point there: the host does these (beside), which
 * is faster than the run, and waits for no lock of the broker. */
static void *swap_object(void *arg)
{
	return arg;
}

static void *swap_way(void *arg)
{
	return arg;
}

static void *swap_mount(void *arg)
{
	return arg;
}

/* The directory that a relative path starts from. */
static void *swap_directory(void *arg)
{
	int a = openat(home, "open", O_PATH | O_DIRECTORY),
	    b = openat(home, "shut", O_PATH | O_DIRECTORY);

	for (unsigned n = 0; !stop; n++) {
		(void)!fchdir(b);
		linger(n * 13 % 3000);
		(void)!fchdir(a);
		linger(n * 7 % 3000);
	}
	close(a);
	close(b);
	return arg;
}

static void *swap_umask(void *arg)
{
	while (!stop) {
		umask(0);
		umask(077);
	}
	return arg;
}

static void *swap_ids(void *arg)
{
	while (!stop) { /* of this thread alone */
		syscall(SYS_setresuid, 65534L, 65534L, 0L);
		syscall(SYS_setresuid, 0L, 0L, 0L);
	}
	return arg;
}

/* With the text: the call is made between the two. */
static void *swap_credentials(void *arg)
{
	const struct swap *s = arg;

	for (unsigned n = 0; !stop; n++) {
		syscall(SYS_setresuid, 65534L, 65534L, 0L);
		set_path(s->b);
		linger(n * 13 % 3000);
		syscall(SYS_setresuid, 0L, 0L, 0L);
		set_path(s->a);
		linger(n * 7 % 3000);
	}
	return arg;
}

/* ---- who gains ---- */

/* A descriptor of what is shut, that was got for reading or writing. */
static bool has_secret(int fd)
{
	char text[8] = "";
	struct stat st, shut;
	bool found = fd >= 0 && pread(fd, text, 6, 0) == 6 && !memcmp(text, SECRET, 6);

	if (fd >= 0 && !found && !(fcntl(fd, F_GETFL) & O_PATH))
		found = fstat(fd, &st) == 0 && fstatat(home, "shut/f", &shut, 0) == 0 &&
			st.st_ino == shut.st_ino && st.st_dev == shut.st_dev;
	if (fd >= 0)
		close(fd);
	return found;
}

static bool try_open(void)
{
	static const int flags[] = {O_RDWR, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT,
				    O_RDONLY | O_DIRECTORY, O_RDONLY | O_TRUNC};
	static unsigned n;

	return has_secret(openat(from, at, flags[n++ % 5] | O_CLOEXEC, 0644));
}

static bool try_how(void)
{
	return has_secret((int)syscall(SYS_openat2, from, at, &how, sizeof how));
}

/* Has it come to be outside of shut/? */
static bool is_the_shut(const char *name)
{
	struct stat st, shut;

	return fstatat(home, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(home, "shut/f", &shut, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == shut.st_ino;
}

static bool try_names(void)
{
	(void)!mkdirat(from, at, 0755);
	(void)!mknodat(from, at, S_IFREG | 0644, 0);
	(void)!symlinkat("x", from, at);
	(void)!unlinkat(from, at, AT_REMOVEDIR);
	(void)!unlinkat(from, at, 0);
	(void)!renameat(from, at, home, "open/x");
	(void)!renameat(home, "open/f", from, at);
	(void)!linkat(from, at, home, "open/y", 0);
	(void)!linkat(home, "open/f", from, at, 0);
	return is_the_shut("open/x") || is_the_shut("open/y");
}

static bool try_truncate(void)
{
	(void)!truncate(at, 1);
	return false;
}

static bool try_umask(void)
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

static bool try_priority(void)
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
static bool try_signals(void)
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

static bool try_ids(void)
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
static bool run_in_child(struct swap *texts, int flags)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		char name[] = "x", *argv[] = {name, NULL}, *envp[] = {NULL};
		int null = open("/dev/null", O_RDWR);

		dup2(null, 2);
		if (!change_in_child || pthread_create(&t, NULL, change_in_child, texts) == 0)
			for (int i = 0; i < 30; i++)
				syscall(SYS_execveat, from, at, argv, envp, flags);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return faccessat(home, "ran", F_OK, 0) == 0;
}

static struct swap running;

static bool try_exec(void)
{
	make_program_of_denied();
	return run_in_child(&running, 0);
}

/* A program in memory, or the denied file: by its descriptor, or by the text beside it. */
static bool try_memory(void)
{
	make_program_of_denied();
	return run_in_child(&running, AT_EMPTY_PATH);
}

/* ---- one attack a row ---- */

#define CHANGES 8
struct attack {
	void (*plan)(void);
	void *(*change[CHANGES])(void *); /* NULL: the try changes things itself */
	bool (*gains)(void);
	struct swap texts;
	bool lies, is_for_root;
	bool in_child; /* the change is made there */
};

#define ATTACK(plan_, gains_, a_, b_, ...)                                                         \
	{                                                                                          \
		.plan = (plan_), .gains = (gains_), .texts = {a_, b_}, __VA_ARGS__                 \
	}
#define BY(...) .change = {__VA_ARGS__}
/* All that the kernel reads again on the way from a text to an object. */
#define BY_EACH                                                                                    \
	BY(swap_text, swap_object, swap_way, swap_directory, swap_slot, swap_memory, swap_mount,   \
	   swap_credentials)

static const struct attack attacks[BR_PROCEED_COUNT] = {
	[BR_PROCEED_UMASK] = ATTACK(plan_literal, try_umask, "", "", BY(swap_umask)),
	[BR_PROCEED_CREDENTIALS] =
		ATTACK(plan_pattern, try_ids, "", "", BY(swap_ids), .is_for_root = true),
	[BR_PROCEED_PRIORITY] = ATTACK(plan_literal, try_priority, "", "", BY(NULL)),
	[BR_PROCEED_SIGNAL] = ATTACK(plan_signals, try_signals, "", "", BY(NULL)),
	/* the last name is not followed */
	[BR_PROCEED_NAME] = ATTACK(plan_literal, try_names, "open/.", "shut/f",
				   BY(swap_text, swap_way, swap_directory, swap_slot, swap_memory,
				      swap_mount, swap_credentials)),
	[BR_PROCEED_TRUNCATE] =
		ATTACK(plan_literal, try_truncate, "open/f", "shut/f", BY_EACH, .lies = true),
	[BR_PROCEED_OPEN] =
		ATTACK(plan_literal, try_open, "open/f", "shut/f", BY_EACH, .lies = true),
	[BR_PROCEED_NODE] = ATTACK(plan_literal, try_open, "open/n", "shut/n", BY_EACH),
	[BR_PROCEED_PATH_ONLY] = ATTACK(plan_literal, try_how, "open/f", "shut/f", BY_EACH),
	[BR_PROCEED_EXEC] =
		ATTACK(plan_pattern, try_exec, "open/p", "shut/p", BY_EACH, .in_child = true),
	/* no directory is walked to it, no name leads to it, nothing is mounted on it */
	[BR_PROCEED_EXEC_MEMORY] = ATTACK(plan_pattern, try_memory, "", "",
					  BY(swap_slot, swap_memory, swap_ids), .in_child = true),
};

struct bout {
	const struct attack *a;
	void *(*change)(void *);
};

/* spare: what the change puts there in turn. */
static void set_spare(const char *here, const char *there, bool is_text)
{
	const char *what[] = {here, there};

	for (int i = 0; i < 2; i++) {
		spare[i] = is_text ? (int)syscall(SYS_memfd_create, "m", 0)
				   : openat(home, what[i], O_PATH);
		if (is_text)
			(void)!pwrite(spare[i], what[i], strlen(what[i]) + 1, 0);
	}
}

static int program_in_memory(void)
{
	static const char script[] = "#!/bin/true\n";
	int fd = (int)syscall(SYS_memfd_create, "p", 0);

	(void)!write(fd, script, sizeof script - 1);
	(void)!fchmod(fd, 0755);
	return fd;
}

static void start_in_memory(void *(*change)(void *))
{
	char denied[96];

	from = slot = program_in_memory();
	*path = '\0';
	if (change == swap_slot) {
		spare[0] = dup(slot);
		spare[1] = openat(home, "a.env", O_PATH);
	}
	snprintf(denied, sizeof denied, "%s/a.env", root);
	if (change == swap_memory)
		set_spare("", denied, true);
}

/* The name that is in open/ and in shut/: not the dot of try_names. */
static char leaf_of(const struct attack *a)
{
	return strlen(a->texts.a) > 5 && a->texts.a[5] != '.' ? a->texts.a[5] : 'f';
}

/* What the calls begin with, for each change. */
static void start(const struct attack *a, void *(*change)(void *), const struct swap *texts)
{
	const char *leaf = texts->leaf;

	set_path(texts->a);
	if (a->gains == try_memory)
		start_in_memory(change);
	else if (change == swap_memory)
		set_spare(texts->a, texts->b, true);
	else if (change == swap_slot)
		set_spare("open", "shut", false);
	if (change == swap_slot && a->gains != try_memory)
		from = slot = dup(spare[0]);
	if (change == swap_memory)
		at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, spare[0], 0);
	else if (change == swap_slot && a->gains == try_truncate)
		snprintf(path, sizeof path, "/proc/self/fd/%d/%s", slot, leaf);
	else if (change == swap_slot && a->gains != try_memory)
		snprintf(path, sizeof path, "%s", leaf);
	else if (change == swap_object)
		snprintf(path, sizeof path, "open/s");
	else if (change == swap_way)
		snprintf(path, sizeof path, "open/s/%s", leaf);
	else if (change == swap_mount)
		snprintf(path, sizeof path, "m/d/%s", leaf);
	else if (change == swap_directory)
		snprintf(path, sizeof path, "%s", leaf);
}

static int race(void *arg)
{
	const struct bout *bout = arg;
	const struct attack *a = bout->a;
	struct swap texts = a->texts;
	void *(*change)(void *) = a->in_child ? NULL : bout->change;
	pthread_t t, flags;
	bool won = false;

	how.flags = O_PATH;
	umask(0);
	texts.leaf[0] = leaf_of(a);
	home = open(root, O_PATH | O_DIRECTORY);
	if (chdir(root) < 0 || (bout->change == swap_directory && chdir("open") < 0))
		return 200;
	start(a, bout->change, &texts);
	running = texts;
	change_in_child = bout->change;
	if ((change && pthread_create(&t, NULL, change, &texts) != 0) ||
	    (a->gains == try_how && pthread_create(&flags, NULL, swap_how, NULL) != 0))
		return 201;
	for (unsigned n = 0; !won && (n < 20 || !is_over()); n++)
		won = a->gains();
	stop = true;
	if (change)
		pthread_join(t, NULL);
	if (a->gains == try_how)
		pthread_join(flags, NULL);
	return won;
}

/* What is shut is as it was. */
static bool is_whole(void)
{
	struct stat st;

	return stat("shut/f", &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 6 &&
	       st.st_nlink == 1 && stat("shut/d", &st) == 0 && access("ran", F_OK) < 0;
}

static void restore(void)
{
	(void)unlink("ran");
	(void)unlink("open/x");
	(void)unlink("open/s");
	(void)unlink("open/y");
	cr_assert_eq(system("rm -rf shut/[fnp] open/[fnp] m links && mkdir -p shut/d && rm -f "
			    "?.env"),
		     0);
	make_ways();
	make("shut/f", SECRET, 0666);
	make("open/f", "public", 0666);
	make("prog2", "#!/bin/true\n", 0777);
	make_denied();
}

/* ---- the host beside the run, in the test's own mount namespace ---- */

static bool may_mount(void)
{
	static int can = -1;

	if (can < 0)
		can = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return can;
}

static void swap_link(const char *here, const char *there)
{
	for (unsigned n = 0;; n++) {
		(void)!symlink(n % 2 ? there : here, "open/next");
		(void)!rename("open/next", "open/s");
		linger(n * 13 % 3000);
	}
}

static void swap_mounts(void)
{
	for (unsigned n = 0;; n++) {
		(void)!mount("links", "m", NULL, MS_BIND, NULL);
		usleep(n * 130 % 1000); /* to unmount takes as long */
		(void)!umount2("m", MNT_DETACH);
		linger(n * 7 % 3000);
	}
}

static pid_t beside(const struct bout *bout)
{
	char leaf[] = {leaf_of(bout->a), '\0'}, there[16];
	pid_t pid = bout->change == swap_mount || bout->change == swap_way ||
				    bout->change == swap_object
			    ? fork()
			    : -1;

	if (pid != 0)
		return pid;
	snprintf(there, sizeof there, "../shut/%s", leaf);
	if (bout->change == swap_way)
		swap_link(".", "../shut");
	else if (bout->change == swap_object)
		swap_link(leaf, there);
	swap_mounts();
	_exit(1);
}

static int run_race(const struct sb_options *o, struct bout *bout)
{
	pid_t host = beside(bout);
	int rc = sb_run(&policy, o, race, bout);

	if (host > 0) {
		kill(host, SIGKILL);
		waitpid(host, NULL, 0);
		while (umount2("m", MNT_DETACH) == 0)
			;
	}
	return rc;
}

/* Without the right to mount, or to change ids, there is nothing to be tried. */
static bool is_possible(const struct bout *bout)
{
	if (bout->change == swap_mount)
		return may_mount();
	return (bout->change != swap_credentials && bout->change != swap_ids) || geteuid() == 0;
}

static void attack_by(enum br_proceed row, unsigned change, uid_t uid, bool lies)
{
	const struct attack *a = &attacks[row];
	const char *name = br_proceed_name(row);
	struct sb_options o = {.uid = uid, .floor = &floor_, .proceeded = counts, .lies = lies};
	struct bout bout = {a, a->change[change]};
	int rc;

	if (!is_possible(&bout))
		return;
	if (a->is_for_root || bout.change == swap_credentials || bout.change == swap_ids)
		o.caps = "setuid"; /* none that opens what the id cannot */
	restore();
	counts[row] = 0;
	rc = run_race(&o, &bout);
	cr_expect_eq(rc, 0, "%s, change %u, uid %u: %d", name, change, uid, rc);
	cr_expect(is_whole(), "%s, change %u, uid %u", name, change, uid);
	cr_expect(counts[row] > 0 || (change && !lies), "%s, change %u, uid %u was never reached",
		  name, change, uid);
}

static void attack(enum br_proceed row, uid_t uid, bool lies)
{
	for (unsigned i = 0; i < CHANGES && (!i || attacks[row].change[i]); i++)
		attack_by(row, i, uid, lies);
}

Test(launcher_broker_proceed, no_row_gains_anything)
{
	for (int row = 0; row < BR_PROCEED_COUNT; row++) {
		const struct attack *a = &attacks[row];

		cr_assert_not_null(a->gains, "%s has no attack", br_proceed_name(row));
		a->plan();
		if (!a->is_for_root || geteuid() == 0)
			attack(row, 0, a->lies);
		if (!a->is_for_root && geteuid() == 0)
			attack(row, SB_NOBODY, a->lies);
		pol_floor_release(&floor_);
		sb_policy_release(&policy);
	}
}

/* Names as well, by every call and not only by those that end in a dot. */
Test(launcher_broker_proceed, landlock_stands_behind_a_broker_that_lies)
{
	plan_literal();
	attack(BR_PROCEED_NAME, 0, true);
	if (geteuid() == 0)
		attack(BR_PROCEED_NAME, SB_NOBODY, true);
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}

/* Bare, each attack gains what it is after; and a denied program that could be executed before is
 * run, which docs/THREAT-MODEL.md says. */
Test(launcher_broker_proceed, positive_control)
{
	static const enum br_proceed won[] = {BR_PROCEED_NAME, BR_PROCEED_TRUNCATE, BR_PROCEED_OPEN,
					      BR_PROCEED_NODE, BR_PROCEED_PATH_ONLY};
	struct sb_options o = {.bare = true};

	plan_literal();
	for (size_t i = 0; i < sizeof won / sizeof *won; i++) {
		const struct attack *a = &attacks[won[i]];

		for (unsigned k = 0; k < CHANGES && a->change[k]; k++) {
			struct bout bout = {a, a->change[k]};
			bool won_nothing = is_possible(&bout);
			int rc;

			for (int tries = 0; tries < 40 && won_nothing; tries++) {
				restore();
				rc = run_race(&o, &bout);
				won_nothing = rc != 1 && is_whole();
			}
			cr_expect(!won_nothing, "%s, change %u", br_proceed_name(won[i]), k);
		}
	}
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}

Test(launcher_broker_proceed, a_denied_program_of_before_is_run)
{
	const struct attack *a = &attacks[BR_PROCEED_EXEC];
	struct sb_options o = {.floor = &floor_};

	plan_pattern();
	for (unsigned k = 0; k < CHANGES && a->change[k]; k++) {
		struct bout bout = {a, a->change[k]};
		int rc = !is_possible(&bout);

		o.caps = bout.change == swap_credentials ? "setuid" : NULL;
		for (int i = 0; i < 40 && !rc; i++) {
			restore();
			cr_assert_eq(chmod("a.env", 0777), 0);
			rc = run_race(&o, &bout);
		}
		cr_expect_eq(rc, 1, "change %u", k);
	}
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}
