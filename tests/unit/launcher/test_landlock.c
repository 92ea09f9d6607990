/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/confine/landlock.c: rules made beside the caller. */
#include "launcher/run/confine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
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
