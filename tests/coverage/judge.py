#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py TRACE LOG THRESHOLD NAME: how many of the path calls that strace saw in a bare run are
in the shim's log of the same work. TRACE: strace -f -y -qq -s 4096 -e trace=%file,fchdir; LOG: of
tests/support/mkchannel.c at the level all. Prints a line of figures, with -v what is missing;
exit status 1 below THRESHOLD percent."""

import collections
import os
import re
import sys

# What the C library, or its loader, does by itself: no import to wrap. docs/SHIM.md lists these.
INTERNAL = [
    ("loader", re.compile(r"^/etc/ld\.so\.|\.so(\.[0-9.]+)?$|\.dylib$|/glibc-hwcaps/|"
                          r"/(tls|x86_64|haswell)(/|$)|/\.\./lib$")),
    ("locale", re.compile(r"/usr/(lib|share)/locale(/|$)|/locale\.alias$|/gconv/|\.mo$|"
                          r"/locale-langpack/|/LC_[A-Z]+(/|$)")),
    ("names", re.compile(r"^/etc/(nsswitch\.conf|passwd|group|shadow|resolv\.conf|host\.conf|hosts|"
                         r"services|protocols|gai\.conf)$|^/$|^/var/(run|lib)/(nscd|sss|systemd)|^/run/systemd")),
    ("time", re.compile(r"^/etc/localtime$|/zoneinfo(/|$)")),
    ("system", re.compile(r"^/sys/|^/proc/(stat|cpuinfo|meminfo|sys/|version|filesystems|mounts)|"
                          r"^/dev/(pts|ptmx|tty|shm)$|^/proc/self/(mountinfo|task)|^/etc/mtab$")),
]
# Names made at random, or from a process's number.
RANDOM = [
    (re.compile(r"/cc[A-Za-z0-9]{6}(?=[./]|$)"), "/cc@"),
    (re.compile(r"(tmp_[a-z]+_|/tmp|\.tmp-|/sh-[a-z]+[.-])[A-Za-z0-9_]{4,}"), r"\1@"),
    (re.compile(r"(/\.[A-Za-z0-9_.-]+)\.[A-Za-z0-9]{6}$"), r"\1.@"),
    (re.compile(r"/tmp/[a-z0-9_]{8}$"), "/tmp/@"),
    (re.compile(r"/proc/\d+"), "/proc/@"),
    (re.compile(r"/proc/(self|thread-self)(?=/|$)"), "/proc/@"),
    (re.compile(r"/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9_]+Z-debug-\d+\.log"), "/debug@.log"),
    (re.compile(r"/[0-9a-f]{8}(?=/|$)"), "/hex@"),
    (re.compile(r"\.\d{9,}(?=$|[./])"), ".@"),
    (re.compile(r"-\d{3,7}(?=$|[./-])"), "-@"),
    (re.compile(r"/tmp\.[A-Za-z0-9]{6,}"), "/tmp.@"),
    (re.compile(r"/st[A-Za-z0-9]{6}$"), "/st@"),
    (re.compile(r"\.stash\.\d+"), ".stash.@"),
    (re.compile(r"(/info/(?:refs|packs))_[A-Za-z0-9]{6}$"), r"\1_@"),
    (re.compile(r"pid-\d+"), "pid-@"),
    (re.compile(r"(/4913|\.swp[a-z]?|\.sw[a-z]x?)$"), "/vim@"),
]
LINE = re.compile(r"^(?:\d+ +)?(?:<\.\.\. )?([a-z0-9_]+)\((.*)$")
CWD = re.compile(r"AT_FDCWD<((?:[^>\\]|\\.)*)>")
FD = re.compile(r"^-?\d+<((?:[^>\\]|\\.)*)>")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?')
QUERIES = {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
           "readlink", "readlinkat", "statfs", "name_to_handle_at"}
UNTOLD = {"chdir", "getcwd", "fchdir"}  # no object is opened, changed or asked about


def unescape(s):
    return s.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")


def tidy(path):
    for pattern, to in RANDOM:
        path = pattern.sub(to, path)
    return path


def spellings(path):
    """A path as it was asked for, and as it is called now."""
    path = os.path.normpath(path)
    if path.startswith("//"):
        path = path[1:]
    yield tidy(path)
    yield tidy(os.path.realpath(path))
    yield tidy(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))


def calls(trace):
    """(call, path, errno) of each path argument; the directory of each process is followed."""
    cwd = collections.defaultdict(lambda: None)
    pending = {}
    for line in open(trace, encoding="latin-1"):
        pid, _, rest = line.partition(" ")
        if "<unfinished ...>" in rest:
            pending[pid] = rest.split("<unfinished")[0].rstrip()
            continue
        m = re.match(r" *<\.\.\. \w+ resumed>(.*)", rest)
        if m:
            rest = pending.pop(pid, "") + m.group(1)
        m = LINE.match(rest.strip())
        if not m:
            continue
        name, args = m.groups()
        err = re.search(r"= -1 (E[A-Z]+)", args)
        err = err.group(1) if err else ""
        if name == "fchdir":
            d = FD.match(args)
            if d and not err:
                cwd[pid] = unescape(d.group(1))
            continue
        c = CWD.search(args)
        if c:
            cwd[pid] = unescape(c.group(1))
        s = STRING.search(args)
        if name in UNTOLD or not s or not s.group(1):
            if name == "chdir" and s and not err:
                cwd[pid] = os.path.normpath(os.path.join(cwd[pid] or os.environ["COVERAGE_CWD"], unescape(s.group(1))))
            continue
        base = FD.match(args)
        base = unescape(base.group(1)) if base else cwd[pid] or os.environ["COVERAGE_CWD"]
        paths = [unescape(t[0]) for t in STRING.findall(args)]
        if name.startswith("symlink"):
            del paths[0]  # any text
        elif not name.startswith(("rename", "link")):
            del paths[1:]
        for path in paths:
            yield name, os.path.join(base, path), err


def log_paths(log):
    told = {"query": set(), "call": set(), "exec": set(), "real": set()}
    lost = 0
    for line in open(log, encoding="utf-8", errors="surrogateescape"):
        f = line.rstrip("\n").split("\t")
        if f[0] == "TROUBLE":
            lost += int(re.search(r"lost=(\d+)", line).group(1))
            continue
        kind = {"QUERY": "query", "EXEC": "exec", "HELLO": "exec"}.get(f[0], "call")
        for path in f[7:]:
            told[kind].add(tidy(path))
            if f[1] == "realpath":
                told["real"].add(tidy(path))
    return told, lost


def internal(name, path, err, told):
    if name in QUERIES | {"open", "openat", "openat2", "connect"}:
        for kind, pattern in INTERNAL:
            if pattern.search(path) or pattern.search(os.path.normpath(path)):
                return kind
    path = os.path.normpath(path)
    if name == "chmod" and path.startswith("/proc/self/fd/"):
        return "fchmodat"  # AT_SYMLINK_NOFOLLOW, before Linux 6.6; told by the file's own path
    if name == "execve" and err:
        return "search"  # a PATH is gone through; only what starts, or is refused by us, is told
    if name in ("readlink", "readlinkat") and any(
            p == r or r.startswith(p + "/") or os.path.dirname(p) == os.path.dirname(r)
            for p in spellings(path) for r in told["real"]):
        return "realpath"
    return None


def main():
    verbose = "-v" in sys.argv
    trace, log, threshold, program = [a for a in sys.argv[1:] if a != "-v"]
    told, lost = log_paths(log)
    excused, missing = collections.Counter(), collections.Counter()
    seen = 0
    for name, path, err in calls(trace):
        seen += 1
        where = ("query",) if name in QUERIES else ("exec", "call") if name.startswith("exec") else ("call",)
        # a failed question, or access, is told by whichever wrapper asked it
        if any(p in told[w] for p in spellings(path) for w in where + ("call", "query", "exec")):
            continue
        kind = internal(name, path, err, told)
        if kind:
            excused[kind] += 1
        else:
            missing[f"{name} {path} {err}"] += 1
    gone = sum(missing.values())
    percent = 100.0 * (seen - gone) / seen if seen else 0.0
    kinds = " ".join(f"{k}:{n}" for k, n in excused.most_common())
    print(f"{program:10} {percent:6.2f} % of {seen:6} path calls; {gone} missing; "
          f"by the library itself {sum(excused.values())} ({kinds})" + (f"; {lost} LOST" if lost else ""))
    if verbose or percent < float(threshold):
        for what, n in missing.most_common(15):
            print(f"    {n} x {what}")
    return 1 if percent < float(threshold) or seen < 10 else 0


sys.exit(main())
