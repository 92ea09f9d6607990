/* Live tests of the broker: reads, metadata, sockets, signals, threads, credentials. */
#include "launcher/broker.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/event.h"
#include "core/ring.h"
#include "launcher/confine.h"
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

	strcpy(root, "/tmp/sbx-brokr2-XXXXXX");
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
TestSuite(launcher_broker_calls, .init = set_up, .fini = tear_down);

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

/* ---- reads ---- */

static int read_env(void *arg)
{
	(void)arg;
	return result(open(in("a.env"), O_RDONLY | O_CLOEXEC));
}
static int read_env_by_cwd(void *arg)
{
	(void)arg;
	return chdir(root) < 0 ? 200 : result(open("/proc/thread-self/cwd/a.env", O_RDONLY));
}
static int read_env_by_openat2(void *arg)
{
	const struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};
	int fd = open(root, O_PATH | O_DIRECTORY);

	(void)arg;
	return fd < 0 ? 200 : result(syscall(SYS_openat2, fd, "a.env", &how, sizeof how));
}
static int read_plain(void *arg)
{
	char text[8] = "";
	int fd = open(in("f"), O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (fd < 0 || read(fd, text, sizeof text) != 4 || strcmp(text, "text") != 0)
		return 200;
	if (fcntl(fd, F_GETFL) & (O_NONBLOCK | O_PATH))
		return 201;
	return fcntl(fd, F_GETFD) == FD_CLOEXEC ? OK : 202;
}
static int read_broker_proc(void *arg)
{
	char path[64];
	int fd;

	(void)arg;
	/* our parent is the broker */
	snprintf(path, sizeof path, "/proc/%d/environ", getppid());
	fd = open(path, O_RDONLY);
	return fd < 0 ? errno : OK;
}
static int own_proc_is_the_caller_s(void *arg)
{
	char text[32] = "";
	int fd = open("/proc/self/stat", O_RDONLY);

	(void)arg;
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		return 200;
	return atoi(text) == getpid() ? OK : 201;
}
static int list_directory(void *arg)
{
	DIR *d = opendir(root);
	unsigned n = 0;

	(void)arg;
	while (d && readdir(d))
		n++;
	return n == 5 ? OK : 200;
}

Test(launcher_broker_calls, at_level_all_denied_files_cannot_be_read)
{
	cr_expect_eq(run(read_env, POL_READ_NONE, 0), OK, "positive control");
	expect_at(read_env, POL_READ_ALL, EACCES);
	expect_at(read_env_by_cwd, POL_READ_ALL, EACCES);
	expect_at(read_env_by_openat2, POL_READ_ALL, EACCES);
	expect_at(read_plain, POL_READ_ALL, OK);
	expect_at(list_directory, POL_READ_ALL, OK);
	expect_at(read_broker_proc, POL_READ_ALL, EACCES);
	expect_at(own_proc_is_the_caller_s, POL_READ_ALL, OK);
}

/* Landlock grants no reading below the directory: the broker lists it, and opens by openat2. */
static int list_then_read(void *arg)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

	if (list_directory(arg) != OK || read_env(arg) != EACCES)
		return 200;
	if (open(in("f"), O_RDONLY) >= 0)
		return 201;
	return result(syscall(SYS_openat2, AT_FDCWD, in("f"), &how, sizeof how));
}

Test(launcher_broker_calls, at_level_directory_closed_directories_are_listed)
{
	const struct sb_options o = {.level = POL_READ_DIRECTORY, .no_read = true, .dir = root};
	const struct sb_options none = {.level = POL_READ_NONE, .no_read = true, .dir = root};

	cr_expect_neq(sb_run(&policy, &none, list_directory, NULL), OK, "closed without us");
	cr_expect_eq(sb_run(&policy, &o, list_then_read, NULL), OK);
}

static int exec_tool(void *arg)
{
	(void)arg;
	execl(in("tool"), "tool", (char *)NULL);
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
	char cmd[128];

	snprintf(cmd, sizeof cmd, "cp /bin/true %s/tool", root);
	cr_assert_eq(system(cmd), 0);
	expect_at(exec_tool, POL_READ_NONE, EACCES);
	expect_at(exec_true, POL_READ_NONE, OK);
}

/* ---- files without a name, and openat2 ---- */

static int publish(void *arg)
{
	int fd = open(root, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[64];
	struct stat st;

	(void)arg;
	if (fd < 0 || write(fd, "x", 1) != 1)
		return errno;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, in("deny/pub"), AT_SYMLINK_FOLLOW) == 0 ||
	    errno != EACCES)
		return 200;
	if (linkat(AT_FDCWD, path, AT_FDCWD, in("pub"), AT_SYMLINK_FOLLOW) < 0)
		return errno;
	return stat(in("pub"), &st) == 0 && st.st_size == 1 ? OK : 201;
}
static int restricted(void *arg)
{
	struct open_how how = {
		.flags = O_RDWR | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = RESOLVE_BENEATH};
	int dir = open(root, O_PATH | O_DIRECTORY);

	(void)arg;
	if (symlink("/etc", in("out")) < 0)
		return 200;
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
	return OK;
}

Test(launcher_broker_calls, tmpfile_and_openat2_keep_their_meaning)
{
	expect_at(publish, POL_READ_NONE, OK);
	tear_down();
	set_up();
	cr_expect_eq(run(publish, POL_READ_ALL, 0), OK);
	cr_expect_eq(run(restricted, POL_READ_NONE, 0), OK);
}

/* ---- metadata ---- */

static int metadata(void *arg)
{
	const struct timespec ts[2] = {{1000, 5}, {2000, 7}};
	const struct timeval tv[2] = {{3000, 0}, {4000, 0}};
	int fd = open(in("f"), O_RDONLY | O_CLOEXEC);
	struct stat st;

	(void)arg;
	if (chmod(in("f"), 0640) < 0 || utimensat(AT_FDCWD, in("f"), ts, 0) < 0 ||
	    fstat(fd, &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0640 || st.st_mtim.tv_sec != 2000 || st.st_mtim.tv_nsec != 7)
		return 200;
	if (fchmod(fd, 0600) < 0 || futimes(fd, tv) < 0 || fstat(fd, &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0600 || st.st_mtim.tv_sec != 4000)
		return 201;
	if (symlink("f", in("l")) < 0 ||
	    utimensat(AT_FDCWD, in("l"), ts, AT_SYMLINK_NOFOLLOW) < 0 || lstat(in("l"), &st) < 0)
		return errno;
	if (st.st_mtim.tv_sec != 2000 || !S_ISLNK(st.st_mode))
		return 202;
	if (lchown(in("l"), (uid_t)-1, getegid()) < 0 || chown(in("f"), getuid(), (gid_t)-1) < 0)
		return errno;
	if (setxattr(in("f"), "user.x", "v", 1, 0) < 0 && errno != EOPNOTSUPP)
		return errno;
	return fchmod(open(in("f"), O_PATH), 0644) < 0 && errno == EBADF ? OK : 203;
}
static int xattr_denied(void *arg)
{
	(void)arg;
	return result(setxattr(in("a.env"), "user.x", "v", 1, 0));
}

Test(launcher_broker_calls, metadata_by_path_and_by_descriptor)
{
	expect_at(metadata, POL_READ_NONE, OK);
	expect_at(xattr_denied, POL_READ_NONE, EACCES);
}

/* ---- sockets ---- */

static int address(struct sockaddr_un *un, const char *path)
{
	*un = (struct sockaddr_un){.sun_family = AF_UNIX};
	strcpy(un->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static int serve_self(void *arg)
{
	struct sockaddr_un un, got;
	socklen_t len = sizeof got;
	struct stat st;
	int a, b;

	(void)arg;
	if (chdir(root) < 0)
		return 200;
	a = address(&un, "own.sock");
	if (bind(a, (struct sockaddr *)&un, sizeof un) < 0 || listen(a, 1) < 0)
		return errno;
	if (getsockname(a, (struct sockaddr *)&got, &len) < 0 || strcmp(got.sun_path, "own.sock"))
		return 201;
	if (stat("own.sock", &st) < 0 || (st.st_mode & 0777) != 0755)
		return 202;
	b = address(&un, in("own.sock"));
	if (connect(b, (struct sockaddr *)&un, sizeof un) < 0)
		return errno;
	if (write(b, "x", 1) != 1)
		return errno;
	a = address(&un, in("own.sock"));
	if (bind(a, (struct sockaddr *)&un, sizeof un) == 0 || errno != EADDRINUSE)
		return 203;
	return result(unlink("own.sock"));
}
static int connect_to(const char *name)
{
	struct sockaddr_un un;
	int fd = address(&un, in(name));

	return result(connect(fd, (struct sockaddr *)&un, sizeof un));
}
static int connect_open(void *arg)
{
	(void)arg;
	return connect_to("open.sock");
}
static int connect_shut(void *arg)
{
	(void)arg;
	return connect_to("shut.sock");
}
static int connect_missing(void *arg)
{
	(void)arg;
	return connect_to("none.sock");
}
static int bind_denied(void *arg)
{
	struct sockaddr_un un;
	int fd = address(&un, in("deny/s"));

	(void)arg;
	return result(bind(fd, (struct sockaddr *)&un, sizeof un));
}

static void listen_at(const char *name)
{
	struct sockaddr_un un;
	int fd = address(&un, in(name));

	cr_assert_eq(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	cr_assert_eq(listen(fd, 20), 0);
	cr_assert_eq(chmod(in(name), 0777), 0);
}

Test(launcher_broker_calls, sockets_of_the_host_need_a_rule_and_own_ones_do_not)
{
	listen_at("open.sock");
	listen_at("shut.sock");
	expect_at(serve_self, POL_READ_NONE, OK);
	expect_at(connect_open, POL_READ_NONE, OK);
	expect_at(connect_shut, POL_READ_NONE, EACCES);
	expect_at(connect_missing, POL_READ_NONE, ENOENT);
	expect_at(bind_denied, POL_READ_NONE, EACCES);
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

Test(launcher_broker_calls, calls_that_wait_hold_up_nobody)
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

Test(launcher_broker_calls, signals_tear_no_call)
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

Test(launcher_broker_calls, the_broker_lends_neither_view_nor_rights)
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

Test(launcher_broker_calls, two_hundred_threads_at_once)
{
	cr_expect_eq(run(threads, POL_READ_ALL, 0), OK);
}
