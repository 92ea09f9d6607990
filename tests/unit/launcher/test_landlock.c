/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/confine/landlock.c: rules made beside the caller. */
#include "launcher/run/confine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "policy/plan/landlock.h"

enum { OK = 0, BROKEN = 99 };

static int read_passwd(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : OK;
}

/* A child that waits for the rules of `plan`, made beside it, and acts. Its status. */
static int wait_and_act(const struct pol_ll_plan *plan, int (*act)(void), int *out_rc)
{
	struct lau_landlock_job job = LAU_LANDLOCK_JOB_INIT;
	struct b_err err = {0};
	int status;
	pid_t pid;

	job.plan = plan;
	cr_assert_eq(lau_landlock_begin(&job, &err), 0, "%s", err.msg);
	pid = fork();
	if (pid == 0) {
		struct lau_confine c = {.landlock_fd = job.ruleset, .landlock_ready = job.ready};

		if (lau_confine_caps(&c, &err) < 0 || lau_confine_landlock(&c, 0, &err) < 0)
			_exit(BROKEN);
		_exit(act());
	}
	waitpid(pid, &status, 0); /* as lau_spawn() does: the child does not wait for the end */
	*out_rc = lau_landlock_finish(&job, &err);
	cr_expect_eq(*out_rc < 0, err.kind != B_OK);
	close(job.ruleset);
	return WEXITSTATUS(status);
}

Test(launcher_landlock, a_child_waits_for_rules_that_are_made_beside_it)
{
	struct pol_ll_rule rules[200];
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = rules, .nrules = 200};
	int rc;

	for (size_t i = 0; i < plan.nrules; i++)
		rules[i] = (struct pol_ll_rule){"/usr", POL_LL_READ_FILE | POL_LL_READ_DIR};
	cr_expect_eq(wait_and_act(&plan, read_passwd, &rc), EACCES);
	cr_expect_eq(rc, 0);
	rules[199].path = "/";
	cr_expect_eq(wait_and_act(&plan, read_passwd, &rc), OK, "the last one counts");
}

Test(launcher_landlock, a_child_whose_rules_could_not_be_made_ends)
{
	struct pol_ll_rule rule = {"/usr", POL_LL_TRUNCATE};
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = &rule, .nrules = 1};
	int rc;

	cr_expect_eq(wait_and_act(&plan, read_passwd, &rc), BROKEN);
	cr_expect_eq(rc, -1, "a right that is not handled");
}

/* Leaves room for `more` descriptors, wherever those stand that the runner has open. */
static void leave(int more)
{
	struct rlimit lim;
	int top = 0;

	while (more > 0)
		more -= fcntl(top++, F_GETFD) < 0;
	lim = (struct rlimit){(rlim_t)top, (rlim_t)top};
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

enum { RULESET_AND_PIPE = 3 };

/* Without what the maker of the rules held open when we were forked. */
static int read_passwd_alone(void)
{
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		close(fd);
	return read_passwd();
}

Test(launcher_landlock, few_descriptors_are_enough_for_many_rules)
{
	struct pol_ll_rule rules[100];
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = rules, .nrules = 100};
	int rc;

	for (size_t i = 0; i < plan.nrules; i++)
		rules[i] = (struct pol_ll_rule){"/usr", POL_LL_READ_FILE | POL_LL_READ_DIR};
	rules[99].path = "/";
	leave(RULESET_AND_PIPE + 2);
	cr_expect_eq(wait_and_act(&plan, read_passwd_alone, &rc), OK, "the last one counts");
	cr_expect_eq(rc, 0);
}

Test(launcher_landlock, a_rule_that_cannot_be_opened_for_want_of_one_is_told)
{
	struct pol_ll_rule rule = {"/usr", POL_LL_READ_FILE};
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = &rule, .nrules = 1};
	int rc;

	leave(RULESET_AND_PIPE);
	cr_expect_eq(wait_and_act(&plan, read_passwd, &rc), BROKEN);
	cr_expect_eq(rc, -1);
}

/* ---- a link that came on the way ---- */

static char place[] = "/tmp/sbx-test-landlock-XXXXXX";
static char through[64], target[64];

static int read_target(void)
{
	return open(target, O_RDONLY | O_CLOEXEC) < 0 ? errno : OK;
}

/* seccomp(2): as a container's profile does that knows no openat2. */
static void hide_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void grant_nothing_behind_a_link(void)
{
	struct pol_ll_rule rule = {through, POL_LL_READ_FILE | POL_LL_READ_DIR};
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = &rule, .nrules = 1};
	int rc;

	cr_expect_eq(wait_and_act(&plan, read_target, &rc), EACCES);
	cr_expect_eq(rc, 0);
	snprintf(through, sizeof through, "%s/real/d", place);
	cr_expect_eq(wait_and_act(&plan, read_target, &rc), OK);
}

static void make_place(void)
{
	char dir[64], link[64];

	cr_assert(mkdtemp(place));
	snprintf(dir, sizeof dir, "%s/real", place);
	cr_assert_eq(mkdir(dir, 0700), 0);
	snprintf(link, sizeof link, "%s/link", place);
	cr_assert_eq(symlink("real", link), 0);
	snprintf(dir, sizeof dir, "%s/real/d", place);
	cr_assert_eq(mkdir(dir, 0700), 0);
	snprintf(target, sizeof target, "%s/real/d/f", place);
	cr_assert_eq(close(open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	snprintf(through, sizeof through, "%s/link/d", place);
}

static void remove_place(void)
{
	static const char *const names[] = {"real/d/f", "real/d", "real", "link", ""};
	char path[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", place, names[i]);
		(void)remove(path);
	}
}

Test(launcher_landlock, a_link_on_the_way_is_not_followed, .init = make_place, .fini = remove_place)
{
	grant_nothing_behind_a_link();
}

Test(launcher_landlock, nor_where_openat2_is_not_there, .init = make_place, .fini = remove_place)
{
	hide_openat2();
	grant_nothing_behind_a_link();
}
