/* spawn.c - see spawn.h. */
#include "launcher/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "launcher/program.h"

/* What the child says. Nothing: all is well. The first byte alone: it is, and net_filtered
 * holds. All of it: it failed. */
struct report {
	char net_filtered;
	enum lau_spawn_step step;
	struct b_err err;
};

/* ---- the child: system calls only ---- */

/* After the credentials changed: that clears the death signal (prctl(2)). A launcher that died
 * before sends none: so look. */
static int die_with(pid_t parent, struct b_err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return b_fail(err, B_SYSTEM, errno, "PR_SET_PDEATHSIG: %s", strerror(errno));
	if (getppid() != parent)
		return b_fail(err, B_SYSTEM, 0, "the launcher is gone");
	return 0;
}

/* execve(2)'s answers as env(1) and timeout(1) report them: ENOENT can also be a script's
 * interpreter or a program's loader. */
static int exec_failed(const struct lau_spawn *sp, int why, struct b_err *err)
{
	if (why == ENOENT)
		return b_fail(err, B_NOTFOUND, why,
			      "`%s`: not found, or its interpreter is missing", sp->program);
	if (why == EACCES)
		return b_fail(err, B_NOEXEC, why,
			      "`%s`: permission denied: the policy or the file's mode forbids to "
			      "execute it or its interpreter",
			      sp->program);
	return b_fail(err, B_NOEXEC, why, "`%s`: %s", sp->program, strerror(why));
}

static int step_exec(const struct lau_spawn *sp, char **shell_argv, struct b_err *err)
{
	execve(sp->program, sp->argv, sp->envp);
	if (errno == ENOEXEC && lau_program_is_text(sp->program)) {
		/* a script that names no interpreter, as execvp(3) and the shells run it */
		execve(shell_argv[0], shell_argv, sp->envp);
		errno = ENOEXEC;
	}
	return exec_failed(sp, errno, err);
}

static _Noreturn void child(const struct lau_spawn *sp, char **shell_argv, pid_t parent, int out)
{
	struct report r = {.step = LAU_SPAWN_CONFINE};
	size_t skip;
	int rc = sp->confine ? lau_confine_apply(sp->confine, &r.err) : 0;

	r.net_filtered = rc == LAU_NET_FILTERED;
	if (rc >= 0 && die_with(parent, &r.err) == 0) {
		lau_signals_restore(sp->signals);
		r.step = LAU_SPAWN_EXEC;
		if (!r.net_filtered || b_write_all(out, &r.net_filtered, 1) == 0)
			(void)step_exec(sp, shell_argv, &r.err);
	}
	/* the byte that was sent is not sent again */
	skip = r.step == LAU_SPAWN_EXEC && r.net_filtered;
	(void)b_write_all(out, (const char *)&r + skip, sizeof r - skip);
	_exit(127);
}

/* ---- the parent ---- */

/* /bin/sh PROGRAM ARGS...: made before the fork, where memory may be taken. */
static char **make_shell_argv(const struct lau_spawn *sp)
{
	size_t n = 0, i;
	char **argv;

	while (sp->argv[n])
		n++;
	argv = b_calloc(n + 3, sizeof *argv);
	argv[0] = b_strdup("/bin/sh");
	argv[1] = b_strdup(sp->program);
	for (i = 1; i < n; i++)
		argv[i + 1] = sp->argv[i];
	return argv;
}

static void free_shell_argv(char **argv)
{
	free(argv[0]);
	free(argv[1]);
	free(argv);
}

static int wait_for_exec(int in, pid_t pid, struct lau_spawned *out, struct b_err *err)
{
	struct report r;
	ssize_t n = b_read_full(in, &r, sizeof r);

	if (n == 0 || n == 1) { /* exec closed the pipe */
		out->pid = pid;
		out->net_filtered = n == 1 && r.net_filtered;
		return 0;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	out->step = LAU_SPAWN_CONFINE;
	if (n != (ssize_t)sizeof r)
		return b_fail(err, B_SYSTEM, errno, "the child's report was cut short");
	out->step = r.step;
	*err = r.err;
	return -1;
}

int lau_spawn(const struct lau_spawn *sp, struct lau_spawned *out, struct b_err *err)
{
	char **shell_argv;
	pid_t parent = getpid(), pid;
	int report[2], rc;

	*out = (struct lau_spawned){.step = LAU_SPAWN_CONFINE};
	if (pipe2(report, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	shell_argv = make_shell_argv(sp);
	pid = fork();
	if (pid == 0)
		child(sp, shell_argv, parent, report[1]);
	close(report[1]);
	rc = pid < 0 ? b_fail(err, B_SYSTEM, errno, "fork: %s", strerror(errno))
		     : wait_for_exec(report[0], pid, out, err);
	close(report[0]);
	free_shell_argv(shell_argv);
	return rc;
}
