#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""foldfs.py BACKING MOUNT: a FUSE file system that takes names for one which differ by case, by form,
by code points that show nothing, or by dots and blanks at the end, and has short names (`GIT~1`): what
vfat, NTFS and a case-folding ext4 do, each of them a part. Stays in the foreground."""
import errno
import os
import sys
import unicodedata as u

import fusepy as fuse

IGNORED = "\u00ad\u034f\u200b\u200c\u200d\u2060\ufeff"


def key(name):
    name = u.normalize("NFD", u.normalize("NFD", name).casefold())
    return "".join(c for c in name if c not in IGNORED).rstrip(". ")


def short(name):
    base, dot, ext = name.lstrip(".").upper().rpartition(".")
    if not dot:
        base, ext = ext, ""
    base = base.replace(".", "")[:6] + "~1"
    return base + ("." + ext[:3] if ext else "")


class Fold(fuse.Operations):
    def __init__(self, root):
        self.root = root

    def real(self, path):
        at = self.root
        for name in path.split("/"):
            if not name:
                continue
            try:
                there = sorted(os.listdir(at))
            except OSError:
                there = []
            found = [n for n in there if key(n) == key(name)]
            found += [n for n in there if short(n) == name.upper()]
            at = os.path.join(at, found[0] if found else name)
        return at

    def stat(self, path):
        s = os.lstat(self.real(path))
        return {k: getattr(s, k) for k in ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime",
                                           "st_nlink", "st_size", "st_uid")}

    def getattr(self, path, fh=None):
        return self.stat(path)

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.real(path))

    def own(self, path):
        uid, gid, _ = fuse.fuse_get_context()
        os.lchown(self.real(path), uid, gid)

    def open(self, path, flags):
        return os.open(self.real(path), flags & ~os.O_NOFOLLOW)

    def create(self, path, mode, fi=None):
        fd = os.open(self.real(path), os.O_RDWR | os.O_CREAT, mode)
        self.own(path)
        return fd

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def release(self, path, fh):
        os.close(fh)

    def truncate(self, path, length, fh=None):
        os.truncate(self.real(path), length)

    def mknod(self, path, mode, dev):
        os.mknod(self.real(path), mode, dev)
        self.own(path)

    def mkdir(self, path, mode):
        os.mkdir(self.real(path), mode)
        self.own(path)

    def symlink(self, path, target):
        os.symlink(target, self.real(path))
        self.own(path)

    def readlink(self, path):
        return os.readlink(self.real(path))

    def link(self, path, old):
        os.link(self.real(old), self.real(path), follow_symlinks=False)

    def unlink(self, path):
        os.unlink(self.real(path))

    def rmdir(self, path):
        os.rmdir(self.real(path))

    def rename(self, old, new):
        to = self.real(new)
        os.rename(self.real(old), to)

    def chmod(self, path, mode):
        os.chmod(self.real(path), mode)

    def chown(self, path, uid, gid):
        os.lchown(self.real(path), uid, gid)

    def utimens(self, path, times=None):
        os.utime(self.real(path), times, follow_symlinks=False)

    def access(self, path, mode):
        if not os.path.lexists(self.real(path)):
            raise fuse.FuseOSError(errno.ENOENT)

    getxattr = None
    listxattr = None


fuse.FUSE(Fold(os.path.abspath(sys.argv[1])), sys.argv[2], foreground=True, allow_other=True,
          default_permissions=True, nothreads=True, encoding="utf-8",
          entry_timeout=0, attr_timeout=0, negative_timeout=0)
