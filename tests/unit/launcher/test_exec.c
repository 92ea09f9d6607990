/* SPDX-License-Identifier: Apache-2.0 */
/* The exec contract with real processes: tests/vectors/exec_contract.tsv, row by row, and what goes
 * beyond it. */
#include "launcher/exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/io.h"
#include "base/mem.h"
#include "tests/support/tsv.h"

TestSuite(launcher_exec, .timeout = 60);

/* ---- one run ---- */

static struct lau_exec_result r;
static struct b_err err;
static uint64_t took_ms;

static int run(struct lau_exec_request *rq)
{
	uint64_t start = b_now_ms();
	int rc;

	lau_exec_result_release(&r);
	err = (struct b_err){.kind = B_OK};
	rc = lau_exec_run(rq, &r, &err);
	took_ms = b_now_ms() - start;
	return rc;
}

static int sh_with(const char *script, struct lau_exec_request rq)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};

	rq.argv = argv;
	return run(&rq);
}

#define SH(script, ...) sh_with(script, (struct lau_exec_request){__VA_ARGS__})

/* Once more, at most three times, where it took `ms` or longer: another program's time on the
 * machine is not ours. */
static int soon(uint64_t ms, const char *script, struct lau_exec_request rq)
{
	int rc = 0;

	for (int i = 0; i < 4 && (i == 0 || (rc == 0 && took_ms >= ms)); i++)
		rc = sh_with(script, rq);
	cr_expect_lt(took_ms, ms, "%d ms", (int)took_ms);
	return rc;
}

#define SOON(ms, script, ...) soon(ms, script, (struct lau_exec_request){__VA_ARGS__})

#define OUT_IS(text) cr_expect_str_eq(b_str_c(&r.out), text)
#define ERR_IS(text) cr_expect_str_eq(b_str_c(&r.err), text)

static void ended_with(int code)
{
	cr_expect(r.has_exit_code, "err: %s", b_str_c(&r.err));
	cr_expect_eq(r.exit_code, code, "%d: %s", r.exit_code, b_str_c(&r.err));
	cr_expect_eq(r.success, code == 0);
}

static void ended_without_code(void)
{
	cr_expect_not(r.has_exit_code);
	cr_expect_not(r.success);
}

/* Does a process exist whose environment has this? They are ours to read. */
static bool is_there(const char *pid_file)
{
	char text[32] = "";
	FILE *f = fopen(pid_file, "r");
	bool there;

	cr_assert(f);
	cr_assert(fgets(text, sizeof text, f));
	fclose(f);
	there = kill((pid_t)atoi(text), 0) == 0;
	return there;
}

static char *temp_file(char path[64])
{
	int fd;

	strcpy(path, "/tmp/sbx-exec-test.XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
	return path;
}

/* ---- the rows ---- */

static void row_001(void)
{
	cr_assert_eq(SH("echo hi"), 0, "%s", err.msg);
	ended_with(0);
	OUT_IS("hi\n");
	ERR_IS("");
}

static void row_002(void)
{
	cr_assert_eq(SH("exit 3"), 0);
	ended_with(3);
}

static void row_003(void)
{
	const char *argv[] = {"/nonexistent", NULL};
	struct lau_exec_request rq = {.argv = argv};

	cr_assert_eq(run(&rq), -1);
	cr_expect_eq(err.kind, B_NOTFOUND);
	cr_expect_str_eq(err.msg,
			 "failed to spawn `/nonexistent`: No such file or directory (os error 2)");
}

static void row_004(void)
{
	cr_assert_eq(SH("kill -TERM $$"), 0);
	ended_without_code();
	cr_expect_eq(r.signal, SIGTERM);
	ERR_IS("");
}

/* Times out after 75 ms; on a machine too busy to come to the last word of the script by then,
 * later: that is "set", on either stream. Returns the time it had. */
static uint64_t late(const char *script, uint64_t grace_ms)
{
	uint64_t ms = 75;

	while (SOON(ms + 2000, script, .timeout_ms = ms, .grace_ms = grace_ms) == 0 && ms < 10000 &&
	       !strstr(b_str_c(&r.out), "set") && !strstr(b_str_c(&r.err), "set"))
		ms *= 2;
	cr_expect(r.timed_out, "%s", err.msg);
	cr_expect(r.duration_ms >= ms && r.duration_ms <= took_ms);
	cr_expect_geq(took_ms, ms);
	return ms;
}

static void row_005(void)
{
	(void)late("echo before timeout, set; sleep 100", 0);
	ended_without_code();
	OUT_IS("before timeout, set\n");
	ERR_IS("process timed out");
}

static void row_006(void)
{
	(void)late("printf set >&2; sleep 100", 0);
	ERR_IS("set\nprocess timed out");
}

static void row_007(void)
{
	(void)late("echo set >&2; sleep 100", 0);
	ERR_IS("set\n\nprocess timed out");
}

/* The 5 s themselves: tests/e2e/exec.sh. */
static void row_008(void)
{
	uint64_t ms = late("trap '' TERM; echo set; exec sleep 100", 200);

	ended_without_code();
	cr_expect(r.was_killed);
	cr_expect_eq(r.signal, SIGKILL);
	cr_expect_geq(took_ms, ms + 200);
}

static void row_009(void)
{
	char path[64], script[256];

	snprintf(script, sizeof script, "sleep 300 & echo $! >%s; echo set; wait", temp_file(path));
	(void)late(script, 0);
	cr_expect_not(is_there(path));
	unlink(path);
}

static void row_010(void)
{
	char path[64], script[256];

	snprintf(script, sizeof script, "(trap '' TERM HUP; sleep 300) & echo $! >%s; echo done",
		 temp_file(path));
	cr_assert_eq(SOON(1000, script), 0);
	ended_with(0);
	OUT_IS("done\n");
	cr_expect_not(is_there(path));
	unlink(path);
}

/* The gap of the original is closed: it is found and ended. */
static void row_011(void)
{
	char path[64], script[256];

	snprintf(script, sizeof script,
		 "setsid sh -c 'setsid sleep 300 & echo $! >%s' & while [ ! -s %s ]; do :; done",
		 temp_file(path), path);
	cr_assert_eq(SOON(2000, script), 0);
	ended_with(0);
	cr_expect_not(is_there(path));
	unlink(path);
}

/* Sends `signo` to this process as soon as the command has begun, and not before. */
static void interrupted_by(int signo, const char *name)
{
	char script[128], want[128];

	snprintf(script, sizeof script, "kill -%d %d; exec sleep 100", signo, (int)getpid());
	snprintf(want, sizeof want, "process interrupted by signal %s", name);
	cr_assert_eq(SOON(2000, script), 0);
	ended_with(128 + signo);
	ERR_IS(want);
	cr_expect_eq(r.signal, signo);
}

static void row_012(void)
{
	interrupted_by(SIGINT, "SIGINT");
}

static void row_013(void)
{
	interrupted_by(SIGTERM, "SIGTERM");
}

static void row_014(void)
{
	char script[64];

	snprintf(script, sizeof script, "kill -TERM %d; exit 0", (int)getpid());
	cr_assert_eq(SH(script), 0);
	ended_with(143);
	ERR_IS("process interrupted by signal SIGTERM");
}

static char megabytes[10 << 20];

/* Tolerated, for it did what it wanted; for one that fails it is the error. */
static void row_015(void)
{
	cr_assert_eq(
		SH("exit 0", .stdin_mode = LAU_STDIN_BYTES, .bytes = megabytes, .nbytes = 1 << 20),
		0, "%s", err.msg);
	ended_with(0);
	cr_expect_eq(
		SH("exit 3", .stdin_mode = LAU_STDIN_BYTES, .bytes = megabytes, .nbytes = 1 << 20),
		-1);
	cr_expect_str_eq(err.msg, "failed to write process stdin: Broken pipe (os error 32)");
	cr_expect_eq(r.exit_code, 3);
	cr_expect_not(r.success);
}

/* Standard error of this process while `run` goes on: a pipe that takes what little comes. */
static void teed(const char *script, bool debug, char *out, size_t size)
{
	char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"MY_TOKEN=hush-hush"}, NULL};
	int fds[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	cr_assert_eq(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	cr_assert_eq(SH(script, .env = env, .debug = debug), 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = b_read_full(fds[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	close(fds[0]);
}

static void row_016(void)
{
	char live[256];

	teed("printf 'out hush-'; printf 'hush.\\n'; printf >&2 'err hush-hush.\\n'", true, live,
	     sizeof live);
	OUT_IS("out hush-hush.\n");
	ERR_IS("err [REDACTED_ENV].\n");
	cr_expect(strstr(live, "out [REDACTED_ENV].\n"), "%s", live);
	cr_expect(strstr(live, "err [REDACTED_ENV].\n"), "%s", live);
	cr_expect_null(strstr(live, "hush"), "%s", live);
}

static void row_017(void)
{
	char live[256];

	teed("echo out hush-hush; echo err hush-hush >&2", false, live, sizeof live);
	cr_expect_str_eq(live, "");
	OUT_IS("out hush-hush\n");
	ERR_IS("err hush-hush\n");
}

static void row_018(void)
{
	b_auto(b_str_release) struct b_str json = {0};

	cr_assert_eq(SH("printf 'a\\377b'"), 0);
	cr_expect_eq(r.out.len, 3); /* the bytes are kept */
	lau_exec_result_json(&r, &json);
	cr_expect(strstr(json.s, "\"stdout\":\"a\xef\xbf\xbd"
				 "b\""),
		  "%s", json.s);
	cr_expect(strstr(json.s, "\"stdout_b64\":\"Yf9i\""), "%s", json.s);
}

/* The limit came later, and binds. */
static void row_019(void)
{
	cr_assert_eq(SH("head -c 1500000 /dev/zero"), 0);
	ended_without_code();
	cr_expect_eq(r.out.len, LAU_CAPTURE_LIMIT + strlen(LAU_CAPTURE_MARK));
	cr_assert_eq(SH("head -c 1500000 /dev/zero", .limit = LAU_CAPTURE_ALL), 0);
	ended_with(0);
	cr_expect_eq(r.out.len, 1500000);
}

static void row_020(void)
{
	cr_assert_eq(SOON(2000, "trap '' TERM; yes", .limit = 64), 0);
	ended_without_code();
	cr_expect(r.out_is_cut && !r.err_is_cut);
	cr_expect_eq(r.out.len, 64 + strlen(LAU_CAPTURE_MARK));
	cr_expect_str_eq(r.out.s + 64, "\n[orbit: output truncated after capture limit]\n");
}

static void row_021(void)
{
	char *const env[] = {(char[]){"A=1"}, NULL};
	const char *argv[] = {"/usr/bin/env", NULL};
	struct lau_exec_request rq = {.argv = argv, .env = env};

	cr_assert_eq(run(&rq), 0);
	OUT_IS("A=1\n");
}

static void row_022(void)
{
	cr_assert_eq(
		SH("read -r pid comm state ppid pgrp rest </proc/$$/stat; echo $((pid - pgrp))"),
		0);
	OUT_IS("0\n");
}

static int refuse(void *ctx, const struct lau_exec_request *rq, struct b_err *out_err)
{
	(void)rq;
	return b_fail(out_err, B_POLICY, 0, "%s", (const char *)ctx);
}

static void row_023(void)
{
	char path[64], script[128];

	snprintf(script, sizeof script, "rm %s", temp_file(path));
	cr_assert_eq(SH(script, .validate = refuse, .ctx = (char[]){"not today"}), -1);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_str_eq(err.msg, "not today");
	cr_expect_eq(unlink(path), 0); /* it is still there */
}

static void (*const rows[])(void) = {
	row_001, row_002, row_003, row_004, row_005, row_006, row_007, row_008,
	row_009, row_010, row_011, row_012, row_013, row_014, row_015, row_016,
	row_017, row_018, row_019, row_020, row_021, row_022, row_023,
};

Test(launcher_exec, every_row_of_the_contract_holds)
{
	struct tsv *t = tsv_load("tests/vectors/exec_contract.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const char *id = t->rows[i].cells[0];
		size_t n = (size_t)atoi(id + strlen("exec_contract-"));

		cr_assert(n >= 1 && n <= sizeof rows / sizeof *rows, "no check of %s", id);
		rows[n - 1]();
	}
	tsv_free(t);
}

Test(launcher_exec, constants_are_those_of_the_rows)
{
	static const struct {
		const char *name, *value;
		bool equal;
	} ours[] = {
		{"WAIT_POLL_INTERVAL", "100 ms", LAU_EXEC_POLL_MS == 100},
		{"TERMINATION_GRACE_PERIOD", "5 s", LAU_EXEC_GRACE_MS == 5000},
		{"ORBIT_EXEC_OUTPUT_CAPTURE_LIMIT_BYTES", "1048576 default (HEAD only)",
		 LAU_CAPTURE_LIMIT == 1048576},
		{"truncation marker",
		 "\\n[orbit: output truncated after capture limit]\\n (HEAD only)",
		 strcmp(LAU_CAPTURE_MARK, "\n[orbit: output truncated after capture limit]\n") ==
			 0},
	};
	const size_t n = sizeof ours / sizeof *ours;
	struct tsv *t = tsv_load("tests/vectors/exec_constants.tsv");
	unsigned seen = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		for (size_t k = 0; k < n; k++) {
			if (strcmp(tsv_cell(&t->rows[i], "constant"), ours[k].name) != 0)
				continue;
			cr_expect_str_eq(tsv_cell(&t->rows[i], "value"), ours[k].value);
			cr_expect(ours[k].equal, "%s", ours[k].name);
			seen++;
		}
	cr_expect_eq(seen, n);
	tsv_free(t);
}
