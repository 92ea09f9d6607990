/* SPDX-License-Identifier: Apache-2.0 */
/* landlock.c - see landlock.h. */
#include "policy/plan/landlock.h"

#include <string.h>

#include "base/str.h"
#include "policy/plan/floor.h"
#include "policy/plan/seccomp.h"

#define FILE_RIGHTS                                                                                \
	(POL_LL_EXECUTE | POL_LL_WRITE_FILE | POL_LL_READ_FILE | POL_LL_TRUNCATE | POL_LL_IOCTL_DEV)

/* MAKE_CHAR and MAKE_BLOCK are in no class: handled, never granted, so that no device node is
 * made even with CAP_MKNOD. */
static const struct {
	unsigned grant;
	uint64_t access;
} classes[] = {
	{POL_GRANT_READ, POL_LL_READ_FILE | POL_LL_READ_DIR},
	{POL_GRANT_LIST, POL_LL_READ_DIR},
	/* exec(2) needs READ_FILE as well (6.18), which only a read rule may give: the trees
	 * that may be executed and those that may be read are planned apart. */
	{POL_GRANT_EXEC, POL_LL_EXECUTE},
	{POL_GRANT_WRITE, POL_LL_WRITE_FILE | POL_LL_TRUNCATE | POL_LL_REMOVE_DIR |
				  POL_LL_REMOVE_FILE | POL_LL_MAKE_DIR | POL_LL_MAKE_REG |
				  POL_LL_MAKE_SOCK | POL_LL_MAKE_FIFO | POL_LL_MAKE_SYM |
				  POL_LL_REFER},
	{POL_GRANT_DEV, POL_LL_IOCTL_DEV},
	{POL_GRANT_RING, POL_LL_READ_FILE | POL_LL_WRITE_FILE},
	{POL_GRANT_PUT, POL_LL_WRITE_FILE | POL_LL_TRUNCATE},
	/* Symlinks, sockets and FIFOs are the broker's: what has a name beside the broker's back is
	 * a file or a directory (docs/adr/016). */
	{POL_GRANT_CLEAN, POL_LL_WRITE_FILE | POL_LL_TRUNCATE | POL_LL_REMOVE_DIR |
				  POL_LL_REMOVE_FILE | POL_LL_MAKE_DIR | POL_LL_MAKE_REG |
				  POL_LL_REFER},
};

static const struct {
	uint64_t bit;
	int abi;
	const char *name;
} rights[] = {
#define X(name, bit, abi, text) {UINT64_C(1) << (bit), abi, text},
	POL_LL_RIGHTS(X)
#undef X
};
#define NRIGHTS (sizeof rights / sizeof *rights)

static const struct {
	int abi;	 /* the first that keeps it */
	unsigned unless; /* POL_LL_BESIDE_*: one of these keeps it as well */
	unsigned only;	 /* told only beside one of these; 0 = always */
	const char *lost;
} losses[] = {
	{1, 0, 0, "no Landlock: no rule about files can be enforced"},
	{2, POL_LL_BESIDE_BROKER, 0,
	 "moving or linking between directories fails with EXDEV (Linux 5.19)"},
	{2, 0, POL_LL_BESIDE_BROKER,
	 "the broker has no Landlock domain of its own, because a domain would forbid moves "
	 "between directories: only its filter confines it (Linux 5.19)"},
	{3, POL_LL_BESIDE_BROKER, 0,
	 "truncation is not seen: truncate(2), openat2(2) and O_RDONLY|O_TRUNC are refused "
	 "everywhere (Linux 6.2)"},
	{4, POL_LL_BESIDE_NET, 0,
	 "no TCP rules: without a network namespace only the seccomp filter refuses sockets (Linux "
	 "6.7)"},
	{5, 0, 0,
	 "ioctl(2) on device files is not limited to the granted nodes: one that may be read can "
	 "be "
	 "controlled (Linux 6.10)"},
	{2, POL_LL_BESIDE_PID, POL_LL_BESIDE_BROKER,
	 "without a pid namespace signals reach processes of the same user outside (Linux 5.19)"},
	{6, POL_LL_BESIDE_PID | POL_LL_BESIDE_BROKER, 0,
	 "without a pid namespace signals reach processes of the same user outside (Linux 6.12)"},
	{6, POL_LL_BESIDE_NET | POL_LL_BESIDE_UNIX, 0,
	 "without a network namespace abstract Unix sockets are closed, those made inside too "
	 "(Linux 6.12)"},
};

const char *pol_ll_lost(int abi, unsigned beside, size_t i)
{
	for (size_t k = 0; k < sizeof losses / sizeof *losses; k++) {
		if (abi >= losses[k].abi || losses[k].unless & beside ||
		    (losses[k].only && !(losses[k].only & beside)))
			continue;
		/* Without Landlock the finer losses are noise. */
		if (i == 0)
			return losses[k].lost;
		if (abi < 1)
			return NULL;
		i--;
	}
	return NULL;
}

unsigned pol_ll_traps(int abi)
{
	unsigned traps = abi < POL_LL_ABI_TRUNCATE ? POL_TRAP_TRUNCATE : 0;

	/* the broker knows the run's processes by its own domain */
	return abi >= POL_LL_ABI_REFER && abi < POL_LL_ABI_SCOPES ? traps | POL_TRAP_SIGNALS
								  : traps;
}

static uint64_t handled(int abi)
{
	uint64_t all = 0;

	for (size_t i = 0; i < NRIGHTS; i++)
		if (rights[i].abi <= abi)
			all |= rights[i].bit;
	return all;
}

static uint64_t access_of(const struct pol_grant *grant)
{
	uint64_t access = 0;

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (grant->rights & classes[i].grant)
			access |= classes[i].access;
	/* The kernel refuses directory rights on anything else (EINVAL). */
	return grant->is_dir ? access : access & FILE_RIGHTS;
}

void pol_ll_plan(const struct pol_floor *floor, int abi, struct pol_ll_plan *out)
{
	*out = (struct pol_ll_plan){.abi = abi};
	if (abi < 1)
		return;
	out->handled_fs = handled(abi);
	if (abi >= 6)
		out->scoped = POL_LL_SCOPE_UNIX | POL_LL_SCOPE_SIGNAL;
	out->rules = b_arena_alloc(&out->arena, (floor->ngrants + 1) * sizeof *out->rules);
	for (size_t i = 0; i < floor->ngrants; i++) {
		const struct pol_grant *grant = &floor->grants[i];
		uint64_t access = access_of(grant) & out->handled_fs;

		if (!access || (grant->lax && !floor->gaps_accepted))
			continue;
		out->rules[out->nrules++] = (struct pol_ll_rule){
			.path = b_arena_printf(&out->arena, "%s", grant->path),
			.access = access,
		};
	}
}

void pol_ll_plan_release(struct pol_ll_plan *plan)
{
	b_arena_release(&plan->arena);
	*plan = (struct pol_ll_plan){0};
}

static void show_rights(uint64_t access, struct b_str *out)
{
	const char *sep = "";

	for (size_t i = 0; i < NRIGHTS; i++) {
		if (!(access & rights[i].bit))
			continue;
		b_str_addf(out, "%s%s", sep, rights[i].name);
		sep = ",";
	}
}

void pol_ll_show(const struct pol_ll_plan *plan, struct b_str *out)
{
	b_str_addf(out, "landlock abi %d\nhandled ", plan->abi);
	show_rights(plan->handled_fs, out);
	if (plan->scoped)
		b_str_add(out, "\nscoped abstract_unix_socket,signal");
	if (plan->handled_net)
		b_str_add(out, "\nhandled net bind_tcp,connect_tcp");
	b_str_addc(out, '\n');
	for (size_t i = 0; i < plan->nrules; i++) {
		b_str_add_visible(out, plan->rules[i].path, strlen(plan->rules[i].path));
		b_str_addc(out, ' ');
		show_rights(plan->rules[i].access, out);
		b_str_addc(out, '\n');
	}
}
