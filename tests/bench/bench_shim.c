/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_shim - what the preloaded shim adds to single calls, in one process: each round times
 * a batch through the name the program imports (the shim's, when it is preloaded) and a batch
 * through the C library's own function, found past the shim, in turns. One JSON line a call:
 * medians of the batches in nanoseconds per call, and their ratio; the same of the fastest batches.
 *
 *	bench_shim LABEL [ROUNDS]
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256, SPAWNS = 8, ROUNDS = 201 };

struct calls {
	int (*open)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*close)(int);
	int (*stat)(const char *, struct stat *);
	int (*unlink)(const char *);
	int (*rename)(const char *, const char *);
	FILE *(*fopen)(const char *, const char *);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
};

static const struct calls shimmed = {open, openat, close, stat, unlink, rename, fopen, posix_spawn};
static struct calls bare;
static char dir[512], file[520];
static int dirfd_;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ---- one call of each kind ---- */

static void open_close(const struct calls *c)
{
	int fd = c->open(file, O_RDONLY);

	if (fd < 0)
		die("open");
	c->close(fd);
}

static void open_relative(const struct calls *c)
{
	int fd = c->open("file", O_RDONLY);

	if (fd < 0)
		die("open relative");
	c->close(fd);
}

static void open_through_alias(const struct calls *c)
{
	int fd = c->open("/bin/true", O_RDONLY);

	if (fd < 0)
		die("open /bin/true");
	c->close(fd);
}

static void openat_dirfd(const struct calls *c)
{
	int fd = c->openat(dirfd_, "file", O_RDONLY);

	if (fd < 0)
		die("openat");
	c->close(fd);
}

static void stat_path(const struct calls *c)
{
	struct stat st;

	if (c->stat(file, &st) < 0)
		die("stat");
}

static void open_missing(const struct calls *c)
{
	if (c->open("/usr/lib/python3/missing.py", O_RDONLY) >= 0 || errno != ENOENT)
		die("open of a missing file");
}

static void create_unlink(const struct calls *c)
{
	int fd = c->open("new", O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		die("create");
	c->close(fd);
	if (c->unlink("new") < 0)
		die("unlink");
}

static void rename_twice(const struct calls *c)
{
	if (c->rename("file2", "file3") < 0 || c->rename("file3", "file2") < 0)
		die("rename");
}

static void fopen_fclose(const struct calls *c)
{
	FILE *f = c->fopen(file, "r");

	if (!f)
		die("fopen");
	fclose(f);
}

static void spawn_true(const struct calls *c)
{
	static char name[] = "true", path[] = "PATH=/usr/bin";
	static char *const argv[] = {name, NULL}, *const envp[] = {path, NULL};
	int status;
	pid_t pid;

	if (c->posix_spawn(&pid, "/usr/bin/true", NULL, NULL, argv, envp) != 0)
		die("posix_spawn");
	if (waitpid(pid, &status, 0) < 0 || status)
		die("true");
}

static const struct bench {
	const char *name;
	void (*call)(const struct calls *);
	int batch;
} benches[] = {
	{"open+close", open_close, BATCH},
	{"open+close relative", open_relative, BATCH},
	{"open+close through /bin", open_through_alias, BATCH},
	{"openat(dirfd)+close", openat_dirfd, BATCH},
	{"open of a missing file", open_missing, BATCH},
	{"stat", stat_path, BATCH},
	{"fopen+fclose", fopen_fclose, BATCH},
	{"create+close+unlink", create_unlink, BATCH / 8},
	{"rename, there and back", rename_twice, BATCH / 8},
	{"posix_spawn of true", spawn_true, SPAWNS},
};

static double batch(const struct bench *b, const struct calls *c)
{
	double start = now_ns();
	int i;

	for (i = 0; i < b->batch; i++)
		b->call(c);
	return (now_ns() - start) / b->batch;
}

static void run(const struct bench *b, const char *label, int rounds)
{
	double *with = calloc((size_t)rounds, sizeof *with);
	double *without = calloc((size_t)rounds, sizeof *without);
	int i;

	if (!with || !without)
		die("calloc");
	for (i = 0; i < rounds; i++) {
		/* who goes first alternates: warm caches favour the second */
		if (i & 1)
			with[i] = batch(b, &shimmed);
		without[i] = batch(b, &bare);
		if (!(i & 1))
			with[i] = batch(b, &shimmed);
	}
	qsort(with, (size_t)rounds, sizeof *with, by_value);
	qsort(without, (size_t)rounds, sizeof *without, by_value);
	printf("{\"bench\":\"shim\",\"label\":\"%s\",\"call\":\"%s\",\"bare_ns\":%.0f,"
	       "\"shim_ns\":%.0f,\"added_ns\":%.0f,\"ratio\":%.3f,\"min_ratio\":%.3f,\"min_ns\":%."
	       "0f}\n",
	       label, b->name, without[rounds / 2], with[rounds / 2],
	       with[rounds / 2] - without[rounds / 2], with[rounds / 2] / without[rounds / 2],
	       with[0] / without[0], with[0]);
	fflush(stdout);
	free(with);
	free(without);
}

static void *libc_symbol(void *libc, const char *name)
{
	void *p = dlsym(libc, name);

	if (!p)
		die(name);
	return p;
}

/* A handle of the C library finds its own symbols, not those that come before them. */
static void find_bare(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	if (!libc)
		die("libc.so.6");
	*(void **)&bare.open = libc_symbol(libc, "open");
	*(void **)&bare.openat = libc_symbol(libc, "openat");
	*(void **)&bare.close = libc_symbol(libc, "close");
	*(void **)&bare.stat = libc_symbol(libc, "stat");
	*(void **)&bare.unlink = libc_symbol(libc, "unlink");
	*(void **)&bare.rename = libc_symbol(libc, "rename");
	*(void **)&bare.fopen = libc_symbol(libc, "fopen");
	*(void **)&bare.posix_spawn = libc_symbol(libc, "posix_spawn");
}

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		die(name);
	close(fd);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	size_t i;

	if (argc < 2 || rounds < 1)
		return 2;
	snprintf(dir, sizeof dir, "%s/bench_shim.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir) || chdir(dir) < 0)
		die(dir);
	snprintf(file, sizeof file, "%s/file", dir);
	touch("file");
	touch("file2");
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	find_bare();
	for (i = 0; i < sizeof benches / sizeof *benches; i++)
		run(&benches[i], argv[1], rounds);
	unlink("file");
	unlink("file2");
	rmdir(dir);
	return 0;
}
