/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/io.c, against the real kernel. Whatever could block has a time limit. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#endif
#include "base/io.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static char dir[] = "/tmp/test-io-XXXXXX";
static char start[4096];

static void enter(void)
{
	cr_assert_not_null(getcwd(start, sizeof start));
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	umask(022);
}

static void leave(void)
{
	char command[sizeof dir + 16];

	cr_assert_eq(chdir(start), 0);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(base_io, .init = enter, .fini = leave, .timeout = 20);

static void put(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, p, n), (ssize_t)n);
	close(fd);
}

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* ---- reading files ---- */

Test(base_io, a_file_is_read_whole_and_appended)
{
	struct b_str s = {0};
	struct b_err err;

	put("f", "a\0\xff\n", 4);
	b_str_add(&s, "before:");
	cr_assert_eq(b_read_file("f", 4, &s, &err), 0, "%s", err.msg);
	cr_expect_eq(s.len, 11);
	cr_expect_eq(memcmp(s.s, "before:a\0\xff\n", 12), 0);
	b_str_release(&s);
}

Test(base_io, an_empty_file_is_an_empty_string)
{
	struct b_str s = {0};
	struct b_err err;

	put("f", "", 0);
	cr_assert_eq(b_read_file("f", 0, &s, &err), 0, "%s", err.msg);
	cr_expect_str_eq(s.s, "");
	b_str_release(&s);
}

Test(base_io, a_file_over_the_limit_is_refused_and_nothing_added)
{
	struct b_str s = {0};
	struct b_err err;

	put("f", "12345", 5);
	b_str_add(&s, "x");
	cr_assert_eq(b_read_file("f", 4, &s, &err), -1);
	cr_expect_eq(err.kind, B_LIMIT);
	cr_expect_str_eq(err.msg, "f: is larger than 4 bytes");
	cr_expect_str_eq(s.s, "x");
	b_str_release(&s);
}

Test(base_io, the_limit_may_be_all)
{
	struct b_str s = {0};
	struct b_err err;

	put("f", "12345", 5);
	cr_assert_eq(b_read_file("f", SIZE_MAX, &s, &err), 0, "%s", err.msg);
	cr_expect_str_eq(s.s, "12345");
	b_str_release(&s);
}

/* Files of /proc say that they are 0 bytes long. */
Test(base_io, a_file_that_hides_its_size_is_read_and_limited)
{
	struct b_str s = {0};
	struct b_err err;

	cr_assert_eq(b_read_file("/proc/self/status", 1 << 20, &s, &err), 0, "%s", err.msg);
	cr_expect(b_has_prefix(s.s, "Name:"));
	cr_expect_not_null(strstr(s.s, "\nPid:"));
	b_str_reset(&s);
	cr_assert_eq(b_read_file("/proc/self/status", 100, &s, &err), -1);
	cr_expect_eq(err.kind, B_LIMIT);
	cr_expect_str_eq(s.s, "");
	b_str_release(&s);
}

Test(base_io, many_chunks_come_in_order)
{
	enum { SIZE = 100001 };
	unsigned char *bytes = b_malloc(SIZE);
	struct b_str s = {0};
	struct b_err err;
	size_t i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	put("f", bytes, SIZE);
	cr_assert_eq(b_read_file("f", SIZE, &s, &err), 0, "%s", err.msg);
	cr_assert_eq(s.len, SIZE);
	cr_expect_eq(memcmp(s.s, bytes, SIZE), 0);
	b_str_release(&s);
	free(bytes);
}

Test(base_io, what_is_no_file_is_refused_at_once)
{
	static const struct {
		const char *path;
		enum b_kind kind;
		const char *message;
	} rows[] = {
		{"fifo", B_FORMAT, "fifo: is not a regular file"},
		{"to-fifo", B_FORMAT, "to-fifo: is not a regular file"},
		{".", B_FORMAT, ".: is a directory, not a file"},
		{"/dev/null", B_FORMAT, "/dev/null: is not a regular file"},
		{"/dev/zero", B_FORMAT, "/dev/zero: is not a regular file"},
		{"none", B_SYSTEM, "none: No such file or directory"},
		{"dangling", B_SYSTEM, "dangling: No such file or directory"},
		{"", B_SYSTEM, ": No such file or directory"},
		{"loop", B_SYSTEM, "loop: Too many levels of symbolic links"},
	};
	struct b_str s = {0};
	size_t i;

	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_assert_eq(symlink("fifo", "to-fifo"), 0);
	cr_assert_eq(symlink("gone", "dangling"), 0);
	cr_assert_eq(symlink("loop", "loop"), 0);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct b_err err;

		cr_assert_eq(b_read_file(rows[i].path, 100, &s, &err), -1, "%s", rows[i].path);
		cr_expect_eq(err.kind, rows[i].kind, "%s", err.msg);
		cr_expect_str_eq(err.msg, rows[i].message);
	}
	b_str_release(&s);
}

/* ---- descriptors ---- */

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* No SA_RESTART: system calls do return EINTR. */
static void catch_usr1(void)
{
	struct sigaction sa = {.sa_handler = count_signal};

	sigaction(SIGUSR1, &sa, NULL);
}

/* Until the process sleeps, which it only does in the call under test. */
static void await_sleep(pid_t pid)
{
	char path[64], text[512], *state;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof text - 1);

		close(fd);
		cr_assert_gt(n, 0);
		text[n] = '\0';
		state = strrchr(text, ')');
		cr_assert_not_null(state);
		cr_assert_neq(state[2], 'Z', "it ended early");
		if (state[2] == 'S')
			return;
		sched_yield();
	}
}

/* A FIFO is not even opened: its waiting writer would take us for the reader. */
Test(base_io, the_writer_of_a_refused_fifo_keeps_waiting)
{
	struct b_str s = {0};
	struct b_err err;
	int status;
	pid_t pid;

	cr_assert_eq(mkfifo("fifo", 0600), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open("fifo", O_WRONLY | O_CLOEXEC);

		_exit(fd >= 0);
	}
	await_sleep(pid);
	cr_assert_eq(b_read_file("fifo", 100, &s, &err), -1);
	await_sleep(pid); /* opening would have woken it at once */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	cr_expect(WIFSIGNALED(status), "the writer went on");
}

static void expect_exit_0(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x", status);
}

Test(base_io, reading_survives_signals_and_short_reads)
{
	int fds[2], i;
	pid_t pid;

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	catch_usr1();
	pid = fork();
	if (pid == 0) {
		char buf[10];

		close(fds[1]);
		if (b_read_full(fds[0], buf, 9) != 9 || memcmp(buf, "abcabcabc", 9) != 0)
			_exit(1);
		_exit(signals ? 0 : 2);
	}
	for (i = 0; i < 3; i++) {
		await_sleep(pid);
		kill(pid, SIGUSR1);
		await_sleep(pid);
		cr_assert_eq(write(fds[1], "abc", 3), 3);
	}
	expect_exit_0(pid);
}

Test(base_io, writing_survives_signals_and_short_writes)
{
	enum { SIZE = 1 << 20 };
	char *buf = b_calloc(1, SIZE);
	int fds[2], i;
	pid_t pid;

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	catch_usr1();
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		memset(buf, 'w', SIZE);
		_exit(b_write_all(fds[1], buf, SIZE) == 0 && signals ? 0 : 1);
	}
	close(fds[1]);
	for (i = 0; i < 3; i++) { /* the pipe is full: first a short write, then EINTR */
		await_sleep(pid);
		kill(pid, SIGUSR1);
	}
	cr_expect_eq(b_read_full(fds[0], buf, SIZE), SIZE);
	cr_expect_eq(buf[SIZE - 1], 'w');
	expect_exit_0(pid);
	cr_expect_eq(b_read_full(fds[0], buf, 1), 0, "more than was to be written");
	free(buf);
}

Test(base_io, descriptors_that_do_not_block_are_waited_for)
{
	enum { SIZE = 1 << 20 };
	char *buf = b_calloc(1, SIZE);
	int fds[2];
	pid_t pid;

	cr_assert_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		_exit(b_write_all(fds[1], buf, SIZE) == 0 ? 0 : 1);
	}
	close(fds[1]);
	await_sleep(pid);
	cr_expect_eq(b_read_full(fds[0], buf, SIZE), SIZE);
	expect_exit_0(pid);
	free(buf);
}

Test(base_io, end_of_file_makes_a_read_short)
{
	char buf[10];
	int fd;

	put("f", "12345", 5);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(b_read_full(fd, buf, 10), 5);
	cr_expect_eq(b_read_full(fd, buf, 10), 0);
	cr_expect_eq(b_read_full(fd, buf, 0), 0);
	close(fd);
	cr_expect_eq(b_read_full(fd, buf, 1), -1);
	cr_expect_eq(errno, EBADF);
}

Test(base_io, failed_writes_say_why)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), fds[2];

	cr_expect_eq(b_write_all(full, "x", 1), -1);
	cr_expect_eq(errno, ENOSPC);
	cr_expect_eq(b_write_all(full, "x", 0), 0);
	close(full);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	cr_expect_eq(b_write_all(fds[1], "x", 1), -1);
	cr_expect_eq(errno, EPIPE);
	close(fds[1]);
}

/* ---- directories ---- */

static unsigned mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(lstat(path, &st), 0, "%s: %s", path, strerror(errno));
	return st.st_mode & 07777;
}

Test(base_io, directories_are_made_with_their_parents_and_private)
{
	struct b_err err;

	umask(0);
	cr_assert_eq(mkdir("there", 0755), 0);
	cr_assert_eq(b_mkdirs("there/a//b/./c/", &err), 0, "%s", err.msg);
	cr_expect_eq(mode_of("there"), 0755, "an existing directory is left alone");
	cr_expect_eq(mode_of("there/a"), 0700);
	cr_expect_eq(mode_of("there/a/b/c"), 0700);
	cr_expect_eq(b_mkdirs("there/a/b/c", &err), 0, "again: %s", err.msg);
	cr_expect_eq(b_mkdirs("/", &err), 0, "%s", err.msg);
}

Test(base_io, directories_are_made_at_absolute_paths_and_through_links)
{
	struct b_str path = {0};
	struct b_err err;

	cr_assert_eq(mkdir("real", 0700), 0);
	cr_assert_eq(symlink("real", "link"), 0);
	b_str_addf(&path, "%s/link/x/y", dir);
	cr_assert_eq(b_mkdirs(path.s, &err), 0, "%s", err.msg);
	cr_expect_eq(mode_of("real/x/y"), 0700);
	b_str_release(&path);
}

Test(base_io, what_stands_in_the_way_of_a_directory_is_named)
{
	struct b_err err;

	put("file", "", 0);
	cr_assert_eq(b_mkdirs("file/x", &err), -1);
	cr_expect_eq(err.sys, ENOTDIR);
	cr_expect_str_eq(err.msg, "file: cannot make directory: Not a directory");
	cr_assert_eq(b_mkdirs("file", &err), -1);
	cr_expect_eq(err.sys, ENOTDIR);
	cr_assert_eq(symlink("gone", "dangling"), 0);
	cr_assert_eq(b_mkdirs("dangling/x", &err), -1);
	cr_expect_eq(err.kind, B_SYSTEM);
	cr_assert_eq(b_mkdirs("", &err), -1);
	cr_expect_eq(err.sys, ENOENT);
	cr_assert_eq(b_mkdirs("/proc/self/nothing/here", &err), -1);
	cr_expect(b_has_prefix(err.msg, "/proc/self/nothing: "), "%s", err.msg);
}

/* ---- writing files ---- */

static void expect_content(const char *path, const char *want)
{
	struct b_str s = {0};
	struct b_err err;

	cr_assert_eq(b_read_file(path, 1000, &s, &err), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(&s), want);
	b_str_release(&s);
}

Test(base_io, a_file_is_replaced_with_exactly_the_mode_asked_for)
{
	struct b_err err;

	umask(077);
	put("f", "a longer text than the new", 26);
	cr_assert_eq(b_write_file("f", 0644, "new", 3, false, &err), 0, "%s", err.msg);
	expect_content("f", "new");
	cr_expect_eq(mode_of("f"), 0644);
	cr_expect_eq(entries("."), 1, "the temporary was left");
}

Test(base_io, a_durable_file_is_written_beside_and_below)
{
	struct b_str path = {0};
	struct b_err err;

	cr_assert_eq(mkdir("sub", 0700), 0);
	cr_expect_eq(b_write_file("f", 0600, "", 0, true, &err), 0, "%s", err.msg);
	cr_expect_eq(b_write_file("sub/f", 0600, "x", 1, true, &err), 0, "%s", err.msg);
	b_str_addf(&path, "%s/sub/g", dir);
	cr_expect_eq(b_write_file(path.s, 0600, "y", 1, true, &err), 0, "%s", err.msg);
	expect_content("f", "");
	expect_content("sub/f", "x");
	expect_content("sub/g", "y");
	b_str_release(&path);
}

Test(base_io, a_link_is_replaced_and_what_it_names_left_alone)
{
	struct b_err err;

	put("target", "old", 3);
	cr_assert_eq(symlink("target", "f"), 0);
	cr_assert_eq(b_write_file("f", 0600, "new", 3, false, &err), 0, "%s", err.msg);
	expect_content("target", "old");
	expect_content("f", "new");
}

Test(base_io, the_file_that_a_link_names_is_replaced_and_keeps_its_owner)
{
	uid_t owner = geteuid() == 0 ? 12345 : geteuid();
	unsigned mode = 0640;
	struct b_err err;
	struct stat st;

	put("target", "old", 3);
	cr_assert_eq(chown("target", owner, getegid()) | symlink("target", "f"), 0);
	cr_assert_eq(b_replace_file("f", &mode, "new", 3, &err), 0, "%s", err.msg);
	expect_content("target", "new");
	cr_assert_eq(lstat("f", &st), 0);
	cr_expect(S_ISLNK(st.st_mode));
	cr_assert_eq(stat("f", &st), 0);
	cr_expect_eq(st.st_uid, owner);
	cr_expect_eq(mode_of("target"), 0640);
	cr_assert_eq(b_replace_file("g", NULL, "x", 1, &err), 0, "%s", err.msg);
	cr_expect_eq(mode_of("g"), 0600);
}

Test(base_io, what_is_no_regular_file_is_not_replaced)
{
	struct b_err err;
	struct stat st;

	cr_assert_eq(mkfifo("p", 0600), 0);
	cr_assert_eq(b_replace_file("p", NULL, "x", 1, &err), -1);
	cr_expect(strstr(err.msg, "not a regular file"), "%s", err.msg);
	cr_assert_eq(lstat("p", &st), 0);
	cr_expect(S_ISFIFO(st.st_mode));
}

Test(base_io, a_link_to_a_pipe_is_written_to)
{
	char buf[4] = "", link[32];
	struct b_err err;
	struct stat st;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	snprintf(link, sizeof link, "/proc/self/fd/%d", ends[1]);
	cr_assert_eq(symlink(link, "out"), 0);
	cr_assert_eq(b_replace_file("out", NULL, "abc", 3, &err), 0, "%s", err.msg);
	cr_assert_eq(lstat("out", &st), 0);
	cr_expect(S_ISLNK(st.st_mode), "/dev/stdout was replaced so");
	cr_expect_eq(read(ends[0], buf, 3), 3);
	cr_expect_str_eq(buf, "abc");
}

Test(base_io, a_reader_keeps_the_old_file)
{
	struct b_err err;
	char buf[4] = "";
	int fd;

	put("f", "old", 3);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(b_write_file("f", 0600, "new", 3, false, &err), 0, "%s", err.msg);
	cr_expect_eq(b_read_full(fd, buf, 3), 3);
	cr_expect_str_eq(buf, "old");
	close(fd);
}

Test(base_io, the_longest_name_can_be_written)
{
	char name[256];
	struct b_err err;

	memset(name, 'n', 255);
	name[255] = '\0';
	cr_assert_eq(b_write_file(name, 0600, "x", 1, false, &err), 0, "%s", err.msg);
	expect_content(name, "x");
}

Test(base_io, a_failed_write_leaves_nothing_behind)
{
	struct b_err err;

	cr_assert_eq(mkdir("d", 0700), 0);
	cr_assert_eq(b_write_file("d", 0600, "x", 1, false, &err), -1);
	cr_expect_eq(err.kind, B_SYSTEM);
	cr_expect_eq(err.sys, EISDIR, "%s", err.msg);
	cr_expect_eq(entries("."), 1, "the temporary was left");
	cr_assert_eq(b_write_file("none/f", 0600, "x", 1, false, &err), -1);
	cr_expect_str_eq(err.msg, "none/f: No such file or directory");
}

Test(base_io, clocks_go_forward)
{
	uint64_t ms = b_now_ms(), ns = b_now_real_ns();

	cr_expect_gt(ms, 0);
	cr_expect_geq(b_now_ms(), ms);
	cr_expect_gt(ns, UINT64_C(1700000000000000000), "not a time of this decade: %zu",
		     (size_t)ns);
}

/* 0, or what is wrong, in a child that has `closed` of descriptors 0 to 2 closed. */
static int fill(unsigned closed)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct stat null, st;

		for (int fd = 0; fd <= 2; fd++)
			if (closed & 1u << fd)
				close(fd);
		if (stat("/dev/null", &null) < 0 || b_fill_stdio() < 0)
			_exit(1);
		for (int fd = 0; fd <= 2; fd++) {
			if (fstat(fd, &st) < 0)
				_exit(2);
			if (closed & 1u << fd &&
			    (st.st_rdev != null.st_rdev || fcntl(fd, F_GETFD) != FD_CLOEXEC))
				_exit(3);
			if (!(closed & 1u << fd) && fcntl(fd, F_GETFD) != 0)
				_exit(4);
		}
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

Test(base_io, closed_standard_streams_are_filled_until_exec)
{
	for (unsigned closed = 0; closed < 8; closed++)
		cr_expect_eq(fill(closed), 0, "closed %#x: %d", closed, fill(closed));
}
