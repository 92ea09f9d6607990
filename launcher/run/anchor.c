/* SPDX-License-Identifier: Apache-2.0 */
/* anchor.c - the end of a record: sends it outside, or gives it to learn; see run.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/program.h"
#include "launcher/run/run.h"

enum { PATIENCE_MS = 10000, LOOK_US = 10000 };

/* The words of the person who started us, outside of the sandbox: nothing of the run is among
 * them but its id and the hash. */
static _Noreturn void be_command(const char *command, const char *id, const char *hash)
{
	char sh[] = "sh", c[] = "-c", *words = b_strdup(command);
	char *const argv[] = {sh, c, words, NULL};
	int in = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, STDIN_FILENO) < 0 || setenv("SBX_RUN", id, 1) < 0 ||
	    setenv("SBX_HASH", hash, 1) < 0)
		_exit(127);
	execv("/bin/sh", argv);
	_exit(127);
}

/* It must not delay the end of the run for ever. */
static int wait_for(pid_t pid, const char *option, int most, struct b_err *err)
{
	uint64_t end = b_now_ms() + PATIENCE_MS;
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && b_now_ms() < end)
		usleep(LOOK_US);
	if (got == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return b_fail(err, B_AUDIT, 0, "%s: not done after %d s: killed", option,
			      PATIENCE_MS / 1000);
	}
	if (got == pid && WIFEXITED(status) && WEXITSTATUS(status) <= most)
		return 0;
	return b_fail(err, B_AUDIT, 0, "%s: %s %d", option,
		      WIFSIGNALED(status) ? "killed by signal" : "status",
		      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int run_command(const char *command, const char *id, const char *hash, struct b_err *err)
{
	pid_t pid = fork();

	if (pid == 0)
		be_command(command, id, hash);
	if (pid < 0)
		return b_fail(err, B_AUDIT, errno, "--anchor-command: %s", strerror(errno));
	return wait_for(pid, "--anchor-command", 0, err);
}

int lau_anchor(const struct lau_options *o, const char *id, const char *hash, struct b_err *err)
{
	b_auto(b_str_release) struct b_str line = {0};

	b_str_addf(&line, "%s %s\n", id, hash);
	if (o->anchor_fd >= 0 && b_write_all(o->anchor_fd, line.s, line.len) < 0)
		return b_fail(err, B_AUDIT, errno, "--anchor-fd: %s", strerror(errno));
	return o->anchor_command ? run_command(o->anchor_command, id, hash, err) : 0;
}

static _Noreturn void be_learner(const char *program, const char *id)
{
	char learn[] = "learn", *run = b_strdup(id), *name = b_strdup(program);
	char *const argv[] = {name, learn, run, NULL};
	int in = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execv(program, argv);
	_exit(127);
}

/* Status 1: some names are not allowed by it after all, which it says. */
int lau_learn(const char *id, struct b_err *err)
{
	b_auto_free char *program = NULL;
	pid_t pid;

	if (lau_audit_find(&program, err) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		be_learner(program, id);
	if (pid < 0)
		return b_fail(err, B_AUDIT, errno, "--learn: %s", strerror(errno));
	return wait_for(pid, "--learn", 1, err);
}
