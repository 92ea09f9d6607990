/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: what a hostile caller tries to be lent, to wear out or to confuse. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/broker.h"

#define NOBODY 65534
#define OK     0

static char root[64];
static struct sb_policy policy;
static char rules[2][256];

static const char *in(const char *name)
{
	static _Thread_local char path[4][256];
	static _Thread_local unsigned n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", root, name);
	return path[n];
}

static void set_up(void)
{
	const char *lines[] = {"rmx+ T /", rules[0], rules[1], NULL};

	strcpy(root, "/tmp/sbx-brokr5-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	snprintf(rules[0], sizeof rules[0], "rm- T %s/deny", root);
	snprintf(rules[1], sizeof rules[1], "c+ E %s/open.sock", root);
	sb_policy_make(&policy, lines);
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_attacks, .init = set_up, .fini = tear_down);

static int result(long rc)
{
	return rc < 0 ? errno : OK;
}

static void expect(int got, int want)
{
	cr_expect_eq(got, want, "got %d, want %d", got, want);
}

/* ---- somebody outside, who acts when told to ---- */

static int ask[2], told[2];

static pid_t start_outside(char (*act)(char))
{
	pid_t pid;

	cr_assert_eq(pipe(ask), 0);
	cr_assert_eq(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		close(ask[1]);
		close(told[0]);
		while (read(ask[0], &c, 1) == 1) {
			c = act(c);
			if (write(told[1], &c, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(ask[0]);
	close(told[1]);
	return pid;
}

static void end_outside(pid_t pid)
{
	close(ask[1]);
	close(told[0]);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static char tell_outside(char c)
{
	return write(ask[1], &c, 1) == 1 && read(told[0], &c, 1) == 1 ? c : '!';
}

/* ---- sockets ---- */

static int socket_at(const char *path, int (*act)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(un.sun_path, path);
	if (fd < 0 || act(fd, (const struct sockaddr *)&un, sizeof un) < 0)
		return -1;
	return fd;
}

static char serve_socket(char c)
{
	int fd = socket_at(in("host.sock"), bind);

	return fd >= 0 && listen(fd, 5) == 0 ? c : '!';
}

static int reuse_inodes(void *arg)
{
	struct stat st;

	(void)arg;
	for (int i = 0; i < 64; i++) {
		int fd = socket_at(in("mine"), bind);

		if (fd < 0)
			return errno;
		close(fd);
		if (unlink(in("mine")) < 0)
			return errno;
	}
	if (tell_outside('s') != 's' || stat(in("host.sock"), &st) < 0)
		return 200;
	return result(socket_at(in("host.sock"), connect));
}

Test(launcher_broker_attacks, a_socket_outside_is_not_ours_for_its_inode_number)
{
	const struct sb_options o = {.level = POL_READ_NONE};
	pid_t outside = start_outside(serve_socket);

	expect(sb_run(&policy, &o, reuse_inodes, NULL), EACCES);
	end_outside(outside);
}

/* ---- signals ---- */

static void nothing(int signo)
{
	(void)signo;
}

static _Atomic int errs[2];

static void *wait_at_fifo(void *n)
{
	int fd = open(in(n ? "p1" : "p0"), O_WRONLY);

	errs[n ? 1 : 0] = fd < 0 ? errno : -1;
	return NULL;
}

/* A signal for the process is taken by one thread; the other waits on or is interrupted, and never
 * sees what only the kernel may see. */
static int one_signal_two_waiters(void *arg)
{
	const struct sigaction act = {.sa_handler = nothing};
	const struct timespec t = {0, 20000000};
	pthread_t other;

	(void)arg;
	if (mkfifo(in("p0"), 0666) < 0 || mkfifo(in("p1"), 0666) < 0 ||
	    sigaction(SIGUSR2, &act, NULL) < 0)
		return errno;
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			nanosleep(&t, NULL);
			kill(getppid(), SIGUSR2);
			nanosleep(&t, NULL);
			nanosleep(&t, NULL);
			open(in("p1"), O_RDONLY | O_NONBLOCK);
			open(in("p0"), O_RDONLY | O_NONBLOCK);
			nanosleep(&t, NULL);
			_exit(0);
		}
		pthread_create(&other, NULL, wait_at_fifo, (void *)1);
		wait_at_fifo(NULL);
		pthread_join(other, NULL);
		waitpid(pid, NULL, 0);
		if (errs[0] > 400 || errs[1] > 400)
			return 201;
	}
	return OK;
}

Test(launcher_broker_attacks, a_signal_of_the_process_confuses_no_other_thread)
{
	const struct sb_options o = {.level = POL_READ_NONE};

	expect(sb_run(&policy, &o, one_signal_two_waiters, NULL), OK);
}

/* ---- /proc ---- */

static char environ_file[] = "environ", mem_file[] = "mem", maps_file[] = "maps";

static int looks_into_root(void *what)
{
	char path[64];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		snprintf(path, sizeof path, "/proc/%d/%s", getppid(), (const char *)what);
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(200);
		_exit(result(open(path, O_RDONLY)));
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

Test(launcher_broker_attacks, the_leave_to_trace_is_not_lent)
{
	const struct sb_options o = {.level = POL_READ_ALL,
				     .caps = "chown,dac_override,setuid,setgid"};

	if (geteuid() != 0)
		cr_skip_test("needs root");
	expect(sb_run(&policy, &o, looks_into_root, environ_file), EACCES);
	expect(sb_run(&policy, &o, looks_into_root, mem_file), EACCES);
	expect(sb_run(&policy, &o, looks_into_root, maps_file), EACCES);
}

static int second_proc(void *what)
{
	char path[128];

	snprintf(path, sizeof path, "%s/proc/%d/%s", root, getppid(), (const char *)what);
	return result(open(path, O_RDWR));
}

Test(launcher_broker_attacks, another_proc_shows_no_more_of_the_broker)
{
	const struct sb_options o = {.level = POL_READ_NONE}, all = {.level = POL_READ_ALL};

	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(unshare(CLONE_NEWNS), 0);
	cr_assert_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	cr_assert_eq(mkdir(in("proc"), 0755), 0);
	cr_assert_eq(mount("proc", in("proc"), "proc", 0, NULL), 0);
	expect(sb_run(&policy, &o, second_proc, mem_file), EACCES);
	expect(sb_run(&policy, &all, second_proc, mem_file), EACCES);
	cr_assert_eq(umount2(in("proc"), MNT_DETACH), 0);
}

/* ---- threads ---- */

static long data_of(pid_t pid)
{
	char path[64], line[256];
	long size = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && size < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmData:", 7))
			size = atol(line + 7);
	if (f)
		fclose(f);
	return size;
}

/* Takes all threads from the broker, whose number is in a file, and looks how it grows. */
static char starve(char c)
{
	const struct timespec t = {0, 200000000};
	const struct rlimit none = {0, 0};
	FILE *f = fopen(in("pid"), "re");
	long before;
	int pid;

	if (!f || fscanf(f, "%d", &pid) != 1)
		return '!';
	fclose(f);
	/* limits are for their users, and for root with a capability, to change */
	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		return '!';
	if (prlimit(pid, RLIMIT_NPROC, &none, NULL) < 0)
		return '?';
	before = data_of(pid);
	nanosleep(&t, NULL);
	return data_of(pid) - before > 1024 ? 'L' : c;
}

static int wears_out(void *arg)
{
	FILE *f = fopen(in("pid"), "we");
	pid_t pid;
	int c;

	(void)arg;
	if (!f || mkfifo(in("p"), 0666) < 0)
		return errno;
	fprintf(f, "%d", getppid());
	fclose(f);
	pid = fork();
	if (pid == 0) {
		open(in("p"), O_WRONLY);
		_exit(0);
	}
	c = tell_outside('k');
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return c;
}

/* What is freed stays with a sanitizer for a while. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_MEMORY 1
#endif
#endif
#ifndef KEEPS_MEMORY
#define KEEPS_MEMORY 0
#endif

Test(launcher_broker_attacks, what_cannot_be_started_takes_no_memory, .disabled = KEEPS_MEMORY)
{
	const struct sb_options o = {.level = POL_READ_NONE, .uid = geteuid() ? 0 : NOBODY};
	pid_t outside = start_outside(starve);

	expect(sb_run(&policy, &o, wears_out, NULL), 'k');
	end_outside(outside);
}
