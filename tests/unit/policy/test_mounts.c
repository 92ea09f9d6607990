/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/mounts.c: what is bound, covered and pinned, and which gaps are closed
 * so, for made-up rules on a made-up file system. */
#include "policy/plan/mounts.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "tests/support/floorplan.h"

static struct pol_mounts mounts;
static struct b_str shown;

static void end(void)
{
	pol_mounts_release(&mounts);
	b_str_release(&shown);
	floorplan_release();
}

TestSuite(policy_mounts, .fini = end);

/* "kind path" and where a link leads, a line each. */
static const char *show(const char *const *rules, const char *const *files)
{
	floorplan_make(rules, files);
	floorplan_mounts(&mounts);
	for (size_t i = 0; i < mounts.n; i++) {
		const struct pol_mount *m = &mounts.v[i];

		b_str_addf(&shown, "%s%s %s%s%s\n", m->is_cover ? "+ " : "",
			   pol_mount_kind_name(m->kind), m->path, m->target ? " -> " : "",
			   m->target ? m->target : "");
	}
	return b_str_c(&shown);
}

Test(policy_mounts, what_is_not_granted_is_not_there)
{
	cr_expect_str_eq(show(LIST("a+ T /", "a- T /home/u/.ssh", "m+ T /w"),
			      LIST("/home/", "/home/u/", "/home/u/.ssh/", "/home/u/src/", "/bin@",
				   "/usr/", "/w/", "/proc/", "/dev/")),
			 "read-only /home/u/src\nread-only /usr\nwritable /w\n"
			 "symlink /bin -> usr/bin\n");
	cr_expect_not(pol_floor_has_fatal(&floorplan));
}

Test(policy_mounts, a_clean_root_is_one_mount)
{
	cr_expect_str_eq(show(LIST("a+ T /"), LIST("/usr/", "/bin@")), "read-only /\n");
}

Test(policy_mounts, what_is_denied_in_a_writable_directory_is_covered)
{
	cr_expect_str_eq(
		show(LIST("a+ T /usr", "a+ T /w", "m+ T /w", "m- T /w/.git/hooks", "m- E /w/a.lock",
			  "a- T /w/secret", "m- T /w/secret", "a- E /w/key", "m- E /w/key"),
		     LIST("/usr/", "/w/", "/w/.git/", "/w/.git/hooks/", "/w/a.lock", "/w/secret/",
			  "/w/key")),
		"read-only /usr\nwritable /w\n+ pinned /w/.git\n"
		"+ read-only /w/.git/hooks\n+ read-only /w/a.lock\n"
		"+ hidden file /w/key\n+ hidden directory /w/secret\n");
	cr_expect_not(pol_floor_has_fatal(&floorplan));
}

Test(policy_mounts, what_is_opened_again_is_bound_again)
{
	cr_expect_str_eq(show(LIST("a+ T /w", "m+ T /w", "m- T /w/.orbit", "m+ T /w/.orbit/tasks"),
			      LIST("/w/", "/w/.orbit/", "/w/.orbit/tasks/")),
			 "writable /w\n+ read-only /w/.orbit\n+ writable /w/.orbit/tasks\n");
}

Test(policy_mounts, patterns_and_what_is_not_there_stay_gaps)
{
	show(LIST("a+ T /w", "m+ T /w", "m- G /w **/*.env", "m- T /w/.git/hooks"),
	     LIST("/w/", "/w/.git/"));
	cr_expect(pol_floor_has_fatal(&floorplan));
	cr_expect_eq(floorplan.ngaps, 2);
	cr_expect_str_eq(b_str_c(&shown), "writable /w\n");
}

Test(policy_mounts, a_directory_denied_alone_stays_a_gap)
{
	show(LIST("a+ T /w", "m+ T /w", "m- E /w/d"), LIST("/w/", "/w/d/"));
	cr_expect(pol_floor_has_fatal(&floorplan));
	cr_expect_str_eq(b_str_c(&shown), "writable /w\n");
}

Test(policy_mounts, a_symlink_is_no_place_for_a_cover)
{
	show(LIST("a+ T /w", "m+ T /w", "m- T /w/l"), LIST("/w/", "/w/l@"));
	cr_expect(pol_floor_has_fatal(&floorplan));
	cr_expect_str_eq(b_str_c(&shown), "writable /w\n");
}

Test(policy_mounts, devices_and_processes_are_made_anew)
{
	cr_expect_str_eq(
		show(LIST("a+ T /usr", "a+ T /proc", "a+ E /dev/null", "m+ E /dev/null",
			  "a+ E /dev/kvm", "m+ E /dev/kvm"),
		     LIST("/usr/", "/proc/", "/proc/self@", "/dev/", "/dev/null", "/dev/kvm")),
		"device /dev/kvm\nread-only /usr\n");
}

Test(policy_mounts, reading_without_executing_is_said)
{
	show(LIST("r+ T /d", "x+ T /usr", "r+ T /usr"), LIST("/d/", "/usr/"));
	cr_expect(pol_floor_has_fatal(&floorplan));
	cr_expect_str_eq(floorplan.gaps[floorplan.ngaps - 1].rule, "/d");
}
