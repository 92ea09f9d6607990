/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/floor_gaps.c: what a plan leaves to the broker. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "policy/plan/floor.h"
#include "tests/support/floorplan.h"

#define R POL_GRANT_READ
#define X POL_GRANT_EXEC
#define W POL_GRANT_WRITE

static void set_up(void)
{
	floorplan_broker = true;
}
TestSuite(policy_floor_broker, .init = set_up, .fini = floorplan_release);

static unsigned in(const struct pol_grant *v, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].path, path))
			return v[i].rights;
	return 0;
}

static unsigned granted(const char *path)
{
	return in(floorplan.grants, floorplan.ngrants, path);
}

/* Nothing in it is complex, and every right to write is the broker's all the same. */
Test(policy_floor_broker, what_the_host_does_not_see_is_trapped_whatever_the_policy)
{
	const char *const *rules = LIST("a+ T /", "m+ T /w"), *const *files = LIST("/w/", "/bin/");

	floorplan_make(rules, files);
	cr_expect_not(floorplan.uses_broker);
	cr_expect(granted("/w") & POL_GRANT_WRITE);
	floorplan_release();
	floorplan_traps = POL_TRAP_TRUNCATE;
	floorplan_make(rules, files);
	cr_expect(floorplan.uses_broker);
	cr_expect_eq(floorplan.traps & (POL_TRAP_TRUNCATE | POL_TRAP_FILES),
		     POL_TRAP_TRUNCATE | POL_TRAP_FILES);
	cr_expect_not(granted("/w") & POL_GRANT_WRITE);
	cr_expect_eq(in(floorplan.brokered, floorplan.nbrokered, "/w"), POL_GRANT_WRITE);
}

static unsigned brokered(const char *path)
{
	return in(floorplan.brokered, floorplan.nbrokered, path);
}

Test(policy_floor_broker, simple_rules_need_none)
{
	floorplan_make(LIST("a+ T /", "m+ T /w"), LIST("/w/", "/usr/"));
	cr_expect_not(floorplan.uses_broker);
	cr_expect_eq(granted("/w"), W);
	cr_expect_eq(floorplan.traps, 0);
}

Test(policy_floor_broker, a_deny_in_a_writable_tree_is_its_work)
{
	floorplan_make(LIST("a+ T /", "m+ T /w", "m+ T /tmp", "m- T /w/.git/hooks"),
		       LIST("/w/", "/w/.git/", "/tmp/", "/usr/"));
	cr_expect(floorplan.uses_broker);
	cr_expect_not(pol_floor_has_fatal(&floorplan));
	cr_expect_eq(floorplan.traps, POL_TRAP_FILES);
	cr_expect_eq(floorplan.read_level, POL_READ_NONE);
	cr_expect_eq(brokered("/w"), W);
	cr_expect_eq(brokered("/tmp"), W, "what is trapped anyway needs no right of its own");
	cr_expect_eq((granted("/w") | granted("/tmp")) & W, 0);
}

Test(policy_floor_broker, carved_directories_are_listed_by_it)
{
	floorplan_make(LIST("a+ T /", "a- T /home/u/.ssh"),
		       LIST("/home/", "/home/u/", "/home/u/.ssh/", "/home/u/f", "/usr/"));
	cr_expect_eq(floorplan.read_level, POL_READ_DIRECTORY);
	cr_expect_eq(brokered("/home/u"), R);
	cr_expect_eq(granted("/home/u"), 0, "no name below leaks");
	cr_expect_eq(granted("/home/u/f"), R | X);
}

/* What the command makes there it may execute at once, which the broker cannot do for it. */
Test(policy_floor_broker, a_literal_deny_where_things_are_made_is_not_carved_out)
{
	floorplan_make(LIST("a+ T /", "a- T /w/.env", "m+ T /w"),
		       LIST("/w/", "/w/.env", "/w/f", "/usr/"));
	cr_expect_eq(floorplan.read_level, POL_READ_ALL);
	cr_expect(floorplan.traps & POL_TRAP_EXEC);
	cr_expect_eq(granted("/w") & (R | X), R | X);
	cr_expect_eq(granted("/w/f"), 0);
	cr_expect_eq(brokered("/w") & R, R);
}

Test(policy_floor_broker, a_crowded_directory_is_its_work)
{
	static const char *files[POL_CARVE_MAX + 8];
	static char names[POL_CARVE_MAX + 8][32];
	size_t n = 0;

	files[n++] = "/bin/";
	for (; n < POL_CARVE_MAX + 6; n++) {
		snprintf(names[n], sizeof names[n], "/bin/p%zu", n);
		files[n] = names[n];
	}
	floorplan_make(LIST("a+ T /", "a- E /bin/p7"), files);
	cr_expect_eq(floorplan.read_level, POL_READ_ALL);
	cr_expect_eq(granted("/bin") & (R | X), R | X);
	cr_expect_not(pol_floor_has_fatal(&floorplan));
	for (size_t i = 0; i < floorplan.ngaps; i++)
		cr_expect_str_neq(floorplan.gaps[i].rule, "/bin", "%s", floorplan.gaps[i].why);
}

Test(policy_floor_broker, a_read_pattern_makes_it_open_everything)
{
	floorplan_make(LIST("a+ T /usr", "a+ T /w", "a- G /w **/*.env"), LIST("/usr/", "/w/"));
	cr_expect_eq(floorplan.read_level, POL_READ_ALL);
	cr_expect_eq(floorplan.traps, POL_TRAP_FILES | POL_TRAP_EXEC);
	cr_expect_eq(granted("/w"), R | X, "or nothing in it could be executed");
	cr_expect_eq(brokered("/w"), R | X);
}

Test(policy_floor_broker, single_files_are_replaced_in_their_directory)
{
	floorplan_make(LIST("a+ T /", "m+ E /w/log", "m+ E /w/none", "m+ T /x/y/z"),
		       LIST("/w/", "/w/log", "/x/"));
	cr_expect_eq(floorplan.ngaps, 0);
	cr_expect_eq(brokered("/w"), W);
	cr_expect_eq(brokered("/x"), W, "the nearest directory that is there");
	cr_expect_eq(granted("/w/log"), W);
}

Test(policy_floor_broker, terminals_and_devices_stay_with_the_kernel)
{
	floorplan_make(LIST("a+ T /", "m+ T /w", "m- E /w/x", "m+ T /dev/pts", "m+ E /dev/null"),
		       LIST("/w/", "/dev/", "/dev/null", "/dev/pts/"));
	cr_expect_eq(granted("/dev/pts"), W | POL_GRANT_DEV);
	cr_expect_eq(granted("/dev/null"), W | POL_GRANT_DEV);
	cr_expect_eq(brokered("/dev/pts"), 0);
}

Test(policy_floor_broker, its_own_domain_holds_what_its_target_has)
{
	struct pol_floor both;

	floorplan_make(
		LIST("a+ T /", "m+ T /w", "m- T /w/no", "a- T /home/u/.ssh", "m+ E /dev/null"),
		LIST("/w/", "/home/", "/home/u/", "/home/u/f", "/dev/", "/dev/null"));
	pol_floor_union(&floorplan, &both);
	cr_expect_eq(in(both.grants, both.ngrants, "/w"), R | W | X);
	cr_expect_eq(in(both.grants, both.ngrants, "/") & (R | X), R | X);
	cr_expect_eq(in(both.grants, both.ngrants, "/home/u/f"), 0, "within / already");
	cr_expect_eq(in(both.grants, both.ngrants, "/dev/null") & W, W);
	pol_floor_release(&both);
}

/* SBX_GOLDEN=update writes the file anew. */
Test(policy_floor_broker, is_shown)
{
	const char *path = "tests/golden/floor/broker.txt", *mode = getenv("SBX_GOLDEN");
	struct b_str text = {0}, want = {0};
	struct b_err err = {0};

	floorplan_make(LIST("a+ T /", "a- T /home/u/.ssh", "m+ T /home/u/w",
			    "m- T /home/u/w/.git/hooks", "a- G /home/u/w **/*.env",
			    "m+ E /dev/null"),
		       LIST("/home/", "/home/u/", "/home/u/.ssh/", "/home/u/w/", "/usr/", "/dev/",
			    "/dev/null"));
	pol_floor_show(&floorplan, &text);
	if (mode && !strcmp(mode, "update"))
		cr_assert_eq(b_write_file(path, 0644, text.s, text.len, false, &err), 0);
	cr_assert_eq(b_read_file(path, 1 << 20, &want, &err), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(&text), b_str_c(&want));
	b_str_release(&text);
	b_str_release(&want);
}
