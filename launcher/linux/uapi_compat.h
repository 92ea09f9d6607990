/* uapi_compat.h - kernel interface newer than the headers we build with (Debian 12: Linux 6.1).
 * Each with the kernel that brought it; https://docs.kernel.org/userspace-api/landlock.html and
 * include/uapi of the kernel tree. */
#pragma once

#include <linux/landlock.h>
#include <stdint.h>

/* struct landlock_ruleset_attr as of ABI 6 (6.12); older kernels take a shorter one. */
struct lau_ll_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4, 6.7 */
	uint64_t scoped;	     /* ABI 6, 6.12 */
};

#define LAU_LL_NET_BIND_TCP    (1ull << 0) /* ABI 4 */
#define LAU_LL_NET_CONNECT_TCP (1ull << 1) /* ABI 4 */

/* Mounts by descriptor; include/uapi/linux/mount.h, which some C libraries' <sys/mount.h> collides
 * with. open_tree and move_mount are of Linux 5.2, mount_setattr of 5.12. */
#define LAU_OPEN_TREE_CLONE	  1u
#define LAU_AT_RECURSIVE	  0x8000u
#define LAU_MOVE_MOUNT_EMPTY_PATH 4u /* the source is a descriptor */
#define LAU_MOUNT_ATTR_RDONLY	  1u
#define LAU_MOUNT_ATTR_NODEV	  4u
struct lau_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

/* File system of process descriptors, 6.9; include/uapi/linux/magic.h */
#define LAU_PIDFS_MAGIC 0x50494446

/* File systems of the kernel whose numbers no public header has: fs/configfs/mount.c,
 * fs/fuse/control.c, ipc/mqueue.c, fs/nfsd/nfsctl.c, net/sunrpc/rpc_pipe.c */
#define LAU_CONFIGFS_MAGIC   0x62656570
#define LAU_FUSECTL_MAGIC    0x65735543
#define LAU_MQUEUE_MAGIC     0x19800202
#define LAU_NFSD_MAGIC	     0x6e667364
#define LAU_RPC_PIPEFS_MAGIC 0x67596969
