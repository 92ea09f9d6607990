/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsystem_process.c - the signals and processes of macOS for the loader, see libsystem.c.
 *
 * The sandbox is a fake that tells what it was asked: executing /usr/bin/sandbox-exec appends its
 * arguments to $FAKE_LOG, one a line, fails with $FAKE_SANDBOX_STATUS when that is set, and else
 * executes what stands behind "--". Every Mach-O file that is executed runs in this loader again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/darwin/libsystem.h"
#include "tests/darwin/load.h"

/* ---- signals and processes ---- */

static const struct {
	int host, darwin;
} signals[] = {{SIGBUS, 10},  {SIGSTOP, 17}, {SIGTSTP, 18}, {SIGCONT, 19},
	       {SIGCHLD, 20}, {SIGUSR1, 30}, {SIGUSR2, 31}};

static int host_signal(int s)
{
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (signals[i].darwin == s)
			return signals[i].host;
	return s;
}

static int darwin_signal(int s)
{
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (signals[i].host == s)
			return signals[i].darwin;
	return s;
}

struct d_siginfo {
	int signo, error, code;
	int pid;
	uint32_t uid;
	int status;
	void *addr, *value;
	long band;
	unsigned long pad[7];
};

struct d_sigaction {
	void (*handler)(int, struct d_siginfo *, void *);
	uint32_t mask;
	int flags;
};
enum { D_RESTART = 2, D_SIGINFO = 0x40 };

static struct d_sigaction acts[32]; /* by macOS's number */

static void deliver(int signo, siginfo_t *info, void *context)
{
	int s = darwin_signal(signo);
	struct d_siginfo out = {
		.signo = s,
		.pid = info->si_code == SI_KERNEL ? 0 : info->si_pid,
		.uid = info->si_uid,
	};

	acts[s].handler(s, &out, context);
}

static bool is_constant(const struct d_sigaction *a)
{
	return (uintptr_t)a->handler <= 1;
}

int d_sigaction(int s, const struct d_sigaction *act, struct d_sigaction *old)
{
	struct sigaction host = {.sa_sigaction = deliver, .sa_flags = SA_SIGINFO}, was;

	if (s <= 0 || s >= 32)
		return errno = EINVAL, -1;
	if (act && is_constant(act))
		host = (struct sigaction){.sa_handler = act->handler ? SIG_IGN : SIG_DFL};
	if (act && act->flags & D_RESTART)
		host.sa_flags |= SA_RESTART;
	if (sigaction(host_signal(s), act ? &host : NULL, &was) < 0)
		return -1;
	if (old)
		*old = was.sa_handler == SIG_DFL   ? (struct d_sigaction){0}
		       : was.sa_handler == SIG_IGN ? (struct d_sigaction){.handler = (void *)1}
						   : acts[s];
	if (act)
		acts[s] = *act;
	return 0;
}

void *d_signal(int s, void *handler)
{
	return signal(host_signal(s), handler) == SIG_ERR ? (void *)-1 : NULL;
}

int d_sigprocmask(int how, const uint32_t *set, uint32_t *old)
{
	static const int hows[] = {0, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
	sigset_t host, was;

	sigemptyset(&host);
	for (int s = 1; set && s < 32; s++)
		if (*set & 1u << (s - 1))
			sigaddset(&host, host_signal(s));
	if (sigprocmask(hows[how & 3], set ? &host : NULL, &was) < 0)
		return -1;
	for (int s = 1; old && s < 32; s++) {
		uint32_t bit = 1u << (s - 1);

		*old = s == 1 ? 0 : *old;
		if (sigismember(&was, host_signal(s)) == 1)
			*old |= bit;
	}
	return 0;
}

int d_kill(pid_t pid, int s)
{
	return kill(pid, host_signal(s));
}

int d_raise(int s)
{
	return raise(host_signal(s));
}

pid_t d_waitpid(pid_t pid, int *out, int options)
{
	int status;
	pid_t got = waitpid(pid, &status, options);

	if (got > 0 && out) {
		*out = WIFSIGNALED(status) ? darwin_signal(WTERMSIG(status)) : status;
		if (WIFSTOPPED(status))
			*out = 0x7f | darwin_signal(WSTOPSIG(status)) << 8;
	}
	return got;
}

static bool is_macho(const char *file)
{
	unsigned char head[4] = {0};
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, 4) == 4 &&
		  (!memcmp(head, "\xcf\xfa\xed\xfe", 4) || !memcmp(head, "\xca\xfe\xba\xbe", 4));

	if (fd >= 0)
		close(fd);
	return is;
}

void log_arguments(char *const *argv)
{
	const char *file = getenv("FAKE_LOG");
	FILE *f = file ? fopen(file, "a") : NULL;

	for (; f && *argv; argv++)
		fprintf(f, "%s\n", *argv);
	if (f)
		fclose(f);
}

int d_execve(const char *file, char *const *argv, char *const *envp)
{
	const char *status = getenv("FAKE_SANDBOX_STATUS");
	char *with[512];
	size_t n = 0;

	if (strcmp(file, SANDBOX_EXEC) == 0) {
		log_arguments(argv);
		if (status)
			_exit(atoi(status));
		while (*argv && strcmp(*argv, "--") != 0)
			argv++;
		if (!*argv || !*++argv)
			_exit(64);
		file = *argv;
	}
	if (!is_macho(file))
		return execve(file, argv, envp);
	with[n++] = (char *)(uintptr_t)libsystem_loader;
	with[n++] = (char *)(uintptr_t) "run";
	with[n++] = (char *)(uintptr_t)file;
	for (argv += !!*argv; *argv && n < 511; argv++)
		with[n++] = *argv;
	with[n] = NULL;
	return execve(libsystem_loader, with, envp);
}

int d_execv(const char *file, char *const *argv)
{
	return d_execve(file, argv, environ);
}

int d_spawn(pid_t *pid, const char *file, const void *actions, const void *attr, char *const *argv,
	    char *const *envp)
{
	if (actions || attr)
		return ENOSYS;
	return libsystem_error(posix_spawn(pid, file, NULL, NULL, argv, envp));
}

int d_spawnp(pid_t *pid, const char *file, const void *actions, const void *attr, char *const *argv,
	     char *const *envp)
{
	if (actions || attr)
		return ENOSYS;
	return libsystem_error(posix_spawnp(pid, file, NULL, NULL, argv, envp));
}

struct d_bsdinfo {
	uint32_t flags, status, xstatus, pid, ppid, ids[6], rfu;
	char comm[16], name[32];
	uint32_t more[5];
	int32_t nice;
	uint64_t start[2];
};
_Static_assert(sizeof(struct d_bsdinfo) == 136, "struct proc_bsdinfo of macOS");

int d_listallpids(int *pids, int bytes)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)) && (n + 1) * (int)sizeof *pids <= bytes)
		if (atoi(e->d_name) > 0)
			pids[n++] = atoi(e->d_name);
	if (dir)
		closedir(dir);
	return n;
}

int d_pidinfo(int pid, int flavor, uint64_t arg, struct d_bsdinfo *out, int size)
{
	char path[40];
	FILE *f;
	int n;

	(void)arg;
	if (flavor != 3 || size != (int)sizeof *out)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	*out = (struct d_bsdinfo){.pid = (uint32_t)pid};
	n = f ? fscanf(f, "%*d (%15[^)]) %*c %u", out->comm, &out->ppid) : 0;
	if (f)
		fclose(f);
	return n == 2 ? size : 0;
}
