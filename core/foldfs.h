/*
 * foldfs.h - which file systems tell names apart by their bytes alone.
 *
 * The table is a list of those that do: a type that is not in it may fold names in any way.
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/folded.h"

/* How names are compared. */
enum sbx_fs {
	SBX_FS_BYTES,	/* by their bytes */
	SBX_FS_FLAGGED, /* so, but in directories that have FS_CASEFOLD_FL */
	SBX_FS_XFS,	/* so, unless it was made with ascii-ci: its geometry says */
	SBX_FS_FOLDS,	/* by case or form */
	SBX_FS_DOS,	/* by case, and there are short names */
	SBX_FS_UNKNOWN	/* as a server or a program likes, which nothing tells */
};

/* name in /proc/self/mountinfo, type of statfs(2), how */
#define SBX_FILE_SYSTEMS(X)                                                                        \
	X("ext4", 0xef53, FLAGGED)                                                                 \
	X("ext3", 0xef53, FLAGGED)                                                                 \
	X("ext2", 0xef53, FLAGGED)                                                                 \
	X("f2fs", 0xf2f52010, FLAGGED)                                                             \
	X("tmpfs", 0x01021994, FLAGGED)                                                            \
	X("overlay", 0x794c7630, FLAGGED)                                                          \
	X("bcachefs", 0xca451a4e, FLAGGED)                                                         \
	X("xfs", 0x58465342, XFS)                                                                  \
	X("btrfs", 0x9123683e, BYTES)                                                              \
	X("ramfs", 0x858458f6, BYTES)                                                              \
	X("rootfs", 0x858458f6, BYTES)                                                             \
	X("devtmpfs", 0x01021994, BYTES)                                                           \
	X("squashfs", 0x73717368, BYTES)                                                           \
	X("erofs", 0xe0f5e1e2, BYTES)                                                              \
	X("proc", 0x9fa0, BYTES)                                                                   \
	X("sysfs", 0x62656572, BYTES)                                                              \
	X("devpts", 0x1cd1, BYTES)                                                                 \
	X("cgroup", 0x27e0eb, BYTES)                                                               \
	X("cgroup2", 0x63677270, BYTES)                                                            \
	X("debugfs", 0x64626720, BYTES)                                                            \
	X("tracefs", 0x74726163, BYTES)                                                            \
	X("securityfs", 0x73636673, BYTES)                                                         \
	X("selinuxfs", 0xf97cff8c, BYTES)                                                          \
	X("configfs", 0x62656570, BYTES)                                                           \
	X("mqueue", 0x19800202, BYTES)                                                             \
	X("hugetlbfs", 0x958458f6, BYTES)                                                          \
	X("bpf", 0xcafe4a11, BYTES)                                                                \
	X("pstore", 0x6165676c, BYTES)                                                             \
	X("binfmt_misc", 0x42494e4d, BYTES)                                                        \
	X("fusectl", 0x65735543, BYTES)                                                            \
	X("nsfs", 0x6e736673, BYTES)                                                               \
	X("autofs", 0x0187, BYTES)                                                                 \
	X("rpc_pipefs", 0x67596969, BYTES)                                                         \
	X("nfsd", 0x6e667364, BYTES)                                                               \
	X("cpuset", 0x01021994, BYTES)                                                             \
	X("efivarfs", 0xde5e81e4, FOLDS)                                                           \
	X("vfat", 0x4d44, DOS)                                                                     \
	X("exfat", 0x2011bab0, FOLDS)                                                              \
	X("ntfs", 0x5346544e, DOS)                                                                 \
	X("ntfs3", 0x7366746e, DOS)                                                                \
	X("hfs", 0x4244, FOLDS)                                                                    \
	X("hfsplus", 0x482b, FOLDS)                                                                \
	X("hpfs", 0xf995e849, FOLDS)                                                               \
	X("isofs", 0x9660, FOLDS)                                                                  \
	X("iso9660", 0x9660, FOLDS)                                                                \
	X("cifs", 0xff534d42, UNKNOWN)                                                             \
	X("smb3", 0xfe534d42, UNKNOWN)                                                             \
	X("fuse", 0x65735546, UNKNOWN)                                                             \
	X("fuseblk", 0x65735546, UNKNOWN)                                                          \
	X("virtiofs", 0x65735546, UNKNOWN)                                                         \
	X("9p", 0x01021997, UNKNOWN)                                                               \
	X("nfs", 0x6969, UNKNOWN)                                                                  \
	X("nfs4", 0x6969, UNKNOWN)                                                                 \
	X("ceph", 0x00c36400, UNKNOWN)                                                             \
	X("zfs", 0x2fc12fc1, UNKNOWN)                                                              \
	X("jfs", 0x3153464a, UNKNOWN)                                                              \
	X("ecryptfs", 0xf15f, UNKNOWN)                                                             \
	X("vboxsf", 0x786f4256, UNKNOWN)

enum sbx_fs sbx_fs_of_type(uint32_t statfs_type);
/* `name` need not end behind `len`; "fuse.sshfs" is fuse. */
enum sbx_fs sbx_fs_of_name(const char *name, size_t len);
/* The name of a type, "?" = none known. */
const char *sbx_fs_name(uint32_t statfs_type);
/* SBX_FOLDS_* of a file system; of those that must be asked: nothing yet. */
unsigned sbx_fs_how(enum sbx_fs);

#define SBX_CASEFOLD_FL	   0x40000000u /* FS_IOC_GETFLAGS, linux/fs.h */
#define SBX_XFS_GEOMETRY   0x80705864u /* XFS_IOC_FSGEOMETRY_V1: _IOR('X', 100, 112 bytes) */
#define SBX_XFS_GEOMETRY_N 112
#define SBX_XFS_FLAGS_AT   92		       /* of `flags` in it */
#define SBX_XFS_ASCII_CI   (UINT32_C(1) << 12) /* XFS_FSOP_GEOM_FLAGS_DIRV2CI */

/* What one directory does to names: SBX_FOLDS_*, or -1 where there is none. */
typedef int sbx_fold_look(void *ctx, const char *dir);
/* What any directory does that a path leads through, by asking for each. `room` is for a path of
 * `size` bytes; a longer one may be folded in any way. */
unsigned sbx_path_folds(const char *path, size_t len, char *room, size_t size, sbx_fold_look *look,
			void *ctx);
