/* SPDX-License-Identifier: Apache-2.0 */
/* The exec contract beyond its rows: threads, many bytes, what a caller must not notice. */
#include "launcher/exec/exec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/io.h"
#include "base/mem.h"

TestSuite(launcher_exec_more, .timeout = 120);

static int sh(const char *script, struct lau_exec_request rq, struct lau_exec_result *out)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct b_err err = {.kind = B_OK};

	rq.argv = argv;
	if (lau_exec_run(&rq, out, &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.msg);
	return -1;
}

#define SH(out, script, ...) sh(script, (struct lau_exec_request){__VA_ARGS__}, out)

/* ---- several at once ---- */

enum { THREADS = 100 };

static void *one_of_many(void *arg)
{
	struct lau_exec_result r;
	char text[32], want[64];
	bool good;

	snprintf(text, sizeof text, "%zu", (size_t)arg);
	snprintf(want, sizeof want, "fed %s\n", text);
	good = SH(&r, "read x; echo fed $x; echo fed $x >&2; exit $((x % 7))",
		  .stdin_mode = LAU_STDIN_BYTES, .bytes = text, .nbytes = strlen(text)) == 0 &&
	       strcmp(b_str_c(&r.out), want) == 0 && strcmp(b_str_c(&r.err), want) == 0 &&
	       r.has_exit_code && r.exit_code == (int)((size_t)arg % 7);
	lau_exec_result_release(&r);
	return good ? arg : NULL;
}

Test(launcher_exec_more, a_hundred_threads_run_a_hundred_programs)
{
	pthread_t t[THREADS];
	struct sigaction now;

	for (size_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, one_of_many, (void *)(i + 1)), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *good;

		pthread_join(t[i], &good);
		cr_expect_eq((size_t)good, i + 1, "run %zu", i + 1);
	}
	sigaction(SIGTERM, NULL, &now);
	cr_expect_eq(now.sa_handler, SIG_DFL); /* as before */
}

static void old_handler(int signo)
{
	(void)signo;
}

static _Atomic int began;

static void *wait_for_a_signal(void *arg)
{
	char script[128];
	struct lau_exec_result *r = arg;

	snprintf(script, sizeof script, "kill -USR1 %d; exec sleep 300", (int)getpid());
	(void)SH(r, script);
	return NULL;
}

static void count(int signo)
{
	(void)signo;
	began++;
}

Test(launcher_exec_more, a_signal_ends_every_run_and_handlers_come_back)
{
	enum { N = 8 };
	struct sigaction act = {.sa_handler = old_handler, .sa_flags = SA_NODEFER}, now;
	struct sigaction counts = {.sa_handler = count, .sa_flags = SA_RESTART};
	struct lau_exec_result r[N];
	pthread_t t[N];

	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGUSR1, &counts, NULL);
	for (int i = 0; i < N; i++) {
		cr_assert_eq(pthread_create(&t[i], NULL, wait_for_a_signal, &r[i]), 0);
		while (began <= i) /* signals of one number do not queue */
			sched_yield();
	}
	kill(getpid(), SIGTERM);
	for (int i = 0; i < N; i++) {
		pthread_join(t[i], NULL);
		cr_expect_eq(r[i].exit_code, 143);
		cr_expect_str_eq(b_str_c(&r[i].err), "process interrupted by signal SIGTERM");
		lau_exec_result_release(&r[i]);
	}
	sigaction(SIGTERM, NULL, &now);
	cr_expect_eq(now.sa_handler, old_handler);
	cr_expect(now.sa_flags & SA_NODEFER);
}

/* ---- bytes ---- */

Test(launcher_exec_more, ten_mebibytes_go_in_and_come_out_of_both_streams)
{
	const size_t n = 10 << 20;
	b_auto_free char *bytes = malloc(n);
	struct lau_exec_result r;

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	cr_assert_eq(SH(&r, "exec tee /dev/stderr", .stdin_mode = LAU_STDIN_BYTES, .bytes = bytes,
			.nbytes = n, .limit = LAU_CAPTURE_ALL),
		     0);
	cr_expect(r.success);
	cr_expect(r.out.len == n && memcmp(r.out.s, bytes, n) == 0);
	cr_expect(r.err.len == n && memcmp(r.err.s, bytes, n) == 0);
	lau_exec_result_release(&r);
}

Test(launcher_exec_more, a_limit_may_be_of_both_streams_and_drop_the_rest)
{
	struct lau_exec_result r;

	cr_assert_eq(SH(&r, "printf 123456; printf abcdef >&2; printf 78; exit 9", .limit = 8,
			.is_joint = true, .over = LAU_OVER_DROP),
		     0);
	cr_expect_eq(r.out.len + r.err.len, 8); /* of which first is a matter of luck */
	cr_expect(r.out_is_cut || r.err_is_cut);
	cr_expect_eq(r.exit_code, 9);
	cr_expect_eq(r.signal, 0);
	lau_exec_result_release(&r);
}

Test(launcher_exec_more, a_program_may_close_its_input_and_go_on)
{
	static const char bytes[1 << 20];
	struct sigaction now;
	sigset_t pending;
	struct lau_exec_result r;

	cr_assert_eq(SH(&r, "exec 0<&-; head -c 200000 /dev/zero | wc -c; echo done",
			.stdin_mode = LAU_STDIN_BYTES, .bytes = bytes, .nbytes = sizeof bytes),
		     0);
	cr_expect_str_eq(b_str_c(&r.out), "200000\ndone\n");
	lau_exec_result_release(&r);
	/* and we are as we were */
	sigpending(&pending);
	cr_expect_not(sigismember(&pending, SIGPIPE));
	sigaction(SIGPIPE, NULL, &now);
	cr_expect_eq(now.sa_handler, SIG_DFL);
}

Test(launcher_exec_more, a_program_has_sigpipe_whatever_we_do_with_it)
{
	struct lau_exec_result r;

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(SH(&r, "kill -PIPE $$"), 0);
	cr_expect_eq(r.signal, SIGPIPE);
	lau_exec_result_release(&r);
}

Test(launcher_exec_more, text_has_one_mark_for_each_piece_of_a_character)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{"plain", "plain"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xff", "?"},
		{"a\xe2\x82z", "a?z"},	      /* cut short: one piece */
		{"\xf0\x9f\x98", "?"},	      /* at the end */
		{"\xed\xa0\x80", "???"},      /* a surrogate */
		{"\xc0\xaf", "??"},	      /* overlong */
		{"\xe0\x80\xaf", "???"},      /* overlong */
		{"\xf4\x90\x80\x80", "????"}, /* past the last character */
		{"\xf1\x80\x80\xc3\xa4", "?\xc3\xa4"},
		{"\x80\x80", "??"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str text = {0}, want = {0};

		for (const char *p = rows[i].text; *p; p++)
			b_str_addn(&want, *p == '?' ? "\xef\xbf\xbd" : p, *p == '?' ? 3 : 1);
		lau_exec_text(rows[i].bytes, strlen(rows[i].bytes), &text);
		cr_expect_str_eq(b_str_c(&text), b_str_c(&want), "row %zu", i);
	}
}

/* ---- what the caller must not notice, and the program not get ---- */

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

Test(launcher_exec_more, nothing_is_left_open)
{
	int before = count_fds();
	const char *argv[] = {"/nonexistent", NULL};

	for (int i = 0; i < 5; i++) {
		struct lau_exec_request rq = {.argv = argv};
		struct lau_exec_result r;

		cr_expect_eq(SH(&r, "cat; echo x >&2", .stdin_mode = LAU_STDIN_BYTES, .bytes = "y",
				.nbytes = 1, .debug = false),
			     0);
		lau_exec_result_release(&r);
		cr_expect_eq(lau_exec_run(&rq, &r, NULL), -1);
		cr_expect_eq(SH(&r, "sleep 300", .timeout_ms = 10), 0);
		lau_exec_result_release(&r);
	}
	cr_expect_eq(count_fds(), before);
}

Test(launcher_exec_more, what_is_open_here_is_not_open_there)
{
	int fd = open("/dev/null", O_RDONLY), high = dup2(fd, 77); /* without close-on-exec */
	struct lau_exec_result r;

	cr_assert_eq(high, 77);
	cr_assert_eq(SH(&r, "ls /proc/self/fd | tr '\\n' ' '", .stdin_mode = LAU_STDIN_NULL), 0);
	cr_expect_str_eq(b_str_c(&r.out), "0 1 2 3 "); /* the last is ls's own */
	lau_exec_result_release(&r);
}

static _Atomic int sigchlds;

static void note_child(int signo)
{
	(void)signo;
	sigchlds++;
}

static void *reap_all(void *stop)
{
	size_t met = 0;

	while (!*(_Atomic bool *)stop)
		if (waitpid(-1, NULL, WNOHANG) > 0)
			met++;
	return (void *)met;
}

Test(launcher_exec_more, children_are_nobodys_but_ours)
{
	struct sigaction act = {.sa_handler = note_child, .sa_flags = SA_RESTART};
	_Atomic bool stop = false;
	struct lau_exec_result r;
	pthread_t t;
	void *met;

	sigaction(SIGCHLD, &act, NULL);
	cr_assert_eq(pthread_create(&t, NULL, reap_all, &stop), 0);
	for (int i = 0; i < 5; i++) {
		cr_expect_eq(SH(&r, "exit 5"), 0);
		cr_expect_eq(r.exit_code, 5);
		lau_exec_result_release(&r);
	}
	stop = true;
	pthread_join(t, &met);
	cr_expect_eq((size_t)met, 0);
	cr_expect_eq(sigchlds, 0);
	signal(SIGCHLD, SIG_IGN); /* not even that */
	cr_expect_eq(SH(&r, "(exit 6)"), 0);
	cr_expect_eq(r.exit_code, 6);
	lau_exec_result_release(&r);
}

/* ---- who goes, and who is not waited for ---- */

/* Waits, as long as it takes, for a file with a line in it; its number. */
static pid_t pid_in(const char *path)
{
	for (;;) {
		char text[32] = "";
		FILE *f = fopen(path, "r");

		if (f && fgets(text, sizeof text, f) && strchr(text, '\n')) {
			fclose(f);
			return (pid_t)atoi(text);
		}
		if (f)
			fclose(f);
		sched_yield();
	}
}

struct place {
	char dir[32], pid[64], go[64];
};

static void make_place(struct place *p)
{
	strcpy(p->dir, "/tmp/sbx-exec.XXXXXX");
	cr_assert(mkdtemp(p->dir));
	snprintf(p->pid, sizeof p->pid, "%s/pid", p->dir);
	snprintf(p->go, sizeof p->go, "%s/go", p->dir);
}

static void remove_place(const struct place *p)
{
	unlink(p->pid);
	unlink(p->go);
	rmdir(p->dir);
}

/* A stranger: takes hold of the run's output by way of /proc, then lets the program end. */
static void *hold_output(void *arg)
{
	const struct place *p = arg;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/1", (int)pid_in(p->pid));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	close(open(p->go, O_CREAT | O_WRONLY, 0600));
	return (void *)(intptr_t)fd;
}

Test(launcher_exec_more, who_holds_the_output_from_outside_is_not_waited_for)
{
	struct lau_exec_result r;
	struct place p;
	char script[256];
	pthread_t t;
	void *fd;

	make_place(&p);
	snprintf(script, sizeof script, "echo $$ >%s; while [ ! -e %s ]; do :; done; echo last",
		 p.pid, p.go);
	cr_assert_eq(pthread_create(&t, NULL, hold_output, &p), 0);
	cr_expect_eq(SH(&r, script), 0);
	cr_expect_str_eq(b_str_c(&r.out), "last\n");
	cr_expect_eq(r.exit_code, 0);
	lau_exec_result_release(&r);
	pthread_join(t, &fd);
	cr_expect_geq((intptr_t)fd, 0);
	close((int)(intptr_t)fd);
	remove_place(&p);
}

Test(launcher_exec_more, a_caller_that_is_killed_leaves_nothing)
{
	struct place p;
	char script[256];
	pid_t caller, left;

	make_place(&p);
	snprintf(script, sizeof script, "setsid sleep 300 & echo $! >%s; wait", p.pid);
	caller = fork();
	if (caller == 0) {
		struct lau_exec_result r;

		_exit(SH(&r, script));
	}
	left = pid_in(p.pid);
	kill(caller, SIGKILL);
	waitpid(caller, NULL, 0);
	while (kill(left, 0) == 0) /* the suite's time is the limit */
		sched_yield();
	cr_expect_eq(errno, ESRCH);
	remove_place(&p);
}

/* ---- the program ---- */

Test(launcher_exec_more, directory_and_path_are_the_programs)
{
	char *const env[] = {(char[]){"PATH=/nowhere:/bin"}, NULL};
	const char *by_path[] = {"pwd", NULL}, *by_name[] = {"./pwd", NULL},
		   *none[] = {"pwd", NULL};
	struct lau_exec_request rq = {.argv = by_path, .cwd = "/usr", .env = env};
	struct lau_exec_result r;
	struct b_err err;

	cr_expect_eq(lau_exec_run(&rq, &r, &err), 0);
	cr_expect_str_eq(b_str_c(&r.out), "/usr\n");
	lau_exec_result_release(&r);
	rq = (struct lau_exec_request){.argv = by_name, .cwd = "/usr/bin"};
	cr_expect_eq(lau_exec_run(&rq, &r, &err), 0);
	cr_expect_str_eq(b_str_c(&r.out), "/usr/bin\n");
	lau_exec_result_release(&r);
	rq = (struct lau_exec_request){.argv = none, .cwd = "/none"};
	cr_expect_eq(lau_exec_run(&rq, &r, &err), -1);
	cr_expect_str_eq(err.msg, "failed to spawn `pwd`: No such file or directory (os error 2)");
	env[0][5] = '\0';
	rq = (struct lau_exec_request){.argv = none, .env = env};
	cr_expect_eq(lau_exec_run(&rq, &r, &err), -1);
	cr_expect_eq(err.kind, B_NOTFOUND);
	rq = (struct lau_exec_request){0};
	cr_expect_eq(lau_exec_run(&rq, &r, &err), -1);
	cr_expect_eq(err.kind, B_USAGE);
}

Test(launcher_exec_more, without_capture_output_goes_where_ours_goes)
{
	int fds[2], saved = dup(STDOUT_FILENO);
	struct lau_exec_result r;
	char text[32] = "";

	cr_assert_eq(pipe(fds), 0);
	dup2(fds[1], STDOUT_FILENO);
	cr_expect_eq(SH(&r, "echo there", .no_capture = true), 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fds[1]);
	cr_expect_eq(r.out.len, 0);
	cr_expect(b_read_full(fds[0], text, sizeof text - 1) > 0);
	cr_expect_str_eq(text, "there\n");
	close(fds[0]);
	lau_exec_result_release(&r);
}

static void *cancelled(void *arg)
{
	struct lau_exec_result r;

	SH(&r, "echo begun; sleep 0.2; echo done", .debug = false);
	*(bool *)arg = strcmp(b_str_c(&r.out), "begun\ndone\n") == 0;
	lau_exec_result_release(&r);
	pthread_testcancel();
	return NULL;
}

/* Nor is the host left without its handlers. */
Test(launcher_exec_more, a_cancelled_thread_finishes_its_run)
{
	bool is_whole = false;
	struct sigaction before, after;
	void *how;
	pthread_t t;

	sigaction(SIGTERM, NULL, &before);
	cr_assert_eq(pthread_create(&t, NULL, cancelled, &is_whole), 0);
	usleep(50000);
	cr_expect_eq(pthread_cancel(t), 0);
	pthread_join(t, &how);
	cr_expect(is_whole);
	cr_expect_eq(how, PTHREAD_CANCELED);
	sigaction(SIGTERM, NULL, &after);
	cr_expect_eq(after.sa_handler, before.sa_handler);
}

/* A live view in which nobody reads does not hold the program up. */
Test(launcher_exec_more, a_view_that_stands_still_does_not_stop_the_program)
{
	int fds[2], saved = dup(STDERR_FILENO);
	struct lau_exec_result r;
	uint64_t start = b_now_ms();

	cr_assert_eq(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	cr_expect_eq(SH(&r, "head -c 500000 /dev/zero; echo done >&2", .debug = true), 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	cr_expect_eq(r.out.len, 500000);
	cr_expect_str_eq(b_str_c(&r.err), "done\n");
	cr_expect_lt(b_now_ms() - start, 20000);
	close(fds[0]);
	close(fds[1]);
	lau_exec_result_release(&r);
}

Test(launcher_exec_more, a_request_is_shown_without_its_secrets)
{
	char *const env[] = {(char[]){"A=1"}, (char[]){"MY_TOKEN=hush-hush"}, NULL};
	const char *argv[] = {"make", "all", NULL};
	const struct lau_exec_request rq = {.argv = argv,
					    .env = env,
					    .stdin_mode = LAU_STDIN_BYTES,
					    .bytes = "hush-hush",
					    .nbytes = 9};
	b_auto(b_str_release) struct b_str text = {0};

	lau_exec_request_show(&rq, &text);
	cr_expect(strstr(text.s, "\"argv\":[\"make\",\"all\"]"), "%s", text.s);
	cr_expect(strstr(text.s, "\"env\":{\"A\":\"1\",\"MY_TOKEN\":\"[REDACTED]\"}"), "%s",
		  text.s);
	cr_expect(strstr(text.s, "\"nbytes\":9"), "%s", text.s);
	cr_expect_null(strstr(text.s, "hush"), "%s", text.s);
}
