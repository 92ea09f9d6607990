/* SPDX-License-Identifier: Apache-2.0 */
/* markworld.c - see markworld.h. */
#include "tests/support/markworld.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "policy/plan/landlock.h"

static char root[64];
char mw_ws[80], mw_out[96];
struct sb_policy mw_policy;
struct pol_floor mw_floor;
_Atomic uint64_t *mw_rounds;

/* ws/: src, pub and work are clean; ro may not be changed; .claude holds protected names. */
void mw_make(void)
{
	char cmd[1024];

	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd,
		 "rm -rf %s && mkdir -p %s/src %s/pub %s/work %s/ro/d && cd %s && umask 0 && "
		 "echo ro >ro/f && echo a >src/a && echo w >work/f && echo o >../out",
		 mw_ws, mw_ws, mw_ws, mw_ws, mw_ws, mw_ws);
	cr_assert_eq(system(cmd), 0);
	snprintf(cmd, sizeof cmd, "chmod -R a+rwX %s && chown -R %d:%d %s", root, SB_NOBODY,
		 SB_NOBODY, root);
	if (geteuid() == 0)
		cr_assert_eq(system(cmd), 0);
	cr_assert_eq(chdir(mw_ws), 0);
}

void mw_set_up(void)
{
	static char lines[6][128];
	struct b_err err = {0};

	if (sb_abi() < POL_LL_ABI_TRUNCATE)
		cr_skip_test("calls are marked where Landlock sees truncation");
	strcpy(root, "/var/tmp/sbx-marks-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	snprintf(mw_ws, sizeof mw_ws, "%s/ws", root);
	snprintf(mw_out, sizeof mw_out, "%s/out", root);
	mw_make();
	snprintf(lines[0], sizeof *lines, "m+ T %s", mw_ws);
	snprintf(lines[1], sizeof *lines, "m- T %s/ro", mw_ws);
	snprintf(lines[2], sizeof *lines, "m- E %s/.claude/settings.json", mw_ws);
	snprintf(lines[3], sizeof *lines, "m- T %s/.claude/hooks", mw_ws);
	sb_policy_make(&mw_policy, (const char *const[]){"rx+ T /", lines[0], "m+ T /dev", lines[1],
							 lines[2], lines[3], NULL});
	cr_assert_eq(pol_floor_plan_broker(&mw_policy.rules, &mw_policy.image, pol_fsview_host(), 0,
					   &mw_floor, &err),
		     0, "%s", err.msg);
	mw_floor.traps |= POL_TRAP_SOCKETS;
	cr_assert_lt(mw_floor.read_level, POL_READ_ALL);
	cr_assert_eq(pol_floor_mark(&mw_floor, &mw_policy.image, pol_fsview_host(), NULL, 0), 3);
	mw_rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(mw_rounds, MAP_FAILED);
}

void mw_tear_down(void)
{
	char cmd[96];

	cr_assert_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
	pol_floor_release(&mw_floor);
	sb_policy_release(&mw_policy);
}

void mw_say_rounds(const char *what, unsigned marks)
{
	if (getenv("SBX_ROUNDS"))
		fprintf(stderr, "# %s%s: %llu rounds\n", what,
			marks == SB_MARKED_BLINDLY ? ", blindly" : "",
			(unsigned long long)*mw_rounds);
}

bool mw_is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

void mw_by_each(int (*act)(void *), void *arg, unsigned marks, int want_rc, const char *what)
{
	struct sb_options o = {.floor = &mw_floor, .marks = marks};

	for (unsigned i = 0; i < 2; i++) {
		o.uid = i ? SB_NOBODY : 0;
		if (i && geteuid() != 0)
			continue;
		mw_make();
		*mw_rounds = 0;
		cr_expect_eq(sb_run(&mw_policy, &o, act, arg), want_rc, "%s, uid %u", what, o.uid);
		mw_say_rounds(what, marks);
	}
}
