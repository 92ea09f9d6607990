/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact floor against the decision engine: random rules on random trees, with every call that
 * changes files, by raw system calls, served by the broker under the domains the planner makes.
 *
 * Two trees that begin alike. What the policy allows is done in both, in the second without any
 * sandbox, and must end alike, errno included. What it denies must fail and is done only in the
 * first; so at the end the trees must still be alike. SBX_ROUNDS says how many rulesets (default
 * 16, FULL=1: 50, of 400 calls each), SBX_SEED where to begin.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/decide.h"
#include "core/path.h"
#include "policy/plan/landlock.h"
#include "policy/plan/floor.h"
#include "tests/support/broker.h"
#include "tests/support/callmodel.h"
#include "tests/support/full.h"

#define CALLS  400
#define NOBODY 65534

static unsigned state;

static unsigned rnd(unsigned n)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % n;
}

/* ---- one call ---- */

static const char *const names[KINDS] = {"open", "mkdir",   "rmdir",	"unlink", "rename",
					 "link", "symlink", "truncate", "chmod",  "utime"};
static int do_open(const struct call *c)
{
	struct open_how how = {.flags = (unsigned)c->flags, .mode = c->flags & O_CREAT ? 0640 : 0};
	long fd = c->by_openat2 ? syscall(SYS_openat2, AT_FDCWD, c->a, &how, sizeof how)
				: syscall(SYS_openat, AT_FDCWD, c->a, c->flags, 0640);
	int err = errno;

	if (fd >= 0)
		close((int)fd);
	return fd < 0 ? err : 0;
}

/* In the working directory; 0 or errno. */
static int perform(const struct call *c)
{
	const struct timespec ts[2] = {{1, 0}, {2, 0}};
	long rc = -1;

	switch (c->kind) {
	case OPEN:
		return do_open(c);
	case MKDIR:
		rc = syscall(SYS_mkdirat, AT_FDCWD, c->a, 0755);
		break;
	case RMDIR:
		rc = syscall(SYS_unlinkat, AT_FDCWD, c->a, AT_REMOVEDIR);
		break;
	case UNLINK:
		rc = syscall(SYS_unlinkat, AT_FDCWD, c->a, 0);
		break;
	case RENAME:
		rc = syscall(SYS_renameat2, AT_FDCWD, c->a, AT_FDCWD, c->b, c->flags);
		break;
	case LINK:
		rc = syscall(SYS_linkat, AT_FDCWD, c->a, AT_FDCWD, c->b, 0);
		break;
	case SYMLINK:
		rc = syscall(SYS_symlinkat, c->b, AT_FDCWD, c->a);
		break;
	case TRUNCATE:
		rc = syscall(SYS_truncate, c->a, 3);
		break;
	case CHMOD:
		rc = syscall(SYS_fchmodat, AT_FDCWD, c->a, 0700);
		break;
	case UTIME:
		rc = syscall(SYS_utimensat, AT_FDCWD, c->a, ts,
			     c->nofollow ? AT_SYMLINK_NOFOLLOW : 0);
		break;
	case KINDS:
		break;
	}
	return rc < 0 ? errno : 0;
}

static void random_path(char out[40])
{
	size_t n = 0;

	for (unsigned depth = 1 + rnd(3); depth > 0; depth--) {
		unsigned k = rnd(24);

		n += (size_t)snprintf(out + n, 40 - n, "%s%s", n ? "/" : "",
				      k < 20   ? (const char *[]){"a", "b", "c", "l"}[k % 4]
				      : k < 22 ? ".."
					       : ".");
	}
	if (!rnd(20))
		snprintf(out + n, 40 - n, "/");
}

static struct call random_call(void)
{
	static const int flags[] = {O_RDONLY,
				    O_RDONLY | O_DIRECTORY,
				    O_WRONLY,
				    O_RDWR,
				    O_WRONLY | O_CREAT,
				    O_WRONLY | O_CREAT | O_TRUNC,
				    O_RDWR | O_CREAT | O_EXCL,
				    O_RDONLY | O_CREAT,
				    O_RDONLY | O_TRUNC,
				    O_WRONLY | O_NOFOLLOW,
				    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW};
	struct call c = {.kind = (enum kind)rnd(KINDS), .nofollow = rnd(2)};

	/* rather make than remove */
	if ((c.kind == RMDIR || c.kind == UNLINK) && rnd(2))
		c.kind = rnd(2) ? MKDIR : OPEN;
	random_path(c.a);
	random_path(c.b);
	if (c.kind == OPEN)
		c.flags = flags[rnd(10)];
	if (c.kind == RENAME)
		c.flags = (int[]){0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE}[rnd(4)];
	c.by_openat2 = rnd(2);
	return c;
}

/* ---- rules and trees ---- */

static char text[16][160];

static void make_rules(void)
{
	static const char *const globs[] = {"**/b", "*", "**/a/**", "a/*", "?/b", "b/**", "**/c*"};
	const char *lines[20] = {"rx+ T /usr", text[0], text[1]};
	unsigned n = 3;

	snprintf(text[0], sizeof text[0], "rx%c T %s", rnd(6) ? '+' : '-', cm_tree[0]);
	snprintf(text[1], sizeof text[1], "m%c T %s", rnd(6) ? '+' : '-', cm_tree[0]);
	for (unsigned left = 1 + rnd(5); left > 0; left--) {
		static const char shapes[] = "TTEG";
		char shape = shapes[rnd(4)], base[100];
		size_t len = (size_t)snprintf(base, sizeof base, "%s", cm_tree[0]);

		for (unsigned depth = rnd(3) + (shape != 'G'); depth > 0; depth--)
			len += (size_t)snprintf(base + len, sizeof base - len, "/%c",
						'a' + (int)rnd(3));
		snprintf(text[n], sizeof text[n], "%s%c %c %s %s",
			 (const char *[]){"r", "m", "rm"}[rnd(3)], rnd(3) ? '-' : '+', shape, base,
			 shape == 'G' ? globs[rnd(7)] : "");
		lines[n] = text[n];
		n++;
	}
	sb_policy_make(&cm_policy, lines);
}

static void make_tree(const char *root, unsigned seed)
{
	char path[200];

	state = seed;
	for (int i = 0; i < 12; i++) {
		struct call c = {.kind = rnd(3) ? MKDIR : OPEN, .flags = O_WRONLY | O_CREAT};

		random_path(c.a);
		cr_assert_eq(chdir(root), 0);
		if (!strstr(c.a, "..")) /* nothing is made outside of the tree */
			(void)perform(&c);
	}
	snprintf(path, sizeof path, "%s/l", root);
	(void)!symlink((const char *[]){"a", "a/b", "b/none", "./"}[rnd(4)], path);
}

static void run_shell(const char *fmt, const char *arg)
{
	char cmd[300];

	snprintf(cmd, sizeof cmd, "%s %s", fmt, arg);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

/* ---- the confined side: performs what it is told ---- */

static int in[2], out[2];

static int serve(void *arg)
{
	struct call c;

	(void)arg;
	if (chdir(cm_tree[0]) < 0)
		return 1;
	while (read(in[0], &c, sizeof c) == (ssize_t)sizeof c) {
		int rc = perform(&c);

		if (write(out[1], &rc, sizeof rc) != (ssize_t)sizeof rc)
			return 2;
	}
	return 0;
}

static int performed_inside(const struct call *c)
{
	int rc = -1;

	if (write(in[1], c, sizeof *c) != (ssize_t)sizeof *c ||
	    read(out[0], &rc, sizeof rc) != (ssize_t)sizeof rc)
		return -1;
	return rc;
}

static void show(unsigned seed, unsigned nth, const struct call *c, int got, int want, bool ok)
{
	cr_log_error("seed %u call %u: %s %s %s flags %#o%s: %s, got %s, want %s", seed, nth,
		     names[c->kind], c->a, c->b, (unsigned)c->flags,
		     c->by_openat2 ? " openat2" : "", ok ? "allowed" : "denied", strerror(got),
		     strerror(want));
	for (int i = 0; i < 2; i++) {
		char link[128];
		ssize_t n;

		n = chdir(cm_tree[i]) < 0 ? -1 : readlink(c->a, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
		cr_log_error("  in tree %d: -> %s", i, link);
	}
	for (unsigned i = 0; i < 16; i++)
		if (text[i][0])
			cr_log_error("  %s", text[i]);
}

/* true: as it must be. */
static bool one_call(unsigned seed, unsigned nth, const struct pol_floor *floor)
{
	struct call c = random_call();
	int got, want = EACCES;
	bool ok = true;

	/* What was made after the start in a carved directory is opened by openat2(2) only. */
	if (c.kind == OPEN && floor->read_level != POL_READ_ALL)
		c.by_openat2 = true;
	/* It leaves the tree: what is there is not alike. */
	if (strstr(c.a, "..") || strstr(c.b, ".."))
		return true;
	ok = cm_allowed(&c);
	got = performed_inside(&c);
	if (ok) {
		cr_assert_eq(chdir(cm_tree[1]), 0);
		want = perform(&c);
	}
	/* A denied call may get the kernel's own refusal, of a name that is not as it must be. */
	if (got == want || (!ok && got && got != EPERM && got > 0))
		return true;
	show(seed, nth, &c, got, want, ok);
	return false;
}

static void compare_trees(unsigned seed)
{
	char cmd[400];

	snprintf(cmd, sizeof cmd,
		 "cd %s && find . -printf '%%p %%y %%m %%s %%l\\n' | sort >/tmp/sbx-agree.%d.0; "
		 "cd %s && find . -printf '%%p %%y %%m %%s %%l\\n' | sort | cmp - "
		 "/tmp/sbx-agree.%d.0",
		 cm_tree[0], getpid(), cm_tree[1], getpid());
	cr_expect_eq(system(cmd), 0, "seed %u: the trees differ", seed);
	snprintf(cmd, sizeof cmd, "/tmp/sbx-agree.%d.0", getpid());
	unlink(cmd);
}

static void start_inside(const struct pol_floor *floor, uid_t uid, pid_t *pid)
{
	cr_assert_eq(pipe(in), 0);
	cr_assert_eq(pipe(out), 0);
	*pid = fork();
	if (*pid == 0) {
		const struct sb_options o = {.floor = floor, .uid = uid};

		close(in[1]);
		close(out[0]);
		_exit(sb_run(&cm_policy, &o, serve, NULL));
	}
	close(in[0]);
	close(out[1]);
}

/* From scope 2 on a broker of an ordinary user looks into nobody. */
static bool yama_allows(void)
{
	b_auto_free char *scope = NULL;
	size_t size = 0;
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	bool allows = !f || getline(&scope, &size, f) < 1 || scope[0] < '2';

	if (f)
		fclose(f);
	return allows;
}

static unsigned one_round(unsigned seed)
{
	uid_t uid = geteuid() == 0 && seed % 2 && yama_allows() ? NOBODY : 0;
	struct pol_floor floor;
	struct b_err err = {0};
	unsigned bad = 0;
	int status;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		strcpy(cm_tree[i], "/tmp/sbx-agree-XXXXXX");
		cr_assert_not_null(mkdtemp(cm_tree[i]));
		make_tree(cm_tree[i], seed);
		if (uid)
			run_shell("chown -hR 65534:65534", cm_tree[i]);
	}
	memset(text, 0, sizeof text);
	state = seed * 7 + 1;
	make_rules();
	cr_assert_eq(pol_floor_plan_broker(&cm_policy.rules, &cm_policy.image, pol_fsview_host(),
					   pol_ll_traps(sb_abi()), &floor, &err),
		     0, "%s", err.msg);
	if (floor.uses_broker) {
		cm_judges_programs = floor.traps & POL_TRAP_EXEC;
		start_inside(&floor, uid, &pid);
		if (uid)
			cr_assert_eq(seteuid(uid), 0);
		for (unsigned i = 0; i < CALLS && bad < 3; i++)
			bad += !one_call(seed, i, &floor);
		if (uid)
			cr_assert_eq(seteuid(0), 0);
		close(in[1]);
		close(out[0]);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "seed %u: %#x", seed, status);
		compare_trees(seed);
	}
	pol_floor_release(&floor);
	sb_policy_release(&cm_policy);
	cr_assert_eq(chdir("/"), 0);
	run_shell("rm -rf", cm_tree[0]);
	run_shell("rm -rf", cm_tree[1]);
	return bad;
}

static void agree(unsigned n)
{
	const char *seed = getenv("SBX_SEED");
	unsigned first = seed ? (unsigned)atoi(seed) : 1, bad = 0;

	struct stat was, is;
	int had = lstat("/a", &was);

	umask(022);
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = first; i < first + n && bad < 3; i++)
		bad += one_round(i);
	cr_expect_eq(bad, 0);
	cr_expect_eq(lstat("/a", &is), had, "a tree was made outside of its place");
}

Test(agreement_broker, engine_and_floor_give_one_verdict, .timeout = 3600)
{
	const char *rounds = getenv("SBX_ROUNDS");

	agree(rounds ? (unsigned)atoi(rounds) : is_full() ? 50 : 16);
}

/* Linux 6.1 and 5.19, and what 5.13 to 5.18 would have. */
Test(agreement_broker, what_an_older_landlock_does_not_see_the_broker_does, .timeout = 3600)
{
	unsigned rounds = is_full() ? 10 : 4;

	setenv("SBX_ABI", "2", 1);
	agree(rounds);
	setenv("SBX_ABI", "1", 1);
	agree(rounds);
}
