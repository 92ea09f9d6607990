/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_liar - a hostile command: finds the run's ring in its own memory, as any program under the
 * shim can, and says there what it likes. What it really does, it does by raw system calls, of
 * which the shim sees nothing.
 *
 *	ring_liar forge FACTS PATH	removes PATH, after an event of its own about that
 *	ring_liar flood SECONDS		fills the ring with invented events
 *	ring_liar claim PID FLAGS PATH [unlink]
 *					an event in the name of another process: that it made, or
 *					removed, this
 *	ring_liar smash BYTE		fills the ring with this
 *
 * By the letter e in FACTS the event says that the call failed, q that it was a question, c that
 * the times were changed, v that it was refused, - the truth. The flood meanwhile renames files at
 * the end of long paths and makes the directories done-0 to done-19; it prints how many renames
 * were done.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/event.h"
#include "core/ring.h"

enum { NAME = 250, DEPTH = 14, DIRECTORIES = 20, RENAMERS = 2, FLOODERS = 2 };

static struct sbx_ring *ring;
static _Atomic int is_over;
static char deep[PATH_MAX];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Not by syscall(3), which the shim sees. */
static long raw(long number, const void *a, const void *b)
{
#if defined(__x86_64__)
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b), "d"(0)
			 : "rcx", "r11", "memory");
	return rc;
#else
	return syscall(number, a, b, 0);
#endif
}

static long raw_unlink(const char *path)
{
#if defined(__x86_64__)
	return raw(SYS_unlink, path, NULL);
#else
	return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
#endif
}

static long raw_rename(const char *from, const char *to)
{
#if defined(__x86_64__)
	return raw(SYS_rename, from, to);
#else
	return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
#endif
}

static void find_ring(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 200];

	while (f && fgets(line, sizeof line, f)) {
		unsigned long start;
		char mode[8];

		if (sscanf(line, "%lx-%*x %7s", &start, mode) != 2 || strcmp(mode, "rw-s") != 0)
			continue;
		if (((struct sbx_ring *)start)->magic == SBX_RING_MAGIC)
			ring = (struct sbx_ring *)start;
	}
	if (f)
		fclose(f);
	if (!ring)
		die("no ring");
}

static struct sbx_event event(enum sbx_op op, const char *path)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct sbx_event){
		.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
		.pid = (uint32_t)getpid(),
		.ppid = (uint32_t)getppid(),
		.op = (uint16_t)op,
		.call = SBX_CALL_unlink,
		.flags = SBX_EVF_ALLOWED,
		.path_len = (uint16_t)strlen(path),
	};
}

static int forge(const char *facts, const char *name)
{
	const struct timespec moment = {.tv_nsec = 30000000};
	char path[PATH_MAX];
	struct sbx_event ev;

	if (!realpath(name, path))
		die(name);
	ev = event(SBX_MODIFY, path);
	if (strchr(facts, 'e'))
		ev.err = EBUSY;
	if (strchr(facts, 'q'))
		ev.flags |= SBX_EVF_QUERY;
	if (strchr(facts, 'c'))
		ev.call = SBX_CALL_utimensat;
	if (strchr(facts, 'v'))
		ev.flags = 0;
	sbx_ring_write(ring, ring->size, &ev, path, "");
	nanosleep(&moment, NULL);
	return raw_unlink(path) == 0 ? 0 : 1;
}

/* ---- the flood ---- */

static void make_deep(void)
{
	size_t n;

	if (!getcwd(deep, 200))
		die("getcwd");
	for (int i = 0; i < DEPTH; i++) {
		n = strlen(deep);
		deep[n] = '/';
		memset(deep + n + 1, 'd', NAME);
		deep[n + 1 + NAME] = '\0';
		if (mkdir(deep, 0700) < 0)
			die(deep);
	}
}

static void *rename_files(void *arg)
{
	char from[PATH_MAX + 32], to[PATH_MAX + 32];
	long n = 0;

	snprintf(from, sizeof from, "%s/a%ld", deep, (long)arg);
	snprintf(to, sizeof to, "%s/b%ld", deep, (long)arg);
	close(open(from, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (!is_over) {
		if (raw_rename(from, to) || raw_rename(to, from))
			die("rename");
		n += 2;
	}
	return (void *)n;
}

static void *flood_ring(void *arg)
{
	char path[PATH_MAX];
	struct sbx_event ev;

	(void)arg;
	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	path[3900] = '\0';
	ev = event(SBX_READ, path);
	while (!is_over)
		sbx_ring_write(ring, ring->size, &ev, path, "");
	return NULL;
}

static int flood(int seconds)
{
	const struct timespec moment = {.tv_nsec = 1000000000L / DIRECTORIES - 1};
	pthread_t threads[RENAMERS + FLOODERS];
	long total = 0;
	char name[32];

	make_deep();
	for (long i = 0; i < RENAMERS + FLOODERS; i++)
		if (pthread_create(&threads[i], NULL, i < RENAMERS ? rename_files : flood_ring,
				   (void *)i))
			die("pthread_create");
	for (int i = 0; i < DIRECTORIES; i++) {
		for (int j = 0; j < seconds; j++)
			nanosleep(&moment, NULL);
		snprintf(name, sizeof name, "done-%d", i);
		if (mkdir(name, 0700) < 0)
			die(name);
	}
	is_over = 1;
	for (int i = 0; i < RENAMERS + FLOODERS; i++) {
		void *n;

		pthread_join(threads[i], &n);
		total += (long)n;
	}
	printf("%ld\n", total);
	return 0;
}

/* Refused moves that nobody made, each between other names, by who is another process each time. */
static int flood_moves(int seconds)
{
	const time_t end = time(NULL) + seconds;
	char from[sizeof deep + 32], to[sizeof deep + 32];

	signal(SIGTERM, SIG_IGN);
	if (!getcwd(deep, 200))
		die("getcwd");
	snprintf(to, sizeof to, "%s/.git/worktrees", deep);
	for (unsigned n = 0; time(NULL) < end; n++) {
		struct sbx_event ev;

		snprintf(from, sizeof from, "%s/a%u", deep, n);
		ev = event(SBX_MODIFY, from);
		ev.flags = SBX_EVF_MOVE;
		ev.call = SBX_CALL_rename;
		ev.aux = n % 2;
		ev.pid = 3 + n % 30000;
		ev.path2_len = (uint16_t)strlen(to);
		if (!sbx_ring_write(ring, ring->size, &ev, from, to))
			usleep(50);
	}
	return 0;
}

/* An event in the name of another process, with flags that only the broker may set. */
static int claim(const char *pid, const char *flags, const char *path, bool is_gone)
{
	struct sbx_event ev = event(SBX_MODIFY, path);

	ev.pid = (uint32_t)atoi(pid);
	ev.ppid = ev.pid + 1;
	ev.call = is_gone ? SBX_CALL_unlink : SBX_CALL_mkdir;
	ev.flags = (uint16_t)(SBX_EVF_ALLOWED | strtoul(flags, NULL, 16));
	return sbx_ring_write(ring, ring->size, &ev, path, "") ? 0 : 1;
}

/* Everything in the ring but the places of its fields says nonsense. */
static int smash(unsigned char byte)
{
	memset((char *)ring + sizeof *ring, byte, sbx_ring_bytes(ring->size) - sizeof *ring);
	return 0;
}

int main(int argc, char **argv)
{
	find_ring();
	if ((argc == 5 || argc == 6) && !strcmp(argv[1], "claim"))
		return claim(argv[2], argv[3], argv[4], argc == 6);
	if (argc == 3 && !strcmp(argv[1], "smash"))
		return smash((unsigned char)atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "forge"))
		return forge(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "flood"))
		return flood(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "moves"))
		return flood_moves(atoi(argv[2]));
	fprintf(stderr, "usage: ring_liar forge FACTS PATH | flood SECONDS | moves SECONDS | "
			"claim PID FLAGS PATH [unlink] | smash BYTE\n");
	return 2;
}
