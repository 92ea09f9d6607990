/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - pidfd_open(2), Linux 5.3. */
#include "launcher/supervise/supervise.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "audit/read_run.h"
#include "audit/rundir.h"
#include "audit/show.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/run/documents_kept.h"

enum { STATUS_TIMEOUT = 124 };

static const char me[] = "sbx-launch";

/* ---- the list ---- */

static void add_row(const struct aud_run *run, struct b_str *out)
{
	b_str_addf(out, "%s  %7lld  ", run->id, (long long)aud_run_int(run, "pid", 0));
	aud_show_when(run, out);
	b_str_add(out, "  ");
	aud_show_command(run, out);
	b_str_addc(out, '\n');
}

static int add_runs(const char *root, bool json, struct b_str *out, struct b_err *err)
{
	char **names;
	size_t n;

	if (aud_runs_list(root, &names, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		b_auto(aud_run_release) struct aud_run run = {0};
		struct b_err skipped; /* one that is just being written over or removed */

		if (!aud_run_is_live(root, names[i]) ||
		    aud_run_load(root, names[i], &run, &skipped) < 0 || !run.live)
			continue;
		if (json)
			aud_show_run_json(&run, out);
		else
			add_row(&run, out);
	}
	aud_runs_free(names, n);
	return 0;
}

int lau_runs_list(bool json)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;
	b_auto_free char *root = aud_runs_root(&err);

	if (!root || add_runs(root, json, &out, &err) < 0)
		return b_report(me, &err);
	if (b_write_all(STDOUT_FILENO, b_str_c(&out), out.len) == 0)
		return 0;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return b_report(me, &err);
}

/* ---- one ---- */

enum { CONTINUE_MS = 100 };

struct found {
	char *root;
	char id[AUD_ID_MAX];
	int pidfd; /* of its supervisor; -1 = it has ended */
};

static void release(struct found *f)
{
	free(f->root);
	if (f->pidfd >= 0)
		close(f->pidfd);
}

/* The number may be another's by the time it is opened: the lock, looked at afterwards, says
 * that its owner was alive all the while. */
static int open_supervisor(struct found *f, struct b_err *err)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	int64_t pid;

	if (aud_run_load(f->root, f->id, &run, err) < 0)
		return -1;
	if (!run.live)
		return 0;
	pid = aud_run_int(&run, "pid", 0);
	if (pid <= 0 || pid > INT_MAX)
		return b_fail(err, B_SYSTEM, EAGAIN, "%s is still starting: try again", f->id);
	f->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (f->pidfd < 0 && errno != ESRCH)
		return b_fail(err, B_SYSTEM, errno, "%s: pidfd_open: %s", f->id, strerror(errno));
	if (f->pidfd >= 0 && !aud_run_is_live(f->root, f->id)) {
		close(f->pidfd);
		f->pidfd = -1;
	}
	return 0;
}

/* *out is to be released in any case. */
static int find(const char *text, struct found *out, struct b_err *err)
{
	*out = (struct found){.pidfd = -1};
	out->root = aud_runs_root(err);
	if (!out->root || aud_run_find(out->root, text, out->id, err) < 0)
		return -1;
	return open_supervisor(out, err);
}

/* 0 it has ended, 1 it has not within the time. A descriptor of a process is readable then. With
 * `stops` it is continued again and again: it may be stopped with its command, and so hear of no
 * SIGTERM. */
static int await_end(const struct found *f, uint64_t timeout_ms, bool stops, struct b_err *err)
{
	struct pollfd p = {.fd = f->pidfd, .events = POLLIN};
	uint64_t end = timeout_ms ? b_deadline_ms(timeout_ms) : UINT64_MAX;

	for (;;) {
		uint64_t now = b_now_ms(), left = end > now ? end - now : 0;
		int most = stops ? CONTINUE_MS : INT_MAX, rc;

		if (stops)
			(void)syscall(SYS_pidfd_send_signal, f->pidfd, SIGCONT, NULL, 0);
		rc = poll(&p, 1, left < (uint64_t)most ? (int)left : most);
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return b_fail(err, B_SYSTEM, errno, "poll: %s", strerror(errno));
		if (rc == 0 && b_now_ms() >= end)
			return 1;
	}
}

static int wait_for(const struct found *f, uint64_t timeout_ms, bool stops, struct b_err *err)
{
	int rc = f->pidfd < 0 ? 0 : await_end(f, timeout_ms, stops, err);
	struct b_err late;

	if (rc <= 0)
		return rc;
	b_fail(&late, B_SYSTEM, 0, "%s did not end within --timeout", f->id);
	(void)b_report(me, &late);
	return STATUS_TIMEOUT;
}

static int ask_to_end(const struct found *f, struct b_err *err)
{
	siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = LAU_STOP_VALUE;
	if (f->pidfd < 0 || syscall(SYS_pidfd_send_signal, f->pidfd, SIGTERM, &info, 0) == 0 ||
	    errno == ESRCH)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "%s: %s", f->id, strerror(errno));
}

int lau_runs_stop(const char *run, uint64_t timeout_ms)
{
	b_auto(release) struct found f;
	struct b_err err;
	int rc;

	if (find(run, &f, &err) < 0 || ask_to_end(&f, &err) < 0)
		return b_report(me, &err);
	rc = wait_for(&f, timeout_ms, true, &err);
	return rc < 0 ? b_report(me, &err) : rc;
}

enum { RELOAD_MS = 30000, LOOK_MS = 1 };

static int ask_to_reload(const struct found *f, const char *dir, struct b_err *err)
{
	struct b_err ignored;

	if (f->pidfd < 0)
		return b_fail(err, B_SYSTEM, 0, "%s has ended", f->id);
	if (!lau_reload_answered(dir, 0, &ignored))
		return b_fail(err, B_USAGE, 0,
			      "%s: it was not started with --reloadable: start it with that option",
			      f->id);
	if (syscall(SYS_pidfd_send_signal, f->pidfd, SIGHUP, NULL, 0) == 0)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "%s: %s", f->id, strerror(errno));
}

/* Its message is for us: why not, or what has changed. */
static int await_reload(const struct found *f, const char *dir, uint64_t timeout_ms,
			struct b_err *out)
{
	uint64_t since = lau_reload_now_ns();
	uint64_t end = b_deadline_ms(timeout_ms ? timeout_ms : RELOAD_MS);

	if (ask_to_reload(f, dir, out) < 0)
		return -1;
	while (!lau_reload_answered(dir, since, out)) {
		struct pollfd p = {.fd = f->pidfd, .events = POLLIN};

		if (poll(&p, 1, LOOK_MS) > 0)
			return b_fail(out, B_SYSTEM, 0, "%s has ended", f->id);
		if (b_now_ms() >= end)
			return b_fail(out, B_SYSTEM, 0, "%s did not answer in time", f->id);
	}
	return out->kind == B_OK ? 0 : -1;
}

int lau_runs_reload(const char *run, uint64_t timeout_ms)
{
	b_auto(release) struct found f;
	b_auto(b_str_release) struct b_str dir = {0};
	struct b_err err;

	if (find(run, &f, &err) < 0)
		return b_report(me, &err);
	b_str_addf(&dir, "%s/%s", f.root, f.id);
	if (await_reload(&f, dir.s, timeout_ms, &err) < 0)
		return b_report(me, &err);
	dprintf(STDERR_FILENO, "%s: %s: %s\n", me, f.id, err.msg);
	return 0;
}

static int status_of(const struct found *f, struct b_err *err)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	int64_t status;

	if (aud_run_load(f->root, f->id, &run, err) < 0)
		return -1;
	status = aud_run_int(&run, "exit.status", -1);
	if (status < 0 || status > 255)
		return b_fail(err, B_SYSTEM, 0,
			      "%s: no status is recorded: its launcher was killed", f->id);
	return (int)status;
}

int lau_runs_wait(const char *run, uint64_t timeout_ms)
{
	b_auto(release) struct found f;
	struct b_err err;
	int rc;

	if (find(run, &f, &err) < 0)
		return b_report(me, &err);
	rc = wait_for(&f, timeout_ms, false, &err);
	if (rc == 0)
		rc = status_of(&f, &err);
	return rc < 0 ? b_report(me, &err) : rc;
}
