/* uapi_compat.h - kernel interface newer than the headers we build with (Debian 12: Linux 6.1).
 * Each with the kernel that brought it; https://docs.kernel.org/userspace-api/landlock.html and
 * include/uapi of the kernel tree. */
#pragma once

#include <linux/landlock.h>
#include <stdint.h>

/* Numbers of calls that libseccomp 2.5.4 cannot name; equal on all machines since 5.1. */
#define LAU_NEW_CALLS(X)                                                                           \
	X("fchmodat2", 452)	 /* 6.6 */                                                         \
	X("setxattrat", 463)	 /* 6.13 */                                                        \
	X("getxattrat", 464)	 /* 6.13 */                                                        \
	X("listxattrat", 465)	 /* 6.13 */                                                        \
	X("removexattrat", 466)	 /* 6.13 */                                                        \
	X("open_tree_attr", 467) /* 6.15 */                                                        \
	X("file_setattr", 469)	 /* 6.17 */

/* struct landlock_ruleset_attr as of ABI 6 (6.12); older kernels take a shorter one. */
struct lau_ll_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4, 6.7 */
	uint64_t scoped;	     /* ABI 6, 6.12 */
};

#define LAU_LL_NET_BIND_TCP    (1ull << 0) /* ABI 4 */
#define LAU_LL_NET_CONNECT_TCP (1ull << 1) /* ABI 4 */
