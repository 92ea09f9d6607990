/*
 * shim_stress - threads that open, rename, change directory, fork, vfork, spawn and take
 * signals all at once, for a while: shim_stress DIR SECONDS. DIR/ok/file may be read, DIR/no/file
 * may not, and each answer is checked every time. Status 0 = all right; a hang is ended by
 * SIGALRM.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 64 };

extern char **environ;
static atomic_bool stop;
static atomic_long rounds[8];
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

static int is_judged(const char *ok, const char *no)
{
	int fd = open(ok, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	close(fd);
	return open(no, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES;
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
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

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
			execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		wait_for(pid, "vfork");
}

static void by_spawn(long i)
{
	static char name[] = "true";
	char *const argv[] = {name, NULL}, *const none[] = {NULL};
	pid_t pid;

	if (posix_spawnp(&pid, "true", NULL, NULL, argv, i & 1 ? environ : none) == 0)
		wait_for(pid, "spawn");
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
}

/* The whole process changes between two directories of one name each: ok and no differ. */
static void by_cwd(long i)
{
	if (chdir(i & 1 ? dir : "/") < 0)
		bad("chdir");
}

static void (*const kinds[])(long) = {by_absolute, by_dirfd, by_rename, by_fork,
				      by_vfork,	   by_spawn, by_stdio,	by_cwd};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void *work(void *arg)
{
	size_t kind = (size_t)arg;
	long i;

	for (i = 0; !atomic_load(&stop); i++) {
		kinds[kind](i);
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

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
	pthread_t t[THREADS];
	struct timespec ms = {0, 1000000};
	double end;
	size_t i;

	if (argc != 3 || strlen(argv[1]) >= sizeof dir)
		return 2;
	strcpy(dir, argv[1]);
	alarm((unsigned)atoi(argv[2]) + 60);
	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(i % KINDS)))
			return 2;
	end = (double)time(NULL) + atof(argv[2]);
	for (i = 0; (double)time(NULL) < end; i++) {
		pthread_kill(t[i % THREADS], SIGUSR1);
		nanosleep(&ms, NULL);
	}
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < KINDS; i++)
		if (!atomic_load(&rounds[i]))
			bad("a kind of work never ran");
	return atomic_load(&wrong) != 0;
}
