/* Live tests of the broker: calls that wait, signals, threads, umask and credentials. */
#include "launcher/broker.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/broker.h"

#define NOBODY 65534
#define OK     0

static char root[64];
static struct sb_policy policy;
static char rules[6][256];

static const char *in(const char *name)
{
	static _Thread_local char path[4][256];
	static _Thread_local unsigned n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", root, name);
	return path[n];
}

static void make_file(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	chmod(in(name), 0666);
}

static void set_up(void)
{
	const char *lines[] = {"rmx+ T /", rules[0], rules[1], rules[2], rules[3], NULL};

	strcpy(root, "/tmp/sbx-brokr3-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	make_file("f", "text");
	make_file("a.env", "secret");
	cr_assert_eq(mkdir(in("deny"), 0777), 0);
	cr_assert_eq(chmod(in("deny"), 0777), 0);
	snprintf(rules[0], sizeof rules[0], "m- T %s/deny", root);
	snprintf(rules[1], sizeof rules[1], "rm- G %s **/*.env", root);
	snprintf(rules[2], sizeof rules[2], "x- E %s/tool", root);
	snprintf(rules[3], sizeof rules[3], "c+ E %s/open.sock", root);
	sb_policy_make(&policy, lines);
	umask(022);
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_callers, .init = set_up, .fini = tear_down);

/* What an act may leave, and the next one makes. */
static void clean(void)
{
	static const char *const left[] = {"l", "pub", "out", "fresh"};

	for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
		unlink(in(left[i]));
	if (geteuid() == 0)
		cr_assert_eq(chown(in("f"), NOBODY, NOBODY), 0);
}

static int result(long rc)
{
	return rc < 0 ? errno : OK;
}

static int run(int (*act)(void *), enum pol_read_level level, uid_t uid)
{
	const struct sb_options o = {.level = level, .uid = uid};

	return sb_run(&policy, &o, act, NULL);
}

static void expect_at(int (*act)(void *), enum pol_read_level level, int want)
{
	int got = run(act, level, 0);

	cr_expect_eq(got, want, "level %u: got %d, want %d", level, got, want);
	if (geteuid() != 0)
		return;
	clean();
	got = run(act, level, NOBODY);
	cr_expect_eq(got, want, "level %u, ordinary user: got %d, want %d", level, got, want);
}

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
		if (mkfifo(in(name), 0666) < 0)
			return errno;
		pid[i] = fork();
		if (pid[i] == 0) {
			char c = 0;
			int fd = open(in(name), O_RDONLY);

			_exit(fd < 0 || read(fd, &c, 1) != 1 || c != 'x');
		}
	}
	if (mkdir(in("meanwhile"), 0777) < 0 || rename(in("meanwhile"), in("m2")) < 0)
		return errno;
	for (int i = 0; i < N; i++) {
		char name[16];
		int fd, status;

		snprintf(name, sizeof name, "p%d", i);
		fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (fd < 0 || fcntl(fd, F_GETFL) & O_NONBLOCK || write(fd, "x", 1) != 1)
			return 200;
		close(fd);
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			return 201;
	}
	return OK;
}
static int interrupted(void *arg)
{
	const struct sigaction act = {.sa_handler = nothing};
	const struct itimerval t = {.it_value = {0, 20000}};

	(void)arg;
	if (mkfifo(in("p"), 0666) < 0 || sigaction(SIGALRM, &act, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &t, NULL) < 0)
		return errno;
	return result(open(in("p"), O_WRONLY));
}
static int killed_while_waiting(void *arg)
{
	pid_t pid = fork();
	int status;

	(void)arg;
	if (pid == 0) {
		mkfifo(in("p"), 0666);
		open(in("p"), O_WRONLY);
		_exit(0);
	}
	while (access(in("p"), F_OK) < 0)
		;
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return 200;
	/* nobody holds the lock a rename needs */
	return result(rename(in("p"), in("p2")));
}

Test(launcher_broker_callers, calls_that_wait_hold_up_nobody)
{
	cr_expect_eq(run(fifos, POL_READ_ALL, 0), OK);
	cr_expect_eq(run(interrupted, POL_READ_NONE, 0), EINTR);
	tear_down();
	set_up();
	cr_expect_eq(run(killed_while_waiting, POL_READ_NONE, 0), OK);
}

/* WAIT_KILLABLE_RECV: a signal does not tear a call that was done already. */
static int storm(void *arg)
{
	const struct sigaction act = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	const struct itimerval t = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};

	(void)arg;
	if (chdir(root) < 0 || sigaction(SIGALRM, &act, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &t, NULL) < 0)
		return 200;
	for (int i = 0; i < 1000; i++)
		if (mkdir("storm", 0777) < 0 || rmdir("storm") < 0)
			return errno;
	return result(setitimer(ITIMER_REAL, &off, NULL));
}

Test(launcher_broker_callers, signals_tear_no_call)
{
	cr_expect_eq(run(storm, POL_READ_NONE, 0), OK);
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
		rmdir(in(name));
		umask(masks[i]);
		if (mkdir(in(name), 0777) < 0 || stat(in(name), &st) < 0)
			return errno;
		if ((st.st_mode & 0777) != (0777 & ~masks[i]))
			return 200 + (int)i;
	}
	return OK;
}
static int hides(void *arg)
{
	(void)arg;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return errno;
	return result(mkdir(in("hidden"), 0777));
}
static int no_landlock(void *arg)
{
	(void)arg;
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 ? errno : OK;
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
	return result(open(in("closed/x"), O_WRONLY | O_CREAT, 0600));
}
static int changes_user(void *arg)
{
	struct stat st;

	(void)arg;
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return errno;
	if (open(in("closed/x"), O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
		return 200;
	if (mkdir(in("mine"), 0700) < 0 || stat(in("mine"), &st) < 0)
		return errno;
	return st.st_uid == NOBODY && st.st_gid == NOBODY ? OK : 201;
}

/* As it is, like children of make(1); then by the effective id alone, and back. */
static int changes_effective_user(void *arg)
{
	(void)arg;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0 || setresgid((gid_t)-1, 0, (gid_t)-1) < 0)
		return errno;
	if (mkdir(in("closed/x"), 0700) < 0 || rmdir(in("closed/x")) < 0)
		return errno;
	if (setresuid((uid_t)-1, NOBODY, (uid_t)-1) < 0)
		return errno;
	if (mkdir(in("closed/x"), 0700) >= 0 || errno != EACCES)
		return 200;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0)
		return errno;
	return result(mkdir(in("closed/x"), 0700));
}

Test(launcher_broker_callers, the_broker_lends_neither_view_nor_rights)
{
	const struct sb_options ids = {.caps = "chown,dac_override,setuid,setgid"};

	expect_at(umasks, POL_READ_NONE, OK);
	cr_expect_eq(run(hides, POL_READ_NONE, 0), OK);
	cr_expect_eq(run(no_landlock, POL_READ_NONE, 0), EOPNOTSUPP);
	if (geteuid() != 0)
		cr_skip_test("the rest needs root");
	cr_assert_eq(mkdir(in("closed"), 0700), 0);
	cr_assert_eq(chown(in("closed"), 1234, 1234), 0);
	cr_expect_eq(run(drops_capabilities, POL_READ_NONE, 0), EACCES);
	cr_expect_eq(sb_run(&policy, &ids, changes_user, NULL), OK);
	cr_expect_eq(sb_run(&policy, &ids, changes_effective_user, NULL), OK);
}

static void *many(void *arg)
{
	char name[32];

	snprintf(name, sizeof name, "t%ld", (long)(intptr_t)arg);
	for (int i = 0; i < 5; i++) {
		int fd = open(in(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return (void *)1;
		close(fd);
		if (unlink(in(name)) < 0)
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
	return bad ? 201 : OK;
}

Test(launcher_broker_callers, two_hundred_threads_at_once)
{
	cr_expect_eq(run(threads, POL_READ_ALL, 0), OK);
}
