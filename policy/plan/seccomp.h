/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - the static filter as data: which calls get which answer, and why.
 *
 * Pure. `sbx-policy show --plan seccomp` prints it; launcher/linux/filters/filtercode.c compiles it
 * at build time, once per combination of flags, so that a launch only points the kernel at an
 * array.
 *
 * A call that policy/plan/seccomp.h knows and the table does not name is allowed. A call that
 * neither knows gets the kernel's answer for unknown calls (ENOSYS). The rows of one call are asked
 * in their order, and the first that applies answers; between calls the order has no meaning. A
 * call that a machine does not have (open on arm64) is left out there.
 *
 * An answer is a refusal, which the broker gives and reports if there is one (pol_sc_is_told()), or
 * the answer of a kernel without the call (ENOSYS, ENOTTY, EINVAL, EOPNOTSUPP): callers do without
 * it, and nothing reports it unless the row says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

/* Flags that relax or tighten the filter. */
#define POL_SC_ALLOW_DEBUG 0x1u /* ptrace, process_vm, personality */
#define POL_SC_ALLOW_NAMESPACES                                                                    \
	0x2u			 /* clone, unshare, setns, chroot (mounts stay shut: Landlock) */
#define POL_SC_UNIX_HOST   0x4u	 /* socket(AF_UNIX) stays */
#define POL_SC_NO_INET	   0x8u	 /* --network none without a network namespace */
#define POL_SC_NO_TRUNCATE 0x10u /* Landlock below ABI 3 */
#define POL_SC_BROKER                                                                              \
	0x20u		      /* the broker judges sockets by path and modes of openat2;           \
			       * it refuses ptrace and namespaces aloud */
#define POL_SC_DEVICES 0x40u  /* a rule opens devices beyond the usual ones: their ioctls */
#define POL_SC_NO_IPC  0x80u  /* the run has no IPC namespace; POL_SC_NO_INET says so as well */
#define POL_SC_FLAGS   0x100u /* all combinations are below this */
/* For the broker alone: the filter is the same. */
#define POL_SC_ALLOW_SETID 0x100u /* files may be made set-id */
#define POL_SC_ENDPOINTS   0x200u /* rules on endpoints: what they do not know is refused */
#define POL_SC_SIGNALS	   0x400u /* no scope of Landlock's keeps signals inside */
#define POL_SC_APART                                                                               \
	0x800u /* the network is not the host's: its sockets stay connected as they are */

struct pol_sc_arg {
	unsigned char index;
	/* '&': (argument & mask) == value, the form that looks at the low 32 bits only, as the
	 * kernel does for int arguments (CVE-2019-10063); so do '|': (argument & mask) != 0, and
	 * '-': value <= argument <= mask. '!' and '>' compare all 64 bits with `value`: stray high
	 * bits then refuse, never permit. */
	char cmp;
	uint64_t mask, value;
};
struct pol_sc_rule {
	const char *call;
	int err; /* errno to answer, 0 = allowed */
	unsigned nargs;
	struct pol_sc_arg arg[3]; /* all must hold, each about another argument */
	unsigned unless;	  /* POL_SC_*: the row is left out when one of these is set */
	unsigned only; /* POL_SC_*: the row applies only when one of these is set; 0 = always */
	const char *why;
	const char *origin; /* "builtin:filter:LINE" of the table, as events name it */
	bool is_told;	    /* although callers do without the call */
	bool is_root; /* the kernel refuses it to all but root: reported only in root's runs */
};
const struct pol_sc_rule *pol_sc_rules(size_t *out_n);
/* Does the row belong to the filter of these flags? */
bool pol_sc_applies(const struct pol_sc_rule *, unsigned flags);
/* Does the broker refuse it, so that it has a line? The filter then leaves it to the broker. */
bool pol_sc_is_told(const struct pol_sc_rule *, unsigned flags);
/* Do these six arguments meet the row, as the filter compares them? */
bool pol_sc_holds(const struct pol_sc_rule *, const uint64_t *args);
/* The row of an origin; NULL: of no row. */
const struct pol_sc_rule *pol_sc_row(const char *origin);
/* The option that opens what the row closes; NULL: none does. */
const char *pol_sc_remedy(const struct pol_sc_rule *);
void pol_sc_show(unsigned flags, struct b_str *out);

/*
 * The system calls that are known: names and numbers. Pure.
 *
 * A fact of the kernel's, arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl, up to
 * Linux 7.0. Calls that no supported kernel has any more (uselib, nfsservctl, lookup_dcookie and
 * older ones) are left out, and are as unknown as future numbers. Adding a call here allows it: add
 * a row to policy/plan/seccomp.c if it should be refused.
 */

#define POL_SYSCALLS_OF "Linux 7.0"

/* X(name, number on x86_64, on aarch64); -1: the machine does without */
/* clang-format off */
#define POL_SYSCALLS(X) \
	X(read, 0, 63) X(write, 1, 64) X(open, 2, -1) X(close, 3, 57) X(stat, 4, -1) X(fstat, 5, 80) \
	X(lstat, 6, -1) X(poll, 7, -1) X(lseek, 8, 62) X(mmap, 9, 222) X(mprotect, 10, 226) \
	X(munmap, 11, 215) X(brk, 12, 214) X(rt_sigaction, 13, 134) X(rt_sigprocmask, 14, 135) \
	X(rt_sigreturn, 15, 139) X(ioctl, 16, 29) X(pread64, 17, 67) X(pwrite64, 18, 68) \
	X(readv, 19, 65) X(writev, 20, 66) X(access, 21, -1) X(pipe, 22, -1) X(select, 23, -1) \
	X(sched_yield, 24, 124) X(mremap, 25, 216) X(msync, 26, 227) X(mincore, 27, 232) \
	X(madvise, 28, 233) X(shmget, 29, 194) X(shmat, 30, 196) X(shmctl, 31, 195) X(dup, 32, 23) \
	X(dup2, 33, -1) X(pause, 34, -1) X(nanosleep, 35, 101) X(getitimer, 36, 102) X(alarm, 37, -1) \
	X(setitimer, 38, 103) X(getpid, 39, 172) X(sendfile, 40, 71) X(socket, 41, 198) \
	X(connect, 42, 203) X(accept, 43, 202) X(sendto, 44, 206) X(recvfrom, 45, 207) \
	X(sendmsg, 46, 211) X(recvmsg, 47, 212) X(shutdown, 48, 210) X(bind, 49, 200) \
	X(listen, 50, 201) X(getsockname, 51, 204) X(getpeername, 52, 205) X(socketpair, 53, 199) \
	X(setsockopt, 54, 208) X(getsockopt, 55, 209) X(clone, 56, 220) X(fork, 57, -1) \
	X(vfork, 58, -1) X(execve, 59, 221) X(exit, 60, 93) X(wait4, 61, 260) X(kill, 62, 129) \
	X(uname, 63, 160) X(semget, 64, 190) X(semop, 65, 193) X(semctl, 66, 191) X(shmdt, 67, 197) \
	X(msgget, 68, 186) X(msgsnd, 69, 189) X(msgrcv, 70, 188) X(msgctl, 71, 187) X(fcntl, 72, 25) \
	X(flock, 73, 32) X(fsync, 74, 82) X(fdatasync, 75, 83) X(truncate, 76, 45) \
	X(ftruncate, 77, 46) X(getdents, 78, -1) X(getcwd, 79, 17) X(chdir, 80, 49) X(fchdir, 81, 50) \
	X(rename, 82, -1) X(mkdir, 83, -1) X(rmdir, 84, -1) X(creat, 85, -1) X(link, 86, -1) \
	X(unlink, 87, -1) X(symlink, 88, -1) X(readlink, 89, -1) X(chmod, 90, -1) X(fchmod, 91, 52) \
	X(chown, 92, -1) X(fchown, 93, 55) X(lchown, 94, -1) X(umask, 95, 166) \
	X(gettimeofday, 96, 169) X(getrlimit, 97, 163) X(getrusage, 98, 165) X(sysinfo, 99, 179) \
	X(times, 100, 153) X(ptrace, 101, 117) X(getuid, 102, 174) X(syslog, 103, 116) \
	X(getgid, 104, 176) X(setuid, 105, 146) X(setgid, 106, 144) X(geteuid, 107, 175) \
	X(getegid, 108, 177) X(setpgid, 109, 154) X(getppid, 110, 173) X(getpgrp, 111, -1) \
	X(setsid, 112, 157) X(setreuid, 113, 145) X(setregid, 114, 143) X(getgroups, 115, 158) \
	X(setgroups, 116, 159) X(setresuid, 117, 147) X(getresuid, 118, 148) X(setresgid, 119, 149) \
	X(getresgid, 120, 150) X(getpgid, 121, 155) X(setfsuid, 122, 151) X(setfsgid, 123, 152) \
	X(getsid, 124, 156) X(capget, 125, 90) X(capset, 126, 91) X(rt_sigpending, 127, 136) \
	X(rt_sigtimedwait, 128, 137) X(rt_sigqueueinfo, 129, 138) X(rt_sigsuspend, 130, 133) \
	X(sigaltstack, 131, 132) X(utime, 132, -1) X(mknod, 133, -1) X(personality, 135, 92) \
	X(ustat, 136, -1) X(statfs, 137, 43) X(fstatfs, 138, 44) X(sysfs, 139, -1) \
	X(getpriority, 140, 141) X(setpriority, 141, 140) X(sched_setparam, 142, 118) \
	X(sched_getparam, 143, 121) X(sched_setscheduler, 144, 119) X(sched_getscheduler, 145, 120) \
	X(sched_get_priority_max, 146, 125) X(sched_get_priority_min, 147, 126) \
	X(sched_rr_get_interval, 148, 127) X(mlock, 149, 228) X(munlock, 150, 229) \
	X(mlockall, 151, 230) X(munlockall, 152, 231) X(vhangup, 153, 58) X(modify_ldt, 154, -1) \
	X(pivot_root, 155, 41) X(prctl, 157, 167) X(arch_prctl, 158, -1) X(adjtimex, 159, 171) \
	X(setrlimit, 160, 164) X(chroot, 161, 51) X(sync, 162, 81) X(acct, 163, 89) \
	X(settimeofday, 164, 170) X(mount, 165, 40) X(umount2, 166, 39) X(swapon, 167, 224) \
	X(swapoff, 168, 225) X(reboot, 169, 142) X(sethostname, 170, 161) X(setdomainname, 171, 162) \
	X(iopl, 172, -1) X(ioperm, 173, -1) X(init_module, 175, 105) X(delete_module, 176, 106) \
	X(quotactl, 179, 60) X(gettid, 186, 178) X(readahead, 187, 213) X(setxattr, 188, 5) \
	X(lsetxattr, 189, 6) X(fsetxattr, 190, 7) X(getxattr, 191, 8) X(lgetxattr, 192, 9) \
	X(fgetxattr, 193, 10) X(listxattr, 194, 11) X(llistxattr, 195, 12) X(flistxattr, 196, 13) \
	X(removexattr, 197, 14) X(lremovexattr, 198, 15) X(fremovexattr, 199, 16) X(tkill, 200, 130) \
	X(time, 201, -1) X(futex, 202, 98) X(sched_setaffinity, 203, 122) \
	X(sched_getaffinity, 204, 123) X(io_setup, 206, 0) X(io_destroy, 207, 1) \
	X(io_getevents, 208, 4) X(io_submit, 209, 2) X(io_cancel, 210, 3) X(epoll_create, 213, -1) \
	X(remap_file_pages, 216, 234) X(getdents64, 217, 61) X(set_tid_address, 218, 96) \
	X(restart_syscall, 219, 128) X(semtimedop, 220, 192) X(fadvise64, 221, 223) \
	X(timer_create, 222, 107) X(timer_settime, 223, 110) X(timer_gettime, 224, 108) \
	X(timer_getoverrun, 225, 109) X(timer_delete, 226, 111) X(clock_settime, 227, 112) \
	X(clock_gettime, 228, 113) X(clock_getres, 229, 114) X(clock_nanosleep, 230, 115) \
	X(exit_group, 231, 94) X(epoll_wait, 232, -1) X(epoll_ctl, 233, 21) X(tgkill, 234, 131) \
	X(utimes, 235, -1) X(mbind, 237, 235) X(set_mempolicy, 238, 237) X(get_mempolicy, 239, 236) \
	X(mq_open, 240, 180) X(mq_unlink, 241, 181) X(mq_timedsend, 242, 182) \
	X(mq_timedreceive, 243, 183) X(mq_notify, 244, 184) X(mq_getsetattr, 245, 185) \
	X(kexec_load, 246, 104) X(waitid, 247, 95) X(add_key, 248, 217) X(request_key, 249, 218) \
	X(keyctl, 250, 219) X(ioprio_set, 251, 30) X(ioprio_get, 252, 31) X(inotify_init, 253, -1) \
	X(inotify_add_watch, 254, 27) X(inotify_rm_watch, 255, 28) X(migrate_pages, 256, 238) \
	X(openat, 257, 56) X(mkdirat, 258, 34) X(mknodat, 259, 33) X(fchownat, 260, 54) \
	X(futimesat, 261, -1) X(newfstatat, 262, 79) X(unlinkat, 263, 35) X(renameat, 264, 38) \
	X(linkat, 265, 37) X(symlinkat, 266, 36) X(readlinkat, 267, 78) X(fchmodat, 268, 53) \
	X(faccessat, 269, 48) X(pselect6, 270, 72) X(ppoll, 271, 73) X(unshare, 272, 97) \
	X(set_robust_list, 273, 99) X(get_robust_list, 274, 100) X(splice, 275, 76) X(tee, 276, 77) \
	X(sync_file_range, 277, 84) X(vmsplice, 278, 75) X(move_pages, 279, 239) X(utimensat, 280, 88) \
	X(epoll_pwait, 281, 22) X(signalfd, 282, -1) X(timerfd_create, 283, 85) X(eventfd, 284, -1) \
	X(fallocate, 285, 47) X(timerfd_settime, 286, 86) X(timerfd_gettime, 287, 87) \
	X(accept4, 288, 242) X(signalfd4, 289, 74) X(eventfd2, 290, 19) X(epoll_create1, 291, 20) \
	X(dup3, 292, 24) X(pipe2, 293, 59) X(inotify_init1, 294, 26) X(preadv, 295, 69) \
	X(pwritev, 296, 70) X(rt_tgsigqueueinfo, 297, 240) X(perf_event_open, 298, 241) \
	X(recvmmsg, 299, 243) X(fanotify_init, 300, 262) X(fanotify_mark, 301, 263) \
	X(prlimit64, 302, 261) X(name_to_handle_at, 303, 264) X(open_by_handle_at, 304, 265) \
	X(clock_adjtime, 305, 266) X(syncfs, 306, 267) X(sendmmsg, 307, 269) X(setns, 308, 268) \
	X(getcpu, 309, 168) X(process_vm_readv, 310, 270) X(process_vm_writev, 311, 271) \
	X(kcmp, 312, 272) X(finit_module, 313, 273) X(sched_setattr, 314, 274) \
	X(sched_getattr, 315, 275) X(renameat2, 316, 276) X(seccomp, 317, 277) X(getrandom, 318, 278) \
	X(memfd_create, 319, 279) X(kexec_file_load, 320, 294) X(bpf, 321, 280) X(execveat, 322, 281) \
	X(userfaultfd, 323, 282) X(membarrier, 324, 283) X(mlock2, 325, 284) \
	X(copy_file_range, 326, 285) X(preadv2, 327, 286) X(pwritev2, 328, 287) \
	X(pkey_mprotect, 329, 288) X(pkey_alloc, 330, 289) X(pkey_free, 331, 290) X(statx, 332, 291) \
	X(io_pgetevents, 333, 292) X(rseq, 334, 293) X(uretprobe, 335, -1) X(uprobe, 336, -1) \
	X(pidfd_send_signal, 424, 424) X(io_uring_setup, 425, 425) X(io_uring_enter, 426, 426) \
	X(io_uring_register, 427, 427) X(open_tree, 428, 428) X(move_mount, 429, 429) \
	X(fsopen, 430, 430) X(fsconfig, 431, 431) X(fsmount, 432, 432) X(fspick, 433, 433) \
	X(pidfd_open, 434, 434) X(clone3, 435, 435) X(close_range, 436, 436) X(openat2, 437, 437) \
	X(pidfd_getfd, 438, 438) X(faccessat2, 439, 439) X(process_madvise, 440, 440) \
	X(epoll_pwait2, 441, 441) X(mount_setattr, 442, 442) X(quotactl_fd, 443, 443) \
	X(landlock_create_ruleset, 444, 444) X(landlock_add_rule, 445, 445) \
	X(landlock_restrict_self, 446, 446) X(memfd_secret, 447, 447) X(process_mrelease, 448, 448) \
	X(futex_waitv, 449, 449) X(set_mempolicy_home_node, 450, 450) X(cachestat, 451, 451) \
	X(fchmodat2, 452, 452) X(map_shadow_stack, 453, 453) X(futex_wake, 454, 454) \
	X(futex_wait, 455, 455) X(futex_requeue, 456, 456) X(statmount, 457, 457) \
	X(listmount, 458, 458) X(lsm_get_self_attr, 459, 459) X(lsm_set_self_attr, 460, 460) \
	X(lsm_list_modules, 461, 461) X(mseal, 462, 462) X(setxattrat, 463, 463) \
	X(getxattrat, 464, 464) X(listxattrat, 465, 465) X(removexattrat, 466, 466) \
	X(open_tree_attr, 467, 467) X(file_getattr, 468, 468) X(file_setattr, 469, 469) \
	X(listns, 470, 470) X(rseq_slice_yield, 471, 471)
/* clang-format on */

enum pol_machine { POL_X86_64, POL_AARCH64, POL_MACHINES };

struct pol_syscall {
	const char *name;
	short nr[POL_MACHINES]; /* -1 = none */
};
/* By name, as in POL_SYSCALLS. */
const struct pol_syscall *pol_syscalls(size_t *out_n);

/*
 * The calls of a command that the broker must see: the planner decides it, and the trap filter
 * enforces it.
 */

/* Which opens for reading the broker performs; the lowest level that is exact is chosen. */
enum pol_read_level {
	POL_READ_NONE,	    /* Landlock decides them all */
	POL_READ_DIRECTORY, /* those with O_DIRECTORY: carved directories are listed by the broker
			     */
	POL_READ_ALL,	    /* all of them: a deny pattern lies inside what is readable */
};

#define POL_TRAP_FILES                                                                             \
	0x1u /* what makes, removes, moves, writes to or changes the metadata of files */
#define POL_TRAP_SOCKETS 0x2u /* bind and connect */
/* Refused whatever the policy, but aloud: the person learns which option helps. */
#define POL_TRAP_TRACE	   0x8u	 /* ptrace */
#define POL_TRAP_NAMESPACE 0x10u /* clone and unshare that make namespaces */
#define POL_TRAP_EXEC	   0x4u	 /* execve: a deny lies inside what is executable */
/* Landlock below ABI 3 does not see truncation: nothing that could empty a file is left to the
 * kernel, openat2(2) least of all, whose flags lie in memory. */
#define POL_TRAP_TRUNCATE 0x20u
/* Rules on endpoints: what leads past connect(2), or past TCP, is answered by the trap filter. */
#define POL_TRAP_ENDPOINTS 0x80u
#define POL_TRAP_PROGRAMS  0x200u /* execve: rules on endpoints name programs */
/* Landlock below ABI 6 does not scope signals. */
#define POL_TRAP_SIGNALS 0x100u
#define POL_TRAP_RING	 0x40u /* nor ftruncate(2) of a ring that callers may write to */

/* openat2(2) hides its flags in memory and traps whenever this size of struct open_how is not
 * given: the shim's proof that it only asks, and lives with the kernel's answer. Below level
 * POL_READ_ALL the kernel's answer is exact for reads, and no for writes. Access mode 3 gets a
 * descriptor for ioctl(2) alone, whose list the static filter keeps: selftest/files.c. */
#define POL_QUICK_HOW_SIZE 32u
