/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/plan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "launcher/report/host.h"
#include "launcher/options/options.h"

Test(launcher_bounds, sizes_times_and_numbers)
{
	static const struct {
		enum lau_bound bound;
		const char *text;
		uint64_t value;
	} good[] = {
		{LAU_BOUND_MEMORY, "1", 1},
		{LAU_BOUND_MEMORY, "512M", 512u << 20},
		{LAU_BOUND_MEMORY, "2GiB", 2ull << 30},
		{LAU_BOUND_FSIZE, "64K", 65536},
		{LAU_BOUND_MEMORY, "1T", 1ull << 40},
		{LAU_BOUND_CPU, "30s", 30},
		{LAU_BOUND_CPU, "90", 90},
		{LAU_BOUND_CPU, "5m", 300},
		{LAU_BOUND_CPU, "2h", 7200},
		{LAU_BOUND_NPROC, "10", 10},
		{LAU_BOUND_NOFILE, "4", 4},
	};
	struct b_err err;
	uint64_t v;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		cr_assert_eq(lau_bound_parse(good[i].bound, good[i].text, &v, &err), 0, "%s: %s",
			     good[i].text, err.msg);
		cr_expect_eq(v, good[i].value, "%s", good[i].text);
	}
}

Test(launcher_bounds, bad_text_is_told_by_its_place)
{
	static const struct {
		enum lau_bound bound;
		const char *text, *message;
	} bad[] = {
		{LAU_BOUND_MEMORY, "", "at character 1: expected a digit"},
		{LAU_BOUND_MEMORY, "-1", "at character 1: expected a digit"},
		{LAU_BOUND_MEMORY, "512Q", "at character 4: expected K, M, G or T"},
		{LAU_BOUND_MEMORY, "1.5G", "at character 2: expected K, M, G or T"},
		{LAU_BOUND_MEMORY, "12 M", "at character 3: expected"},
		{LAU_BOUND_MEMORY, "0", "expected at least 1"},
		{LAU_BOUND_MEMORY, "99999999999999999999", "too large"},
		{LAU_BOUND_MEMORY, "9999999999T", "too large"},
		{LAU_BOUND_MEMORY, "000000000000000000000000000000001", "too large"},
		{LAU_BOUND_CPU, "500ms", "at character 4: expected s, m or h"},
		{LAU_BOUND_NPROC, "10K", "at character 3: expected a whole number"},
		{LAU_BOUND_NOFILE, "3", "expected at least 4"},
	};
	struct b_err err;
	uint64_t v;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(lau_bound_parse(bad[i].bound, bad[i].text, &v, &err), -1, "%s",
			     bad[i].text);
		cr_expect_eq(err.kind, B_USAGE);
		cr_expect(strstr(err.msg, bad[i].message), "%s: %s", bad[i].text, err.msg);
	}
}

/* Who holds --memory 1 and --nproc 1, and of what weight the losses are. */
static void plan(bool is_root, unsigned cgroup, struct lau_plan *p)
{
	const struct lau_host host = {.is_root = is_root};
	struct lau_options o;

	lau_options_init(&o);
	o.bounds.v[LAU_BOUND_MEMORY] = o.bounds.v[LAU_BOUND_NPROC] = 1;
	lau_bounds_plan(&o, &host, cgroup, p);
	lau_options_release(&o);
}

Test(launcher_bounds, a_cgroup_holds_what_it_can)
{
	struct lau_plan p = {0};

	plan(true, LAU_CGROUP_BOUNDS, &p);
	cr_expect_eq(p.bounds.by[LAU_BOUND_MEMORY], LAU_HELD_CGROUP);
	cr_expect_eq(p.bounds.by[LAU_BOUND_NPROC], LAU_HELD_CGROUP);
	cr_expect_eq(p.nlosses, 0);
	lau_plan_release(&p);
	plan(true, 1u << LAU_BOUND_NPROC, &p);
	cr_expect_eq(p.bounds.by[LAU_BOUND_MEMORY], LAU_HELD_RLIMIT);
	cr_expect_eq(p.bounds.by[LAU_BOUND_NPROC], LAU_HELD_CGROUP);
	lau_plan_release(&p);
}

Test(launcher_bounds, processes_of_root_are_a_loss_where_none_are_counted)
{
	struct lau_plan p = {0};

	plan(true, 0, &p);
	cr_expect_eq(p.bounds.by[LAU_BOUND_NPROC], LAU_HELD_NOT);
	cr_expect_eq(p.nfatal, 1);
	lau_plan_release(&p);
	p.identity.is_set = true; /* the command is somebody else's */
	plan(true, 0, &p);
	cr_expect_eq(p.bounds.by[LAU_BOUND_NPROC], LAU_HELD_RLIMIT);
	cr_expect_eq(p.nfatal, 0);
	lau_plan_release(&p);
	plan(false, 0, &p);
	cr_expect_eq(p.bounds.by[LAU_BOUND_NPROC], LAU_HELD_RLIMIT);
	cr_expect_eq(p.nlosses, 2); /* each process's memory, all processes of the user */
	lau_plan_release(&p);
	p.want_net_ns = true;
	plan(false, 0, &p);
	cr_expect_eq(p.nlosses, 1);
	lau_plan_release(&p);
}
