/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races of marked calls (docs/adr/016): a thread changes files and directories by them while the
 * broker judges calls of another. Each lasts SBX_RACE_MS milliseconds; with SBX_ROUNDS its rounds
 * are printed. The hazards of the first prototype have their numbers. What beat it beats, as a
 * control, a broker that is not told of the grants.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "tests/support/markworld.h"

TestSuite(launcher_broker_marks_races, .init = mw_set_up, .fini = mw_tear_down, .timeout = 3600);

struct race {
	const char *name;
	void (*prepare)(void);
	void (*change)(void); /* again and again, by a thread */
	bool (*gains)(void);  /* one round of the other */
	bool is_beaten;	      /* so is a broker that knows of no marks */
};

static atomic_bool is_over;
static const struct race *running;

static void *change(void *unused)
{
	(void)unused;
	while (!is_over)
		running->change();
	return NULL;
}

static unsigned race_ms(void)
{
	const char *ms = getenv("SBX_RACE_MS");

	return ms ? (unsigned)atoi(ms) : 150;
}

#define CONTROL_MS 20000

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static unsigned limit_ms;

static int race(void *arg)
{
	uint64_t end = now_ms() + limit_ms;
	bool won = false;
	pthread_t t;

	running = arg;
	if (chdir(mw_ws) < 0)
		return 200;
	umask(0);
	running->prepare();
	if (pthread_create(&t, NULL, change, NULL) != 0)
		return 201;
	while (!won && now_ms() < end) {
		won = running->gains();
		++*mw_rounds;
	}
	is_over = true;
	pthread_join(t, NULL);
	return won;
}

static bool is_ro_changed(void)
{
	static const char *const made[] = {"ro/n", "ro/e", "ro/s", "ro/k", "ro/l"};
	struct stat st;

	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		if (mw_is_there(made[i]))
			return true;
	return stat("ro/f", &st) < 0 || st.st_size != 3 || st.st_nlink != 1 ||
	       (st.st_mode & 07777) != 0666 || !mw_is_there("ro/d");
}

/* H2: what is moved to a protected name is another thing by then. */

static void make_two(void)
{
	MKDIR("src/m2", 0755);
	close((int)OPEN("src/m2/settings.json", O_CREAT | O_WRONLY, 0644));
	MKDIR("src/m2/hooks", 0755);
}

static void prepare_file(void)
{
	make_two();
	close((int)OPEN("src/m1", O_CREAT | O_WRONLY, 0644));
}

static void prepare_dir(void)
{
	make_two();
	MKDIR("src/m1", 0755);
}

static void prepare_empty(void)
{
	MKDIR("src/m1", 0755);
}

static void exchange(void)
{
	MOVE("src/m1", "src/m2", RENAME_EXCHANGE);
}

static void fill(void)
{
	MKDIR("src/m1/hooks", 0755);
	UNLINK("src/m1/hooks", AT_REMOVEDIR);
}

static bool is_planted(void)
{
	bool won;

	if (PLAIN("src/m1", ".claude", 0) != 0)
		return false;
	won = mw_is_there(".claude/settings.json") || mw_is_there(".claude/hooks");
	PLAIN(".claude", "src/m1", 0);
	return won;
}

/* The same by an exchange: both come to be elsewhere. */
static bool is_planted_by_exchange(void)
{
	if (!mw_is_there(".claude"))
		mkdir(".claude", 0755);
	return PLAIN("src/m1", ".claude", RENAME_EXCHANGE) == 0 &&
	       (mw_is_there(".claude/settings.json") || mw_is_there(".claude/hooks"));
}

/* H1, as a race: a directory of the top is moved while one that is granted comes into it. */
static void prepare_top(void)
{
	mkdir("top", 0755);
	MKDIR("pub/hooks", 0755);
}

static void move_in(void)
{
	PLAIN("pub", "top/pub", 0);
	PLAIN("top/pub", "pub", 0);
}

static bool holds_grant(void)
{
	bool won;

	if (PLAIN("top", ".claude", 0) != 0)
		return false;
	won = MKDIR(".claude/pub/hooks2", 0755) == 0;
	PLAIN(".claude", "top", 0);
	return won;
}

static void fill_pub(void)
{
	close((int)OPEN("pub/settings.json", O_CREAT | O_WRONLY, 0644));
	UNLINK("pub/settings.json", 0);
}

static void prepare_nothing(void)
{
}

static bool moves_grant(void)
{
	bool won;

	if (PLAIN("pub", ".claude", 0) != 0)
		return false;
	close((int)OPEN(".claude/settings.json", O_CREAT | O_WRONLY, 0644));
	won = mw_is_there(".claude/settings.json");
	PLAIN(".claude", "pub", 0);
	return won;
}

/* Links: another kind of thing gets the protected name. */
static void prepare_link(void)
{
	close((int)OPEN("src/m1", O_CREAT | O_WRONLY, 0644));
	SYMLINK("evil", "src/m2");
}

static bool is_linked(void)
{
	struct stat st;
	bool won = syscall(SYS_linkat, AT_FDCWD, "src/m1", AT_FDCWD, ".claude", 0L) == 0 &&
		   lstat(".claude", &st) == 0 && !S_ISREG(st.st_mode);

	unlink(".claude");
	return won;
}

/* Paths: `..` of a directory that moves, and a way that becomes a symlink. */
static int far_fd = -1;

static void prepare_dots(void)
{
	MKDIR("src/p", 0755);
	MKDIR("src/p/q", 0755);
	MKDIR("src/p/q/r", 0755);
	MKDIR("src/p/ro", 0755);
	far_fd = open("src/p/q/r", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void move_far(void)
{
	MOVE("src/p/q/r", "src/r", 0);
	MOVE("src/r", "src/p/q/r", 0);
}

static void drop(int at, const char *dir)
{
	static const char *const names[] = {"n", "s", "k", "l"};
	char path[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		syscall(SYS_unlinkat, at, path, 0L);
	}
	snprintf(path, sizeof path, "%s/e", dir);
	syscall(SYS_unlinkat, at, path, (long)AT_REMOVEDIR);
}

/* All kinds of unmarked calls below `dir`, which leads to ro at times. */
static bool changes_ro(int at, const char *dir)
{
	char path[64];
	long fd;

#define BELOW(name) (snprintf(path, sizeof path, "%s/%s", dir, name), path)
	fd = syscall(SYS_openat, at, BELOW("n"), (long)(O_CREAT | O_WRONLY), 0644L);
	close((int)fd);
	fd = syscall(SYS_openat, at, BELOW("f"), (long)(O_WRONLY | O_TRUNC), 0L);
	close((int)fd);
	fd = syscall(SYS_openat, at, BELOW("f"), (long)(O_WRONLY | O_TRUNC | O_NOFOLLOW), 0L);
	close((int)fd);
	syscall(SYS_mkdirat, at, BELOW("e"), 0755L);
	syscall(SYS_symlinkat, "x", at, BELOW("s"));
	syscall(SYS_fchmodat, at, BELOW("f"), 0777L);
	syscall(SYS_linkat, AT_FDCWD, "src/a", at, BELOW("l"), 0L);
	syscall(SYS_renameat2, AT_FDCWD, "src/a", at, BELOW("k"), 0L);
	syscall(SYS_renameat2, at, BELOW("k"), AT_FDCWD, "src/a", 0L);
	syscall(SYS_unlinkat, at, BELOW("d"), (long)AT_REMOVEDIR);
	drop(at, dir);
#undef BELOW
	return is_ro_changed();
}

static bool reaches_by_dots(void)
{
	return changes_ro(far_fd, "../../ro");
}

static void prepare_ways(void)
{
	MKDIR("src/m1", 0755);
	MKDIR("src/m2", 0755);
	SYMLINK("../../work", "src/m1/l");
	SYMLINK("../../ro", "src/m2/l");
}

static bool reaches_by_way(void)
{
	return changes_ro(AT_FDCWD, "src/m1/l");
}

static void prepare_real_way(void)
{
	MKDIR("src/m1", 0755);
	MKDIR("src/m1/l", 0755);
	MKDIR("src/m2", 0755);
	SYMLINK("../../ro", "src/m2/l");
}

/* H3: the socket is made where the text leads by then. */
static bool binds(const char *path, int *out_fd)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool done;

	snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	done = bind(fd, (const struct sockaddr *)&un, sizeof un) == 0;
	*out_fd = fd;
	return done;
}

static bool binds_in_ro(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/src/m1/l/s", mw_ws);
	(void)binds(path, &fd);
	close(fd);
	unlink("src/m1/l/s");
	unlink("src/m2/l/s");
	return mw_is_there("ro/s");
}

/* H4: the host's socket is taken for the one that was just made. */
static bool connects(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool done;

	snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	done = connect(fd, (const struct sockaddr *)&un, sizeof un) == 0;
	close(fd);
	return done;
}

static int own_dir = -1;

static void prepare_sockets(void)
{
	MKDIR("src/m1", 0755);
	own_dir = open("src/m1", O_PATH | O_DIRECTORY | O_CLOEXEC);
	MOVE("src/host", "src/m2", 0);
}

static bool connects_to_host(void)
{
	char path[128];
	bool won;
	int fd;

	snprintf(path, sizeof path, "%s/src/m1/s", mw_ws);
	(void)binds(path, &fd);
	/* ours does not listen */
	won = connects("src/m1/s") || connects("src/m2/s");
	close(fd);
	syscall(SYS_unlinkat, mw_marked(own_dir), "s", 0L);
	return won;
}

/* What ends in a dot is the kernel's: it reads the path once more. */
static char swapped[16];

static void swap_dot(void)
{
	memcpy(swapped, "src/.\0\0", 8);
	memcpy(swapped, "src/u\0\0", 8);
}

static bool makes_odd_file(void)
{
	struct stat st;
	bool won;

	syscall(SYS_mknodat, AT_FDCWD, swapped, (long)(S_IFREG | 04755), 0L);
	syscall(SYS_renameat2, AT_FDCWD, swapped, AT_FDCWD, "src/v", (long)RENAME_WHITEOUT);
	syscall(SYS_renameat2, AT_FDCWD, "src/a", AT_FDCWD, swapped, (long)RENAME_WHITEOUT);
	syscall(SYS_mkdirat, AT_FDCWD, swapped, 06777L);
	won = (lstat("src/u", &st) == 0 && !S_ISDIR(st.st_mode)) ||
	      (lstat("src/a", &st) == 0 && !S_ISREG(st.st_mode)) || mw_is_there("src/v");
	syscall(SYS_unlinkat, AT_FDCWD, "src/u", (long)AT_REMOVEDIR);
	return won;
}

static const struct race races[] = {
	{"H1 moves a grant", prepare_nothing, fill_pub, moves_grant, true},
	{"H1 moves what holds a grant", prepare_top, move_in, holds_grant, true},
	{"H2 a file becomes a directory", prepare_file, exchange, is_planted, true},
	{"H2 a directory becomes another", prepare_dir, exchange, is_planted, false},
	{"H2 a directory is filled", prepare_empty, fill, is_planted, false},
	{"H2 by exchange", prepare_file, exchange, is_planted_by_exchange, false},
	/* a symlink is not exchanged without the broker */
	{"H2 a link becomes a symlink", prepare_link, exchange, is_linked, false},
	{"H3 bind elsewhere", prepare_real_way, exchange, binds_in_ro, true},
	{"dots", prepare_dots, move_far, reaches_by_dots, false},
	{"ways", prepare_ways, exchange, reaches_by_way, false},
	{"real ways", prepare_real_way, exchange, reaches_by_way, false},
	{"proceed", prepare_nothing, swap_dot, makes_odd_file, false},
};

Test(launcher_broker_marks_races, no_race_is_won)
{
	limit_ms = race_ms();
	for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
		struct race r = races[i];

		mw_by_each(race, &r, SB_MARKED, 0, r.name);
		cr_expect_not(is_ro_changed(), "%s", r.name);
	}
}

Test(launcher_broker_marks_races, positive_control)
{
	limit_ms = CONTROL_MS;
	for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
		struct race r = races[i];

		if (r.is_beaten)
			mw_by_each(race, &r, SB_MARKED_BLINDLY, 1, r.name);
	}
}

/* The host's socket is there before the run, in a directory with another name beside it. */
static void by_host(unsigned marks, int want_rc)
{
	struct race r = {"H4 the host's socket", prepare_sockets, exchange, connects_to_host, true};
	struct sb_options o = {.floor = &mw_floor, .marks = marks};
	char path[128];
	int fd;

	mw_make();
	cr_assert_eq(mkdir("src/host", 0777), 0);
	snprintf(path, sizeof path, "%s/src/host/s", mw_ws);
	cr_assert(binds(path, &fd));
	cr_assert_eq(listen(fd, 64), 0);
	cr_assert_eq(chmod("src/host", 0777) | chmod("src/host/s", 0666), 0);
	*mw_rounds = 0;
	cr_expect_eq(sb_run(&mw_policy, &o, race, &r), want_rc, "%s, marks %u", r.name, marks);
	mw_say_rounds(r.name, marks);
	close(fd);
}

Test(launcher_broker_marks_races, a_socket_of_the_host_is_not_taken_for_ours)
{
	limit_ms = race_ms();
	by_host(SB_MARKED, 0);
}

Test(launcher_broker_marks_races, one_that_resolves_twice_takes_it_for_ours)
{
	limit_ms = CONTROL_MS;
	by_host(SB_MARKED_BLINDLY, 1);
}
