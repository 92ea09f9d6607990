/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/host/doctor.c and live ones of launcher/linux/host/probe.c. */
#include "launcher/report/host.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "launcher/run/confine.h"
#include "policy/plan/floor.h"

static const struct lau_host good = {
	.landlock_abi = 7,
	.kernel = "6.18.0",
	.seccomp_filter = {true, 0},
	.seccomp_notify = {true, 0},
	.user_ns = {true, 0},
	.net_ns = {true, 0},
	.pid_ns = {true, 0},
	.mount_ns = {true, 0},
	.openat2 = {true, 0},
	.pidfd = {true, 0},
	.cgroup = {true, 0},
};

static bool says(const struct lau_host *h, const char *text)
{
	struct b_str out = {0};
	bool found;

	lau_host_show(h, false, false, &out);
	found = strstr(b_str_c(&out), text);
	b_str_release(&out);
	return found;
}

Test(launcher_doctor, a_good_host_holds_and_still_hears_the_limits)
{
	cr_expect(says(&good, "The floor holds here."));
	cr_expect_not(says(&good, "remedy:"));
	cr_expect_not(says(&good, "  no "));
	cr_expect(says(&good, "chmod, chown"));
	cr_expect(says(&good, "names, never content"));
	cr_expect(says(
		&good,
		"only the shim enforces the protected set inside the workspace: strict refuses"));
}

Test(launcher_doctor, no_landlock_means_no_run_and_names_the_cause)
{
	struct lau_host h = good;

	h.landlock_abi = 0;
	h.landlock_errno = EOPNOTSUPP;
	cr_expect(says(&h, "--strict will refuse"));
	cr_expect(says(&h, "lsm="));
	h.landlock_errno = ENOSYS;
	cr_expect(says(&h, "CONFIG_SECURITY_LANDLOCK"));
}

Test(launcher_doctor, an_old_abi_says_what_it_loses_and_still_holds)
{
	struct lau_host h = good;

	h.landlock_abi = 3;
	cr_expect(says(&h, "ABI 3"));
	cr_expect(says(&h, "signals reach processes"));
	cr_expect(says(&h, "The floor holds here."));
}

Test(launcher_doctor, the_remedy_follows_the_cause)
{
	struct lau_host h = good;

	h.net_ns = (struct lau_ability){false, EPERM};
	h.apparmor_userns = true;
	cr_expect(says(&h, "apparmor_restrict_unprivileged_userns=0"));
	h.apparmor_userns = false;
	cr_expect(says(&h, "unprivileged_userns_clone=1"));
	h.is_root = true;
	cr_expect(says(&h, "CAP_SYS_ADMIN"));
	h.net_ns.sys = ENOSPC;
	cr_expect(says(&h, "max_user_namespaces"));
}

/* The first thing that many ask, in their home, or as root in a container. */
Test(launcher_doctor, a_directory_that_is_no_workspace_is_not_the_hosts_fault)
{
	struct lau_host h = good;

	h.has_broker = h.has_verdicts = true;
	for (int i = 0; i < LAU_VERDICTS; i++) {
		h.verdicts[i].options = "";
		strcpy(h.verdicts[i].why, "E_WORKSPACE: /root would be the workspace");
	}
	cr_expect(says(&h,
		       "The floor holds on this host, as far as the tests in this directory show"));
	cr_expect_not(says(&h, "--strict will refuse"));
	cr_expect(says(&h, "the same cause"));
	h.has_broker = false; /* the protected set */
	cr_expect(says(&h, "The floor does not hold here: --strict will refuse"));
	h.has_broker = true;
	h.landlock_abi = 0;
	h.landlock_errno = ENOSYS;
	cr_expect(says(&h, "The floor does not hold here: --strict will refuse"));
	h.landlock_abi = 7;
	strcpy(h.verdicts[0].why, "E_FLOOR: no Landlock");
	cr_expect(says(&h, "The floor does not hold here: --strict will refuse"));
}

Test(launcher_doctor, without_landlock_the_broker_blames_no_kernel)
{
	struct lau_host h = good;

	h.is_settled = true;
	h.landlock_abi = 0;
	h.landlock_errno = EPERM;
	cr_expect(says(&h, "it was not tried, as it needs Landlock"));
	cr_expect_not(says(&h, "does not have a call"));
	h.landlock_abi = 1;
	cr_expect(says(&h, "does not have a call that the broker needs"));
}

Test(launcher_doctor, without_a_cgroup_it_says_what_limits_are)
{
	struct lau_host h = good;

	h.cgroup = (struct lau_ability){false, EOPNOTSUPP};
	cr_expect(says(&h, "--nproc does not limit root"));
	cr_expect(says(&h, "The floor holds here."));
}

Test(launcher_doctor, json_is_one_object_with_all_rows)
{
	struct lau_host h = good;
	struct b_str out = {0};
	json_t *j;

	h.user_ns = (struct lau_ability){false, ENOSPC};
	lau_host_show(&h, true, true, &out);
	j = json_loads(b_str_c(&out), 0, NULL);
	cr_assert_not_null(j, "%s", b_str_c(&out));
	cr_expect(json_is_true(json_object_get(j, "holds")));
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(j, "landlock"), "abi")), 7);
	cr_expect(json_is_false(json_object_get(json_object_get(j, "user_ns"), "available")));
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(j, "user_ns"), "errno")),
		     ENOSPC);
	cr_expect(json_is_true(json_object_get(json_object_get(j, "pidfd"), "available")));
	cr_expect_gt(json_array_size(json_object_get(j, "limits")), 3);
	json_decref(j);
	b_str_release(&out);
}

Test(launcher_doctor, json_has_the_limits_of_this_host)
{
	for (int has_broker = 0; has_broker < 2; has_broker++) {
		struct lau_host h = good;
		struct b_str out = {0};
		const char *name, *text;
		json_t *j, *limits;

		h.has_broker = has_broker;
		lau_host_show(&h, true, false, &out);
		j = json_loads(b_str_c(&out), 0, NULL);
		limits = json_object_get(j, "limits");
		cr_assert_gt(json_array_size(limits), 0);
		for (size_t i = 0; i < json_array_size(limits); i++) {
			b_auto(b_str_release) struct b_str want = {0};

			cr_assert(pol_limit(has_broker, i, &name, &text));
			b_str_addf(&want, "%s: %s", name, text);
			cr_expect_str_eq(json_string_value(json_array_get(limits, i)), want.s);
		}
		cr_expect_not(pol_limit(has_broker, json_array_size(limits), &name, &text));
		json_decref(j);
		b_str_release(&out);
	}
}

Test(launcher_doctor, probing_leaves_us_as_we_were)
{
	struct lau_host h, again;

	lau_host_probe(&h);
	signal(SIGCHLD, SIG_IGN);
	lau_host_probe(&again);
	cr_expect_eq(h.is_root, geteuid() == 0);
	cr_expect_eq(h.landlock_abi, lau_landlock_abi());
	cr_expect(h.seccomp_filter.has);
	cr_expect_eq(h.net_ns.has, again.net_ns.has, "the first probe took nothing away");
	cr_expect_eq(h.user_ns.has, again.user_ns.has);
	cr_expect_eq(h.seccomp_notify.has, again.seccomp_notify.has);
	cr_expect_gt(strlen(h.kernel), 0);
}
