/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_stress - threads that open, rename, change directory, fork, vfork, spawn, kill and take
 * signals all at once, for a while:
 *
 *	shim_stress DIR SECONDS [record]	record: nothing but reads of unique names
 *
 * DIR/ok/file may be read, DIR/no/file may not, and each answer is checked every time.
 * DIR/ok/tool is this program. Status 0 = all right; a hang is ended by SIGALRM. What must be in
 * the log is counted in DIR/counts (stress.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/probe/stress.h"

enum { THREADS = STRESS_THREADS, KILLED_RECORDS = 20000 };

extern char **environ;
static struct stress_counts *counts;
static _Thread_local unsigned self; /* this thread's slot */
static char tool[4096];
static atomic_bool stop;
static atomic_long rounds[16];
static atomic_int wrong;
static char dir[3000];

static void bad(const char *what)
{
	int err = errno;

	if (atomic_fetch_add(&wrong, 1) < 5)
		fprintf(stderr, "shim_stress: %s: %s\n", what, strerror(err));
}

static void path_of(char *buf, const char *name)
{
	snprintf(buf, 4096, "%s/%s", dir, name);
}

/* `n` calls are back, each of which is one event. */
static void completed(uint64_t n)
{
	atomic_fetch_add(&counts->calls, n);
}

static int is_judged(const char *ok, const char *no)
{
	int fd = open(ok, O_RDONLY | O_CLOEXEC);
	bool is_denied;

	if (fd < 0)
		return 0;
	close(fd);
	is_denied = open(no, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES;
	completed(2);
	return is_denied;
}

static void by_absolute(long i)
{
	char ok[4096], no[4096];

	(void)i;
	path_of(ok, "ok/file");
	path_of(no, "no/file");
	if (!is_judged(ok, no))
		bad("absolute");
}

static void by_dirfd(long i)
{
	char path[4096];
	int allowed, denied, fd;

	(void)i;
	path_of(path, "ok");
	allowed = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	path_of(path, ".");
	denied = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(allowed, "file", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		bad("openat allowed");
	close(fd);
	if (openat(denied, "no/file", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		bad("openat denied");
	close(allowed);
	close(denied);
	completed(4);
}

static void by_rename(long i)
{
	char from[4096], to[4096], name[64];

	snprintf(name, sizeof name, "ok/d%lx.%ld", (long)pthread_self(), i);
	path_of(from, name);
	strcat(name, "x");
	path_of(to, name);
	if (mkdir(from, 0700) < 0 || rename(from, to) < 0 || rmdir(to) < 0)
		bad("mkdir, rename, rmdir");
	completed(3);
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	atomic_fetch_add(&counts->ends, 1);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			bad(what);
			return;
		}
	if (status) {
		errno = status;
		bad(what);
	}
}

static void by_fork(long i)
{
	char ok[4096], no[4096];
	pid_t pid;

	(void)i;
	path_of(ok, "ok/file");
	path_of(no, "no/file");
	pid = fork();
	if (pid == 0)
		_exit(!is_judged(ok, no));
	if (pid > 0)
		wait_for(pid, "fork");
}

static void by_vfork(long i)
{
	pid_t pid = vfork();

	(void)i;
	if (pid == 0) {
		if (chdir("/") == 0)
			execl(tool, "tool", (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		wait_for(pid, "vfork");
	completed(2); /* the exec, and the new program's hello */
}

static void by_spawn(long i)
{
	static char name[] = "tool";
	char *const argv[] = {name, NULL}, *const none[] = {NULL};
	pid_t pid;

	if (posix_spawn(&pid, tool, NULL, NULL, argv, i & 1 ? environ : none)) {
		bad("posix_spawn");
		return;
	}
	wait_for(pid, "spawn");
	completed(2);
}

static void by_stdio(long i)
{
	char ok[4096], no[4096];
	FILE *f;

	(void)i;
	path_of(ok, "ok/file");
	path_of(no, "no/file");
	f = fopen(ok, "re");
	if (!f)
		bad("fopen allowed");
	else
		fclose(f);
	if (fopen(no, "re") || errno != EACCES)
		bad("fopen denied");
	completed(2);
}

/* The whole process changes between two directories of one name each: ok and no differ. */
static void by_cwd(long i)
{
	if (chdir(i & 1 ? dir : "/") < 0)
		bad("chdir");
}

static void record(unsigned slot)
{
	uint32_t n = atomic_load(&counts->done[slot]);
	char name[64], path[4096];

	snprintf(name, sizeof name, "ok/rec.%u.%u", slot, n);
	path_of(path, name);
	if (open(path, O_RDONLY | O_CLOEXEC) >= 0 || errno != ENOENT)
		bad("a record");
	atomic_store(&counts->done[slot], n + 1);
}

static void by_record(long i)
{
	(void)i;
	record(self);
}

/* A process that writes records until it is killed, wherever it is. */
static void by_kill(long i)
{
	struct timespec life = {0, 100000 + (i * 7919) % 2000000};
	unsigned slot;
	int status, n;
	pid_t pid;

	if (atomic_load(&counts->slots) >= STRESS_SLOTS - THREADS)
		return;
	slot = atomic_fetch_add(&counts->slots, 1);
	atomic_fetch_add(&counts->ends, 1); /* it may be quicker than the signal */
	pid = fork();
	if (pid == 0) {
		for (n = 0; n < KILLED_RECORDS; n++)
			record(slot);
		_exit(0);
	}
	if (pid < 0) {
		bad("fork");
		return;
	}
	nanosleep(&life, NULL);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void (*const all_kinds[])(long) = {by_record, by_absolute, by_dirfd, by_rename, by_fork,
					  by_vfork,  by_spawn,	  by_stdio, by_cwd,    by_kill};
enum { KINDS = sizeof all_kinds / sizeof *all_kinds };
static size_t nkinds = KINDS; /* the first so many */
_Static_assert(KINDS <= sizeof rounds / sizeof *rounds, "each kind counts its rounds");

static void *work(void *arg)
{
	size_t kind = (size_t)arg % nkinds;
	long i;

	self = (unsigned)(size_t)arg;
	for (i = 0; !atomic_load(&stop); i++) {
		all_kinds[kind](i);
		atomic_fetch_add(&rounds[kind], 1);
	}
	return NULL;
}

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	by_absolute(0);
	errno = saved;
}

static int make_counts(void)
{
	char path[4096];
	int fd;

	path_of(path, "counts");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof *counts) < 0)
		return -1;
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (counts == MAP_FAILED)
		return -1;
	atomic_store(&counts->slots, THREADS);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
	pthread_t t[THREADS];
	struct timespec ms = {0, 1000000};
	double end;
	size_t i;

	if (argc == 1) /* DIR/ok/tool */
		return 0;
	if (argc < 3 || argc > 4 || strlen(argv[1]) >= sizeof dir)
		return 2;
	if (argc == 4)
		nkinds = 1;
	strcpy(dir, argv[1]);
	path_of(tool, "ok/tool");
	if (make_counts() < 0) {
		perror("shim_stress: counts");
		return 2;
	}
	alarm((unsigned)atoi(argv[2]) + 60);
	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 2;
	end = (double)time(NULL) + atof(argv[2]);
	for (i = 0; (double)time(NULL) < end; i++) {
		if (nkinds > 1)
			pthread_kill(t[i % THREADS], SIGUSR1);
		nanosleep(&ms, NULL);
	}
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < nkinds; i++)
		if (!atomic_load(&rounds[i]))
			bad("a kind of work never ran");
	return atomic_load(&wrong) != 0;
}
