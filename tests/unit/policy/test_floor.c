/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/floor.c: plans of made-up rules on made-up file systems. */
#include "policy/plan/floor.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "policy/plan/landlock.h"
#include "tests/support/floorplan.h"

TestSuite(policy_floor, .fini = floorplan_release);

/* Rights granted at exactly this path. */
static unsigned at(const char *path, bool lax)
{
	for (size_t i = 0; i < floorplan.ngrants; i++)
		if (!strcmp(floorplan.grants[i].path, path) && floorplan.grants[i].lax == lax)
			return floorplan.grants[i].rights;
	return 0;
}

static const struct pol_gap *gap(enum sbx_op op, const char *rule)
{
	for (size_t i = 0; i < floorplan.ngaps; i++)
		if (floorplan.gaps[i].op == op && strstr(floorplan.gaps[i].rule, rule))
			return &floorplan.gaps[i];
	return NULL;
}

#define R POL_GRANT_READ
#define X POL_GRANT_EXEC
#define W POL_GRANT_WRITE
#define L POL_GRANT_LIST

Test(policy_floor, a_clean_tree_is_one_grant_and_looks_at_nothing)
{
	floorplan_make(LIST("a+ T /"), LIST("/usr/", "/etc/"));
	cr_expect_eq(floorplan.ngrants, 1);
	cr_expect_eq(at("/", false), R | X);
	cr_expect_eq(floorplan.ngaps, 0);
	cr_expect_eq(floorplan_lists, 0);
}

Test(policy_floor, a_literal_deny_is_carved_out)
{
	floorplan_make(LIST("a+ T /", "a- T /home/u/.ssh"),
		       LIST("/usr/", "/usr/lib/", "/bin@", "/home/", "/home/u/", "/home/v/",
			    "/home/u/.ssh/", "/home/u/.ssh/id", "/home/u/src/", "/home/u/.bashrc"));
	cr_expect_eq(at("/usr", false), R | X);
	cr_expect_eq(at("/usr/lib", false), 0, "below a clean tree nothing is looked at");
	cr_expect_eq(at("/bin", false), 0, "symlinks are judged where they lead");
	cr_expect_eq(at("/home/v", false), R | X);
	cr_expect_eq(at("/home/u/src", false), R | X);
	cr_expect_eq(at("/home/u/.bashrc", false), R | X);
	cr_expect_eq(at("/home/u/.ssh", false), 0);
	cr_expect_eq(at("/home/u/.ssh/id", false), 0);
	cr_expect_eq(at("/", false) | at("/home", false) | at("/home/u", false), L);
	cr_expect_eq(floorplan.ncarved, 3);
	cr_expect_eq(floorplan_lists, 3);
	cr_expect_not(pol_floor_has_fatal(&floorplan));
	cr_expect_not_null(gap(SBX_READ, "<carved directories>"), "the leak of names is said");
}

Test(policy_floor, what_does_not_exist_yet_is_carved_all_the_same)
{
	floorplan_make(LIST("a+ T /", "a- T /home/u/.ssh"),
		       LIST("/home/", "/home/u/", "/home/u/a"));
	cr_expect_eq(at("/home/u", false), L);
	cr_expect_eq(at("/home/u/a", false), R | X);
}

Test(policy_floor, what_permissions_keep_closed_is_not_carved)
{
	const char *const *files = LIST("/etc/", "/etc/closed", "/etc/shadow", "/etc/passwd");

	floorplan_make(LIST("a+ T /", "a- E /etc/closed", "a- T /etc/closed.d"), files);
	cr_expect_eq(at("/", false), R | X);
	cr_expect_eq(floorplan.ncarved, 0);
	cr_assert_eq(floorplan.nheld, 2);
	cr_expect_str_eq(floorplan.held[0], "/etc/closed");
	floorplan_release();
	floorplan_make(LIST("a+ T /", "a- E /etc/closed", "a- E /etc/shadow"), files);
	cr_expect_eq(at("/etc", false), L, "one that is open to us has all carved");
	cr_expect_eq(at("/etc/closed", false) | at("/etc/shadow", false), 0);
	cr_expect_eq(floorplan.nheld, 0);
	floorplan_release();
	floorplan_make(LIST("a+ T /", "a- E /etc/closed", "a- G /etc *.key"), files);
	cr_expect_eq(at("/etc", false) & R, 0, "patterns are not left to them");
	floorplan_release();
	floorplan_make(LIST("a+ T /usr", "a- E /usr/closed", "m+ T /usr", "m- E /usr/closed"),
		       LIST("/usr/", "/usr/closed"));
	cr_expect_eq(at("/usr", false), R | X, "reads only");
}

Test(policy_floor, where_only_named_subtrees_are_open_nothing_is_listed)
{
	floorplan_make(LIST("a+ T /", "m+ T /tmp/w", "m+ T /tmp/x/y", "m+ E /tmp/f"),
		       LIST("/tmp/", "/tmp/w/", "/tmp/x/", "/tmp/x/y/", "/tmp/f", "/tmp/other/"));
	cr_expect_eq(at("/tmp/w", false), W);
	cr_expect_eq(at("/tmp/x/y", false), W);
	cr_expect_eq(at("/tmp/f", false), W);
	cr_expect_eq(at("/tmp/other", false), 0);
	cr_expect_eq(floorplan_lists, 0);
	floorplan_release();
	floorplan_make(LIST("a+ T /", "m+ G /tmp w*/**", "m+ T /tmp/x"),
		       LIST("/tmp/", "/tmp/w1/", "/tmp/x/", "/tmp/other/"));
	cr_expect_eq(at("/tmp/w1", false), W, "a pattern names what must be looked for");
	cr_expect_eq(at("/tmp/x", false), W);
	cr_expect_eq(floorplan_lists, 1);
}

Test(policy_floor, a_directory_that_cannot_be_listed_is_passed_by_name)
{
	floorplan_make(LIST("a+ T /", "a- T /unreadable/a/secret", "a- T /unreadable/b/secret"),
		       LIST("/unreadable/", "/unreadable/a/", "/unreadable/a/x", "/unreadable/b/",
			    "/unreadable/b/y"));
	cr_expect_eq(at("/unreadable/a/x", false), R | X);
	cr_expect_eq(at("/unreadable/b/y", false), R | X);
	floorplan_release();
	floorplan_make(LIST("a+ T /", "a- T /unreadable", "a+ T /unreadable/mine"),
		       LIST("/unreadable/", "/unreadable/mine/"));
	cr_expect_eq(at("/unreadable/mine", false), R | X);
	cr_expect_eq(at("/unreadable", false), 0);
}

Test(policy_floor, a_writable_tree_is_granted_whole)
{
	floorplan_make(LIST("a+ T /", "m+ T /w/src"), LIST("/w/", "/w/src/", "/w/doc/", "/usr/"));
	cr_expect_eq(at("/w/src", false), W);
	cr_expect_eq(at("/w", false) | at("/w/doc", false), 0);
	cr_expect_eq(at("/", false), R | X);
	cr_expect_eq(floorplan.ngaps, 0);
}

Test(policy_floor, a_deny_inside_a_writable_tree_is_fatal_and_named_and_closed)
{
	floorplan_make(LIST("a+ T /", "m+ T /w", "m- T /w/.git/hooks", "m- G /w **/*.lock",
			    "m- T /elsewhere"),
		       LIST("/w/", "/w/.git/", "/w/src/", "/elsewhere/"));
	cr_expect(pol_floor_has_fatal(&floorplan));
	cr_assert_not_null(gap(SBX_MODIFY, "/w/.git/hooks"));
	cr_expect(gap(SBX_MODIFY, "/w/.git/hooks")->fatal);
	cr_expect_str_eq(gap(SBX_MODIFY, "/w/.git/hooks")->origin, "p.yaml:1:1");
	cr_expect_not_null(gap(SBX_MODIFY, "*.lock"));
	cr_expect_null(gap(SBX_MODIFY, "/elsewhere"), "a deny that pierces nothing is no gap");
	for (size_t i = 0; i < floorplan.ngrants; i++)
		cr_expect_not((floorplan.grants[i].rights & W) && !floorplan.grants[i].lax, "%s",
			      floorplan.grants[i].path);
	cr_expect_eq(at("/w", true), W, "what --best-effort may accept");
}

Test(policy_floor, a_deny_that_was_taken_back_is_no_gap)
{
	floorplan_make(LIST("a+ T /", "m+ T /w", "m- T /w/out", "m+ T /w/out"),
		       LIST("/w/", "/w/out/"));
	cr_expect_eq(at("/w", false), W);
	cr_expect_eq(floorplan.ngaps, 0);
	floorplan_release();
	floorplan_make(LIST("a+ T /", "m+ T /w", "m- T /w/out", "m+ T /w"), LIST("/w/", "/w/out/"));
	cr_expect_eq(at("/w", false), W);
	cr_expect_eq(floorplan.ngaps, 0);
}

Test(policy_floor, a_read_pattern_in_a_readable_tree_is_fatal_once)
{
	floorplan_make(LIST("a+ T /usr", "a+ T /w", "a- G /w **/*.env"),
		       LIST("/usr/", "/w/", "/w/a/", "/w/b/"));
	cr_assert_not_null(gap(SBX_READ, "*.env"));
	cr_expect(gap(SBX_READ, "*.env")->fatal);
	cr_expect_null(gap(SBX_EXEC, "*.env"), "the exec list is the read list: said once");
	cr_expect_eq(at("/w", false), 0);
	cr_expect_eq(at("/w", true), R | X);
	cr_expect_eq(at("/usr", false), R | X);
}

Test(policy_floor, files_allowed_by_a_pattern_alone_stay_closed_even_when_lax)
{
	floorplan_make(LIST("a+ T /usr", "a+ G /w **/*.c"), LIST("/usr/", "/w/", "/w/a.c"));
	cr_assert_not_null(gap(SBX_READ, "*.c"));
	cr_expect(gap(SBX_READ, "*.c")->fatal);
	cr_expect_eq(at("/w", false) | at("/w", true), 0);
}

Test(policy_floor, a_denied_read_does_not_close_the_writing)
{
	floorplan_make(LIST("a+ T /", "a- T /w/secrets", "m+ T /w"),
		       LIST("/w/", "/w/secrets/", "/w/src/", "/w/f"));
	cr_expect_eq(at("/w", false), W | L);
	cr_expect_eq(at("/w/secrets", false), 0);
	cr_expect_eq(at("/w/src", false), R | X);
	cr_expect_eq(at("/w/f", false), R | X);
	cr_expect_not(pol_floor_has_fatal(&floorplan));
	cr_assert_not_null(gap(SBX_READ, "- T /w/secrets"));
	cr_expect(strstr(gap(SBX_READ, "- T /w/secrets")->why, "rename"));
	cr_assert_not_null(gap(SBX_READ, "/w"), "later files in a carved, writable directory");
	cr_expect(strstr(gap(SBX_READ, "/w")->why, "until the next run"));
}

Test(policy_floor, an_allow_below_a_deny_is_reached)
{
	floorplan_make(LIST("a+ T /", "a- T /home", "a+ T /home/u/w"),
		       LIST("/usr/", "/home/", "/home/u/", "/home/u/w/", "/home/u/x/"));
	cr_expect_eq(at("/home/u/w", false), R | X);
	cr_expect_eq(at("/home", false) | at("/home/u", false) | at("/home/u/x", false), 0);
}

Test(policy_floor, a_crowded_directory_grants_directories_only)
{
	static const char *files[POL_CARVE_MAX + 8];
	static char names[POL_CARVE_MAX + 8][32];
	size_t n = 0;

	files[n++] = "/home/";
	files[n++] = "/home/dir/";
	files[n++] = "/home/secret/";
	while (n < POL_CARVE_MAX + 6) {
		snprintf(names[n], sizeof names[n], "/home/f%zu", n);
		files[n] = names[n];
		n++;
	}
	floorplan_make(LIST("a+ T /", "a- T /home/secret"), files);
	cr_expect_eq(at("/home/dir", false), R | X);
	cr_expect_eq(at("/home/f9", false), 0);
	cr_assert_not_null(gap(SBX_READ, "/home"));
	cr_expect_not(gap(SBX_READ, "/home")->fatal);
}

Test(policy_floor, an_exact_rule_on_a_directory_lists_it)
{
	floorplan_make(LIST("a+ T /usr", "a+ E /w"), LIST("/usr/", "/w/", "/w/f"));
	cr_expect_eq(at("/w", false), L);
	cr_expect_eq(at("/w/f", false), 0);
}

Test(policy_floor, an_exact_deny_of_a_directory_takes_the_listing_only)
{
	floorplan_make(LIST("a+ T /", "a- E /w"), LIST("/usr/", "/w/", "/w/f", "/w/d/"));
	cr_expect_eq(at("/w", false), 0);
	cr_expect_eq(at("/w/f", false), R | X);
	cr_expect_eq(at("/w/d", false), R | X);
}

Test(policy_floor, single_writable_files_say_what_they_cannot)
{
	floorplan_make(LIST("a+ T /", "m+ E /w/log", "m+ E /w/none", "m+ T /w/dist"),
		       LIST("/w/", "/w/log"));
	cr_expect_eq(at("/w/log", false), W);
	cr_assert_not_null(gap(SBX_MODIFY, "/w/log"));
	cr_expect_not(gap(SBX_MODIFY, "/w/log")->fatal);
	cr_assert_not_null(gap(SBX_MODIFY, "/w/none"));
	cr_expect_str_eq(gap(SBX_MODIFY, "/w/dist")->remedy,
			 "create it first, or allow its directory");
}

Test(policy_floor, writable_device_nodes_may_be_controlled)
{
	floorplan_make(LIST("a+ T /", "m+ E /dev/null"), LIST("/dev/", "/dev/null", "/dev/sda"));
	cr_expect_eq(at("/dev/null", false), W | POL_GRANT_DEV);
	cr_expect_eq(at("/dev/sda", false), 0);
}

/* A grant to execute a tree must not open what is denied for reading in it. */
Test(policy_floor, exec_may_be_wider_than_read)
{
	struct pol_ll_plan ll;

	floorplan_make(LIST("r+ T /", "r- T /w/secret", "x+ T /"),
		       LIST("/usr/", "/w/", "/w/secret/", "/w/f"));
	cr_expect_eq(at("/", false), X | L);
	cr_expect_eq(at("/w/secret", false), 0);
	pol_ll_plan(&floorplan, 7, &ll);
	for (size_t i = 0; i < ll.nrules; i++)
		if (!strcmp(ll.rules[i].path, "/") || !strcmp(ll.rules[i].path, "/w"))
			cr_expect_not(ll.rules[i].access & POL_LL_READ_FILE);
	pol_ll_plan_release(&ll);
}

Test(policy_floor, exec_may_be_narrower_than_read)
{
	floorplan_make(LIST("r+ T /", "x+ T /usr/bin"),
		       LIST("/usr/", "/usr/bin/", "/usr/bin/sh", "/w/"));
	cr_expect_eq(at("/", false), R);
	cr_expect_eq(at("/usr/bin", false), X);
	cr_expect_eq(floorplan.ngaps, 0);
}

Test(policy_floor, names_that_only_share_a_prefix_are_not_carved)
{
	floorplan_make(LIST("a+ T /", "a- T /home-old/x", "a- T /home.d/x"),
		       LIST("/home/", "/home/u/", "/home-old/"));
	cr_expect_eq(at("/home", false), R | X);
}

Test(policy_floor, a_policy_that_allows_nothing_cannot_be_planned)
{
	struct b_err err = {0};

	cr_expect_eq(floorplan_try(LIST("a+ T /nowhere"), LIST("/usr/"), &err), -1);
	cr_expect_eq(err.kind, B_FLOOR);
}

Test(policy_floor, exact_grants_of_the_run_are_added)
{
	struct pol_ll_plan ll;

	floorplan_make(LIST("a+ T /usr"), LIST("/usr/"));
	pol_floor_grant(&floorplan, "/dev/shm/x/ring", POL_GRANT_RING, false);
	pol_ll_plan(&floorplan, 7, &ll);
	cr_assert_eq(ll.nrules, 2);
	cr_expect_str_eq(ll.rules[1].path, "/dev/shm/x/ring");
	cr_expect_eq(ll.rules[1].access, POL_LL_READ_FILE | POL_LL_WRITE_FILE);
	pol_ll_plan_release(&ll);
}

/* -- golden: SBX_GOLDEN=update writes the files anew -- */

static void golden(const char *name, const struct b_str *text)
{
	const char *mode = getenv("SBX_GOLDEN");
	struct b_str want = {0};
	struct b_err err = {0};
	char path[128];

	snprintf(path, sizeof path, "tests/golden/floor/%s.txt", name);
	if (mode && !strcmp(mode, "update"))
		cr_assert_eq(b_write_file(path, 0644, text->s, text->len, false, &err), 0, "%s",
			     err.msg);
	cr_assert_eq(b_read_file(path, 1 << 20, &want, &err), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(text), b_str_c(&want), "%s", path);
	b_str_release(&want);
}

static const char *const home_rules[] = {
	"a+ T /",
	"a- T /dev",
	"a+ E /dev/null",
	"a+ T /dev/pts",
	"a- T /sys/kernel/debug",
	"a- T /home/u/.ssh",
	"a- E /etc/shadow",
	"m+ T /home/u/w",
	"m+ T /tmp/scratch",
	"m+ E /dev/null",
	"m+ T /dev/pts",
	NULL,
};
static const char *const home_files[] = {
	"/bin@",
	"/usr/",
	"/etc/",
	"/etc/shadow",
	"/etc/passwd",
	"/etc/ssl/",
	"/dev/",
	"/dev/null",
	"/dev/sda",
	"/dev/pts/",
	"/sys/",
	"/sys/kernel/",
	"/sys/kernel/debug/",
	"/sys/kernel/mm/",
	"/sys/class/",
	"/home/",
	"/home/u/",
	"/home/u/.ssh/",
	"/home/u/w/",
	"/home/u/.gitconfig",
	"/home/v/",
	"/tmp/",
	"/tmp/scratch/",
	"/tmp/other",
	"/proc/",
	NULL,
};

Test(policy_floor, the_plan_of_a_usual_home_is_as_recorded)
{
	struct b_str out = {0};

	floorplan_make(home_rules, home_files);
	pol_floor_show(&floorplan, &out);
	golden("home", &out);
	for (int abi = 1; abi <= 7; abi += abi == 1 ? 2 : 4) {
		struct pol_ll_plan ll;
		char name[32];

		b_str_reset(&out);
		pol_ll_plan(&floorplan, abi, &ll);
		pol_ll_show(&ll, &out);
		snprintf(name, sizeof name, "home-abi%d", abi);
		golden(name, &out);
		pol_ll_plan_release(&ll);
	}
	b_str_release(&out);
}

Test(policy_floor, the_plan_that_needs_a_broker_is_as_recorded)
{
	struct b_str out = {0};

	floorplan_make(LIST("a+ T /", "a- G /home/u/w **/*.env", "m+ T /home/u/w",
			    "m- T /home/u/w/.git/hooks"),
		       home_files);
	pol_floor_show(&floorplan, &out);
	golden("broker-strict", &out);
	b_str_reset(&out);
	pol_floor_accept_gaps(&floorplan);
	pol_floor_show(&floorplan, &out);
	golden("broker-best-effort", &out);
	b_str_release(&out);
}
