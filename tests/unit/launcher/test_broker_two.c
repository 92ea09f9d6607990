/* SPDX-License-Identifier: Apache-2.0 */
/* Two brokers, of which one is stopped between its judgement and its act while the other moves the
 * directory: with the lock they share, and with none, as brokers of two users have none. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/support/broker.h"

static char root[64];
static struct sb_policy policy;
static struct lau_movelock locks[2];

/* Shared with the brokers, which wait at their points. */
static struct {
	_Atomic int judged, moved; /* how often a point was reached */
} * seen;

static void make_source(void)
{
	int fd = open("new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void set_up(void)
{
	static char allow[128], deny[128];
	struct b_err err = {0};

	strcpy(root, "/tmp/sbx-two-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777) | chdir(root), 0);
	cr_assert_eq(mkdir("d", 0777), 0);
	make_source();
	snprintf(allow, sizeof allow, "m+ T %s", root);
	snprintf(deny, sizeof deny, "m- E %s/.claude/settings.json", root);
	sb_policy_make(&policy, (const char *const[]){"rx+ T /", allow, deny, NULL});
	cr_assert_eq(lau_movelock_open(NULL, &locks[0], &err), 0, "%s", err.msg);
	cr_assert_eq(lau_movelock_join(&locks[0], &locks[1], &err), 0, "%s", err.msg);
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)seen, MAP_FAILED);
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	lau_movelock_release(&locks[1]);
	lau_movelock_release(&locks[0]);
	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker_two, .init = set_up, .fini = tear_down, .timeout = 60);

/* ---- who makes ---- */

static int make_directory(void *arg)
{
	(void)arg;
	return mkdir("d/settings.json", 0700) < 0 ? errno : 0;
}

static int make_fifo(void *arg)
{
	(void)arg;
	return mkfifo("d/settings.json", 0600) < 0 ? errno : 0;
}

static int make_symlink(void *arg)
{
	(void)arg;
	return symlink("none", "d/settings.json") < 0 ? errno : 0;
}

static int make_by_rename(void *arg)
{
	(void)arg;
	return rename("new", "d/settings.json") < 0 ? errno : 0;
}

static int make_by_link(void *arg)
{
	(void)arg;
	return link("new", "d/settings.json") < 0 ? errno : 0;
}

static int make_file(int flags)
{
	return open("d/settings.json", O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600) < 0 ? errno
											 : 0;
}

static int make_new_file(void *arg)
{
	(void)arg;
	return make_file(O_EXCL);
}

/* The kernel writes it out in full, so that it is found by walking. */
static int make_file_by_dots(void *arg)
{
	int fd = open("d/../d/settings.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)arg;
	return fd < 0 ? errno : 0;
}

static int make_socket(void *arg)
{
	const struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "d/settings.json"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)arg;
	return bind(fd, (const struct sockaddr *)&un, sizeof un) < 0 ? errno : 0;
}

static int (*const makers[])(void *) = {make_directory, make_fifo,	  make_symlink,
					make_by_rename, make_by_link,	  make_new_file,
					make_socket,	make_file_by_dots};
enum { NMAKERS = sizeof makers / sizeof *makers };

static int move_directory(void *arg)
{
	(void)arg;
	return rename("d", ".claude") < 0 ? errno : 0;
}

/* ---- the order of events ---- */

enum { LONG_MS = 150 };

/* Of who makes: stopped while the other one moves, if it can. */
static void stop_judged(enum lau_broker_point at)
{
	if (at != BR_POINT_JUDGED)
		return;
	seen->judged++;
	for (int i = 0; i < LONG_MS / 10 && !seen->moved; i++)
		(void)poll(NULL, 0, 10);
	/* and has looked again */
	(void)poll(NULL, 0, 50);
}

static void note_moved(enum lau_broker_point at)
{
	seen->moved += at == BR_POINT_MOVED;
}

/* A broker of another user makes the name, after it was looked through the directory. */
static void make_meanwhile(enum lau_broker_point at)
{
	if (at != BR_POINT_MOVED)
		return;
	seen->moved++;
	(void)mkdir(".claude/settings.json", 0700);
}

/* The same, and the old name is taken. */
static void make_meanwhile_and_block(enum lau_broker_point at)
{
	make_meanwhile(at);
	if (at == BR_POINT_MOVED)
		(void)mkdir("d", 0700);
}

/* In a directory that has just left the place where the name may not be. */
static void make_outside_meanwhile(enum lau_broker_point at)
{
	if (at == BR_POINT_MOVED)
		(void)mkdir("d/settings.json", 0700);
}

static int move_it_out(void *arg)
{
	(void)arg;
	return rename(".claude", "d") < 0 ? errno : 0;
}

struct answers {
	int made, moved; /* errno */
};

/* Both at once, as told; who moves begins when the other one was judged. */
static struct answers race(int (*maker)(void *), bool is_shared)
{
	const struct sb_options makes = {.test_point = stop_judged,
					 .lock = is_shared ? &locks[0] : NULL,
					 .no_filter = true},
				moves = {.test_point = note_moved,
					 .lock = is_shared ? &locks[1] : NULL};
	struct answers a;
	int status;
	pid_t pid;

	seen->judged = seen->moved = 0;
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0)
		_exit(sb_run(&policy, &makes, maker, NULL));
	for (int i = 0; i < 3000 && !seen->judged; i++)
		(void)poll(NULL, 0, 1);
	cr_assert_eq(seen->judged, 1);
	a.moved = sb_run(&policy, &moves, move_directory, NULL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	a.made = WEXITSTATUS(status);
	return a;
}

static bool is_made(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void clean(void)
{
	cr_assert_eq(system("rm -rf d .claude new"), 0);
	cr_assert_eq(mkdir("d", 0777), 0);
	make_source();
}

/* The one who makes comes first, and the directory stays for what is in it. */
Test(launcher_broker_two, a_move_waits_for_the_act_of_another_broker)
{
	for (int i = 0; i < NMAKERS; i++) {
		struct answers a = race(makers[i], true);

		cr_assert_eq(a.made, 0, "%d: %d", i, a.made);
		cr_assert_eq(a.moved, EACCES, "%d: %d", i, a.moved);
		cr_assert(is_made("d/settings.json") && !is_made(".claude"), "%d", i);
		clean();
	}
}

/* Without a lock the directory moves: what is made in it then is taken away, and was denied; what
 * is made by its whole text has no parent any more. */
Test(launcher_broker_two, what_was_made_where_it_may_not_be_is_undone)
{
	for (int i = 0; i < NMAKERS; i++) {
		struct answers a = race(makers[i], false);

		cr_assert_eq(a.moved, 0, "%d: %d", i, a.moved);
		cr_assert_eq(a.made,
			     makers[i] == make_new_file || makers[i] == make_socket ? ENOENT
										    : EACCES,
			     "%d: %d", i, a.made);
		cr_assert(is_made(".claude") && !is_made(".claude/settings.json"), "%d", i);
		clean();
	}
}

/* The other way round: who moves finds what came in between, and moves it back. */
Test(launcher_broker_two, a_directory_is_looked_through_again_and_moved_back)
{
	const struct sb_options o = {.test_point = make_meanwhile, .no_filter = true};

	cr_assert_eq(sb_run(&policy, &o, move_directory, NULL), EACCES);
	cr_assert_eq(seen->moved, 1);
	cr_assert(is_made("d/settings.json") && !is_made(".claude"));
}

/* Nobody keeps it there by taking the old name: then it has one that no rule speaks of. */
Test(launcher_broker_two, a_directory_whose_old_name_is_taken_is_moved_aside)
{
	const struct sb_options o = {.test_point = make_meanwhile_and_block, .no_filter = true};

	cr_assert_eq(sb_run(&policy, &o, move_directory, NULL), EACCES);
	cr_assert(is_made("d") && !is_made("d/settings.json") && !is_made(".claude"));
	cr_assert_eq(system("test -d .sbx-*.undone/settings.json"), 0);
}

/* The way back is a move as well: it would carry what was made meanwhile to where it may not be. */
Test(launcher_broker_two, a_directory_that_has_left_is_not_moved_back_with_more)
{
	const struct sb_options o = {.test_point = make_outside_meanwhile, .no_filter = true};

	cr_assert_eq(rename("d", ".claude"), 0);
	cr_assert_eq(sb_run(&policy, &o, move_it_out, NULL), 0);
	cr_assert(is_made("d/settings.json") && !is_made(".claude"));
}

/* What is slow is not refused for that. */
Test(launcher_broker_two, a_slow_act_in_its_place_is_done)
{
	const struct sb_options o = {.test_point = stop_judged, .no_filter = true};

	for (int i = 0; i < NMAKERS; i++) {
		seen->judged = seen->moved = 0;
		cr_assert_eq(sb_run(&policy, &o, makers[i], NULL), 0);
		cr_assert_eq(seen->judged, 1);
		cr_assert(is_made("d/settings.json"));
		clean();
	}
}

/* Who makes something by a call that is slow, and somebody else removes it with its directory. */
static void remove_made(enum lau_broker_point at)
{
	if (at != BR_POINT_MADE)
		return;
	(void)remove("d/settings.json");
	seen->judged += rmdir("d") == 0;
	(void)poll(NULL, 0, 5);
}

/* What was done is not denied for that: the record would say of a change that nobody made it. */
Test(launcher_broker_two, what_was_made_and_is_gone_was_made)
{
	int (*const by_name[])(void *) = {make_directory, make_fifo, make_symlink};
	const struct sb_options o = {.test_point = remove_made, .no_filter = true};

	for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
		seen->judged = 0;
		cr_assert_eq(sb_run(&policy, &o, by_name[i], NULL), 0, "%zu", i);
		cr_assert_eq(seen->judged, 1, "%zu", i);
		clean();
	}
}
