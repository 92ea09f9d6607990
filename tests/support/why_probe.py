# SPDX-License-Identifier: Apache-2.0
"""why_probe.py draw|try DIR: paths for a question, and what the kernel says to them.

draw: prints paths ended by NUL: what is in DIR, and names that are not.
try:  reads such paths and does each call; prints "op allowed|denied path" lines. Only what is
      decided by a policy counts: a missing file cannot be read with or without one."""
import os
import random
import sys

NAMES = ["a", "b.env", "c.key", "keep", "x.lock", "gen", "README", ".git", "hooks", "config"]


def draw(top):
    rng = random.Random(20261128)
    found = []
    for directory, dirs, files in os.walk(top):
        for name in dirs + files:
            found.append(os.path.relpath(os.path.join(directory, name), top))
    dirs = [""] + [p for p in found if os.path.isdir(os.path.join(top, p))]
    for _ in range(150):
        found.append(os.path.join(rng.choice(dirs), rng.choice(NAMES) + rng.choice(["", "2", ".c"])))
    rng.shuffle(found)
    for path in dict.fromkeys(found):
        sys.stdout.write(path + "\0")


def denied(call):
    try:
        call()
        return False
    except PermissionError:
        return True


def read(path):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        with open(path, "rb") as f:
            f.read(1)


def modify(path):
    if os.path.isdir(path):
        os.chmod(path, os.stat(path).st_mode & 0o7777)
    elif os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY))
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(path)


def attempt():
    for path in sys.stdin.buffer.read().decode().split("\0"):
        if not path:
            continue
        for op, call in ("read", read), ("modify", modify):
            if op == "read" and not os.path.exists(path):
                continue
            print(op, "denied" if denied(lambda: call(path)) else "allowed", path)


if sys.argv[1] == "draw":
    draw(sys.argv[2])
else:
    attempt()
