/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: calls that wait, signals, threads, umask and credentials. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

TestSuite(launcher_broker_callers, .init = sb_tree_set_up, .fini = sb_tree_tear_down);

/* ---- calls that wait ---- */

static void nothing(int signo)
{
	(void)signo;
}

/* More readers than workers wait; everything else goes on; then each gets its writer. */
static int fifos(void *arg)
{
	enum { N = 6 };
	pid_t pid[N];

	(void)arg;
	for (int i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof name, "p%d", i);
		if (mkfifo(sb_in(name), 0666) < 0)
			return errno;
		pid[i] = fork();
		if (pid[i] == 0) {
			char c = 0;
			int fd = open(sb_in(name), O_RDONLY);

			_exit(fd < 0 || read(fd, &c, 1) != 1 || c != 'x');
		}
	}
	if (mkdir(sb_in("meanwhile"), 0777) < 0 || rename(sb_in("meanwhile"), sb_in("m2")) < 0)
		return errno;
	for (int i = 0; i < N; i++) {
		char name[16];
		int fd, status;

		snprintf(name, sizeof name, "p%d", i);
		fd = open(sb_in(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (fd < 0 || fcntl(fd, F_GETFL) & O_NONBLOCK || write(fd, "x", 1) != 1)
			return 200;
		close(fd);
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			return 201;
	}
	return SB_OK;
}
static int interrupted(void *arg)
{
	const struct sigaction act = {.sa_handler = nothing};
	const struct itimerval t = {.it_value = {0, 20000}};

	(void)arg;
	if (mkfifo(sb_in("p"), 0666) < 0 || sigaction(SIGALRM, &act, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &t, NULL) < 0)
		return errno;
	return sb_result(open(sb_in("p"), O_WRONLY));
}
static int killed_while_waiting(void *arg)
{
	pid_t pid = fork();
	int status;

	(void)arg;
	if (pid == 0) {
		mkfifo(sb_in("p"), 0666);
		open(sb_in("p"), O_WRONLY);
		_exit(0);
	}
	while (access(sb_in("p"), F_OK) < 0)
		;
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return 200;
	/* nobody holds the lock a rename needs */
	return sb_result(rename(sb_in("p"), sb_in("p2")));
}

Test(launcher_broker_callers, calls_that_wait_hold_up_nobody)
{
	cr_expect_eq(sb_run_in_tree(fifos, POL_READ_ALL, 0), SB_OK);
	cr_expect_eq(sb_run_in_tree(interrupted, POL_READ_NONE, 0), EINTR);
	sb_tree_tear_down();
	sb_tree_set_up();
	cr_expect_eq(sb_run_in_tree(killed_while_waiting, POL_READ_NONE, 0), SB_OK);
}

/* WAIT_KILLABLE_RECV: a signal does not tear a call that was done already. */
static int storm(void *arg)
{
	const struct sigaction act = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	const struct itimerval t = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};

	(void)arg;
	if (chdir(sb_root) < 0 || sigaction(SIGALRM, &act, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &t, NULL) < 0)
		return 200;
	for (int i = 0; i < 1000; i++)
		if (mkdir("storm", 0777) < 0 || rmdir("storm") < 0)
			return errno;
	return sb_result(setitimer(ITIMER_REAL, &off, NULL));
}

Test(launcher_broker_callers, signals_tear_no_call)
{
	cr_expect_eq(sb_run_in_tree(storm, POL_READ_NONE, 0), SB_OK);
}

/* ---- callers ---- */

static int umasks(void *arg)
{
	static const mode_t masks[] = {0, 077, 027, 0, 022};
	struct stat st;

	(void)arg;
	for (unsigned i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof name, "u%u", i);
		rmdir(sb_in(name));
		umask(masks[i]);
		if (mkdir(sb_in(name), 0777) < 0 || stat(sb_in(name), &st) < 0)
			return errno;
		if ((st.st_mode & 0777) != (0777 & ~masks[i]))
			return 200 + (int)i;
	}
	return SB_OK;
}
static int hides(void *arg)
{
	(void)arg;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return errno;
	return sb_result(mkdir(sb_in("hidden"), 0777));
}
static int no_landlock(void *arg)
{
	(void)arg;
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 ? errno : SB_OK;
}
static int drops_capabilities(void *arg)
{
	struct {
		unsigned version;
		int pid;
	} head = {0x20080522, 0};
	unsigned data[6] = {0};

	(void)arg;
	if (syscall(SYS_capset, &head, data) < 0)
		return errno;
	return sb_result(open(sb_in("closed/x"), O_WRONLY | O_CREAT, 0600));
}
static int changes_user(void *arg)
{
	struct stat st;

	(void)arg;
	if (setgid(SB_NOBODY) < 0 || setuid(SB_NOBODY) < 0)
		return errno;
	if (open(sb_in("closed/x"), O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
		return 200;
	if (mkdir(sb_in("mine"), 0700) < 0 || stat(sb_in("mine"), &st) < 0)
		return errno;
	return st.st_uid == SB_NOBODY && st.st_gid == SB_NOBODY ? SB_OK : 201;
}

/* As it is, like children of make(1); then by the effective id alone, and back. */
static int changes_effective_user(void *arg)
{
	(void)arg;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0 || setresgid((gid_t)-1, 0, (gid_t)-1) < 0)
		return errno;
	if (mkdir(sb_in("closed/x"), 0700) < 0 || rmdir(sb_in("closed/x")) < 0)
		return errno;
	if (setresuid((uid_t)-1, SB_NOBODY, (uid_t)-1) < 0)
		return errno;
	if (mkdir(sb_in("closed/x"), 0700) >= 0 || errno != EACCES)
		return 200;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0)
		return errno;
	return sb_result(mkdir(sb_in("closed/x"), 0700));
}

Test(launcher_broker_callers, the_broker_lends_neither_view_nor_rights)
{
	const struct sb_options ids = {.caps = "chown,dac_override,setuid,setgid"};

	sb_expect_at(umasks, POL_READ_NONE, SB_OK);
	cr_expect_eq(sb_run_in_tree(hides, POL_READ_NONE, 0), SB_OK);
	cr_expect_eq(sb_run_in_tree(no_landlock, POL_READ_NONE, 0), EOPNOTSUPP);
	if (geteuid() != 0)
		cr_skip_test("the rest needs root");
	cr_assert_eq(mkdir(sb_in("closed"), 0700), 0);
	cr_assert_eq(chown(sb_in("closed"), 1234, 1234), 0);
	cr_expect_eq(sb_run_in_tree(drops_capabilities, POL_READ_NONE, 0), EACCES);
	cr_expect_eq(sb_run(&sb_tree_policy, &ids, changes_user, NULL), SB_OK);
	cr_expect_eq(sb_run(&sb_tree_policy, &ids, changes_effective_user, NULL), SB_OK);
}

static void *many(void *arg)
{
	char name[32];

	snprintf(name, sizeof name, "t%ld", (long)(intptr_t)arg);
	for (int i = 0; i < 5; i++) {
		int fd = open(sb_in(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return (void *)1;
		close(fd);
		if (unlink(sb_in(name)) < 0)
			return (void *)1;
	}
	return NULL;
}
static int threads(void *arg)
{
	enum { N = 200 };
	pthread_t t[N];
	void *rc;
	int bad = 0;

	(void)arg;
	for (long i = 0; i < N; i++)
		if (pthread_create(&t[i], NULL, many, (void *)(intptr_t)i))
			return 200;
	for (int i = 0; i < N; i++)
		bad += pthread_join(t[i], &rc) != 0 || rc != NULL;
	return bad ? 201 : SB_OK;
}

Test(launcher_broker_callers, two_hundred_threads_at_once)
{
	cr_expect_eq(sb_run_in_tree(threads, POL_READ_ALL, 0), SB_OK);
}

/* ---- numbers that were given away ---- */

static int numbers[2]; /* to who sets the last number that was given, and back */

/* The next process or thread has the number. */
static bool next_is(pid_t pid)
{
	char c;

	return write(numbers[0], &pid, sizeof pid) == (ssize_t)sizeof pid &&
	       read(numbers[0], &c, 1) == 1;
}

static _Noreturn void set_numbers(void)
{
	pid_t pid;

	while (read(numbers[1], &pid, sizeof pid) == (ssize_t)sizeof pid) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "we");

		if (f)
			fprintf(f, "%d", (int)pid - 1);
		if (!f || fclose(f) != 0 || write(numbers[1], "", 1) != 1)
			break;
	}
	_exit(0);
}

static void *make_directory(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	return mkdir(sb_in("by-thread"), 0777) < 0 ? arg : NULL;
}

/* A process makes a directory with one umask and ends; a thread of another gets its number. */
static int gets_the_number(void *arg)
{
	struct stat st;
	pthread_t t;
	void *failed;
	pid_t tid = 0;
	pid_t pid;

	(void)arg;
	umask(0);
	pid = fork();
	if (pid == 0) { /* when the other umask, too, was announced and has settled */
		usleep(100000);
		_exit(mkdir(sb_in("by-process"), 0777) < 0);
	}
	umask(077);
	if (mkdir(sb_in("own"), 0777) < 0 || waitpid(pid, NULL, 0) != pid ||
	    stat(sb_in("by-process"), &st) < 0 || (st.st_mode & 0777) != 0777)
		return 200;
	/* others may be faster */
	for (int tries = 0; tid != pid && tries < 50; tries++) {
		(void)rmdir(sb_in("by-thread"));
		if (!next_is(pid) || pthread_create(&t, NULL, make_directory, &tid) ||
		    pthread_join(t, &failed) || failed)
			return 201;
	}
	if (tid != pid || stat(sb_in("by-thread"), &st) < 0)
		return 202;
	return (st.st_mode & 0777) == 0700 ? SB_OK : 203;
}

static int in_pid_namespace(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(99);
		if (fork() == 0)
			set_numbers();
		_exit(sb_run_in_tree(gets_the_number, POL_READ_NONE, 0));
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

Test(launcher_broker_callers, a_number_that_was_given_away_is_another_caller)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("numbers are chosen by root");
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, numbers), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(99);
		_exit(in_pid_namespace());
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 99)
		cr_skip_test("no pid namespace here");
	cr_expect_eq(WEXITSTATUS(status), SB_OK);
}
