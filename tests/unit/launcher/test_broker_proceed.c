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
	make("a.env", "#!/usr/bin/touch ran\n", 0666);
	cr_assert_eq(symlink("/dev/null", "open/n"), 0);
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
static _Alignas(8) char path[16]; /* eight bytes, changed at once */
static struct open_how how;
static int slot, spare[2];
static int home; /* root, whatever the working directory is */

static bool is_over(void)
{
	const char *ms = getenv("SBX_RACE_MS");
	static struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >
	       (ms ? atoi(ms) : 150);
}

struct swap {
	char a[9], b[9]; /* texts of path */
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

static void *swap_how(void *arg)
{
	for (unsigned n = 0; !stop; n++) {
		__atomic_store_n(&how.flags, O_RDWR | O_TRUNC, __ATOMIC_RELAXED);
		set_path("shut/f");
		linger(n * 13 % 3000);
		__atomic_store_n(&how.flags, O_PATH, __ATOMIC_RELAXED);
		set_path("open/f");
		linger(n * 7 % 3000);
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

/* The object: a symlink that leads here or there. */
static void *swap_object(void *arg)
{
	for (unsigned n = 0; !stop; n++) {
		(void)!symlinkat(n % 2 ? "../shut/f" : "f", home, "open/next");
		(void)!renameat(home, "open/next", home, "open/s");
		linger(n * 13 % 3000);
	}
	return arg;
}

/* The descriptor that a relative path starts from. */
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

	return has_secret(open(path, flags[n++ % 5] | O_CLOEXEC, 0644));
}

static bool try_how(void)
{
	return has_secret((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

/* Has it come to be outside of shut/? */
static bool is_the_shut(int at, const char *name)
{
	struct stat st, shut;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(home, "shut/f", &shut, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == shut.st_ino;
}

static bool try_names(void)
{
	(void)!mkdir(path, 0755);
	(void)!mknod(path, S_IFREG | 0644, 0);
	(void)!symlink("x", path);
	(void)!rmdir(path);
	(void)!unlink(path);
	(void)!renameat(AT_FDCWD, path, home, "open/x");
	(void)!renameat(home, "open/f", AT_FDCWD, path);
	(void)!linkat(AT_FDCWD, path, home, "open/y", 0);
	(void)!linkat(home, "open/f", AT_FDCWD, path, 0);
	return is_the_shut(home, "open/x") || is_the_shut(home, "open/y");
}

static bool try_truncate(void)
{
	(void)!truncate(path, 1);
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
static bool run_in_child(bool by_slot, void *(*swap)(void *), void *arg)
{
	char *argv[] = {path, NULL}, *envp[] = {NULL};
	pid_t pid = fork();
	pthread_t t;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 2);
		if (pthread_create(&t, NULL, swap, arg) == 0)
			for (int i = 0; i < 30; i++)
				syscall(SYS_execveat, by_slot ? slot : AT_FDCWD,
					by_slot ? "" : path, argv, envp,
					by_slot ? AT_EMPTY_PATH : 0);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return access("ran", F_OK) == 0;
}

static struct swap programs = {"prog", "a.env"};

static bool try_exec(void)
{
	make_program_of_denied();
	set_path(programs.a);
	return run_in_child(false, swap_text, &programs);
}

static bool try_memory(void)
{
	static const char script[] = "#!/bin/true\n";

	if (!spare[0]) {
		spare[0] = (int)syscall(SYS_memfd_create, "m", 0);
		spare[1] = open("a.env", O_PATH);
		slot = dup(spare[0]);
		(void)!write(spare[0], script, sizeof script - 1);
		(void)!fchmod(spare[0], 0755);
	}
	make_program_of_denied();
	return run_in_child(true, swap_slot, NULL);
}

/* ---- one attack a row ---- */

#define CHANGES 3
struct attack {
	void (*plan)(void);
	void *(*change[CHANGES])(void *); /* NULL: the try changes things itself */
	bool (*gains)(void);
	struct swap texts;
	bool lies, is_for_root;
};

#define ATTACK(plan_, gains_, a_, b_, ...)                                                         \
	{                                                                                          \
		.plan = (plan_), .gains = (gains_), .texts = {a_, b_}, __VA_ARGS__                 \
	}
#define BY(...) .change = {__VA_ARGS__}

static const struct attack attacks[BR_PROCEED_COUNT] = {
	[BR_PROCEED_UMASK] = ATTACK(plan_literal, try_umask, "", "", BY(swap_umask)),
	[BR_PROCEED_CREDENTIALS] =
		ATTACK(plan_pattern, try_ids, "", "", BY(swap_ids), .is_for_root = true),
	[BR_PROCEED_PRIORITY] = ATTACK(plan_literal, try_priority, "", "", BY(NULL)),
	[BR_PROCEED_SIGNAL] = ATTACK(plan_signals, try_signals, "", "", BY(NULL)),
	[BR_PROCEED_NAME] =
		ATTACK(plan_literal, try_names, "open/.", "shut/f", BY(swap_text, swap_directory)),
	[BR_PROCEED_TRUNCATE] = ATTACK(plan_literal, try_truncate, "open/f", "shut/f",
				       BY(swap_text, swap_object, swap_directory), .lies = true),
	[BR_PROCEED_OPEN] = ATTACK(plan_literal, try_open, "open/f", "shut/f",
				   BY(swap_text, swap_object, swap_directory), .lies = true),
	[BR_PROCEED_NODE] = ATTACK(plan_literal, try_open, "open/n", "shut/f", BY(swap_text)),
	[BR_PROCEED_PATH_ONLY] = ATTACK(plan_literal, try_how, "open/f", "shut/f", BY(swap_how)),
	/* these change things themselves, in a child */
	[BR_PROCEED_EXEC] = ATTACK(plan_pattern, try_exec, "", "", BY(NULL)),
	[BR_PROCEED_EXEC_MEMORY] = ATTACK(plan_pattern, try_memory, "", "", BY(NULL)),
};

struct bout {
	const struct attack *a;
	void *(*change)(void *);
};

static int race(void *arg)
{
	const struct bout *bout = arg;
	struct swap texts = bout->a->texts;
	bool won = false;
	pthread_t t;

	how.flags = O_PATH;
	umask(0);
	set_path(bout->change == swap_object	  ? "open/s"
		 : bout->change == swap_directory ? "f"
						  : texts.a);
	home = open(root, O_PATH | O_DIRECTORY);
	if (chdir(root) < 0 || (bout->change == swap_directory && chdir("open") < 0) ||
	    (bout->change && pthread_create(&t, NULL, bout->change, &texts) != 0))
		return 200;
	while (!won && !is_over())
		won = bout->a->gains();
	stop = true;
	if (bout->change)
		pthread_join(t, NULL);
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
	cr_assert_eq(system("rm -rf shut/f open/f && mkdir -p shut/d && rm -f ?.env"), 0);
	make("shut/f", SECRET, 0666);
	make("open/f", "public", 0666);
	make("prog2", "#!/bin/true\n", 0777);
	make("a.env", "#!/usr/bin/touch ran\n", 0666);
}

static void attack_by(enum br_proceed row, unsigned change, uid_t uid, bool lies)
{
	const struct attack *a = &attacks[row];
	const char *name = br_proceed_name(row);
	struct sb_options o = {.uid = uid, .floor = &floor_, .proceeded = counts, .lies = lies};
	struct bout bout = {a, a->change[change]};
	int rc;

	if (a->is_for_root)
		o.caps = "setuid"; /* none that opens what the id cannot */
	restore();
	counts[row] = 0;
	rc = sb_run(&policy, &o, race, &bout);
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
			bool won_nothing = true;
			int rc;

			for (int tries = 0; tries < 40 && won_nothing; tries++) {
				restore();
				rc = sb_run(&policy, &o, race, &bout);
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
	struct sb_options o = {.floor = &floor_};
	struct bout bout = {&attacks[BR_PROCEED_EXEC], NULL};
	int rc = 0;

	plan_pattern();
	for (int i = 0; i < 20 && !rc; i++) {
		restore();
		cr_assert_eq(chmod("a.env", 0777), 0);
		rc = sb_run(&policy, &o, race, &bout);
	}
	cr_expect_eq(rc, 1);
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}
