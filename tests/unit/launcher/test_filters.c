/* Unit tests of the generated filters: run by a small interpreter of classic BPF and judged
 * against the table, so that every row is proved for every combination of flags. */
#include "launcher/linux/filters.h"

#include <asm/unistd.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "policy/back/seccomp.h"

#if defined(__x86_64__)
#define NATIVE	AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE	AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))

/* bpf(4) as far as seccomp(2) allows it and libseccomp uses it; anything else fails the test. */
static uint32_t run(const struct lau_filter *f, const struct seccomp_data *data,
		    unsigned *out_steps)
{
	uint32_t acc = 0;
	unsigned steps = 0;

	for (size_t pc = 0; pc < f->len; pc++, steps++) {
		const struct sock_filter *i = &f->prog[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			cr_assert_leq(i->k, sizeof *data - 4);
			memcpy(&acc, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += acc == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += acc >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += acc > i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			if (out_steps)
				*out_steps = steps;
			return i->k;
		default:
			cr_assert_fail("instruction %#x", i->code);
		}
	}
	cr_assert_fail("ran off the end");
	return 0;
}

static uint32_t ask(unsigned flags, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	struct seccomp_data data = {.nr = nr, .arch = NATIVE, .args = {a0, a1, a2, a3}};

	return run(&lau_filters[flags], &data, NULL);
}

static const struct {
	const char *name;
	int nr;
} numbers[] = {
#define N(name)                                                                                    \
	{                                                                                          \
#name, __NR_##name                                                                 \
	}
	N(mount),
	N(umount2),
	N(pivot_root),
	N(chroot),
	N(setns),
	N(clone),
	N(unshare),
	N(ptrace),
	N(process_vm_readv),
	N(process_vm_writev),
	N(personality),
	N(prlimit64),
	N(setpriority),
	N(ioprio_set),
	N(sched_setaffinity),
	N(sched_setattr),
	N(sched_setparam),
	N(sched_setscheduler),
	N(move_pages),
	N(migrate_pages),
	N(seccomp),
	N(open_by_handle_at),
	N(name_to_handle_at),
	N(fanotify_init),
	N(io_uring_setup),
	N(io_uring_enter),
	N(fchmod),
	N(fchmodat),
	N(mknodat),
	N(openat),
	N(openat2),
	N(truncate),
	N(ioctl),
	N(socket),
	N(socketpair),
	N(bpf),
	N(perf_event_open),
	N(userfaultfd),
	N(keyctl),
	N(add_key),
	N(request_key),
	N(init_module),
	N(finit_module),
	N(reboot),
	N(syslog),
	N(clone3),
	N(fsopen),
	N(open_tree),
	N(move_mount),
	N(mount_setattr),
	N(pidfd_getfd),
	N(acct),
	N(clock_settime),
	{"fchmodat2", 452},
	{"setxattrat", 463},
	{"getxattrat", 464},
	{"listxattrat", 465},
	{"removexattrat", 466},
	{"open_tree_attr", 467},
	{"file_setattr", 469},
#ifdef __x86_64__
	N(open),
	N(creat),
	N(chmod),
	N(mknod),
	N(iopl),
	N(ioperm),
	N(modify_ldt),
#endif
#undef N
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(numbers[i].name, name))
			return numbers[i].nr;
	return -1;
}

/* Arguments that the row speaks of, with what it does not look at filled with noise. */
static void fill(const struct pol_sc_rule *rule, struct seccomp_data *data)
{
	for (unsigned k = 0; k < rule->nargs; k++) {
		const struct pol_sc_arg *arg = &rule->arg[k];

		if (arg->cmp == '&')
			data->args[arg->index] = arg->value | (UINT64_C(0xa5a5) << 32);
		else
			data->args[arg->index] = arg->cmp == '!' ? arg->value + 1 : arg->value;
	}
}

Test(launcher_filters, every_row_is_answered_under_all_flags)
{
	size_t n, judged = 0;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	cr_assert_eq(lau_filters_n, POL_SC_FLAGS);
	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		for (size_t i = 0; i < n; i++) {
			struct seccomp_data data = {.arch = NATIVE};

			data.nr = number_of(rules[i].call);
			if (data.nr < 0 || !pol_sc_applies(&rules[i], flags))
				continue;
			fill(&rules[i], &data);
			cr_expect_eq(run(&lau_filters[flags], &data, NULL),
				     ERRNO((unsigned)rules[i].err), "%s, row %zu, flags %#x",
				     rules[i].call, i, flags);
			judged++;
		}
	cr_expect_gt(judged, 32 * 80);
}

Test(launcher_filters, ordinary_calls_pass)
{
	const int calls[] = {__NR_read,		__NR_write,    __NR_openat, __NR_execve,
			     __NR_exit_group,	__NR_getpid,   __NR_futex,  __NR_mmap,
			     __NR_memfd_create, __NR_kill,     __NR_wait4,  __NR_execveat,
			     __NR_ioctl,	__NR_getrandom};

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
	const unsigned long free_ones[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_FIEMAP};

	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		cr_expect_eq(ask(0, __NR_ioctl, 3, denied[i], 0, 0), ERRNO(EPERM), "%#lx",
			     denied[i]);
	for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
		cr_expect_eq(ask(0, __NR_ioctl, 3, free_ones[i], 0, 0), SECCOMP_RET_ALLOW, "%#lx",
			     free_ones[i]);
}

Test(launcher_filters, foreign_architectures_die_and_x32_is_unknown)
{
	struct seccomp_data data = {.nr = 20, .arch = FOREIGN};

	for (unsigned flags = 0; flags < POL_SC_FLAGS; flags++)
		cr_expect_eq(run(&lau_filters[flags], &data, NULL), SECCOMP_RET_KILL_PROCESS);
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

		cr_expect_eq(run(&lau_filters[POL_SC_UNIX_HOST], &data, &steps), SECCOMP_RET_ALLOW);
		cr_expect_leq(steps, 44, "%d: %u steps", hot[i], steps);
		cr_log_info("call %d: %u steps", hot[i], steps);
	}
}
