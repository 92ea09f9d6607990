/* SPDX-License-Identifier: Apache-2.0 */
/*
 * races.c - attacks by two threads: one swaps what a call speaks of while the other makes it, for
 * a while (SBX_RACE_MS, 300 ms otherwise). Bare the first try that hits has the effect.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "selftest/probes.h"

struct race {
	void (*swap)(unsigned turn); /* the second thread's, again and again */
	int (*attempt)(void);	     /* 0: it had its effect */
	_Atomic bool is_over;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *swapper(void *race)
{
	struct race *r = race;

	for (unsigned turn = 0; !r->is_over; turn++)
		r->swap(turn);
	return NULL;
}

static int run_race(void (*swap)(unsigned), int (*attempt)(void))
{
	struct race r = {.swap = swap, .attempt = attempt};
	const char *ms = getenv("SBX_RACE_MS");
	long end = now_ms() + (ms ? atol(ms) : 300);
	int rc = -1, saved;
	pthread_t thread;

	errno = pthread_create(&thread, NULL, swapper, &r);
	if (errno)
		return -1;
	while (rc < 0 && now_ms() < end)
		rc = attempt();
	saved = rc < 0 ? EACCES : 0;
	r.is_over = true;
	pthread_join(thread, NULL);
	errno = saved;
	return rc;
}

/* -- what the threads share -- */

static char inside[512], outside_file[512], secret[512], swapped[512], spare[512];
static char path[512]; /* in the caller's memory, read while it changes */
static int in_dir, out_dir, shared_fd;

static int prepare(void)
{
	snprintf(inside, sizeof inside, "%s", st_at("ws/f"));
	snprintf(outside_file, sizeof outside_file, "%s", st_at("out/f"));
	snprintf(secret, sizeof secret, "%s", st_at("home/.ssh/id"));
	snprintf(swapped, sizeof swapped, "%s", st_at("ws/swapped"));
	snprintf(spare, sizeof spare, "%s", st_at("ws/spare"));
	in_dir = open(st_at("ws"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	out_dir = open(st_at("out"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	shared_fd = fcntl(in_dir, F_DUPFD_CLOEXEC, 20);
	return in_dir < 0 || out_dir < 0 || shared_fd < 0 ? -1 : 0;
}

/* -- a symlink that leads here and there -- */

static void point(const char *at)
{
	(void)unlink(spare);
	if (symlink(at, spare) == 0)
		(void)rename(spare, swapped);
}
static void swap_link_write(unsigned turn)
{
	point(turn & 1 ? inside : outside_file);
}
static void swap_link_read(unsigned turn)
{
	point(turn & 1 ? inside : secret);
}
/* The byte it writes must be outside: the inside file is a success of nobody. */
static int write_swapped(void)
{
	int fd = open(swapped, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct stat a, b;

	if (fd < 0)
		return -1;
	if (fstat(fd, &a) == 0 && stat(outside_file, &b) == 0 && a.st_ino == b.st_ino &&
	    a.st_dev == b.st_dev)
		return st_writes(fd);
	close(fd);
	return -1;
}
static int read_swapped(void)
{
	int fd = open(swapped, O_RDONLY | O_CLOEXEC), rc = st_reads_secret(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}
static int r_link_write(void)
{
	return prepare() < 0 ? -1 : run_race(swap_link_write, write_swapped);
}
static int r_link_read(void)
{
	return prepare() < 0 ? -1 : run_race(swap_link_read, read_swapped);
}

/* -- a directory on the way that is a symlink now and then -- */

static void swap_dir(unsigned turn)
{
	(void)turn;
	(void)renameat2(AT_FDCWD, swapped, AT_FDCWD, spare, RENAME_EXCHANGE);
}
static int make_dirs(const char *target)
{
	return mkdir(swapped, 0755) < 0 ? -1 : symlink(target, spare);
}
static int open_below(void)
{
	char name[600];

	snprintf(name, sizeof name, "%s/new", swapped);
	if (st_writes(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
		return -1;
	return access(st_at("out/new"), F_OK);
}
static int read_below(void)
{
	char name[600];
	int fd, rc;

	snprintf(name, sizeof name, "%s/id", swapped);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	rc = st_reads_secret(fd);
	if (fd >= 0)
		close(fd);
	return rc;
}
static int r_dir_create(void)
{
	return prepare() < 0 || make_dirs(st_at("out")) < 0 ? -1 : run_race(swap_dir, open_below);
}
static int r_dir_read(void)
{
	return prepare() < 0 || make_dirs(st_at("home/.ssh")) < 0 ? -1
								  : run_race(swap_dir, read_below);
}

/* -- the path's text in memory -- */

static void swap_text_write(unsigned turn)
{
	strcpy(path, turn & 1 ? inside : outside_file);
}
static void swap_text_read(unsigned turn)
{
	strcpy(path, turn & 1 ? inside : secret);
}
static int truncate_text(void)
{
	struct stat st;

	if (truncate(path, 0) < 0 || stat(outside_file, &st) < 0)
		return -1;
	return st.st_size == 0 ? 0 : -1;
}
/* What a device's name is answered with must not be left to a kernel that sees no truncation. */
static void swap_text_device(unsigned turn)
{
	strcpy(path, turn & 1 ? "/dev/null" : outside_file);
}
static int is_empty_outside(void)
{
	struct stat st;

	return stat(outside_file, &st) == 0 && st.st_size == 0 ? 0 : -1;
}
static int open_text_empty(void)
{
	int fd = open(path, O_RDONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return is_empty_outside();
}
static struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};
static void swap_how(unsigned turn)
{
	static const __u64 flags[] = {O_RDONLY, O_PATH, O_RDONLY | O_TRUNC};

	*(volatile __u64 *)&how.flags = flags[turn % 3] | O_CLOEXEC;
}
static int open_how_empty(void)
{
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, outside_file, &how, sizeof how);

	if (fd >= 0)
		close(fd);
	return is_empty_outside();
}
static int unlink_text(void)
{
	(void)close(open(inside, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	(void)unlink(path);
	return access(outside_file, F_OK) < 0 ? 0 : -1;
}
static int read_text(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = st_reads_secret(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}
static int chmod_text(void)
{
	struct stat st;

	(void)chmod(path, 0640);
	return stat(outside_file, &st) == 0 && (st.st_mode & 0777) == 0640 ? 0 : -1;
}
static int r_text_truncate(void)
{
	return prepare() < 0 ? -1 : run_race(swap_text_write, truncate_text);
}
static int r_text_device(void)
{
	return prepare() < 0 ? -1 : run_race(swap_text_device, open_text_empty);
}
static int r_how_truncate(void)
{
	return prepare() < 0 ? -1 : run_race(swap_how, open_how_empty);
}
static int r_text_unlink(void)
{
	return prepare() < 0 ? -1 : run_race(swap_text_write, unlink_text);
}
static int r_text_chmod(void)
{
	return prepare() < 0 ? -1 : run_race(swap_text_write, chmod_text);
}
static int r_text_read(void)
{
	return prepare() < 0 ? -1 : run_race(swap_text_read, read_text);
}

/* -- what relative paths start from -- */

static void swap_cwd(unsigned turn)
{
	(void)!fchdir(turn & 1 ? in_dir : out_dir);
}
static void swap_fd(unsigned turn)
{
	(void)dup2(turn & 1 ? in_dir : out_dir, shared_fd);
}
static int create_from(int dir)
{
	int fd = openat(dir, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return access(st_at("out/new"), F_OK);
}
static int create_in_cwd(void)
{
	return create_from(AT_FDCWD);
}
static int create_in_fd(void)
{
	return create_from(shared_fd);
}
static int r_cwd(void)
{
	return prepare() < 0 ? -1 : run_race(swap_cwd, create_in_cwd);
}
static int r_fd(void)
{
	return prepare() < 0 ? -1 : run_race(swap_fd, create_in_fd);
}

/* -- directories that change places while what is in them is asked for -- */

static void swap_hidden(unsigned turn)
{
	(void)turn;
	(void)renameat2(in_dir, "hidden", in_dir, "src", RENAME_EXCHANGE);
}
static int read_either(void)
{
	int fd = openat(in_dir, "src/id", O_RDONLY | O_CLOEXEC), rc = st_reads_secret(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}
static int r_hidden(void)
{
	return prepare() < 0 ? -1 : run_race(swap_hidden, read_either);
}

const struct st_probe st_race_probes[] = {
	{"race-symlink-write", r_link_write, 0},
	{"race-symlink-read", r_link_read, 0},
	{"race-directory-create", r_dir_create, ST_NEEDS_HOST},
	{"race-directory-read", r_dir_read, ST_NEEDS_HOST},
	{"race-text-truncate", r_text_truncate, 0},
	{"race-text-device", r_text_device, 0},
	{"race-how-truncate", r_how_truncate, ST_NEEDS_HOST},
	{"race-text-unlink", r_text_unlink, 0},
	{"race-text-chmod", r_text_chmod, 0},
	{"race-text-read", r_text_read, 0},
	{"race-cwd", r_cwd, 0},
	{"race-descriptor", r_fd, 0},
	{"race-hidden-exchange", r_hidden, ST_NEEDS_DENY | ST_NEEDS_HOST},
	{NULL, NULL, 0},
};
