/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the generated filters: run by a small interpreter of classic BPF and judged
 * against the table, read the plain way, for every combination of flags and both machines. */
#include "launcher/linux/filters/filters.h"

#include <asm/unistd.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "policy/plan/seccomp.h"
#include "tests/support/bpf.h"

#if defined(__x86_64__)
#define MACHINE POL_X86_64
#define NATIVE	AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define MACHINE POL_AARCH64
#define NATIVE	AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))

/* The program that is built in. */
static const struct lau_filter *filter(unsigned flags)
{
	static struct sock_filter room[POL_SC_FLAGS][LAU_FILTER_MAX];
	static struct lau_filter f[POL_SC_FLAGS];

	if (!f[flags].len)
		f[flags] = lau_filter_unpack(flags, room[flags]);
	return &f[flags];
}

static uint32_t ask(unsigned flags, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	struct seccomp_data data = {.nr = nr, .arch = NATIVE, .args = {a0, a1, a2, a3}};

	return bpf_run(filter(flags), &data, NULL);
}

/* ---- the table, read the plain way ---- */

static bool holds(const struct pol_sc_arg *a, const __u64 *args)
{
	uint64_t all = args[a->index];
	uint32_t low = (uint32_t)all;

	switch (a->cmp) {
	case '&':
		return (low & a->mask) == a->value;
	case '|':
		return low & a->mask;
	case '-':
		return low >= a->value && low <= a->mask;
	case '!':
		return all != a->value;
	}
	cr_assert_fail("comparison %c", a->cmp);
	return false;
}

static uint32_t by_rows(const char *call, unsigned flags, const __u64 *args)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; i < n; i++) {
		bool all = !strcmp(rules[i].call, call) && pol_sc_applies(&rules[i], flags);

		for (unsigned k = 0; all && k < rules[i].nargs; k++)
			all = holds(&rules[i].arg[k], args);
		if (all)
			return rules[i].err && !pol_sc_is_told(&rules[i], flags)
				       ? ERRNO((unsigned)rules[i].err)
				       : SECCOMP_RET_ALLOW;
	}
	return SECCOMP_RET_ALLOW;
}

static const char *name_of(enum pol_machine machine, int nr)
{
	size_t n;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (size_t i = 0; nr >= 0 && i < n; i++)
		if (calls[i].nr[machine] == nr)
			return calls[i].name;
	return NULL;
}

static uint32_t expected(enum pol_machine machine, unsigned flags, const struct seccomp_data *d)
{
	const char *name = name_of(machine, d->nr);

	if (d->nr == -1)
		return SECCOMP_RET_ALLOW;
	return name ? by_rows(name, flags, d->args) : ERRNO(ENOSYS);
}

/* Something at the edge of what some row of the call asks for, or a few bits. */
static uint64_t edge_of(const char *call, unsigned index)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);
	uint64_t picked = bpf_random(3) ? UINT64_C(1) << bpf_random(32) : bpf_random(8);
	uint64_t seen = 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; !strcmp(rules[i].call, call) && k < rules[i].nargs; k++)
			if (rules[i].arg[k].index == index && !bpf_random(++seen))
				picked = (bpf_random(2) ? rules[i].arg[k].value
							: rules[i].arg[k].mask) +
					 bpf_random(3) - 1;
	return picked ^ (bpf_random(4) ? 0 : bpf_random(0) << 32);
}

static void hold_against_table(enum pol_machine machine, unsigned arch, unsigned flags, int nr)
{
	static struct lau_code code;
	static unsigned compiled = ~0u;
	const char *name = name_of(machine, nr), *why;
	struct lau_filter f;

	if (compiled != (flags << 1 | machine))
		cr_assert_eq(lau_filter_compile(machine, flags, &code, &why), 0, "%s", why);
	compiled = flags << 1 | machine;
	f = (struct lau_filter){code.insn, (unsigned short)code.n};
	for (unsigned round = 0; round < (!name ? 2 : flags ? 8 : 200); round++) {
		struct seccomp_data d = {.nr = nr, .arch = arch, .args = {0}};
		uint32_t is;

		for (unsigned k = 0; k < 6; k++)
			d.args[k] = name ? edge_of(name, k) : bpf_random(0);
		is = bpf_run(&f, &d, NULL);
		cr_assert_eq(is, expected(machine, flags, &d),
			     "machine %u flags %#x call %d %s(%#lx, %#lx, %#lx, %#lx): %#x",
			     machine, flags, nr, name ? name : "?", (unsigned long)d.args[0],
			     (unsigned long)d.args[1], (unsigned long)d.args[2],
			     (unsigned long)d.args[3], is);
	}
}

/* What rows ask of arguments, for calls that have any; the rest is asked for numbers alone. */
static bool has_rows(const char *name)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(rules[i].call, name))
			return true;
	return false;
}

Test(launcher_filters, every_number_is_answered_as_the_table_says)
{
	static const unsigned arch[] = {
		[POL_X86_64] = AUDIT_ARCH_X86_64, [POL_AARCH64] = AUDIT_ARCH_AARCH64};

	for (unsigned m = 0; m < POL_MACHINES; m++)
		for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++) {
			for (int nr = -2; nr <= 600; nr++)
				if (!flags || has_rows(name_of(m, nr)) || nr > 440 || nr < 4)
					hold_against_table(m, arch[m], flags, nr);
			hold_against_table(m, arch[m], flags, 0x40000000);
			hold_against_table(m, arch[m], flags, 0x40000000 | 257);
			hold_against_table(m, arch[m], flags, INT32_MAX);
			hold_against_table(m, arch[m], flags, INT32_MIN);
		}
}

/* What was built is what the tests have compiled. */
Test(launcher_filters, the_program_that_is_built_in_is_the_compiled_one)
{
	static struct lau_code code;
	const char *why;

	cr_assert_eq(lau_filters_n, POL_SC_FLAGS);
	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++) {
		cr_assert_eq(lau_filter_compile(MACHINE, flags, &code, &why), 0, "%s", why);
		cr_assert_eq(code.n, filter(flags)->len);
		cr_assert_arr_eq(code.insn, filter(flags)->prog, code.n * sizeof *code.insn);
	}
}

/* seccomp_is_const_allow() of kernel/seccomp.c: what it can follow without knowing arguments, it
 * answers from a bitmap. */
static bool is_constant(const struct lau_filter *f, int nr)
{
	uint32_t acc = 0;

	for (size_t pc = 0; pc < f->len; pc++) {
		const struct sock_filter *i = &f->prog[pc];
		bool yes;

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k != offsetof(struct seccomp_data, nr) &&
			    i->k != offsetof(struct seccomp_data, arch))
				return false;
			acc = i->k == offsetof(struct seccomp_data, nr) ? (uint32_t)nr : NATIVE;
			break;
		case BPF_RET | BPF_K:
			return i->k == SECCOMP_RET_ALLOW;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
			yes = BPF_OP(i->code) == BPF_JEQ   ? acc == i->k
			      : BPF_OP(i->code) == BPF_JGE ? acc >= i->k
							   : acc > i->k;
			pc += yes ? i->jt : i->jf;
			break;
		default:
			return false;
		}
	}
	return false;
}

Test(launcher_filters, calls_without_rows_are_answered_from_the_kernels_bitmap)
{
	size_t n, seen = 0;
	const struct pol_syscall *calls = pol_syscalls(&n);

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < n; i++) {
			if (calls[i].nr[MACHINE] < 0 || has_rows(calls[i].name))
				continue;
			cr_expect(is_constant(filter(flags), calls[i].nr[MACHINE]), "%s",
				  calls[i].name);
			seen++;
		}
	cr_expect_gt(seen, 200u * POL_SC_FLAGS);
}

/* Each instruction costs every start (docs/adr/001): 315 of them were 111 us, 105 were 104. */
Test(launcher_filters, programs_are_small)
{
	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		cr_expect_leq(filter(flags)->len, 256, "flags %#x: %u", flags, filter(flags)->len);
	cr_log_info("with broker and namespace: %u", filter(POL_SC_BROKER)->len);
}

Test(launcher_filters, ordinary_calls_pass)
{
	const int calls[] = {__NR_read,		__NR_write,  __NR_openat, __NR_execve,
			     __NR_exit_group,	__NR_getpid, __NR_futex,  __NR_mmap,
			     __NR_memfd_create, __NR_kill,   __NR_wait4,  __NR_execveat,
			     __NR_getrandom};

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
			cr_expect_eq(ask(flags, calls[i], 0, 0, 0, 0), SECCOMP_RET_ALLOW, "%d",
				     calls[i]);
}

Test(launcher_filters, threads_and_forks_pass_but_new_namespaces_do_not)
{
	const uint64_t thread = 0x3d0f00, fork = 0x01200011;

	cr_expect_eq(ask(0, __NR_clone, thread, 0, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_clone, fork, 0, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_clone, fork | 0x10000000, 0, 0, 0), ERRNO(EPERM));
	cr_expect_eq(ask(POL_SC_ALLOW_NAMESPACES, __NR_clone, fork | 0x10000000, 0, 0, 0),
		     SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_unshare, 0x200 /* CLONE_FS */, 0, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_unshare, 0x80, 0, 0, 0), ERRNO(EPERM));
}

Test(launcher_filters, own_limits_and_priority_may_change)
{
	cr_expect_eq(ask(0, __NR_prlimit64, 0, 7, 0x7fff0000, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_prlimit64, 42, 7, 0, 0x7fff0000), SECCOMP_RET_ALLOW,
		     "only asking");
	cr_expect_eq(ask(0, __NR_prlimit64, 42, 7, 0x7fff0000, 0), ERRNO(EPERM));
	cr_expect_eq(ask(0, __NR_setpriority, 0, 0, 10, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_setpriority, 1, 0, 10, 0), ERRNO(EPERM), "own group");
	cr_expect_eq(ask(0, __NR_ioprio_set, 1, 0, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_sched_setaffinity, 0, 8, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_sched_setaffinity, 42, 8, 0, 0), ERRNO(EPERM));
}

/* The trap filter stops them: the broker tells the run's own processes from others. */
Test(launcher_filters, beside_a_broker_numbers_are_its_affair)
{
	cr_expect_eq(ask(POL_SC_BROKER, __NR_prlimit64, 42, 7, 0x7fff0000, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(POL_SC_BROKER, __NR_prlimit64, 42, 10, 0x7fff0000, 0), SECCOMP_RET_ALLOW,
		     "the mark: refused aloud");
	cr_expect_eq(ask(POL_SC_BROKER, __NR_setpriority, 0, 42, 10, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(POL_SC_BROKER, __NR_setpriority, 1, 42, 10, 0), SECCOMP_RET_ALLOW,
		     "refused aloud");
	cr_expect_eq(ask(POL_SC_BROKER, __NR_sched_setattr, 42, 0, 0, 0), SECCOMP_RET_ALLOW);
}

Test(launcher_filters, the_mode_counts_only_when_a_file_is_made)
{
	const uint64_t at = (uint32_t)-100;

	cr_expect_eq(ask(0, __NR_openat, at, 0, 0, 06777), SECCOMP_RET_ALLOW, "register noise");
	cr_expect_eq(ask(0, __NR_openat, at, 0, 0101, 0644), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_openat, at, 0, 0101, 04755), ERRNO(EPERM));
	cr_expect_eq(ask(0, __NR_openat, at, 0, 020200002, 02755), ERRNO(EPERM), "O_TMPFILE");
	cr_expect_eq(ask(0, __NR_fchmodat, at, 0, 01777, 0), SECCOMP_RET_ALLOW, "sticky");
}

Test(launcher_filters, truncation_is_refused_only_where_landlock_does_not_see_it)
{
	const uint64_t at = (uint32_t)-100;

	cr_expect_eq(ask(0, __NR_openat, at, 0, 01000, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(POL_SC_NO_TRUNCATE, __NR_openat, at, 0, 01000, 0), ERRNO(EACCES));
	cr_expect_eq(ask(POL_SC_NO_TRUNCATE, __NR_openat, at, 0, 01001, 0), SECCOMP_RET_ALLOW,
		     "O_WRONLY is a write right that Landlock sees");
	cr_expect_eq(ask(0, __NR_truncate, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
}

Test(launcher_filters, socket_families)
{
	for (uint64_t family = 3; family < 64; family++)
		if (family != 10 && family != 16)
			cr_expect_eq(ask(0, __NR_socket, family, 1, 0, 0), ERRNO(EAFNOSUPPORT),
				     "%lu", (unsigned long)family);
	cr_expect_eq(ask(0, __NR_socket, 2, 1, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_socket, 16, 3, 0, 0), SECCOMP_RET_ALLOW, "netlink route");
	cr_expect_eq(ask(0, __NR_socket, 16, 3, 9, 0), ERRNO(EPROTONOSUPPORT), "netlink audit");
	cr_expect_eq(ask(POL_SC_NO_INET, __NR_socket, 2, 1, 0, 0), ERRNO(EACCES));
	cr_expect_eq(ask(POL_SC_NO_INET, __NR_socket, 10, 2, 0, 0), ERRNO(EACCES));
}

Test(launcher_filters, ipc_is_refused_where_no_namespace_keeps_it_apart)
{
	static const long calls[] = {__NR_shmget,     __NR_shmat,  __NR_shmctl, __NR_semget,
				     __NR_semop,      __NR_semctl, __NR_msgget, __NR_msgsnd,
				     __NR_semtimedop, __NR_msgrcv, __NR_msgctl, __NR_mq_open,
				     __NR_mq_unlink};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		cr_expect_eq(ask(0, calls[i], 1, 1, 0, 0), SECCOMP_RET_ALLOW);
		cr_expect_eq(ask(POL_SC_NO_IPC, calls[i], 1, 1, 0, 0), ERRNO(EACCES));
		cr_expect_eq(ask(POL_SC_NO_INET, calls[i], 1, 1, 0, 0), ERRNO(EACCES));
	}
	cr_expect_eq(ask(POL_SC_NO_IPC, __NR_socket, 2, 1, 0, 0), SECCOMP_RET_ALLOW);
}

Test(launcher_filters, unix_sockets_are_pairs_unless_the_host_is_open)
{
	const uint64_t cloexec = 02000000;

	cr_expect_eq(ask(0, __NR_socket, 1, 1, 0, 0), ERRNO(EACCES));
	cr_expect_eq(ask(0, __NR_socketpair, 1, 1 | cloexec, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_socketpair, 1, 5, 0, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(0, __NR_socketpair, 1, 2 | cloexec, 0, 0), ERRNO(EACCES));
	cr_expect_eq(ask(0, __NR_socketpair, 1, 3, 0, 0), ERRNO(EACCES), "raw is datagram");
	for (uint64_t type = 1; type <= 5; type++)
		if (type != 4)
			cr_expect_eq(ask(POL_SC_UNIX_HOST, __NR_socketpair, 1, type, 0, 0),
				     SECCOMP_RET_ALLOW);
	cr_expect_eq(ask(POL_SC_UNIX_HOST, __NR_socket, 1, 2, 0, 0), SECCOMP_RET_ALLOW);
}

Test(launcher_filters, high_bits_do_not_hide_an_ioctl)
{
	cr_expect_eq(ask(0, __NR_ioctl, 0, 0x5412, 0, 0), ERRNO(EPERM));
	cr_expect_eq(ask(0, __NR_ioctl, 0, 0x5412 | UINT64_C(1) << 32, 0, 0), ERRNO(EPERM));
	cr_expect_eq(ask(0, __NR_ioctl, 0, 0x5401, 0, 0), SECCOMP_RET_ALLOW, "TCGETS");
}

/* A snapshot of the home, put into the workspace, would show the keys in it. */
Test(launcher_filters, copies_of_whole_trees_pass_no_ioctl)
{
	const unsigned long denied[] = {
		BTRFS_IOC_SNAP_CREATE,	   BTRFS_IOC_SNAP_CREATE_V2,
		BTRFS_IOC_SUBVOL_CREATE,   BTRFS_IOC_SUBVOL_CREATE_V2,
		BTRFS_IOC_SNAP_DESTROY,	   BTRFS_IOC_SNAP_DESTROY_V2,
		BTRFS_IOC_SUBVOL_SETFLAGS, BTRFS_IOC_SET_RECEIVED_SUBVOL,
		FAT_IOCTL_SET_ATTRIBUTES,
	};
	const unsigned long free_ones[] = {FICLONE, FICLONERANGE, FS_IOC_FIEMAP};

	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
		cr_expect_eq(ask(0, __NR_ioctl, 3, denied[i], 0, 0), ERRNO(ENOTTY), "%#lx",
			     denied[i]);
		cr_expect_eq(ask(POL_SC_DEVICES, __NR_ioctl, 3, denied[i], 0, 0), ERRNO(ENOTTY),
			     "%#lx", denied[i]);
	}
	for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
		cr_expect_eq(ask(0, __NR_ioctl, 3, free_ones[i], 0, 0), SECCOMP_RET_ALLOW, "%#lx",
			     free_ones[i]);
}

/* Numbers of Linux 6.18 and its file systems; each by the constants of its uapi header. */
Test(launcher_filters, ioctls_that_change_or_show_files_pass_under_no_flags)
{
	const uint32_t denied[] = {
		0xc0506617, /* FS_IOC_ADD_ENCRYPTION_KEY */
		0xc0406618, /* FS_IOC_REMOVE_ENCRYPTION_KEY */
		0x800c6613, /* FS_IOC_SET_ENCRYPTION_POLICY */
		0x40806685, /* FS_IOC_ENABLE_VERITY */
		0xc0046686, /* FS_IOC_MEASURE_VERITY */
		0xc028660f, /* EXT4_IOC_MOVE_EXT */
		0x6611,	    /* EXT4_IOC_SWAP_BOOT */
		0x8004587d, /* FS_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN */
		0x41009432, /* FS_IOC_SETFSLABEL */
		0x40305829, /* FS_IOC_RESVSP */
		0x4030582b, /* FS_IOC_UNRESVSP: FALLOC_FL_PUNCH_HOLE */
		0x40305839, /* FS_IOC_ZERO_RANGE */
		0xc0c0586d, /* XFS_IOC_SWAPEXT */
		0x40285881, /* XFS_IOC_EXCHANGE_RANGE */
		0x40087602, /* FS_IOC_SETVERSION */
		0xc0185879, /* FITRIM */
		0xc0045877, /* FIFREEZE */
		0x541d,	    /* TIOCCONS */
		0x4b47,	    /* KDSKBENT */
		0xff0b,	    /* PIDFD_GET_* */
		0xb70a,	    /* NS_MNT_GET_* */
	};

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
			if (flags & POL_SC_DEVICES && denied[i] == 0x541d)
				continue;
			cr_expect_eq(ask(flags, __NR_ioctl, 3, denied[i], 0, 0), ERRNO(ENOTTY),
				     "%#x, flags %#x", denied[i], flags);
		}
	cr_expect_eq(ask(0, __NR_ioctl, 3, FIDEDUPERANGE, 0, 0), ERRNO(EOPNOTSUPP));
	cr_expect_eq(ask(0, __NR_ioctl, 3, 0xc0106446, 0, 0), ERRNO(ENOTTY), "of a device");
	cr_expect_eq(ask(POL_SC_DEVICES, __NR_ioctl, 3, 0xc0106446, 0, 0), SECCOMP_RET_ALLOW);
}

Test(launcher_filters, what_ordinary_programs_ask_of_descriptors_passes)
{
	const unsigned long free_ones[] = {
		TCGETS,		  TCSETSF,   TIOCGWINSZ,  TIOCSWINSZ,	   TIOCSCTTY,
		TIOCNOTTY,	  TIOCSPGRP, TIOCGPGRP,	  TIOCGPTN,	   TIOCSPTLCK,
		TIOCGPTPEER,	  TIOCOUTQ,  FIONREAD,	  FIONBIO,	   FIOCLEX,
		FIONCLEX,	  FIOASYNC,  SIOCGIFCONF, SIOCGIFFLAGS,	   SIOCGIFINDEX,
		SIOCATMARK,	  SIOCOUTQ,  FIGETBSZ,	  FS_IOC_GETFLAGS, FICLONE,
		FS_IOC_FSGETXATTR};

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
			cr_expect_eq(ask(flags, __NR_ioctl, 3, free_ones[i], 0, 0),
				     SECCOMP_RET_ALLOW, "%#lx, flags %#x", free_ones[i], flags);
}

Test(launcher_filters, foreign_architectures_die_and_x32_is_unknown)
{
	struct seccomp_data data = {.nr = 20, .arch = FOREIGN};

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		cr_expect_eq(bpf_run(filter(flags), &data, NULL), SECCOMP_RET_KILL_PROCESS);
#ifdef __x86_64__
	cr_expect_eq(ask(0, 0x40000000 | __NR_openat, 0, 0, 0, 0), ERRNO(ENOSYS));
	cr_expect_eq(ask(0, 0x40000000 | 512, 0, 0, 0, 0), ERRNO(ENOSYS));
	cr_expect_eq(ask(0, -1, 0, 0, 0, 0), SECCOMP_RET_ALLOW, "a tracer skips a call");
#endif
}

Test(launcher_filters, hot_calls_are_answered_in_few_steps)
{
	const int hot[] = {__NR_openat, __NR_ioctl, __NR_clone, __NR_socket, __NR_read, __NR_close};

	for (size_t i = 0; i < sizeof hot / sizeof *hot; i++) {
		struct seccomp_data data = {.nr = hot[i], .arch = NATIVE};
		unsigned steps;

		if (hot[i] == __NR_ioctl)
			data.args[1] = TCGETS;

		cr_expect_eq(bpf_run(filter(POL_SC_UNIX_HOST), &data, &steps), SECCOMP_RET_ALLOW);
		cr_expect_leq(steps, 44, "%d: %u steps", hot[i], steps);
		cr_log_info("call %d: %u steps", hot[i], steps);
	}
}
