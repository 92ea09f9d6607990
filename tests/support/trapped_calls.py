#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""trapped_calls.py TRACE RUN_DIR: the calls that strace saw the command make and that the trap filter hands to the
broker, against what the run says of them; exit status 1 when they differ. TRACE: strace -f -qq of sbx-launch with
--isolate none (no other numbers), --deny-read of a glob (all opens trap) and CALLS traced."""

import collections
import json
import re
import sys

FILES = """open openat openat2 creat mkdir mkdirat mknod mknodat unlink unlinkat rmdir symlink symlinkat rename renameat
renameat2 link linkat truncate chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr getxattr lgetxattr fgetxattr listxattr llistxattr
flistxattr connect bind listen execve execveat""".split()
LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>)?(?:(\w+)\()?(.*)$")


def passes(name, rest):
    """What the filter leaves to the kernel."""
    if name in ("open", "openat"):
        return "O_PATH" in rest
    return False


def trapped(trace):
    ours, start, seen = set(), 0, collections.Counter()
    for line in open(trace, encoding="latin-1"):
        pid, resumed, name, rest = LINE.match(line).groups()
        pid, call = int(pid), resumed or name
        if call == "seccomp" and "NEW_LISTENER" in (pending.get(pid, "") if resumed else line) and \
           re.search(r"= \d+$", line):
            ours, start = {pid}, len(entries)  # the last one: those before it were tried by the launcher
        if "<unfinished" in line:
            pending[pid] = line
        if call in ("clone", "clone3", "fork", "vfork") and pid in ours:
            child = re.search(r"= (\d+)$", line)
            if child:
                ours.add(int(child.group(1)))
        if not resumed:
            entries.append((pid, name, rest))
    for pid, name, rest in entries[start:]:
        if pid in ours and name in FILES and not passes(name, rest):
            seen[name] += 1
    return seen


pending, entries = {}, []
CALLS = ",".join(["?" + c for c in FILES] + ["seccomp", "?clone", "?clone3", "?fork", "?vfork"])


def main():
    if sys.argv[1:] == ["--calls"]:
        print(CALLS)
        return 0
    seen = trapped(sys.argv[1])
    with open(sys.argv[2] + "/run.json", encoding="utf-8") as f:
        counts = json.load(f)["counts"]
    broker = counts["broker"]
    lines = folded = 0
    for line in open(sys.argv[2] + "/audit.jsonl", encoding="utf-8"):
        e = json.loads(line)
        if e.get("layer") == "broker" and e["kind"] in ("result", "denied"):
            lines += "count" not in e
            folded += e.get("count", 0)
    wrong = []
    if sum(seen.values()) != broker["calls"] - broker["other"]:
        wrong.append(f"strace saw {sum(seen.values())} calls {dict(seen)}")
    if [lines, folded] != [broker["lines"], broker["folded"]]:
        wrong.append(f"the log has {lines} lines and {folded} folded")
    if not broker["complete"] or broker["unwritten"] or counts["broker_lost"] or sum(seen.values()) < 5:
        wrong.append("not complete")
    print(*wrong, broker, sep="\n")
    return bool(wrong)


sys.exit(main())
