/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h - a path without the differences that some file systems ignore: case, the form of accents,
 * code points that show nothing, `\` for `/`; where it is asked for also dots and blanks at the end
 * of a name, and names of streams.
 *
 * Denials are judged on this text where a file system folds names (fold.h), so it folds more than
 * any of them: two names that one of them takes for one have one folded text, but two names may
 * have one folded text and be two. No case of marks: an accent is dropped, `é` is `e`.
 * Compatibility forms (a ligature, letters of full width) are what they stand for, as for ZFS with
 * normalization=formKC, but for some that become more than four code points or three times as long,
 * or `/`, `\`, `*` or `?`: these stay what they are.
 *
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"

#define SBX_FOLD_MAX 3u /* a folded text is at most so many times as long as its text */

#define SBX_FOLD_TRIMS 1u /* dots and blanks at the end of a name are nothing (vfat, NTFS) */
#define SBX_FOLD_CUTS  2u /* what follows a ':' in a name is the name of a stream (NTFS) */

/* A walk along the folded text of a path or a pattern, byte by byte. */
struct sbx_fold {
	const char *at, *end;
	const char *kept_to; /* dots and blanks before this are not at the end of their name */
	unsigned flags;	     /* SBX_FOLD_* */
	bool slash_due;
	bool has_tail; /* a name so far ends in a dot or a blank */
	uint32_t last; /* code point of the name */
	/* The name before the slash that was just given, or before the end, may be another name of
	 * something: `GIT~1` of vfat, `:0067` for a letter. */
	bool is_alias;
	bool is_wild; /* the same for a name that is not UTF-8: it may stand for any letters */
	bool may_be_alias, is_broken;
	uint8_t part, chars, digits, extension; /* of a short name */
	uint8_t out[12], nout, given;
};

void sbx_fold_start(struct sbx_fold *, const char *text, size_t len, unsigned flags);
/* The next byte, -1 = the end. "/a//b/" gives "/a/b"; "/" gives nothing. */
int sbx_fold_next(struct sbx_fold *);

/* The whole folded text, NUL-terminated: its length, or SIZE_MAX when it does not fit. Patterns
 * keep their wildcards. */
size_t sbx_fold_text(char *buf, size_t size, const char *text, size_t len, unsigned flags);

/*
 * The policy's answers where a file system ignores differences of names.
 *
 * There rules that deny match the folded text of a path (fold.h), and rules that allow match its
 * bytes; the last rule that matches decides. These answers only take away: ask them about paths
 * that sbx_decide() allows. An image without folded denials (hdr->folds) has none. A call takes a
 * few hundred nanoseconds and does not ask the file system: the caller asks whether it folds only
 * if a rule objects, which is rare.
 *
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */

/* How the directories of a path may treat names. */
#define SBX_FOLDS_CASE	1u /* names that differ by case or form are one */
#define SBX_FOLDS_ALIAS 2u /* a name may have another beside it: `GIT~1` */

/* The rule that denies the path where directories fold so, or -1. */
int sbx_folded_rule(const struct sbx_image *, enum sbx_op, const char *path, size_t len,
		    unsigned how);
/* A rule that may deny, on any such file system, the path or something below it; -1: there is
 * none, whatever lies there. */
int sbx_folded_near(const struct sbx_image *, enum sbx_op, const char *path, size_t len);
/* Do the same rules deny the same names below the two directories? False: perhaps. */
bool sbx_folded_same(const struct sbx_image *, enum sbx_op, const char *a, size_t a_len,
		     const char *b, size_t b_len);

/*
 * The file systems that compare names by their bytes alone.
 *
 * The table is a list of those that do: a type that is not in it may fold names in any way.
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */

/* How names are compared. */
enum sbx_fs {
	SBX_FS_BYTES,	/* by their bytes */
	SBX_FS_FLAGGED, /* by bytes, except in directories with FS_CASEFOLD_FL */
	SBX_FS_XFS,	/* by bytes, unless made with ascii-ci, which its geometry shows */
	SBX_FS_FOLDS,	/* by case or form */
	SBX_FS_DOS,	/* by case, and there are short names */
	SBX_FS_UNKNOWN	/* a server or a program decides: unknown */
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
/* SBX_FOLDS_* of all directories of a path together, asked one by one. `room` has `size` bytes for
 * a path; a longer one may be folded in any way. */
unsigned sbx_path_folds(const char *path, size_t len, char *room, size_t size, sbx_fold_look *look,
			void *ctx);
