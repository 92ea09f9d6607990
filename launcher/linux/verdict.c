/* verdict.c - see launcher/verdict.h. */
#include "launcher/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/host.h"
#include "launcher/os.h"

static const struct {
	const char *text;
	const char *words[2];
} asked[LAU_VERDICTS] = {
	{"", {NULL}},
	{"--deny-read '**/*.env'", {"--deny-read", "**/*.env"}},
	{"--network none", {"--network", "none"}},
	{"--network loopback", {"--network", "loopback"}},
	{"--network host", {"--network", "host"}},
};

/* The record is not made, but would be. */
static int try_record(struct b_err *err)
{
	struct aud_rundir d;

	if (aud_rundir_new(&d, err) < 0)
		return -1;
	aud_rundir_discard(&d);
	return 0;
}

static _Noreturn void be_run(const char *self, const char *const words[2], int err)
{
	const char *argv[12];
	int n = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	argv[n++] = self;
	argv[n++] = "--strict";
	argv[n++] = "--audit-level";
	argv[n++] = "none";
	for (int i = 0; i < 2 && words[i]; i++)
		argv[n++] = words[i];
	argv[n++] = "--";
	argv[n++] = self;
	argv[n++] = "--version";
	argv[n] = NULL;
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	dup2(err, STDERR_FILENO);
	execv(self, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* The last line that is an error: those before it are others of the same kind, or notes. */
static void take_why(const char *text, struct lau_verdict *v)
{
	static const char mark[] = "sbx-launch: E_";
	const char *last = NULL;

	for (const char *at = text; (at = strstr(at, mark)); at++)
		last = at + sizeof mark - 3;
	if (last)
		snprintf(v->why, sizeof v->why, "%.*s", (int)strcspn(last, "\n"), last);
}

/* "sbx-launch: note: TEXT": what fails in a run that is made. */
static void take_notes(const char *text, struct lau_verdict *v)
{
	static const char mark[] = "sbx-launch: note: ";
	size_t len = 0;

	for (const char *at = text; (at = strstr(at, mark)); at++) {
		const char *line = at + sizeof mark - 1;
		size_t n = strcspn(line, "\n");

		if (len + n + 2 > sizeof v->notes)
			return;
		memcpy(v->notes + len, line, n);
		len += n;
		v->notes[len++] = '\n';
	}
}

/* A host that refuses pipe2(2) refuses runs for what it is that they meet first. */
static int make_pipe(int out[2])
{
	if (pipe2(out, O_CLOEXEC) == 0)
		return 0;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out); /* pipe(3) is pipe2(2) */
}

static void ask(const char *self, const char *const words[2], struct lau_verdict *v)
{
	char text[16384] = "";
	int out[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (make_pipe(out) < 0) {
		snprintf(v->why, sizeof v->why, "the run could not be tried: pipe2(2): %s",
			 strerror(errno));
		return;
	}
	pid = fork();
	if (pid == 0)
		be_run(self, words, out[1]);
	close(out[1]);
	n = b_read_full(out[0], text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	close(out[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	if (pid < 0) {
		snprintf(v->why, sizeof v->why, "the run could not be tried: fork failed");
		return;
	}
	v->runs = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	snprintf(v->why, sizeof v->why, "%s", v->runs ? "" : "a run ends without a word");
	if (v->runs)
		take_notes(text, v);
	else
		take_why(text, v);
}

void lau_verdicts_ask(struct lau_verdict out[LAU_VERDICTS])
{
	const struct sigaction waitable = {.sa_handler = SIG_DFL};
	struct sigaction before;
	struct b_err err;
	char self[PATH_MAX];
	bool has_self = lau_os_own_path(self, sizeof self), has_record = try_record(&err) == 0;

	sigaction(SIGCHLD, &waitable, &before);
	for (int i = 0; i < LAU_VERDICTS; i++) {
		struct lau_verdict *v = &out[i];

		*v = (struct lau_verdict){.options = asked[i].text};
		if (!has_self)
			snprintf(v->why, sizeof v->why, "E_FLOOR: %s", lau_no_proc_text);
		else
			ask(self, asked[i].words, v);
		if (v->runs && !has_record) {
			v->runs = false;
			snprintf(v->why, sizeof v->why, "E_AUDIT: %.500s", err.msg);
		}
	}
	sigaction(SIGCHLD, &before, NULL);
}
