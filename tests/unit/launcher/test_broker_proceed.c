/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row of launcher/linux/broker/proceed.h, attacked: what the kernel reads again after the
 * broker has let it go on is changed by a second thread, for SBX_RACE_MS milliseconds a row
 * (`make races`: a minute), divided over its bouts: each change, by each user, and once more where
 * the broker lies. Root attacks as an ordinary user, and with FULL=1 as itself, too. Rows that
 * Landlock stands behind are also attacked under a broker that judges nothing. A count proves that
 * each bout reached the row, a bare run that the attack would win.
 */
#include "launcher/linux/broker/proceed.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "policy/plan/floor.h"
#include "tests/support/brokertree.h"
#include "tests/support/proceedrace.h"
#include "tests/support/full.h"

static char root[64];
static struct sb_policy policy;
static struct pol_floor floor_;
static _Atomic uint64_t *counts; /* shared with the broker */

/* ---- the world: open/ may be changed, shut/ not; a.env may be changed, not read ---- */

static void make(const char *name, const char *text, mode_t mode)
{
	char file[128];
	int fd;

	snprintf(file, sizeof file, "%s/%s", root, name);
	(void)unlink(file);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0, "%s", file);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cr_assert_eq(chmod(file, mode), 0);
}

static void plan(const char *const *lines)
{
	struct b_err err = {0};

	sb_policy_make(&policy, lines);
	cr_assert_eq(pol_floor_plan_broker(&policy.rules, &policy.image, pol_fsview_host(), 0,
					   &floor_, &err),
		     0, "%s", err.msg);
}

static void plan_literal(void)
{
	static char open_[96], shut[96];

	snprintf(open_, sizeof open_, "m+ T %s/open", root);
	snprintf(shut, sizeof shut, "rm- T %s/shut", root);
	plan((const char *const[]){"rx+ T /", open_, "m+ T /dev", shut, NULL});
	cr_assert_lt(floor_.read_level, POL_READ_ALL);
}

/* open/ is granted: what goes on may be done there. */
static void plan_clean(void)
{
	plan_literal();
	cr_assert_geq(pol_floor_mark(&floor_, &policy.image, pol_fsview_host(), NULL, 0), 1);
}

static void plan_signals(void)
{
	plan_literal();
	floor_.traps |= POL_TRAP_SIGNALS;
}

static void plan_programs(void)
{
	plan_literal();
	floor_.traps = (floor_.traps & ~POL_TRAP_EXEC) | POL_TRAP_PROGRAMS;
}

static void plan_pattern(void)
{
	static char all[96], env[96];

	snprintf(all, sizeof all, "m+ T %s", root);
	snprintf(env, sizeof env, "r- G %s **/*.env", root);
	plan((const char *const[]){"rx+ T /", all, env, NULL});
	cr_assert_eq(floor_.read_level, POL_READ_ALL);
}

/* A directory on the way to a literal that has many entries makes a pattern of it. */
static bool is_small(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return d && n < POL_CARVE_MAX / 2 && access(dir, W_OK) == 0;
}

static void make_denied(void)
{
	char script[96];

	snprintf(script, sizeof script, "#!/usr/bin/touch %s/ran\n", root);
	make("a.env", script, 0666);
}

/* The same names on three ways: what they lead to in open/ is open, in shut/ it is not; m/ is where
 * links/ is mounted, whose `d` leads to shut/. */
static void make_ways(void)
{
	static const char *const names[][2] = {{"open/n", "/dev/null"},	 {"open/p", "../prog"},
					       {"shut/n", "f"},		 {"shut/p", "../a.env"},
					       {"m/d/n", "/dev/null"},	 {"m/d/p", "../../prog"},
					       {"m/d/f", "../../open/f"}};
	char shut[96];

	(void)mkdir("m", 0755);
	(void)mkdir("m/d", 0755);
	(void)mkdir("links", 0755);
	snprintf(shut, sizeof shut, "%s/shut", root);
	(void)!symlink(shut, "links/d");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		(void)!symlink(names[i][1], names[i][0]);
}

static void set_up(void)
{
	static const char *const parents[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};
	size_t i = 0;

	while (i + 1 < sizeof parents / sizeof *parents && !is_small(parents[i]))
		i++;
	snprintf(root, sizeof root, "%s/sbx-proceed-XXXXXX", parents[i]);
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("open", 0755) | mkdir("shut", 0755) | chmod("open", 0777) |
			     chmod("shut", 0777),
		     0);
	cr_assert_eq(mkdir("shut/d", 0755), 0);
	make("open/f", "public", 0666);
	make("shut/f", RC_SECRET, 0666);
	make("mine", RC_SECRET, 0600);
	make("prog", "#!/bin/true\n", 0755);
	make_denied();
	make_ways();
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(counts, MAP_FAILED);
}

static void tear_down(void)
{
	char cmd[128];

	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
	munmap(counts, 4096);
}
TestSuite(launcher_broker_proceed, .init = set_up, .fini = tear_down, .timeout = 3600);

/* ---- one attack a row ---- */

#define CHANGES	   8
#define BOUT_MS	   25	 /* at least */
#define TRIES	   5	 /* at least */
#define CONTROL_MS 50	 /* of one without a broker */
#define REACH_MS   10000 /* until a bout that has not reached its row gives up */

/* A broker that lies answers every call that opens by the row OPEN, and that row is counted. OPEN
 * and TRUNCATE are no answers of one that can read its caller. */
enum lies { HONEST, LIES_TOO, LIES_ALONE };

struct attack {
	void (*plan)(void);
	void *(*change[CHANGES])(void *); /* NULL: the try changes things itself */
	bool (*gains)(void);
	struct rc_swap texts;
	enum lies lies;
	bool is_for_root;
	bool in_child; /* the change is made there */
};

#define ATTACK(plan_, gains_, a_, b_, ...)                                                         \
	{                                                                                          \
		.plan = (plan_), .gains = (gains_), .texts = {.a = a_, .b = b_, .leaf = ""},       \
		__VA_ARGS__                                                                        \
	}
#define BY(...) .change = {__VA_ARGS__}
/* All that the kernel reads again on the way from a text to an object. */
#define BY_EACH                                                                                    \
	BY(rc_swap_text, rc_swap_object, rc_swap_way, rc_swap_directory, rc_swap_slot,             \
	   rc_swap_memory, rc_swap_mount, rc_swap_credentials)

static const struct attack attacks[BR_PROCEED_COUNT] = {
	[BR_PROCEED_UMASK] = ATTACK(plan_literal, rc_try_umask, "", "", BY(rc_swap_umask)),
	[BR_PROCEED_CREDENTIALS] =
		ATTACK(plan_pattern, rc_try_ids, "", "", BY(rc_swap_ids), .is_for_root = true),
	[BR_PROCEED_PRIORITY] = ATTACK(plan_literal, rc_try_priority, "", "", BY(NULL)),
	[BR_PROCEED_SIGNAL] = ATTACK(plan_signals, rc_try_signals, "", "", BY(NULL)),
	/* the last name is not followed */
	[BR_PROCEED_NAME] = ATTACK(plan_literal, rc_try_names, "open/.", "shut/f",
				   BY(rc_swap_text, rc_swap_way, rc_swap_directory, rc_swap_slot,
				      rc_swap_memory, rc_swap_mount, rc_swap_credentials),
				   .lies = LIES_TOO),
	[BR_PROCEED_CLEAN] = ATTACK(plan_clean, rc_try_names, "open/.", "shut/f",
				    BY(rc_swap_text, rc_swap_way, rc_swap_directory, rc_swap_slot,
				       rc_swap_memory, rc_swap_mount, rc_swap_credentials)),
	[BR_PROCEED_TRUNCATE] = ATTACK(plan_literal, rc_try_truncate, "open/f", "shut/f", BY_EACH,
				       .lies = LIES_ALONE),
	[BR_PROCEED_OPEN] =
		ATTACK(plan_literal, rc_try_open, "open/f", "shut/f", BY_EACH, .lies = LIES_ALONE),
	[BR_PROCEED_NODE] =
		ATTACK(plan_literal, rc_try_open, "open/n", "shut/n", BY_EACH, .lies = LIES_TOO),
	[BR_PROCEED_PATH_ONLY] =
		ATTACK(plan_literal, rc_try_how, "open/f", "shut/f", BY_EACH, .lies = LIES_TOO),
	[BR_PROCEED_PROGRAM] =
		ATTACK(plan_programs, rc_try_exec, "open/p", "shut/p", BY_EACH, .in_child = true),
	[BR_PROCEED_EXEC] =
		ATTACK(plan_pattern, rc_try_exec, "open/p", "shut/p", BY_EACH, .in_child = true),
	/* no directory is walked to it, no name leads to it, nothing is mounted on it */
	[BR_PROCEED_EXEC_MEMORY] =
		ATTACK(plan_pattern, rc_try_memory, "", "",
		       BY(rc_swap_slot, rc_swap_memory, rc_swap_ids), .in_child = true),
};

struct bout {
	const struct attack *a;
	void *(*change)(void *);
	unsigned ms;
	const _Atomic uint64_t *count; /* of the row's answers; NULL: there is no broker */
	bool by_dot;		       /* the broker answers so what ends in a dot alone */
};

/* spare: what the change puts there in turn. */
static void set_spare(const char *here, const char *there, bool is_text)
{
	const char *what[] = {here, there};

	for (int i = 0; i < 2; i++) {
		rc_spare[i] = is_text ? (int)syscall(SYS_memfd_create, "m", 0)
				      : openat(rc_home, what[i], O_PATH);
		if (is_text)
			(void)!pwrite(rc_spare[i], what[i], strlen(what[i]) + 1, 0);
	}
}

static void start_in_memory(void *(*change)(void *))
{
	char denied[96];

	rc_from = rc_slot = rc_program_in_memory();
	*rc_path = '\0';
	if (change == rc_swap_slot) {
		rc_spare[0] = dup(rc_slot);
		rc_spare[1] = openat(rc_home, "a.env", O_PATH);
	}
	snprintf(denied, sizeof denied, "%s/a.env", root);
	if (change == rc_swap_memory)
		set_spare("", denied, true);
}

/* The name that is in open/ and in shut/. The dot of try_names reaches the row of an honest broker,
 * a name gains more from one that lies. */
static char leaf_of(const struct bout *bout)
{
	const char *text = bout->a->texts.a;

	return strlen(text) > 5 && (text[5] != '.' || bout->by_dot) ? text[5] : 'f';
}

/* What the calls begin with, for each change. */
static void start(const struct attack *a, void *(*change)(void *), const struct rc_swap *texts)
{
	const char *leaf = texts->leaf;

	rc_set_path(texts->a);
	if (a->gains == rc_try_memory)
		start_in_memory(change);
	else if (change == rc_swap_memory)
		set_spare(texts->a, texts->b, true);
	else if (change == rc_swap_slot)
		set_spare("open", "shut", false);
	if (change == rc_swap_slot && a->gains != rc_try_memory)
		rc_from = rc_slot = dup(rc_spare[0]);
	if (change == rc_swap_memory)
		rc_at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, rc_spare[0], 0);
	else if (change == rc_swap_slot && a->gains == rc_try_truncate)
		snprintf(rc_path, sizeof rc_path, "/proc/self/fd/%d/%s", rc_slot, leaf);
	else if (change == rc_swap_slot && a->gains != rc_try_memory)
		snprintf(rc_path, sizeof rc_path, "%s", leaf);
	else if (change == rc_swap_object)
		snprintf(rc_path, sizeof rc_path, "open/s");
	else if (change == rc_swap_way)
		snprintf(rc_path, sizeof rc_path, "open/s/%s", leaf);
	else if (change == rc_swap_mount)
		snprintf(rc_path, sizeof rc_path, "m/d/%s", leaf);
	else if (change == rc_swap_directory)
		snprintf(rc_path, sizeof rc_path, "%s", leaf);
}

static bool is_done(const struct bout *bout, unsigned tries)
{
	if (tries < TRIES || !rc_is_over(bout->ms))
		return false;
	return !bout->count || *bout->count > 0 || rc_is_over(REACH_MS);
}

static int race(void *arg)
{
	const struct bout *bout = arg;
	const struct attack *a = bout->a;
	struct rc_swap texts = a->texts;
	void *(*change)(void *) = a->in_child ? NULL : bout->change;
	pthread_t t, flags;
	bool won = false;

	rc_how.flags = O_PATH;
	umask(0);
	texts.leaf[0] = leaf_of(bout);
	rc_home = open(root, O_PATH | O_DIRECTORY);
	if (chdir(root) < 0 || (bout->change == rc_swap_directory && chdir("open") < 0))
		return 200;
	start(a, bout->change, &texts);
	rc_running = texts;
	rc_change_in_child = bout->change;
	if ((change && pthread_create(&t, NULL, change, &texts) != 0) ||
	    (a->gains == rc_try_how && pthread_create(&flags, NULL, rc_swap_how, NULL) != 0))
		return 201;
	for (unsigned n = 0; !won && !is_done(bout, n); n++)
		won = a->gains();
	rc_stop = true;
	if (change)
		pthread_join(t, NULL);
	if (a->gains == rc_try_how)
		pthread_join(flags, NULL);
	return won;
}

/* What is shut is as it was. */
static bool is_whole(void)
{
	struct stat st;

	return stat("shut/f", &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 6 &&
	       st.st_nlink == 1 && stat("shut/d", &st) == 0 && access("ran", F_OK) < 0;
}

static void restore(void)
{
	(void)unlink("ran");
	(void)unlink("open/x");
	(void)unlink("open/s");
	(void)unlink("open/y");
	cr_assert_eq(system("rm -rf shut/[fnp] open/[fnp] m links && mkdir -p shut/d && rm -f "
			    "?.env"),
		     0);
	make_ways();
	make("shut/f", RC_SECRET, 0666);
	make("open/f", "public", 0666);
	make("prog2", "#!/bin/true\n", 0777);
	make_denied();
}

/* ---- the host beside the run, in the test's own mount namespace ---- */

static bool may_mount(void)
{
	static int can = -1;

	if (can < 0)
		can = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return can;
}

static void swap_link(const char *here, const char *there)
{
	for (unsigned n = 0;; n++) {
		(void)!symlink(n % 2 ? there : here, "open/next");
		(void)!rename("open/next", "open/s");
		rc_linger(n * 13 % 3000);
	}
}

static void swap_mounts(void)
{
	for (unsigned n = 0;; n++) {
		(void)!mount("links", "m", NULL, MS_BIND, NULL);
		usleep(n * 130 % 1000); /* to unmount takes as long */
		(void)!umount2("m", MNT_DETACH);
		rc_linger(n * 7 % 3000);
	}
}

static pid_t beside(const struct bout *bout)
{
	char leaf[] = {leaf_of(bout), '\0'}, there[16];
	pid_t pid = bout->change == rc_swap_mount || bout->change == rc_swap_way ||
				    bout->change == rc_swap_object
			    ? fork()
			    : -1;

	if (pid != 0)
		return pid;
	snprintf(there, sizeof there, "../shut/%s", leaf);
	if (bout->change == rc_swap_way)
		swap_link(".", "../shut");
	else if (bout->change == rc_swap_object)
		swap_link(leaf, there);
	swap_mounts();
	_exit(1);
}

static int run_race(const struct sb_options *o, struct bout *bout)
{
	pid_t host = beside(bout);
	int rc = sb_run(&policy, o, race, bout);

	if (host > 0) {
		kill(host, SIGKILL);
		waitpid(host, NULL, 0);
		while (umount2("m", MNT_DETACH) == 0)
			;
	}
	return rc;
}

/* Without the right to mount, or to change ids, there is nothing to be tried. */
static bool is_possible(const struct bout *bout)
{
	if (bout->change == rc_swap_mount)
		return may_mount();
	return (bout->change != rc_swap_credentials && bout->change != rc_swap_ids) ||
	       geteuid() == 0;
}

static unsigned changes_of(const struct attack *a)
{
	unsigned n = 1;

	while (n < CHANGES && a->change[n])
		n++;
	return n;
}

static bool is_by_us(const struct attack *a)
{
	return a->is_for_root ? geteuid() == 0 : geteuid() != 0 || is_full();
}

static bool is_by_nobody(const struct attack *a)
{
	return !a->is_for_root && geteuid() == 0;
}

/* A row's time is divided over all of its bouts. */
static unsigned bout_ms(const struct attack *a)
{
	const char *ms = getenv("SBX_RACE_MS");
	unsigned bouts = changes_of(a) * ((unsigned)is_by_us(a) + is_by_nobody(a)) *
			 (a->lies == LIES_TOO ? 2 : 1),
		 each = ms && bouts ? (unsigned)atoi(ms) / bouts : 0;

	return each > BOUT_MS ? each : BOUT_MS;
}

static void attack_by(enum br_proceed row, unsigned change, uid_t uid, bool lies)
{
	const struct attack *a = &attacks[row];
	const char *name = br_proceed_name(row);
	struct sb_options o = {.uid = uid, .floor = &floor_, .proceeded = counts, .lies = lies};
	bool opens = row == BR_PROCEED_NODE || row == BR_PROCEED_PATH_ONLY;
	_Atomic uint64_t *count = &counts[lies && opens ? BR_PROCEED_OPEN : row];
	struct bout bout = {a, a->change[change], bout_ms(a), count, !lies};
	int rc;

	if (!is_possible(&bout))
		return;
	o.marks = a->plan == plan_clean ? SB_MARKED : SB_UNMARKED;
	if (a->is_for_root || bout.change == rc_swap_credentials || bout.change == rc_swap_ids)
		o.caps = "setuid"; /* none that opens what the id cannot */
	restore();
	*count = 0;
	rc = run_race(&o, &bout);
	cr_expect_eq(rc, 0, "%s, change %u, uid %u: %d", name, change, uid, rc);
	cr_expect(is_whole(), "%s, change %u, uid %u", name, change, uid);
	cr_expect(*count > 0, "%s, change %u, uid %u%s was never reached", name, change, uid,
		  lies ? ", the broker lies," : "");
}

static void attack(enum br_proceed row, bool lies)
{
	const struct attack *a = &attacks[row];

	a->plan();
	for (unsigned i = 0; i < changes_of(a); i++) {
		if (is_by_us(a))
			attack_by(row, i, 0, lies);
		if (is_by_nobody(a))
			attack_by(row, i, SB_NOBODY, lies);
	}
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}

Test(launcher_broker_proceed, no_row_gains_anything)
{
	for (int row = 0; row < BR_PROCEED_COUNT; row++) {
		cr_assert_not_null(attacks[row].gains, "%s has no attack", br_proceed_name(row));
		attack(row, attacks[row].lies == LIES_ALONE);
	}
}

/* Names as well, by every call and not only by those that end in a dot. */
Test(launcher_broker_proceed, landlock_stands_behind_a_broker_that_lies)
{
	for (int row = 0; row < BR_PROCEED_COUNT; row++)
		if (attacks[row].lies == LIES_TOO)
			attack(row, true);
}

/* Bare, each attack gains what it is after; and a denied program that could be executed before is
 * run, which docs/THREAT-MODEL.md says. */
Test(launcher_broker_proceed, positive_control)
{
	static const enum br_proceed won[] = {BR_PROCEED_NAME, BR_PROCEED_TRUNCATE, BR_PROCEED_OPEN,
					      BR_PROCEED_NODE, BR_PROCEED_PATH_ONLY};
	struct sb_options o = {.bare = true};

	plan_literal();
	for (size_t i = 0; i < sizeof won / sizeof *won; i++) {
		const struct attack *a = &attacks[won[i]];

		for (unsigned k = 0; k < CHANGES && a->change[k]; k++) {
			struct bout bout = {a, a->change[k], .ms = CONTROL_MS};
			bool won_nothing = is_possible(&bout);
			int rc;

			for (int tries = 0; tries < 40 && won_nothing; tries++) {
				restore();
				rc = run_race(&o, &bout);
				won_nothing = rc != 1 && is_whole();
			}
			cr_expect(!won_nothing, "%s, change %u", br_proceed_name(won[i]), k);
		}
	}
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}

Test(launcher_broker_proceed, a_denied_program_of_before_is_run)
{
	const struct attack *a = &attacks[BR_PROCEED_EXEC];
	struct sb_options o = {.floor = &floor_};

	plan_pattern();
	for (unsigned k = 0; k < CHANGES && a->change[k]; k++) {
		struct bout bout = {a, a->change[k], .ms = CONTROL_MS};
		int rc = !is_possible(&bout);

		o.caps = bout.change == rc_swap_credentials ? "setuid" : NULL;
		for (int i = 0; i < 40 && !rc; i++) {
			restore();
			cr_assert_eq(chmod("a.env", 0777), 0);
			rc = run_race(&o, &bout);
		}
		cr_expect_eq(rc, 1, "change %u", k);
	}
	pol_floor_release(&floor_);
	sb_policy_release(&policy);
}
