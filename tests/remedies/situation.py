# SPDX-License-Identifier: Apache-2.0
"""situation.py - what lies where a script's commands work, kept and put back: each remedy is tried in a
fresh copy of what the refused command met, in the same place, and the script goes on as if none had been."""

import os
import shutil
import stat

MOST_ENTRIES = 4000
MOST_BYTES = 64 << 20
# What sbx-launch keeps for itself: records, and what it remembers of the host.
OWN = ("home/.local/state/sbx-launch", "home/.cache/sbx-launch")


class TooLarge(Exception):
    pass


def _joined(relative, name):
    return os.path.normpath(os.path.join(relative, name))


def _measure(root):
    entries = size = 0
    for directory, dirs, files in os.walk(root):
        relative = os.path.relpath(directory, root)
        dirs[:] = [d for d in dirs if _joined(relative, d) not in OWN]
        entries += len(dirs) + len(files)
        for name in files:
            size += os.lstat(os.path.join(directory, name)).st_size
        if entries > MOST_ENTRIES or size > MOST_BYTES:
            raise TooLarge(f"{entries} files or {size} bytes")


def _is_closed(st):
    """To its own owner."""
    needed = 0o700 if stat.S_ISDIR(st.st_mode) else 0o400
    return st.st_uid == os.geteuid() != 0 and st.st_mode & needed != needed


def _cleared(path):
    if os.path.isdir(path) and not os.path.islink(path):
        for directory, dirs, _ in os.walk(path):
            for name in dirs:
                if not os.path.islink(os.path.join(directory, name)):
                    os.chmod(os.path.join(directory, name), 0o700)
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _is_same(was, now):
    """Is nothing to be done? Sockets and pipes stay: somebody may serve them."""
    if stat.S_IFMT(was.st_mode) != stat.S_IFMT(now.st_mode) or stat.S_ISLNK(was.st_mode):
        return False
    if stat.S_ISREG(was.st_mode):
        return (was.st_size, was.st_mtime_ns, was.st_nlink) == (now.st_size, now.st_mtime_ns, now.st_nlink)
    return True


class Copy:
    """All below `root`, without what sbx-launch keeps for itself, in `place`: there its owner may read and write
    everything, and `status` has what stat(2) said of each."""

    def __init__(self, root, place):
        _measure(root)
        self.root, self.place, self.status, self._names = root, place, {}, {}
        self._links = {}
        os.mkdir(place, 0o700)
        self._keep(".")

    def _keep(self, relative):
        source = os.path.join(self.root, relative)
        st = os.lstat(source)
        self.status[relative] = st
        if stat.S_ISDIR(st.st_mode):
            self._open(source, st)
            names = [r for r in (_joined(relative, name) for name in os.listdir(source)) if r not in OWN]
            self._names[relative] = names
            for inside in names:
                if stat.S_ISDIR(os.lstat(os.path.join(self.root, inside)).st_mode):
                    os.mkdir(os.path.join(self.place, inside), 0o700)
                self._keep(inside)
            self._close(source, st)
        elif stat.S_ISLNK(st.st_mode):
            os.symlink(os.readlink(source), os.path.join(self.place, relative))
        elif stat.S_ISREG(st.st_mode):
            self._open(source, st)
            self._write(source, os.path.join(self.place, relative), st, self._links)
            self._close(source, st)

    @staticmethod
    def _open(path, st):
        if _is_closed(st):
            os.chmod(path, stat.S_IMODE(st.st_mode) | 0o700)

    @staticmethod
    def _close(path, st):
        if _is_closed(st):
            os.chmod(path, stat.S_IMODE(st.st_mode))

    @staticmethod
    def _write(source, target, st, links):
        """One file; further names of it are further names again."""
        if (st.st_dev, st.st_ino) in links:
            os.link(links[st.st_dev, st.st_ino], target)
            return
        shutil.copyfile(source, target)
        os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns))
        links[st.st_dev, st.st_ino] = target

    def put_back(self):
        """All as it was. Directories keep their identity, for shells stand in them; so do the files that we write to."""
        busy = set()
        for fd in (0, 1, 2):
            try:
                st = os.fstat(fd)
                busy.add((st.st_dev, st.st_ino))
            except OSError:
                pass
        self._restore(".", busy, {})

    def _restore(self, relative, busy, links):
        target, was = os.path.join(self.root, relative), self.status[relative]
        wanted = self._names[relative]
        self._open(target, os.lstat(target))
        for name in os.listdir(target):
            inside, path = _joined(relative, name), os.path.join(target, name)
            st = os.lstat(path)
            if inside not in wanted and inside not in OWN and (st.st_dev, st.st_ino) not in busy:
                _cleared(path)
        for inside in sorted(wanted):
            self._restore_one(inside, busy, links)
        self._set(target, was)

    def _restore_one(self, relative, busy, links):
        target, was = os.path.join(self.root, relative), self.status[relative]
        if os.path.lexists(target):
            now = os.lstat(target)
            is_kept = (now.st_dev, now.st_ino) in busy or was.st_nlink == 1 and _is_same(was, now)
            if is_kept and not stat.S_ISDIR(was.st_mode):
                if not stat.S_ISLNK(was.st_mode) and now.st_mode != was.st_mode:
                    os.chmod(target, stat.S_IMODE(was.st_mode))
                return
            if not (stat.S_ISDIR(was.st_mode) and stat.S_ISDIR(now.st_mode)):
                _cleared(target)
        if stat.S_ISDIR(was.st_mode):
            if not os.path.lexists(target):
                os.mkdir(target, 0o700)
            self._restore(relative, busy, links)
        elif stat.S_ISLNK(was.st_mode):
            os.symlink(os.readlink(os.path.join(self.place, relative)), target)
        elif stat.S_ISREG(was.st_mode):
            self._write(os.path.join(self.place, relative), target, was, links)
            self._set(target, was)

    @staticmethod
    def _set(target, was):
        if os.geteuid() == 0:
            os.chown(target, was.st_uid, was.st_gid)
        if os.lstat(target).st_uid == os.geteuid() or os.geteuid() == 0:
            os.chmod(target, stat.S_IMODE(was.st_mode))
            os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))
