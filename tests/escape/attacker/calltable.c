/*
 * calltable.c - what a program can call: a row each. Kinds of arguments are those of arguments.c:
 *
 *	d directory descriptor   p path          f descriptor     F flags of open
 *	m mode                   s text of a link  R rename's       U unlink's
 *	L link's                 A of calls at   o offset         z size
 *	b room for what is read  w what is written t times        x name of an attribute
 *	u user or group          a address       l its length     h struct open_how
 *	H its size               c CLONE_*       i process        g signal
 *	q ioctl                  k fallocate's   n small number   0 nothing
 */
#include "attack.h"

#include <sys/syscall.h>

#include "composites.h"

#define CALL(name_, args_, weight_, result_)                                                       \
	{                                                                                          \
#name_, SYS_##name_, args_, weight_, result_, NULL                                 \
	}
#define SPECIAL(name_, args_, weight_, fn_)                                                        \
	{                                                                                          \
#name_, -1, args_, weight_, AK_R_NONE, fn_                                         \
	}

/* clang-format off */
const struct ak_call ak_calls[] = {
	CALL(open, "pFm", 20, AK_R_FD),
	CALL(openat, "dpFm", 24, AK_R_FD),
	CALL(openat2, "dphH", 20, AK_R_FD),
	CALL(creat, "pm", 6, AK_R_FD),
	CALL(mkdir, "pm", 6, AK_R_NONE),
	CALL(mkdirat, "dpm", 6, AK_R_NONE),
	CALL(mknod, "pmn", 4, AK_R_NONE),
	CALL(mknodat, "dpmn", 4, AK_R_NONE),
	CALL(unlink, "p", 6, AK_R_NONE),
	CALL(rmdir, "p", 4, AK_R_NONE),
	CALL(unlinkat, "dpU", 6, AK_R_NONE),
	CALL(symlink, "sp", 6, AK_R_NONE),
	CALL(symlinkat, "sdp", 6, AK_R_NONE),
	CALL(rename, "pp", 8, AK_R_NONE),
	CALL(renameat, "dpdp", 8, AK_R_NONE),
	CALL(renameat2, "dpdpR", 16, AK_R_NONE),
	CALL(link, "pp", 8, AK_R_NONE),
	CALL(linkat, "dpdpL", 16, AK_R_NONE),
	CALL(truncate, "pz", 6, AK_R_NONE),
	CALL(chmod, "pm", 5, AK_R_NONE),
	CALL(fchmod, "fm", 5, AK_R_NONE),
	CALL(fchmodat, "dpm", 5, AK_R_NONE),
	{"fchmodat2", 452, "dpmA", 5, AK_R_NONE, NULL},
	CALL(chown, "puu", 4, AK_R_NONE),
	CALL(lchown, "puu", 3, AK_R_NONE),
	CALL(fchown, "fuu", 4, AK_R_NONE),
	CALL(fchownat, "dpuuA", 4, AK_R_NONE),
	CALL(utime, "pt", 3, AK_R_NONE),
	CALL(utimes, "pt", 3, AK_R_NONE),
	CALL(futimesat, "dpt", 3, AK_R_NONE),
	CALL(utimensat, "dptA", 5, AK_R_NONE),
	CALL(setxattr, "pxwzn", 4, AK_R_NONE),
	CALL(lsetxattr, "pxwzn", 3, AK_R_NONE),
	CALL(fsetxattr, "fxwzn", 4, AK_R_NONE),
	CALL(removexattr, "px", 3, AK_R_NONE),
	CALL(lremovexattr, "px", 2, AK_R_NONE),
	CALL(fremovexattr, "fx", 3, AK_R_NONE),
	CALL(getxattr, "pxbz", 5, AK_R_BYTES),
	CALL(lgetxattr, "pxbz", 4, AK_R_BYTES),
	CALL(fgetxattr, "fxbz", 5, AK_R_BYTES),
	CALL(listxattr, "pbz", 3, AK_R_NONE),
	CALL(llistxattr, "pbz", 2, AK_R_NONE),
	CALL(flistxattr, "fbz", 3, AK_R_NONE),
	CALL(bind, "fal", 8, AK_R_NONE),
	CALL(connect, "fal", 10, AK_R_NONE),
	CALL(ptrace, "nibb", 2, AK_R_NONE),
	CALL(unshare, "c", 2, AK_R_NONE),
	CALL(umask, "m", 3, AK_R_NONE),
	CALL(setuid, "u", 1, AK_R_NONE),
	CALL(setgid, "u", 1, AK_R_NONE),
	CALL(setreuid, "uu", 1, AK_R_NONE),
	CALL(setregid, "uu", 1, AK_R_NONE),
	CALL(setresuid, "uuu", 2, AK_R_NONE),
	CALL(setresgid, "uuu", 2, AK_R_NONE),
	CALL(setfsuid, "u", 1, AK_R_NONE),
	CALL(setfsgid, "u", 1, AK_R_NONE),
	CALL(setgroups, "nb", 1, AK_R_NONE),

	/* not trapped: what the kernel decides alone, and what makes the state of the others */
	CALL(read, "fbz", 4, AK_R_BYTES),
	CALL(pread64, "fbzo", 5, AK_R_BYTES),
	CALL(write, "fwz", 3, AK_R_NONE),
	CALL(pwrite64, "fwzo", 4, AK_R_NONE),
	CALL(ftruncate, "fz", 4, AK_R_NONE),
	CALL(fallocate, "fkoz", 4, AK_R_NONE),
	CALL(getdents64, "fbz", 5, AK_R_BYTES),
	CALL(copy_file_range, "f0f0z0", 4, AK_R_NONE),
	CALL(sendfile, "ff0z", 4, AK_R_NONE),
	CALL(splice, "f0f0zn", 4, AK_R_NONE),
	CALL(tee, "ffzn", 1, AK_R_NONE),
	CALL(ioctl, "fqb", 5, AK_R_NONE),
	CALL(fcntl, "fnn", 3, AK_R_NONE),
	CALL(chdir, "p", 8, AK_R_NONE),
	CALL(fchdir, "f", 6, AK_R_NONE),
	CALL(chroot, "p", 2, AK_R_NONE),
	CALL(readlink, "pbz", 2, AK_R_NONE),
	CALL(close, "f", 2, AK_R_NONE),
	CALL(lseek, "fon", 1, AK_R_NONE),
	CALL(flock, "fn", 1, AK_R_NONE),
	CALL(memfd_create, "pn", 2, AK_R_NEWFD),
	CALL(name_to_handle_at, "dpbbA", 2, AK_R_NONE),
	CALL(open_by_handle_at, "fbF", 2, AK_R_FD),
	{"file_getattr", 468, "dpbzA", 1, AK_R_NONE, NULL},
	{"file_setattr", 469, "dpwzA", 2, AK_R_NONE, NULL},
	{"setxattrat", 463, "dpAxwz", 2, AK_R_NONE, NULL},
	{"getxattrat", 464, "dpAxbz", 2, AK_R_BYTES, NULL},
	{"removexattrat", 466, "dpAx", 2, AK_R_NONE, NULL},
	{"mount_setattr", 442, "dpAwz", 1, AK_R_NONE, NULL},
	{"open_tree", 428, "dpF", 1, AK_R_FD, NULL},
	{"open_tree_attr", 467, "dpFwz", 1, AK_R_FD, NULL},
	{"fsopen", 430, "pn", 1, AK_R_FD, NULL},
	CALL(mount, "ppp0", 1, AK_R_NONE),
	CALL(pivot_root, "pp", 1, AK_R_NONE),
	CALL(quotactl, "npub", 1, AK_R_NONE),
	CALL(acct, "p", 1, AK_R_NONE),
	CALL(swapon, "pn", 1, AK_R_NONE),
	CALL(fanotify_init, "nF", 1, AK_R_FD),
	CALL(inotify_init1, "n", 1, AK_R_NEWFD),
	CALL(inotify_add_watch, "fpn", 1, AK_R_NONE),
	CALL(kill, "ig", 2, AK_R_NONE),
	CALL(tgkill, "iig", 2, AK_R_NONE),
	CALL(pidfd_open, "in", 3, AK_R_NEWFD),
	CALL(pidfd_getfd, "fn0", 4, AK_R_FD),
	CALL(pidfd_send_signal, "fg00", 2, AK_R_NONE),
	CALL(process_madvise, "fbnn0", 1, AK_R_NONE),
	CALL(setns, "fc", 1, AK_R_NONE),
	CALL(prctl, "nnnn", 2, AK_R_NONE),
	CALL(socket, "nnn", 3, AK_R_NEWFD),
	CALL(listen, "fn", 3, AK_R_NONE),
	CALL(io_uring_setup, "nb", 1, AK_R_FD),
	CALL(landlock_create_ruleset, "bzn", 1, AK_R_FD),
	CALL(prlimit64, "in0b", 1, AK_R_NONE),

	SPECIAL(scan, "f", 10, ak_op_scan),
	SPECIAL(slurp, "pF", 24, ak_op_slurp),
	SPECIAL(list, "p", 8, ak_op_list),
	SPECIAL(map, "fn", 5, ak_op_map),
	SPECIAL(exec, "p", 8, ak_op_exec),
	SPECIAL(execat, "dpA", 5, ak_op_execat),
	SPECIAL(make_program, "p", 4, ak_op_make_program),
	SPECIAL(make_script, "pp", 3, ak_op_make_script),
	SPECIAL(clone_child, "c", 2, ak_op_clone),
	SPECIAL(tmpfile_link, "pFp", 5, ak_op_tmpfile_link),
	SPECIAL(send_fd, "f", 3, ak_op_send_fd),
	SPECIAL(receive_fd, "n", 3, ak_op_receive_fd),
	SPECIAL(dup_to, "ff", 4, ak_op_dup_to),
	SPECIAL(vm_read, "i", 2, ak_op_vm_read),
	SPECIAL(steal_fd, "in", 2, ak_op_steal_fd),
	SPECIAL(go_deep, "pn", 3, ak_op_go_deep),
	SPECIAL(unlinked, "p", 3, ak_op_unlinked),
	SPECIAL(reopen, "fF", 8, ak_op_reopen),
	SPECIAL(stream_to, "a", 5, ak_op_stream_to),
	SPECIAL(serve_at, "a", 4, ak_op_serve_at),
	SPECIAL(datagram_to, "a", 2, ak_op_datagram_to),
	SPECIAL(make_checked, "pm", 6, ak_op_make_checked),
	SPECIAL(fifo_pair, "p", 2, ak_op_fifo_pair),
	SPECIAL(many_names, "pn", 1, ak_op_many_names),
	SPECIAL(interrupt, "g", 3, ak_op_interrupt),
	SPECIAL(back, "n", 3, ak_op_back),

	SPECIAL(flip_path, "npp", 30, ak_op_flip_path),
	SPECIAL(flip_how, "nhh", 6, ak_op_flip_how),
	SPECIAL(flip_addr, "naa", 8, ak_op_flip_addr),
	SPECIAL(flip_fd, "fff", 12, ak_op_flip_fd),
	SPECIAL(flip_link, "pss", 12, ak_op_flip_link),
	SPECIAL(flip_exchange, "pp", 10, ak_op_flip_exchange),
	SPECIAL(flip_name, "pp", 8, ak_op_flip_name),
	SPECIAL(flip_object, "p", 8, ak_op_flip_object),
	SPECIAL(flip_cwd, "pp", 8, ak_op_flip_cwd),
	SPECIAL(flip_umask, "mm", 2, ak_op_flip_umask),
	SPECIAL(flip_signal, "g", 4, ak_op_interrupt),
};
/* clang-format on */
const unsigned ak_ncalls = sizeof ak_calls / sizeof *ak_calls;
_Static_assert(sizeof ak_calls / sizeof *ak_calls <= AK_CALLS, "counts of ak_outcome");
