/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/plan/landlock.c: rights by ABI. */
#include "policy/plan/landlock.h"

#include <criterion/criterion.h>
#include <linux/landlock.h>
#include <string.h>

#include "base/str.h"
#include "policy/plan/floor.h"

static struct pol_floor floor_of(struct pol_grant *grants, size_t n)
{
	return (struct pol_floor){.grants = grants, .ngrants = n};
}

static uint64_t access_for(struct pol_grant grant, int abi)
{
	struct pol_floor floor = floor_of(&grant, 1);
	struct pol_ll_plan plan;
	uint64_t access;

	pol_ll_plan(&floor, abi, &plan);
	access = plan.nrules ? plan.rules[0].access : 0;
	pol_ll_plan_release(&plan);
	return access;
}

Test(policy_landlock, the_bits_are_the_kernels)
{
	cr_expect_eq(POL_LL_EXECUTE, LANDLOCK_ACCESS_FS_EXECUTE);
	cr_expect_eq(POL_LL_WRITE_FILE, LANDLOCK_ACCESS_FS_WRITE_FILE);
	cr_expect_eq(POL_LL_READ_FILE, LANDLOCK_ACCESS_FS_READ_FILE);
	cr_expect_eq(POL_LL_READ_DIR, LANDLOCK_ACCESS_FS_READ_DIR);
	cr_expect_eq(POL_LL_REMOVE_DIR, LANDLOCK_ACCESS_FS_REMOVE_DIR);
	cr_expect_eq(POL_LL_REMOVE_FILE, LANDLOCK_ACCESS_FS_REMOVE_FILE);
	cr_expect_eq(POL_LL_MAKE_CHAR, LANDLOCK_ACCESS_FS_MAKE_CHAR);
	cr_expect_eq(POL_LL_MAKE_DIR, LANDLOCK_ACCESS_FS_MAKE_DIR);
	cr_expect_eq(POL_LL_MAKE_REG, LANDLOCK_ACCESS_FS_MAKE_REG);
	cr_expect_eq(POL_LL_MAKE_SOCK, LANDLOCK_ACCESS_FS_MAKE_SOCK);
	cr_expect_eq(POL_LL_MAKE_FIFO, LANDLOCK_ACCESS_FS_MAKE_FIFO);
	cr_expect_eq(POL_LL_MAKE_BLOCK, LANDLOCK_ACCESS_FS_MAKE_BLOCK);
	cr_expect_eq(POL_LL_MAKE_SYM, LANDLOCK_ACCESS_FS_MAKE_SYM);
	cr_expect_eq(POL_LL_REFER, LANDLOCK_ACCESS_FS_REFER);
}

Test(policy_landlock, each_abi_handles_what_it_knows_and_newer_ones_what_we_know)
{
	const uint64_t handled[] = {
		[1] = 0x1fff, [2] = 0x3fff, [3] = 0x7fff, [4] = 0x7fff, [5] = 0xffff,
		[6] = 0xffff, [7] = 0xffff, [8] = 0xffff, [12] = 0xffff};
	struct pol_floor floor = {0};

	for (int abi = 1; abi <= 12; abi++) {
		struct pol_ll_plan plan;

		if (!handled[abi])
			continue;
		pol_ll_plan(&floor, abi, &plan);
		cr_expect_eq(plan.handled_fs, handled[abi], "abi %d", abi);
		cr_expect_eq(plan.scoped, abi >= 6 ? 3 : 0, "abi %d", abi);
		cr_expect_eq(plan.handled_net, 0);
		pol_ll_plan_release(&plan);
	}
}

Test(policy_landlock, no_landlock_is_an_empty_plan)
{
	struct pol_grant grant = {"/", POL_GRANT_READ, true, false};
	struct pol_floor floor = floor_of(&grant, 1);
	struct pol_ll_plan plan;

	pol_ll_plan(&floor, 0, &plan);
	cr_expect_eq(plan.nrules, 0);
	cr_expect_eq(plan.handled_fs, 0);
	pol_ll_plan_release(&plan);
}

Test(policy_landlock, files_get_file_rights_only)
{
	const uint64_t file_rights = POL_LL_EXECUTE | POL_LL_WRITE_FILE | POL_LL_READ_FILE |
				     POL_LL_TRUNCATE | POL_LL_IOCTL_DEV;

	for (unsigned rights = 1; rights < 0x40; rights++)
		cr_expect_eq(access_for((struct pol_grant){"/f", rights, false, false}, 7) &
				     ~file_rights,
			     0);
	cr_expect_eq(access_for((struct pol_grant){"/f", POL_GRANT_LIST, false, false}, 7), 0);
}

Test(policy_landlock, device_nodes_cannot_be_made)
{
	uint64_t all = access_for((struct pol_grant){"/", 0x3f, true, false}, 7);

	cr_expect_eq(all & (POL_LL_MAKE_CHAR | POL_LL_MAKE_BLOCK), 0);
}

Test(policy_landlock, a_ring_is_written_but_not_truncated)
{
	struct pol_grant ring = {"/ring", POL_GRANT_RING, false, false};

	cr_expect_eq(access_for(ring, 7), POL_LL_READ_FILE | POL_LL_WRITE_FILE);
}

Test(policy_landlock, the_right_to_execute_gives_no_right_to_read)
{
	struct pol_grant exec = {"/bin", POL_GRANT_EXEC, true, false};

	cr_expect_eq(access_for(exec, 7), POL_LL_EXECUTE);
}

Test(policy_landlock, lax_grants_wait_for_consent)
{
	struct pol_grant lax = {"/w", POL_GRANT_WRITE, true, true};
	struct pol_floor floor = floor_of(&lax, 1);
	struct pol_ll_plan plan;

	pol_ll_plan(&floor, 7, &plan);
	cr_expect_eq(plan.nrules, 0);
	pol_ll_plan_release(&plan);
	pol_floor_accept_gaps(&floor);
	pol_ll_plan(&floor, 7, &plan);
	cr_expect_eq(plan.nrules, 1);
	pol_ll_plan_release(&plan);
}

static size_t count_lost(int abi, unsigned beside)
{
	size_t n = 0;

	while (pol_ll_lost(abi, beside, n))
		n++;
	return n;
}

Test(policy_landlock, what_an_old_kernel_loses_is_said)
{
	cr_expect_eq(count_lost(0, 0), 1);
	cr_expect_eq(count_lost(1, 0), 6);
	cr_expect_eq(count_lost(3, 0), 4);
	cr_expect_eq(count_lost(5, 0), 2);
	cr_expect(strstr(pol_ll_lost(5, 0, 0), "signals"));
	cr_expect(strstr(pol_ll_lost(5, 0, 1), "are closed"));
	cr_expect_eq(count_lost(6, 0), 0);
	cr_expect_eq(count_lost(12, 0), 0);
}

Test(policy_landlock, what_stands_beside_it_keeps_what_an_old_kernel_does_not)
{
	const unsigned both = POL_LL_BESIDE_NET | POL_LL_BESIDE_PID;

	cr_expect_eq(count_lost(0, both | POL_LL_BESIDE_BROKER), 1);
	cr_expect_eq(count_lost(5, both), 0);
	cr_expect_eq(count_lost(5, POL_LL_BESIDE_PID), 1);
	cr_expect_eq(count_lost(5, POL_LL_BESIDE_UNIX), 1);
	cr_expect_eq(count_lost(2, both | POL_LL_BESIDE_BROKER), 1);
	cr_expect(strstr(pol_ll_lost(2, both | POL_LL_BESIDE_BROKER, 0), "ioctl"));
	cr_expect(strstr(pol_ll_lost(2, both, 0), "truncation"));
	cr_expect(strstr(pol_ll_lost(1, both | POL_LL_BESIDE_BROKER, 0), "no Landlock domain"));
	cr_expect(strstr(pol_ll_lost(1, both, 0), "EXDEV"));
}

Test(policy_landlock, show_prints_paths_on_one_line_each)
{
	struct pol_grant grants[] = {{"/a\nb", POL_GRANT_READ, true, false},
				     {"/w", POL_GRANT_WRITE, true, false}};
	struct pol_floor floor = floor_of(grants, 2);
	struct pol_ll_plan plan;
	struct b_str out = {0};

	pol_ll_plan(&floor, 1, &plan);
	pol_ll_show(&plan, &out);
	cr_expect_str_eq(
		b_str_c(&out),
		"landlock abi 1\n"
		"handled execute,write_file,read_file,read_dir,remove_dir,remove_file,make_char,"
		"make_dir,make_reg,make_sock,make_fifo,make_block,make_sym\n"
		"/a\\x0ab read_file,read_dir\n"
		"/w write_file,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,"
		"make_sym\n");
	b_str_release(&out);
	pol_ll_plan_release(&plan);
}
