/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/broker/calls.c: the program that stops calls for the broker,
 * against its rows, read the plain way. */
#include <asm/unistd.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "core/ring.h"
#include "launcher/linux/broker/calls.h"
#include "tests/support/bpf.h"

#if defined(__x86_64__)
#define NATIVE	AUDIT_ARCH_X86_64
#define MACHINE POL_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE	AUDIT_ARCH_AARCH64
#define MACHINE POL_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))
#define TRAP	 SECCOMP_RET_USER_NOTIF
#define PASS	 SECCOMP_RET_ALLOW

static uint32_t open_trapped(const struct lau_broker_plan *plan, uint32_t flags)
{
	uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

	if (flags & O_PATH)
		return PASS;
	if (plan->read_level == POL_READ_ALL || flags & writes)
		return TRAP;
	return plan->read_level == POL_READ_DIRECTORY && flags & O_DIRECTORY ? TRAP : PASS;
}

static uint32_t of_socket(uint32_t family, uint32_t type, uint32_t protocol)
{
	if (family != AF_INET && family != AF_INET6)
		return PASS;
	type &= 0xf;
	if (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP))
		return PASS;
	if (type == SOCK_STREAM && protocol == IPPROTO_MPTCP)
		return ERRNO(EPROTONOSUPPORT);
	return type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP) ? PASS : TRAP;
}

static uint32_t of_option(uint32_t level, uint32_t name)
{
	bool is_route = (level == IPPROTO_IP && name == IP_OPTIONS) ||
			(level == IPPROTO_IPV6 && (name == IPV6_RTHDR || name == IPV6_2292RTHDR ||
						   name == IPV6_2292PKTOPTIONS));

	return is_route ? ERRNO(ENOPROTOOPT) : PASS;
}

static const char *name_of(int nr)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (size_t i = 0; nr >= 0 && i < n; i++)
		if (calls[i].nr[MACHINE] == nr)
			return calls[i].name;
	return NULL;
}

/* The row of the static filter that refuses the call, NULL = none. Which protocols rules on
 * endpoints know is the trap's own. */
static const struct pol_sc_rule *refusal_of(const struct lau_broker_plan *plan,
					    const struct seccomp_data *d)
{
	static const char *names[512];
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);
	unsigned flags = plan->filter_flags | POL_SC_BROKER;
	uint64_t args[6];

	if (plan->traps & POL_TRAP_SIGNALS)
		flags |= POL_SC_SIGNALS;
	if (plan->traps & POL_TRAP_ENDPOINTS ||
	    (plan->traps & POL_TRAP_SOCKETS && plan->net.is_apart))
		flags |= POL_SC_APART;
	for (size_t k = 0; k < 6; k++)
		args[k] = d->args[k];
	if (d->nr < 0 || d->nr >= 512)
		return NULL;
	if (!names[d->nr])
		names[d->nr] = name_of(d->nr) ? name_of(d->nr) : "";
	for (size_t i = 0; *names[d->nr] && i < n; i++)
		if (!strcmp(rules[i].call, names[d->nr]) && pol_sc_applies(&rules[i], flags) &&
		    pol_sc_holds(&rules[i], args))
			return pol_sc_is_told(&rules[i], flags) ? &rules[i] : NULL;
	return NULL;
}

/* The rows, read the plain way. */
static uint32_t trapped(const struct lau_broker_plan *plan, const struct seccomp_data *d)
{
	const struct br_row *row = br_row_find(d->nr);
	uint32_t a0 = (uint32_t)d->args[0], a1 = (uint32_t)d->args[1];

	if (refusal_of(plan, d))
		return TRAP;
	if (!row || (row->group && !(row->group & plan->traps)))
		return PASS;
	switch ((enum br_trap)row->trap) {
	case BR_TRAP_ALWAYS:
		return TRAP;
	case BR_TRAP_OPEN:
		return open_trapped(plan, (uint32_t)d->args[row->flags_arg]);
	case BR_TRAP_OPENAT2:
		return plan->read_level != POL_READ_ALL && !(plan->traps & POL_TRAP_TRUNCATE) &&
				       !plan->grants_clean &&
				       (uint32_t)d->args[3] == POL_QUICK_HOW_SIZE
			       ? PASS
			       : TRAP;
	case BR_TRAP_NAMESPACE:
		return a0 & 0x7e020000 || (d->nr == __NR_unshare && a0 & 0x80) ? TRAP : PASS;
	case BR_TRAP_PRCTL:
		if (a0 == LAU_GREETING)
			return TRAP;
		return a0 == PR_SET_DUMPABLE && a1 == 0 ? ERRNO(0) : PASS;
	case BR_TRAP_ABSENT:
		return ERRNO(EOPNOTSUPP);
	case BR_TRAP_DATAGRAMS:
		a1 &= 0xf;
		return a0 == AF_UNIX && (a1 == SOCK_DGRAM || a1 == SOCK_RAW) ? TRAP : PASS;
	case BR_TRAP_SOCKET:
		return of_socket(a0, a1, (uint32_t)d->args[2]);
	case BR_TRAP_SETSOCKOPT:
		return of_option(a1, (uint32_t)d->args[2]);
	case BR_TRAP_OTHER:
		return (uint32_t)d->args[row->mode_arg] ? TRAP : PASS;
	case BR_TRAP_LIMIT:
		return a0 && d->args[2] ? TRAP : PASS;
	}
	return PASS;
}

/* A call that the kernel decides alone (docs/adr/016). */
static bool passes_marked(const struct lau_broker_plan *plan, const struct seccomp_data *d)
{
	uint32_t flags = (uint32_t)d->args[2];

	if (!plan->passes_marks || d->args[0] >> 32 != SBX_MARK)
		return false;
	switch (d->nr) {
	case __NR_openat:
		return (flags & O_ACCMODE) != O_ACCMODE && !(flags & (O_TMPFILE & ~O_DIRECTORY)) &&
		       (plan->allows_setid || !(d->args[3] & 06000));
	case __NR_renameat2:
		return !((uint32_t)d->args[4] & RENAME_WHITEOUT);
	case __NR_linkat:
		return (uint32_t)d->args[4] == 0;
	case __NR_mkdirat:
	case __NR_unlinkat:
		return true;
	}
	return false;
}

static uint64_t argument(void)
{
	static const uint64_t edges[] = {PR_SET_DUMPABLE, AF_UNIX,	SOCK_DGRAM,
					 SOCK_RAW,	  O_PATH,	O_CREAT,
					 O_TRUNC,	  O_DIRECTORY,	O_TMPFILE,
					 O_RDWR,	  0x10000000,	POL_QUICK_HOW_SIZE,
					 LAU_GREETING,	  MSG_FASTOPEN, AF_INET,
					 AF_INET6,	  IPPROTO_TCP,	IPPROTO_UDP,
					 IPPROTO_IPV6,	  IPV6_RTHDR,	TCP_FASTOPEN_CONNECT,
					 262 /* MPTCP */, F_SETOWN,	F_SETOWN_EX,
					 FIOSETOWN,	  SIOCSPGRP,	0x5412,
					 0x40086602,	  1024 /* F_SETLEASE */};
	uint64_t a =
		bpf_random(2) ? edges[bpf_random(sizeof edges / sizeof *edges)] : bpf_random(6);

	if (!bpf_random(3))
		a |= UINT64_C(1) << bpf_random(32);
	return bpf_random(4) ? a : a | bpf_random(0) << 32;
}

static void hold_against_rows(const struct lau_broker_plan *plan, const struct lau_filter *f,
			      int nr)
{
	for (int round = 0; round < (br_row_find(nr) || br_has_refusals(plan, nr) ? 60 : 1);
	     round++) {
		struct seccomp_data d = {.nr = nr, .arch = NATIVE, .args = {0}};

		for (unsigned k = 0; k < 6; k++)
			d.args[k] = argument();
		if (plan->passes_marks && bpf_random(4))
			d.args[bpf_random(8) ? 0 : 2] = (uint32_t)argument() | (uint64_t)SBX_MARK
										       << 32;
		cr_assert_eq(
			bpf_run(f, &d, NULL), passes_marked(plan, &d) ? PASS : trapped(plan, &d),
			"level %d traps %#x call %d(%#lx, %#lx, %#lx, %#lx)", (int)plan->read_level,
			plan->traps, nr, (unsigned long)d.args[0], (unsigned long)d.args[1],
			(unsigned long)d.args[2], (unsigned long)d.args[3]);
	}
}

/* Each flag with each trap, in some round. */
static unsigned flags_for(unsigned traps)
{
	return traps % 5 ? POL_SC_BROKER | (unsigned)(bpf_random(POL_SC_FLAGS)) : 0;
}

static void hold_marked(const struct lau_broker_plan *without, bool allows_setid)
{
	static const int calls[] = {__NR_openat,   __NR_openat2,   __NR_mkdirat,  __NR_mknodat,
				    __NR_unlinkat, __NR_renameat2, __NR_linkat,	  __NR_symlinkat,
				    __NR_fchmodat, __NR_utimensat, __NR_execveat, __NR_bind};
	struct sock_filter insn[LAU_TRAP_MAX];
	struct lau_broker_plan plan = *without;
	struct lau_filter f = {insn, 0};

	plan.grants_clean = plan.passes_marks = true;
	plan.allows_setid = allows_setid;
	f.len = (unsigned short)lau_broker_filter(&plan, insn);
	cr_assert_leq(f.len, 320, "%u instructions", f.len);
	for (unsigned round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
			hold_against_rows(&plan, &f, calls[i]);
}

Test(launcher_trapfilter, marked_calls_pass_and_no_others)
{
	for (unsigned traps = 1; traps < 512; traps += 2) {
		struct lau_broker_plan plan = {.read_level = traps / 2 % 2,
					       .traps = traps,
					       .filter_flags = flags_for(traps)};

		hold_marked(&plan, traps & 2);
	}
}

Test(launcher_trapfilter, without_marks_it_is_the_same_program)
{
	struct sock_filter insn[LAU_TRAP_MAX], marked[LAU_TRAP_MAX];
	struct lau_broker_plan plan = {.traps = POL_TRAP_FILES | POL_TRAP_SOCKETS};
	size_t n = lau_broker_filter(&plan, insn);

	for (size_t i = 0; i < n; i++)
		cr_expect_neq(insn[i].k, SBX_MARK);
	plan.allows_setid = true;
	cr_assert_eq(lau_broker_filter(&plan, marked), n);
	cr_expect_eq(memcmp(insn, marked, n * sizeof *insn), 0);
	plan.grants_clean = plan.passes_marks = true;
	cr_expect_gt(lau_broker_filter(&plan, marked), n);
}

Test(launcher_trapfilter, the_trap_filter_stops_what_its_rows_say)
{
	static const enum pol_read_level levels[] = {POL_READ_NONE, POL_READ_DIRECTORY,
						     POL_READ_ALL};
	struct sock_filter insn[LAU_TRAP_MAX];

	for (unsigned traps = 0; traps < 512; traps++)
		for (size_t i = 0; i < 3; i++) {
			struct lau_broker_plan plan = {.read_level = levels[i],
						       .traps = traps,
						       .filter_flags = flags_for(traps),
						       .net.is_apart = traps / 3 % 2};
			struct lau_filter f = {insn,
					       (unsigned short)lau_broker_filter(&plan, insn)};
			struct seccomp_data d = {.nr = __NR_openat, .arch = FOREIGN, .args = {0}};

			cr_assert_leq(f.len, 300, "%u instructions", f.len);
			cr_assert_eq(bpf_run(&f, &d, NULL), PASS, "the static filter kills it");
			for (int nr = -1; nr < 512; nr++)
				hold_against_rows(&plan, &f, nr);
			d.arch = NATIVE;
			d.nr = 0x40000000 | __NR_openat;
			cr_assert_eq(bpf_run(&f, &d, NULL), PASS, "x32");
		}
}

/* Whatever the static filter refuses where there is no broker, it refuses with one, or the
 * broker does. */
Test(launcher_trapfilter, nothing_that_is_refused_passes_both_filters)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++) {
		struct lau_broker_plan plan = {.filter_flags = flags | POL_SC_BROKER};

		for (size_t i = 0; i < n; i++) {
			const struct pol_syscall *c = pol_syscalls(&(size_t){0});

			if (!pol_sc_applies(&rules[i], plan.filter_flags) ||
			    !pol_sc_is_told(&rules[i], plan.filter_flags))
				continue;
			while (strcmp(c->name, rules[i].call) != 0)
				c++;
			if (c->nr[MACHINE] >= 0)
				cr_assert(br_has_refusals(&plan, c->nr[MACHINE]), "%s", c->name);
		}
	}
}
